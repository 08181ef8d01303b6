// How the controller itself is, as far as one may look: its Deployment, and the Lease of its leader.
import type { KubernetesObject } from '../../kubernetes/client.ts';
import { readList, readMember, readText } from '../../translate/read-raw.ts';
import { readFlagText } from '../flag-values.ts';
import { type ClusterView, listObjects } from './cluster-view.ts';
import type { StatusController } from './status-report.ts';

/** The Lease of the leader, as src/controller/start-controller.ts names it. */
export const leaseName = 'proxy-controller';

/** As src/cmd/controller-flags.ts names it, and the chart sets it. */
const tlsVariable = 'MCP_GATEHOUSE_XDS_TLS';

const clockSlackSeconds = 60;

/** What is to be seen of the controller. */
export function describeController(view: ClusterView, now: number): StatusController {
  const { controllerNamespace: namespace, kinds } = view;
  const notes: string[] = [];
  for (const kind of ['Deployment', 'Lease'] as const) {
    const read = kinds[kind];
    if (read.state === 'forbidden') notes.push(`${kind}s of namespace ${namespace} may not be read`);
    if (read.state === 'failed') notes.push(`${kind}s of namespace ${namespace} cannot be read: ${read.message}`);
  }
  const deployments = listObjects(view, 'Deployment')
    .filter(isController)
    .map((object) => ({
      name: object.metadata.name,
      replicas: readCount(object, 'spec', 'replicas') ?? 1,
      readyReplicas: readCount(object, 'status', 'readyReplicas') ?? 0,
    }));
  return { namespace, deployments, leader: findLeader(view, now), notes };
}

/** As the chart labels it. Gateways that were deployed into the same namespace have a label that says of which Gateway they are. */
function isController({ metadata: { labels = {} } }: KubernetesObject): boolean {
  if (labels['gateway.networking.k8s.io/gateway-name'] !== undefined) return false;
  return labels['app.kubernetes.io/component'] === 'controller' || labels['app.kubernetes.io/name'] === 'proxy';
}

/** Deployments of the controller that serve gateways without TLS. One that does not say how it is started is not among them. */
export function listPlaintext(view: ClusterView): readonly string[] {
  return listObjects(view, 'Deployment')
    .filter(isController)
    .filter(servesPlaintext)
    .map(({ metadata }) => metadata.name);
}

function servesPlaintext(deployment: KubernetesObject): boolean {
  const containers = readList(deployment, 'spec', 'template', 'spec', 'containers') ?? [];
  const container = containers.find((each) => readList(each, 'args')?.includes('controller'));
  if (container === undefined) return false;
  const args = readList(container, 'args') ?? [];
  if (args.includes('--xds-tls') || args.includes('--xds-tls=true')) return false;
  const variables = readList(container, 'env') ?? [];
  const variable = variables.find((each) => readText(each, 'name') === tlsVariable);
  // From elsewhere: it is not to be seen here.
  if (readMember(variable, 'valueFrom') !== undefined) return false;
  const value = readFlagText({ type: 'boolean', help: '' }, readText(variable, 'value') ?? 'false');
  return value.ok && value.value === false;
}

function findLeader(view: ClusterView, now: number): StatusController['leader'] {
  const lease = listObjects(view, 'Lease').find(({ metadata }) => metadata.name === leaseName);
  const holder = readText(lease, 'spec', 'holderIdentity');
  const renewed = readText(lease, 'spec', 'renewTime');
  if (holder === undefined || renewed === undefined) return null;
  // The clock of this machine may differ from theirs: only a lease that ran out long ago has certainly run out.
  const seconds = (readCount(lease, 'spec', 'leaseDurationSeconds') ?? 15) + clockSlackSeconds;
  const end = Date.parse(renewed) + seconds * 1_000;
  return { holder, renewed, expired: Number.isFinite(end) && end < now };
}

function readCount(value: unknown, ...path: readonly string[]): number | undefined {
  const count = readMember(value, ...path);
  return typeof count === 'number' ? count : undefined;
}
