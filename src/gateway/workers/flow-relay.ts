// The flow inspector of a gateway with workers: the requests of one login reach several workers, so one process keeps the flows and the workers report to it.
// Allowed requests are only counted, and only for clients that logged in lately: they are far too many to report.
import { describeAgent, type FlowInspector, type InspectedRequest, judgeOutcome } from '../observe/flow-inspector.ts';
import type { FlowStep } from '../request/flow-step.ts';
import { findHeader } from '../http/headers.ts';
import type { RequestObserver } from '../request/request-observer.ts';

/** A request that is a step of a login, as it travels. */
export interface RelayedStep {
  readonly step: FlowStep;
  /** Requests like this one. */
  readonly count: number;
  readonly milliseconds: number;
  readonly method: string;
  /** The two headers that the inspector looks at; of the second only whether it is there. */
  readonly userAgent: string | undefined;
  readonly hasCredentials: boolean;
  readonly address: string;
  readonly request: Pick<
    InspectedRequest,
    'startedAtMs' | 'requestId' | 'hostname' | 'path' | 'status' | 'reason' | 'detail'
  >;
}

/** Steps per second that one worker reports; a flood of bad requests is cut off. */
const maxPerSecond = 200;
const maxWatched = 1_000;
/** How often the requests of one client that is let in are told of. */
const countMs = 1_000;

/** In a worker: observes requests, and tells. */
export class FlowRelay implements RequestObserver {
  readonly #tell: (step: RelayedStep) => void;
  readonly #now: () => number;
  readonly #watched = new Map<string, { count: number; toldAt: number }>();
  #second = 0;
  #told = 0;

  constructor(tell: (step: RelayedStep) => void, now: () => number = () => performance.now()) {
    this.#tell = tell;
    this.#now = now;
  }

  /** A client has begun to log in: from now on its requests count. */
  watch(agent: string): void {
    if (this.#watched.has(agent)) return;
    if (this.#watched.size >= maxWatched) this.#watched.delete(this.#watched.keys().next().value!);
    this.#watched.set(agent, { count: 0, toldAt: Number.NEGATIVE_INFINITY });
  }

  start(): void {}

  finish(request: InspectedRequest): void {
    const step = request.flowStep;
    if (step === undefined || request.exchange.method === 'OPTIONS') return;
    if (step.name === 'access' && judgeOutcome(request, step) === 'ok') return this.#count(request, step);
    const now = this.#now();
    if (now - this.#second > 1_000) {
      this.#second = now;
      this.#told = 0;
    }
    this.#told += 1;
    if (this.#told <= maxPerSecond) this.#tell(describeRequest(request, step, 1));
  }

  #count(request: InspectedRequest, step: FlowStep): void {
    if (this.#watched.size === 0) return;
    const watched = this.#watched.get(describeAgent(request, step));
    if (watched === undefined) return;
    watched.count += 1;
    const now = this.#now();
    if (now - watched.toldAt < countMs) return;
    this.#tell(describeRequest(request, step, watched.count));
    watched.count = 0;
    watched.toldAt = now;
  }
}

/** In the process that keeps the flows: takes a worker's report. Returns the clients to watch. */
export function takeRelayedStep(flows: FlowInspector, relayed: RelayedStep): string {
  const { step, method, userAgent, hasCredentials, address } = relayed;
  const request: InspectedRequest = {
    ...relayed.request,
    flowStep: step,
    startedAt: performance.now() - relayed.milliseconds,
    exchange: {
      method,
      headers: [
        ...(userAgent === undefined ? [] : ['user-agent', userAgent]),
        ...(hasCredentials ? ['authorization', ''] : []),
      ],
    },
    client: { address },
  };
  for (let left = relayed.count; left > 0; left -= 1) flows.finish(request);
  return describeAgent(request, step);
}

function describeRequest(request: InspectedRequest, step: FlowStep, count: number): RelayedStep {
  const { exchange, client, startedAtMs, requestId, hostname, path, status, reason, detail } = request;
  return {
    step,
    count,
    milliseconds: performance.now() - request.startedAt,
    method: exchange.method,
    userAgent: findHeader(exchange.headers, 'user-agent'),
    hasCredentials: findHeader(exchange.headers, 'authorization') !== undefined,
    address: client.address,
    request: { startedAtMs, requestId, hostname, path, status, reason, detail },
  };
}
