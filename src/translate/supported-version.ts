// Whether the Gateway API CRDs of the cluster have a tested version (`SupportedVersion` of a GatewayClass). Other versions are served on a best-effort
// basis.
import { createCondition, type GatewayClassStatus } from './conditions.ts';
import { createStatusMaker, findCondition, replaceCondition } from './replace-condition.ts';

const supported = 'v1.6';

/** The status of a class with the condition. `versions` are bundle versions; an empty one stands for a CRD that does not say its own. */
export function describeClassVersion(status: GatewayClassStatus, versions: readonly string[]): GatewayClassStatus {
  return makeStatus(status, [...new Set(versions)].toSorted());
}

const makeStatus = createStatusMaker((original: GatewayClassStatus, versions: readonly string[]) => {
  const { conditions } = original;
  const generation = findCondition(conditions, 'Accepted')?.observedGeneration ?? 0;
  const isSupported = versions.every((version) => version.startsWith(`${supported}.`));
  const present = versions.map((version) => (version === '' ? 'unknown' : version)).join(', ');
  const condition = isSupported
    ? createCondition(
        'gatewayClass',
        'SupportedVersion',
        'True',
        'SupportedVersion',
        `The Gateway API CRDs are of version ${present}.`,
        generation,
      )
    : createCondition(
        'gatewayClass',
        'SupportedVersion',
        'False',
        'UnsupportedVersion',
        `The Gateway API CRDs are of version ${present}; ${supported} is supported. Gateways are served on a best-effort basis.`,
        generation,
      );
  return { ...original, conditions: replaceCondition(conditions, condition) };
});
