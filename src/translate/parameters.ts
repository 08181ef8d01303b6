// parametersRef of a GatewayClass and of a Gateway: which GatewayParameters are meant, or why they cannot be used.
import type { GatewayClass } from '../api/gateway-class.ts';
import type { Gateway } from '../api/gateway.ts';
import type { GatewayParameters } from '../api/gateway-parameters.ts';
import { findForbiddenParameters } from './parameter-limits.ts';
import type { Placement } from './placement.ts';
import { proxyGroup } from './references.ts';
import { type ResourceIndex, describeAbsence } from './resource-index.ts';
import { findWeakenedStaleness } from './weakened-staleness.ts';

/** The parameters (undefined: none are asked for), or what is wrong with the reference. */
export type ParametersResolution =
  | { readonly usable: true; readonly parameters: GatewayParameters | undefined }
  | {
      readonly usable: false;
      readonly message: string;
      /** GatewayParameters that exist and must not be used here; undefined: there are none, or they do not validate. */
      readonly refused?: GatewayParameters;
      /** Why it is not known whether unprotectedRoutes is Deny; undefined: it is known. */
      readonly unknown?: string;
    };

/** A reference to parameters, in the namespace that it means. */
export interface ParametersReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
}

/** Why parameters have no effect where nothing is deployed. */
export const nothingIsDeployed = 'only a controller deploys Gateways; `run` does not';

/**
 * The parameters of a class; undefined: it has no object. GatewayParameters are namespaced, so a class has to name the namespace. `own` is what the controller keeps
 * writing into its own class: it counts also while somebody has removed it.
 */
export function resolveClassParameters(
  index: ResourceIndex,
  gatewayClass: GatewayClass | undefined,
  placement: Placement,
  own?: ParametersReference,
): ParametersResolution {
  const parametersRef = gatewayClass?.spec.parametersRef ?? own;
  if (parametersRef === undefined) return { usable: true, parameters: undefined };
  const { namespace } = parametersRef;
  return resolveParameters(index, 'spec.parametersRef', { ...parametersRef, namespace }, placement);
}

/** The parameters of a Gateway, in its own namespace; they may set less than those of its class (`ofClass`) and what it delegates, and not weaken what it limits. */
export function resolveGatewayParameters(
  index: ResourceIndex,
  { metadata, spec }: Gateway,
  placement: Placement,
  ofClass: GatewayParameters | undefined,
): ParametersResolution {
  const parametersRef = spec.infrastructure?.parametersRef;
  if (parametersRef === undefined) return { usable: true, parameters: undefined };
  const { namespace } = metadata;
  const field = 'spec.infrastructure.parametersRef';
  const resolved = resolveParameters(index, field, { ...parametersRef, namespace }, placement);
  if (!resolved.usable || resolved.parameters === undefined) return resolved;
  const own = resolved.parameters.spec;
  const forbidden = findForbiddenParameters(own, ofClass?.spec.delegation) ?? findWeakenedStaleness(own, ofClass?.spec);
  if (forbidden === undefined) return resolved;
  const message = `${field}: GatewayParameters ${namespace}/${parametersRef.name} cannot be used: ${forbidden}`;
  return { usable: false, message, refused: resolved.parameters };
}

function resolveParameters(
  index: ResourceIndex,
  field: string,
  { group, kind, namespace, name }: ParametersReference,
  placement: Placement,
): ParametersResolution {
  const refuse = (message: string): ParametersResolution => ({ usable: false, message: `${field}: ${message}` });
  if (placement === 'host') return refuse(nothingIsDeployed);
  if (group !== proxyGroup || kind !== 'GatewayParameters')
    return refuse(`${group}/${kind} cannot be used as parameters; use ${proxyGroup}/GatewayParameters`);
  if (namespace === undefined)
    return refuse(`namespace is required, because GatewayParameters ${name} is in a namespace`);
  const parameters = index.gatewayParameters.get(`${namespace}/${name}`);
  if (parameters !== undefined) return { usable: true, parameters };
  const unknown = `GatewayParameters ${namespace}/${name} ${describeAbsence(index, 'GatewayParameters', namespace, name)}`;
  return { usable: false, message: `${field}: ${unknown}`, unknown };
}
