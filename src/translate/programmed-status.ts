// Statuses with the facts that only running gateways know: whether they are deployed, have an address, applied the configuration, and have the keys of
// their policies. Translation says what should be; here `Programmed` becomes true when it is.
import { issuesTokens } from '../ir/signing-keys.ts';
import type { ProxyPolicyStatus, Statuses } from './conditions.ts';
import type { GatewayFacts } from './gateway-facts.ts';
import { type FactsView, viewFacts } from './facts-view.ts';
import { describeKeptCertificates } from './kept-certificates.ts';
import { describeProgrammedGateway } from './programmed-gateway.ts';
import { describeProgrammedPolicy } from './programmed-policy.ts';
import { describeRejectedRoutes } from './programmed-routes.ts';
import { describeRolloutCondition } from './rollout-condition.ts';
import { describeClassVersion } from './supported-version.ts';
import { describeTargetHealth } from './targets-healthy.ts';
import type { Translation } from './translate.ts';

/**
 * Describes what is programmed. `facts` are by namespace/name of the Gateway. `gatewayApiVersions` are the bundle versions of the Gateway API CRDs in
 * the cluster (an empty text for one without), undefined when they are not known.
 * Without `isXdsEncrypted`, gateways do not get the signing keys of tokens that they are to issue.
 * A status that is as translation made it, or as it was described before, is the same object.
 */
export function describeProgrammed(
  translation: Translation,
  facts: ReadonlyMap<string, GatewayFacts>,
  gatewayApiVersions?: readonly string[],
  { isXdsEncrypted = true }: { readonly isXdsEncrypted?: boolean | undefined } = {},
): Statuses {
  const { statuses } = translation;
  const views = viewFacts(translation, facts);
  return {
    gatewayClasses:
      gatewayApiVersions === undefined
        ? statuses.gatewayClasses
        : mapStatuses(statuses.gatewayClasses, (_, status) => describeClassVersion(status, gatewayApiVersions)),
    gateways: mapStatuses(statuses.gateways, (name, status) => {
      const view = views.get(name);
      if (view === undefined) return status;
      const described = describeProgrammedGateway(describeKeptCertificates(status, view), view);
      return describeRolloutCondition(described, view);
    }),
    httpRoutes: describeRejectedRoutes(translation, views),
    proxyBackends: describeTargetHealth(statuses.proxyBackends, translation.configuration, facts),
    proxyPolicies: describePolicies(translation, views, isXdsEncrypted ? noKeys : listIssuing(translation)),
    inferencePools: statuses.inferencePools,
  };
}

const noKeys: ReadonlySet<string> = new Set();

/** The keys of messages of policies whose tokens the gateway issues itself. */
function listIssuing({ configuration }: Translation): ReadonlySet<string> {
  return new Set(configuration.policies.filter(issuesTokens).map(({ key }) => key));
}

// Most policies are as translation says; only the others get an entry.
function describePolicies(
  { statuses, policyKeys }: Translation,
  views: ReadonlyMap<string, FactsView>,
  withheld: ReadonlySet<string>,
): Statuses['proxyPolicies'] {
  const changed: Record<string, ProxyPolicyStatus> = {};
  let isChanged = false;
  for (const [name, keysByGateway] of policyKeys) {
    const status = statuses.proxyPolicies[name];
    if (status === undefined || keysByGateway.size === 0) continue;
    const described = describeProgrammedPolicy(status, keysByGateway, views, withheld);
    if (described === status) continue;
    changed[name] = described;
    isChanged = true;
  }
  return isChanged ? { ...statuses.proxyPolicies, ...changed } : statuses.proxyPolicies;
}

function mapStatuses<T>(
  statuses: Readonly<Record<string, T>>,
  describe: (name: string, status: T) => T,
): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(statuses).map(([name, status]) => [name, describe(name, status)]));
}
