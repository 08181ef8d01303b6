// Whether the gateways enforce a ProxyPolicy, ancestor by ancestor: they acknowledged its messages and have the keys that it needs,
// of the identity provider or of their own.
import { describeBehind } from './behind-gateways.ts';
import { createCondition, type Condition, type ProxyPolicyStatus } from './conditions.ts';
import type { FactsView } from './facts-view.ts';
import type { GatewayFacts } from './gateway-facts.ts';
import { compareText } from './order.ts';
import { createStatusMaker, findCondition, replaceCondition } from './replace-condition.ts';

/** What `Programmed` is to say of an ancestor. */
interface Verdict {
  readonly status: 'True' | 'False';
  readonly reason:
    | 'Programmed'
    | 'WaitingForGateway'
    | 'GatewayBehind'
    | 'Rejected'
    | 'KeysUnavailable'
    | 'XdsNotEncrypted';
  readonly message: string;
}

/**
 * The status of a policy; unchanged from translation unless a gateway reports a problem. `keysByGateway` are the keys of its messages, `withheld` those of
 * messages whose signing keys are not sent.
 */
export function describeProgrammedPolicy(
  status: ProxyPolicyStatus,
  keysByGateway: ReadonlyMap<string, readonly string[]>,
  views: ReadonlyMap<string, FactsView>,
  withheld: ReadonlySet<string>,
): ProxyPolicyStatus {
  let verdicts: Record<string, Verdict> | undefined;
  for (const [gateway, keys] of keysByGateway) {
    const view = views.get(gateway);
    const verdict = keys.some((key) => withheld.has(key)) ? notEncrypted : view && judge(view, keys);
    if (verdict !== undefined) (verdicts ??= {})[gateway] = verdict;
  }
  return verdicts === undefined ? status : makeStatus(status, verdicts);
}

type Verdicts = Readonly<Record<string, Verdict>>;

const makeStatus = createStatusMaker((original: ProxyPolicyStatus, verdicts: Verdicts): ProxyPolicyStatus => ({
  ancestors: original.ancestors.map((ancestor) => {
    const { kind, namespace = '', name } = ancestor.ancestorRef;
    const verdict = kind === 'Gateway' ? verdicts[`${namespace}/${name}`] : undefined;
    const programmed = findCondition(ancestor.conditions, 'Programmed');
    // Where translation already says False there is nothing to wait for.
    if (verdict === undefined || programmed?.status !== 'True') return ancestor;
    return { ...ancestor, conditions: replaceCondition(ancestor.conditions, createProgrammed(verdict, programmed)) };
  }),
}));

function createProgrammed({ status, reason, message }: Verdict, original: Condition): Condition {
  const [why, text] = status === 'True' ? [original.reason, `${original.message} ${message}`] : [reason, message];
  return {
    ...createCondition('policyAncestor', 'Programmed', status, reason, text, original.observedGeneration),
    reason: why,
  };
}

const notEncrypted: Verdict = {
  status: 'False',
  reason: 'XdsNotEncrypted',
  message:
    'The gateway issues the tokens of this policy itself, and its signing keys are sent over TLS only: set controller.xds.tls.enabled and controller.xds.tls.generate of the Helm chart, or bring a certificate of your own. Until then nobody can log in, and requests are answered with 503.',
};

function judge(view: FactsView, keys: readonly string[]): Verdict | undefined {
  const { gateway, facts, waiting } = view;
  if (facts === undefined || waiting !== undefined) {
    const message = `Gateway ${gateway} is not ready yet. ${waiting ?? ''}`.trimEnd();
    return { status: 'False', reason: 'WaitingForGateway', message };
  }
  const rejected = facts.rejections.length === 0 ? undefined : judgeRejections(view, keys);
  if (rejected !== undefined) return rejected;
  const unsettled = keys.filter((key) => !facts.isSettled('policies', key));
  if (unsettled.length > 0) return judgeUnsettled(view, facts, unsettled);
  return facts.keyProblems.size === 0 ? undefined : judgeKeys(view, keys);
}

function judgeUnsettled({ gateway }: FactsView, facts: GatewayFacts, keys: readonly string[]): Verdict {
  const behind = new Map(keys.flatMap((key) => facts.listBehind('policies', key)).map((each) => [each.name, each]));
  if (behind.size === 0)
    return { status: 'False', reason: 'WaitingForGateway', message: `Gateway ${gateway} has not applied it yet.` };
  const sorted = [...behind.values()].toSorted((left, right) => compareText(left.name, right.name));
  return { status: 'False', reason: 'GatewayBehind', message: describeBehind(sorted, facts.processes) };
}

function judgeRejections(view: FactsView, keys: readonly string[]): Verdict | undefined {
  const rejections = new Set(keys.flatMap((key) => view.findRejection('policies', key) ?? []));
  if (rejections.size === 0) return undefined;
  const message = `The gateway rejects it: ${[...rejections].join('; ')}. Requests to its targets are answered with 500.`;
  return { status: 'False', reason: 'Rejected', message };
}

function judgeKeys({ facts }: FactsView, keys: readonly string[]): Verdict | undefined {
  const problems = keys.flatMap((key) => facts?.keyProblems.get(key) ?? []);
  if (problems.length === 0) return undefined;
  const missing = problems.filter(({ neverLoaded }) => neverLoaded);
  const describe = (some: typeof problems): string =>
    [...new Set(some.map(({ issuer, reason }) => `issuer ${issuer}: ${reason}`))].join('; ');
  if (missing.length > 0) {
    const message = `Keys cannot be loaded, so requests are answered with 503; ${describe(missing)}`;
    return { status: 'False', reason: 'KeysUnavailable', message };
  }
  const message = `Keys cannot be refreshed, so the previous ones stay in use; ${describe(problems)}`;
  return { status: 'True', reason: 'Programmed', message };
}
