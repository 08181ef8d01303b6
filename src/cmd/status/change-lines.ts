// What changed between two reports, as lines for a log: without a terminal, `--watch` prints these.
import { escapeControls } from '../../base/terminal.ts';
import type { StatusCondition, StatusReport, StatusState } from './status-report.ts';

/** One line for each resource that is new, gone, or says something else than before. */
export function listChanges(before: StatusReport, after: StatusReport): string[] {
  const old = summarizeReport(before);
  const present = summarizeReport(after);
  const lines: string[] = [];
  for (const [subject, summary] of present)
    if (old.get(subject) !== summary) lines.push(escapeControls(`${subject}: ${summary}`));
  for (const subject of old.keys()) if (!present.has(subject)) lines.push(escapeControls(`${subject}: gone`));
  return lines;
}

/** What each resource says, part by part. */
function summarizeReport(report: StatusReport): ReadonlyMap<string, string> {
  const { gatewayClasses, gateways, httpRoutes, proxyPolicies, proxyBackends, inferencePools, unread, controller } =
    report;
  const summaries = new Map<string, string>();
  const deployments = controller.deployments.map(
    ({ name, replicas, readyReplicas }) => `${name} ${readyReplicas} of ${replicas} ready`,
  );
  const leader = controller.leader === null ? 'no leader' : `led by ${controller.leader.holder}`;
  summaries.set(
    'Controller',
    [...deployments, controller.leader?.expired === true ? 'nobody leads' : leader].join(', '),
  );
  for (const { kind, message } of unread) summaries.set(`Kind ${kind}`, message);
  for (const { kind, namespace, name, message } of report.remarks)
    summaries.set(`${kind} ${namespace}/${name}`, message);
  for (const { name, ...own } of gatewayClasses) summaries.set(`GatewayClass ${name}`, summarize(own));
  for (const { namespace, name, addresses, listeners, ...own } of gateways) {
    const subject = `Gateway ${namespace}/${name}`;
    const place = addresses.length === 0 ? '' : `, at ${addresses.join(', ')}`;
    summaries.set(subject, `${summarize(own)}${place}`);
    for (const { name: listener, attachedRoutes, conditions } of listeners)
      summaries.set(
        `${subject}, listener ${listener}`,
        `${summarize({ state: own.state, conditions })}, ${attachedRoutes ?? 'unknown'} routes`,
      );
  }
  for (const { namespace, name, parents } of httpRoutes)
    for (const { gateway, section, port, ...own } of parents) {
      const part = `${gateway}${section === '' ? '' : `, ${section}`}${port === null ? '' : `, port ${port}`}`;
      summaries.set(`HTTPRoute ${namespace}/${name}, at Gateway ${part}`, summarize(own));
    }
  for (const { namespace, name, ancestors, state } of proxyPolicies) {
    const subject = `ProxyPolicy ${namespace}/${name}`;
    if (ancestors.length === 0) summaries.set(subject, summarize({ state, conditions: [] }));
    for (const { kind, name: ancestor, section, ...own } of ancestors)
      summaries.set(`${subject}, at ${kind} ${ancestor}${section === '' ? '' : `, ${section}`}`, summarize(own));
  }
  for (const { namespace, name, ...own } of proxyBackends)
    summaries.set(`ProxyBackend ${namespace}/${name}`, summarize(own));
  for (const { namespace, name, parents } of inferencePools)
    for (const { gateway, ...own } of parents)
      summaries.set(`InferencePool ${namespace}/${name}, at Gateway ${gateway}`, summarize(own));
  return summaries;
}

function summarize({
  state,
  conditions,
}: {
  readonly state: StatusState;
  readonly conditions: readonly StatusCondition[];
}): string {
  if (state === 'untouched') return 'no controller has said anything about it';
  return conditions
    .map(({ type, status, reason, message, good, stale }) =>
      stale ? `${type} stale` : good ? `${type} ${status}` : `${type} ${status} (${reason}): ${message}`,
    )
    .join(', ');
}
