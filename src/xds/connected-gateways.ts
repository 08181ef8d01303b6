// The gateway processes that are connected to this replica, from their discovery streams and their reports.
import type { ReadonlyWatchable } from '../base/watchable.ts';
import type { BindProblem, KeptCertificate, KeyProblem, TargetHealth } from '../ir/gen/report_pb.ts';
import { CoalescedList } from './coalesced-list.ts';
import type { ConnectedGateway, ResourceRejection } from './connected-gateway.ts';
import type { NodeIdentity } from './node-identity.ts';

/** The part that comes from a discovery stream. */
interface StreamState {
  readonly settled: string | undefined;
  readonly rejections: readonly ResourceRejection[];
}

/** The report of a gateway about itself. */
interface ReportState {
  readonly keyProblems: readonly KeyProblem[];
  readonly bindProblems: readonly BindProblem[];
  readonly keptCertificates?: readonly KeptCertificate[];
  readonly targets?: readonly TargetHealth[];
}

/** A stream that changes what is known of a gateway, as long as it is open. */
interface GatewayEntry<State> {
  update(state: State): void;
  close(): void;
}

interface Process {
  readonly nodeId: string;
  readonly gateway: string;
  /** Several if a process has reconnected before its old connection was found dead: the last one counts. */
  readonly streams: Map<symbol, StreamState & { readonly version: string }>;
  /** Open report streams. */
  readonly reporters: Set<symbol>;
  report: ReportState;
  /** Undefined: has to be built again. */
  described: ConnectedGateway | undefined;
}

const noReport: ReportState = { keyProblems: [], bindProblems: [] };

export class ConnectedGateways {
  readonly #processes = new Map<string, Process>();
  readonly #list = new CoalescedList<ConnectedGateway>(() => this.#collect());

  /** In no particular order. Gateways that did not change are the same objects. */
  get list(): ReadonlyWatchable<readonly ConnectedGateway[]> {
    return this.#list.list;
  }

  /** Enters a discovery stream. */
  openStream(identity: NodeIdentity): GatewayEntry<StreamState> {
    const process = this.#getProcess(identity);
    const key = Symbol('stream');
    const { version } = identity;
    process.streams.set(key, { version, settled: undefined, rejections: [] });
    this.#touch(process);
    return {
      update: ({ settled, rejections }) => {
        const known = process.streams.get(key);
        if (known === undefined || (known.settled === settled && known.rejections === rejections)) return;
        process.streams.set(key, { version, settled, rejections });
        this.#touch(process);
      },
      close: () => {
        process.streams.delete(key);
        this.#touch(process);
      },
    };
  }

  /** Enters a report stream. Its last report stays while the gateway is connected: it may only be reconnecting. */
  openReport(claim: { readonly nodeId: string; readonly gateway: string }): GatewayEntry<ReportState> {
    const process = this.#getProcess(claim);
    const key = Symbol('report');
    process.reporters.add(key);
    return {
      update: (report) => {
        if (!process.reporters.has(key)) return;
        process.report = report;
        this.#touch(process);
      },
      close: () => {
        process.reporters.delete(key);
        this.#touch(process);
      },
    };
  }

  close(): void {
    this.#list.close();
  }

  #getProcess({ nodeId, gateway }: { readonly nodeId: string; readonly gateway: string }): Process {
    const key = formatKey(gateway, nodeId);
    let process = this.#processes.get(key);
    if (process === undefined) {
      process = { nodeId, gateway, streams: new Map(), reporters: new Set(), report: noReport, described: undefined };
      this.#processes.set(key, process);
    }
    return process;
  }

  #touch(process: Process): void {
    process.described = undefined;
    const key = formatKey(process.gateway, process.nodeId);
    const isGone = process.streams.size === 0 && process.reporters.size === 0;
    if (isGone && this.#processes.get(key) === process) this.#processes.delete(key);
    this.#list.touch();
  }

  #collect(): ConnectedGateway[] {
    return [...this.#processes.values()].flatMap((process) => {
      process.described ??= describeProcess(process);
      return process.described ?? [];
    });
  }
}

/** A process with only a report stream is not connected. */
function describeProcess({ nodeId, gateway, streams, report }: Process): ConnectedGateway | undefined {
  const stream = [...streams.values()].at(-1);
  return stream && { nodeId, gateway, ...stream, ...report };
}

/** A node id has no `/`. */
function formatKey(gateway: string, nodeId: string): string {
  return `${gateway}/${nodeId}`;
}
