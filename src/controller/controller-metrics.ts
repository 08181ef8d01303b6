// The controller's metrics for /metrics.
import type { Metrics } from '../base/metrics.ts';
import { managedTypes } from '../deploy/managed-objects.ts';
import { type RelistReason, relistReasons } from '../kubernetes/list-watch.ts';
import { watchedKindsByName } from '../sources/kubernetes/watched-kinds.ts';
import { resourceTypes } from '../xds/resource-types.ts';
import type { XdsObserver } from '../xds/server.ts';
import type { Rollout } from '../translate/rollout.ts';
import type { StatusKind } from './merge-status.ts';
import type { StatusObserver } from './write-statuses.ts';

/** Values that are read at each scrape. */
interface ControllerGauges {
  readonly isSynced: () => boolean;
  readonly isHeld: () => boolean;
  readonly isLeading: () => boolean;
  /** Objects held, by kind. */
  readonly watchedObjects: () => Readonly<Record<string, number>>;
  /** Gateways that are to be deployed. */
  readonly gateways: () => number;
  readonly connectedProcesses: () => number;
  readonly relayedProcesses: () => number;
  /** Messages of all Gateways, and their bytes. */
  readonly configurationSize: () => { readonly messages: number; readonly bytes: number };
  readonly pendingStatuses: () => number;
  readonly deployProblems: () => number;
  /** How the rollouts of deployed Gateways get on, by namespace/name. */
  readonly rollouts: () => ReadonlyMap<string, { readonly rollout: Rollout | undefined }>;
  /** Gateway processes without the present configuration, by Gateway; empty at replicas that do not lead. */
  readonly behindGateways: () => Readonly<Record<string, number>>;
  /** Milliseconds since 1970; undefined: there is no certificate. */
  readonly certificateExpiry: () => number | undefined;
  /** Undefined: without TLS. */
  readonly certificateState: () => 'good' | 'degraded' | 'none' | undefined;
}

/** Observes the control loop. Durations in milliseconds. */
export interface LoopObserver {
  reconciled(result: 'ok' | 'error', durationMs: number): void;
  translated(durationMs: number): void;
  deployFailed(): void;
}

/** Called each time the objects of a kind have to be listed again. */
export type RelistObserver = (kind: string, reason: RelistReason) => void;

interface ControllerMetrics {
  readonly relisted: RelistObserver;
  readonly xds: XdsObserver;
  readonly statuses: StatusObserver;
  readonly loop: LoopObserver;
  /** Registers the gauges; called once their sources exist. */
  readonly readFrom: (gauges: ControllerGauges) => void;
}

const statusKinds: readonly StatusKind[] = [
  'GatewayClass',
  'Gateway',
  'HTTPRoute',
  'ProxyBackend',
  'ProxyPolicy',
  'InferencePool',
];
const durations = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const prefix = 'mcp_gateway_controller';
const types = new Map(resourceTypes.map(({ typeUrl, list }) => [typeUrl, list]));

/** Registers every metric. */
export function createControllerMetrics(metrics: Metrics, version: string): ControllerMetrics {
  metrics
    .gauge(`${prefix}_build_info`, 'Always 1; the label says what is running.', { version: { max: 1 } })
    .set({ version }, 1);
  return {
    relisted: countRelists(metrics),
    xds: countXds(metrics),
    statuses: countStatuses(metrics),
    loop: countRounds(metrics),
    readFrom: (gauges) => addGauges(metrics, gauges),
  };
}

function countRelists(metrics: Metrics): RelistObserver {
  const kinds = new Set([...watchedKindsByName.keys(), ...managedTypes.map(({ kind }) => kind), 'Pod']);
  const relists = metrics.counter(
    `${prefix}_relists_total`,
    'Times that all objects of a kind had to be listed again, by reason.',
    { kind: { values: [...kinds] }, reason: { values: relistReasons } },
  );
  return (kind, reason) => relists.add({ kind, reason });
}

function countXds(metrics: Metrics): XdsObserver {
  const type = { values: resourceTypes.map(({ list }) => list) };
  const reason = { values: ['unauthenticated', 'permission_denied', 'unavailable'] };
  let streams = 0;
  metrics.gaugeOf(`${prefix}_xds_streams`, 'Open discovery streams.', () => streams);
  const opened = metrics.counter(`${prefix}_xds_streams_total`, 'Discovery streams that were opened.', {});
  const refused = metrics.counter(`${prefix}_xds_refused_total`, 'Peers that were refused, by reason.', { reason });
  const pushes = metrics.counter(`${prefix}_xds_pushes_total`, 'Responses sent to gateways.', { type });
  const sent = metrics.counter(`${prefix}_xds_pushed_messages_total`, 'Messages sent to gateways.', { type });
  const removed = metrics.counter(`${prefix}_xds_removed_messages_total`, 'Messages removed from gateways.', { type });
  const bytes = metrics.counter(`${prefix}_xds_pushed_bytes_total`, 'Bytes of the responses sent to gateways.', {
    type,
  });
  const acks = metrics.counter(`${prefix}_xds_acks_total`, 'Responses that gateways accepted.', { type });
  const nacks = metrics.counter(
    `${prefix}_xds_nacks_total`,
    'Responses of which gateways rejected at least one message.',
    {
      type,
    },
  );
  // Both start at 0, so that a rate shows the first increase.
  for (const list of types.values()) for (const counter of [acks, nacks]) counter.add({ type: list }, 0);
  const label = (typeUrl: string) => ({ type: types.get(typeUrl) ?? 'other' });
  return {
    streamOpened() {
      streams += 1;
      opened.add({});
    },
    streamClosed: () => void (streams -= 1),
    refused: (why) => refused.add({ reason: why }),
    pushed(typeUrl, resources, gone, size) {
      const labels = label(typeUrl);
      pushes.add(labels);
      sent.add(labels, resources);
      removed.add(labels, gone);
      bytes.add(labels, size);
    },
    acknowledged: (typeUrl) => acks.add(label(typeUrl)),
    rejected: (typeUrl) => nacks.add(label(typeUrl)),
  };
}

function countStatuses(metrics: Metrics): StatusObserver {
  const kind = { values: statusKinds };
  const written = metrics.counter(`${prefix}_status_writes_total`, 'Statuses written.', { kind });
  const conflicts = metrics.counter(
    `${prefix}_status_conflicts_total`,
    'Status writes that conflicted with another writer; they are read and written again.',
    { kind },
  );
  const failures = metrics.counter(`${prefix}_status_failures_total`, 'Statuses that could not be written.', { kind });
  return {
    statusWritten: (of) => written.add({ kind: of }),
    statusConflicted: (of) => conflicts.add({ kind: of }),
    statusFailed: (of) => failures.add({ kind: of }),
  };
}

function countRounds(metrics: Metrics): LoopObserver {
  const rounds = metrics.counter(`${prefix}_reconciles_total`, 'Rounds from resources to gateways, by result.', {
    result: { values: ['ok', 'error'] },
  });
  const round = metrics.histogram(
    `${prefix}_reconcile_duration_seconds`,
    'How long a round took, from resources to the configuration of gateways.',
    {},
    durations,
  );
  const translation = metrics.histogram(
    `${prefix}_translation_duration_seconds`,
    'How long the translation in a round took.',
    {},
    durations,
  );
  const deploys = metrics.counter(`${prefix}_deploy_errors_total`, 'Times that a Gateway could not be deployed.', {});
  return {
    reconciled(result, durationMs) {
      rounds.add({ result });
      round.observe({}, durationMs / 1_000);
    },
    translated: (durationMs) => translation.observe({}, durationMs / 1_000),
    deployFailed: () => deploys.add({}),
  };
}

function addGauges(metrics: Metrics, gauges: ControllerGauges): void {
  const add = (name: string, help: string, read: () => number): void =>
    metrics.gaugeOf(`${prefix}_${name}`, help, read);
  add('synced', '1 when the caches have been filled.', () => Number(gauges.isSynced()));
  add('changes_held', '1 while changes are held back, because part of the cluster cannot be watched.', () =>
    Number(gauges.isHeld()),
  );
  add('leader', '1 when this replica leads: it deploys, and writes statuses.', () => Number(gauges.isLeading()));
  add('gateways', 'Gateways that this controller deploys.', gauges.gateways);
  add('connected_gateways', 'Gateway processes that are connected to this replica.', gauges.connectedProcesses);
  add('relayed_gateways', 'Gateway processes that other replicas report.', gauges.relayedProcesses);
  add('config_messages', 'Messages in the configuration of all Gateways.', () => gauges.configurationSize().messages);
  add('config_bytes', 'Bytes of these messages.', () => gauges.configurationSize().bytes);
  add('status_pending', 'Statuses that are waiting to be written.', gauges.pendingStatuses);
  add('deploy_problems', 'Gateways that are not deployed as configured.', gauges.deployProblems);
  metrics.gaugeSamplesOf(
    `${prefix}_rollout_stuck`,
    '1 for each Gateway whose new pods do not get ready, with the reason; 0 with the reason None for the others.',
    () =>
      Array.from(gauges.rollouts(), ([gateway, { rollout }]) => ({
        labels: { gateway, reason: rollout?.problem?.reason ?? 'None' },
        value: Number(rollout?.problem !== undefined),
      })),
  );
  add(
    'certificate_expiry_timestamp_seconds',
    'When the last usable xDS certificate expires or expired; 0 without one.',
    () => Math.floor((gauges.certificateExpiry() ?? 0) / 1_000),
  );
  add(
    'certificate_degraded',
    '1 while the Secret with the xDS certificate cannot be used, and the last good certificate is served.',
    () => Number(gauges.certificateState() === 'degraded'),
  );
  add(
    'certificate_missing',
    '1 while this replica is to serve xDS over TLS and has no certificate: gateways cannot connect to it.',
    () => Number(gauges.certificateState() === 'none'),
  );
  metrics.gaugesOf(
    `${prefix}_behind_gateways`,
    'Gateway processes without the present configuration, by Gateway: they do not answer, or their pods take traffic without being connected.',
    'gateway',
    gauges.behindGateways,
  );
  metrics.gaugesOf(`${prefix}_watched_objects`, 'Objects held, by kind.', 'kind', gauges.watchedObjects);
}
