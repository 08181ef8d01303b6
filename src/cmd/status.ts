// `mcp-gatehouse status`: how the Gateways, routes and policies of a cluster are, by what their controller wrote; of each that is not well why, and what to do.
import { namespaceNameSchema } from '../api/kubernetes-names.ts';
import { silentLog } from '../base/log.ts';
import { ApiError } from '../kubernetes/client.ts';
import { type ConnectedClient, connectKubernetes } from '../kubernetes/connect.ts';
import { type CommandEnd, defineCommand, fail, refuse } from './command.ts';
import type { CommandIo } from './process-host.ts';
import { buildStatusReport } from './status/build-status-report.ts';
import { type ClusterView, listObjects, statusKinds } from './status/cluster-view.ts';
import { collectCluster } from './status/collect-cluster.ts';
import { formatStatus } from './status/format-status.ts';
import { formatGatewayStatus, readGatewayStatus } from './status/gateway-status.ts';
import { createNameFilter, type NameFilter } from './status/name-filter.ts';
import { statusCommandFlags, type StatusValues } from './status/status-flags.ts';
import { type StatusTerminal, watchStatus } from './status/watch-status.ts';

/** What the command needs beyond standard output. */
export interface StatusIo extends CommandIo {
  /** Null: standard output is no terminal. That of the process when absent. */
  readonly terminal?: StatusTerminal | null;
  /** Ends --watch; Ctrl-C when absent. */
  readonly signal?: AbortSignal;
  readonly now?: () => number;
}

export const statusCommand = defineCommand({
  ...statusCommandFlags,
  async run(values, io: StatusIo) {
    if (values.admin !== undefined) return showGateway(values, values.admin, io);
    if (values.allNamespaces && values.namespace !== undefined)
      return refuse('give -n or -A, not both: one namespace, or all of them');
    for (const [flag, name] of [
      ['-n', values.namespace],
      ['--controller-namespace', values.controllerNamespace],
    ] as const)
      if (name !== undefined && !namespaceNameSchema.safeParse(name).success)
        return refuse(`${flag} must be the name of a namespace, not ${JSON.stringify(name)}`);
    const { kubeconfig, context } = values;
    let client: ConnectedClient | undefined;
    try {
      client = await connectKubernetes({
        log: silentLog,
        env: io.env,
        kubeconfig,
        context,
        name: 'mcp-gatehouse-status',
      });
      return await showStatus(client, values, io);
    } catch (error) {
      return fail(2, describeError(error));
    } finally {
      await client?.close();
    }
  },
});

/** Without a cluster. */
async function showGateway(values: StatusValues, admin: string, io: StatusIo): Promise<CommandEnd> {
  const { namespace, allNamespaces, context, kubeconfig, controllerNamespace, watch, name, adminTokenFile, output } =
    values;
  const isAboutCluster =
    [namespace, context, kubeconfig].some((each) => each !== undefined) ||
    allNamespaces ||
    watch ||
    name.length > 0 ||
    controllerNamespace !== statusCommandFlags.flags.controllerNamespace.default;
  if (isAboutCluster)
    return refuse(
      '--admin asks one gateway, which knows no cluster: of the other flags only -o and --admin-token-file go with it',
    );
  const read = await readGatewayStatus({ admin, adminTokenFile });
  if (!read.ok) return fail(2, read.problem);
  const { status } = read;
  io.stdout(output === 'json' ? `${JSON.stringify(status, null, 2)}\n` : formatGatewayStatus(status, io.color));
  return status.well ? 0 : 1;
}

async function showStatus(client: ConnectedClient, values: StatusValues, io: StatusIo): Promise<CommandEnd> {
  const { now = Date.now } = io;
  const terminal = io.terminal === undefined ? findTerminal() : io.terminal;
  const view = await collectCluster({
    client,
    // Undefined: all of them.
    namespace: values.allNamespaces ? undefined : (values.namespace ?? client.namespace),
    controllerNamespace: values.controllerNamespace,
  });
  const filter = createNameFilter(values.name);
  const buildReport = (each: ClusterView) => buildStatusReport(each, filter, now());
  if (values.watch) {
    const interrupt = io.signal === undefined ? listenForInterrupt() : undefined;
    try {
      const last = await watchStatus({
        client,
        first: view,
        buildReport,
        stdout: io.stdout,
        terminal: terminal ?? undefined,
        color: io.color,
        format: values.output,
        now,
        signal: interrupt?.signal ?? io.signal!,
      });
      return last.well ? 0 : 1;
    } finally {
      interrupt?.forget();
    }
  }
  const report = buildReport(view);
  io.stdout(
    values.output === 'json'
      ? `${JSON.stringify(report, null, 2)}\n`
      : formatStatus(report, { color: io.color, width: terminal?.getSize().columns }),
  );
  const unknown = listUnknownNames(view, filter);
  if (unknown.length > 0) return fail(1, ...unknown);
  return report.well ? 0 : 1;
}

/** Names on the command line that nothing has. */
function listUnknownNames(view: ClusterView, filter: NameFilter): string[] {
  const names = statusKinds.flatMap((kind) =>
    listObjects(view, kind).map(({ metadata }) => ({ namespace: metadata.namespace ?? '', name: metadata.name })),
  );
  const where = view.namespace === undefined ? '' : ` in namespace ${view.namespace}`;
  return filter
    .listUnmatched(names)
    .map(
      ({ pattern, nearest }) =>
        `nothing is named ${JSON.stringify(pattern)}${where}${nearest === undefined ? '' : `; did you mean ${nearest}?`}`,
    );
}

function describeError(error: unknown): string {
  if (error instanceof ApiError && error.status.code === 401)
    return `the API server does not accept the credentials of the kubeconfig: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

function findTerminal(): StatusTerminal | null {
  const { stdout } = process;
  if (!stdout.isTTY) return null;
  return {
    getSize: () => ({ columns: stdout.columns, rows: stdout.rows }),
    onResize(listener) {
      stdout.on('resize', listener);
      return () => void stdout.off('resize', listener);
    },
  };
}

function listenForInterrupt(): { readonly signal: AbortSignal; readonly forget: () => void } {
  const controller = new AbortController();
  const end = (): void => controller.abort();
  process.once('SIGINT', end).once('SIGTERM', end);
  return {
    signal: controller.signal,
    forget: () => void process.off('SIGINT', end).off('SIGTERM', end),
  };
}
