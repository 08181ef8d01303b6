// `unprotectedRoutes` of GatewayParameters: whether a Gateway closes the rules that nothing protects, and the message that makes gateways do so.
// The class decides first; a Gateway can only be stricter. docs/adr/0032-closed-by-default.md says why, and why the message looks like this.
import { create } from '@bufbuild/protobuf';
import type { GatewayParameters } from '../api/gateway-parameters.ts';
import type { Configuration } from '../ir/configuration.ts';
import { FailureSchema, type Policy, PolicySchema, PolicyTargetKind } from '../ir/gen/config_pb.ts';
import { formatPolicyKey } from '../ir/resource-keys.ts';
import { compareText, formatName } from './order.ts';
import type { ParametersResolution } from './parameters.ts';

/** Who wants unprotected rules to be closed, and why. */
export interface DeniedRoutes {
  /** "GatewayParameters platform/edge", "--deny-unprotected". */
  readonly by: string;
  /** For the operator: a clause that the consequence follows. */
  readonly because: string;
}

/** What the flag says. */
export const deniedByFlag: DeniedRoutes = {
  by: '--deny-unprotected',
  because: 'the gateway runs with --deny-unprotected',
};

/** What the parameters of the class and of the Gateway say together; undefined: unprotected rules are served. Parameters that cannot be read may have said Deny. */
export function resolveUnprotectedRoutes(
  ofClass: ParametersResolution,
  ofGateway: ParametersResolution | undefined,
): DeniedRoutes | undefined {
  const found = [ofClass, ofGateway];
  for (const resolution of found) {
    const parameters = readParameters(resolution);
    if (parameters?.spec.unprotectedRoutes === 'Deny') {
      const by = `GatewayParameters ${formatName(parameters)}`;
      return { by, because: `${by} has unprotectedRoutes: Deny` };
    }
  }
  for (const resolution of found)
    if (resolution?.usable === false && resolution.unknown !== undefined)
      return {
        by: resolution.unknown,
        because: `${resolution.unknown}, so it is not known whether unprotectedRoutes is Deny`,
      };
  return undefined;
}

/** Why parameters of a Gateway are refused: they want to serve what the class closes. */
export function findLoosening(
  ofClass: GatewayParameters | undefined,
  ofGateway: GatewayParameters | undefined,
): string | undefined {
  if (ofClass?.spec.unprotectedRoutes !== 'Deny' || ofGateway?.spec.unprotectedRoutes !== 'Allow') return undefined;
  return `spec.infrastructure.parametersRef: GatewayParameters ${formatName(ofGateway)} cannot be used: spec.unprotectedRoutes must be Deny or absent, because GatewayParameters ${formatName(ofClass)} of the GatewayClass has Deny. Open single routes with traffic.publicAccess of a ProxyPolicy`;
}

function readParameters(resolution: ParametersResolution | undefined): GatewayParameters | undefined {
  if (resolution === undefined) return undefined;
  return resolution.usable ? resolution.parameters : resolution.refused;
}

/** The message for one Gateway, namespace/name. */
export function createDenial(gateway: string, denied: DeniedRoutes): Policy {
  const slash = gateway.indexOf('/');
  return createMessage(gateway.slice(0, slash), gateway.slice(slash + 1), denied, gateway.slice(slash + 1));
}

/** The configuration of files, with every rule closed that nothing protects. */
export function denyUnprotected(configuration: Configuration): Configuration {
  const policies = [...configuration.policies, createMessage('', deniedByFlag.by, deniedByFlag, '')];
  return { ...configuration, policies: policies.toSorted((left, right) => compareText(left.key, right.key)) };
}

function createMessage(namespace: string, name: string, { by, because }: DeniedRoutes, gateway: string): Policy {
  const message = `nothing keeps requests without a token out of this rule, and ${because}. Attach a ProxyPolicy that authenticates, or open the route on purpose with traffic.publicAccess`;
  return create(PolicySchema, {
    key: formatPolicyKey(namespace, name, 'failure', 'UnprotectedRoutes'),
    source: by,
    target: { kind: PolicyTargetKind.UNPROTECTED, namespace, name: gateway },
    needsAuthentication: true,
    spec: { case: 'failure', value: create(FailureSchema, { status: 403, reason: 'route_unprotected', message }) },
  });
}
