// What was read -> the report: the table of contents of how resources are judged. Pure.
import type { ObjectMeta } from '../../kubernetes/client.ts';
import { compareText } from '../../translate/order.ts';
import { adviseController, adviseTls, installAdvice } from './advice.ts';
import { type ClusterView, type KindView, type StatusKind, statusKinds } from './cluster-view.ts';
import { countAccess } from './count-access.ts';
import { describeController, leaseName, listPlaintext } from './describe-controller.ts';
import { describeClasses, describeGateways } from './describe-gateways.ts';
import { describeBackends, describePolicies } from './describe-policies.ts';
import { describePools } from './describe-pools.ts';
import { describeRoutes } from './describe-routes.ts';
import type { NameFilter } from './name-filter.ts';
import { readOwnership } from './ownership.ts';
import { ProblemList } from './problem-list.ts';
import type { StatusController, StatusReport, UnreadKind } from './status-report.ts';

/** Builds the report. `now` is for the lease of the leader. */
export function buildStatusReport(view: ClusterView, filter: NameFilter, now: number): StatusReport {
  const sorted = sortView(view);
  // Who owns what is read of everything; what is shown, of what was asked for.
  const ownership = readOwnership(sorted);
  const shown = filterView(sorted, filter);
  const problems = new ProblemList(view.controllerNamespace);

  // What many other problems follow from comes first.
  const controller = describeController(sorted, now);
  if (sorted.kinds.GatewayClass.state === 'read' && ownership.classes.length === 0)
    problems.add(
      { kind: 'GatewayClass', namespace: '', name: '', part: '' },
      'There is no GatewayClass of this controller.',
      installAdvice.controller,
    );
  addControllerProblems(controller, problems);
  const gatewayClasses = describeClasses(shown, ownership, problems);
  const { gateways, ofOthers: otherGateways } = describeGateways(shown, ownership, problems);
  const { routes: httpRoutes, ofOthers: otherRoutes } = describeRoutes(shown, ownership, problems);
  const proxyPolicies = describePolicies(shown, ownership, problems);
  const proxyBackends = describeBackends(shown, problems);
  const { pools: inferencePools, ofOthers: otherPools } = describePools(shown, problems);

  const unread = statusKinds.flatMap((kind) => describeUnread(kind, sorted.kinds[kind], sorted) ?? []);
  return {
    server: view.server,
    namespace: view.namespace ?? null,
    well: problems.list().length === 0 && unread.length === 0,
    controller,
    gatewayClasses,
    gateways,
    httpRoutes,
    proxyPolicies,
    proxyBackends,
    inferencePools,
    access: countAccess(httpRoutes),
    ofOthers: { gateways: otherGateways, httpRoutes: otherRoutes, inferencePools: otherPools },
    unread,
    problems: problems.list(),
    remarks: listPlaintext(sorted).map((name) => ({
      kind: 'Deployment',
      namespace: view.controllerNamespace,
      name,
      message: 'Gateways are served without TLS: keys and secrets in their configuration cross the network in clear.',
      advice: adviseTls,
    })),
  };
}

function addControllerProblems({ namespace, deployments, leader }: StatusController, problems: ProblemList): void {
  for (const { name, replicas, readyReplicas } of deployments) {
    const subject = { kind: 'Deployment', namespace, name, part: '' };
    if (replicas === 0)
      problems.add(
        subject,
        'The controller is scaled to 0.',
        `Start it: kubectl scale -n ${namespace} deployment/${name} --replicas 1`,
      );
    else if (readyReplicas === 0)
      problems.add(
        subject,
        `The controller is not ready: 0 of ${replicas} replicas are.`,
        `Its pods say why: kubectl describe pods -n ${namespace}, kubectl logs -n ${namespace} deployment/${name}`,
      );
  }
  if (leader !== null && leader.expired)
    problems.add(
      { kind: 'Lease', namespace, name: leaseName, part: '' },
      `Nobody leads: the lease of ${leader.holder} was last renewed at ${leader.renewed}. Statuses are not written meanwhile.`,
      adviseController(namespace),
    );
}

function describeUnread(kind: StatusKind, read: KindView, { namespace }: ClusterView): UnreadKind | undefined {
  // Of the Inference Extension, which need not be there: who may not look has nothing to do with it.
  if (kind === 'InferencePool' && (read.state === 'not-installed' || read.state === 'forbidden')) return undefined;
  switch (read.state) {
    case 'read':
      return read.outdated === undefined
        ? undefined
        : { kind, why: 'failed', message: read.outdated, advice: 'It is tried again; what is shown may be old.' };
    case 'not-installed':
      return {
        kind,
        why: 'not-installed',
        message: 'the kind is not installed in this cluster',
        advice: kind.startsWith('Proxy') ? installAdvice.own : installAdvice.gatewayApi,
      };
    case 'forbidden': {
      const instead = namespace === undefined ? 'Choose a namespace that you may read with -n, or ask' : 'Ask';
      const hint = kind === 'GatewayClass' ? 'Ask' : instead;
      return {
        kind,
        why: 'forbidden',
        message: read.message,
        advice: `${hint} for the right to get, list and watch it.`,
      };
    }
    case 'failed':
      return {
        kind,
        why: 'failed',
        message: read.message,
        advice: 'Try again; the log of the API server may say more.',
      };
  }
}

function sortView(view: ClusterView): ClusterView {
  return mapObjects(view, (objects) =>
    objects.toSorted(
      ({ metadata: left }, { metadata: right }) =>
        compareText(left.namespace ?? '', right.namespace ?? '') || compareText(left.name, right.name),
    ),
  );
}

function filterView(view: ClusterView, filter: NameFilter): ClusterView {
  const isShown = ({ metadata }: { readonly metadata: ObjectMeta }): boolean =>
    filter.matches(metadata.namespace ?? '', metadata.name);
  return mapObjects(view, (objects) => objects.filter(isShown));
}

function mapObjects(
  view: ClusterView,
  change: <T extends { readonly metadata: ObjectMeta }>(objects: readonly T[]) => readonly T[],
): ClusterView {
  const kinds = Object.fromEntries(
    Object.entries(view.kinds).map(([kind, read]) => [
      kind,
      read.state === 'read' ? { ...read, objects: change(read.objects) } : read,
    ]),
  ) as unknown as ClusterView['kinds'];
  return { ...view, kinds };
}
