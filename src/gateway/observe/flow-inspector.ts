// The flow inspector: the last login flows, step by step, in memory and bounded. An observer of requests: it reads the notes that
// flow-recorder.ts left on them. It holds no token, code, secret or cookie, and what it shows of a client_id is a hash.
import { randomUUID } from 'node:crypto';
import { copyText, cutText } from '../../base/cut-text.ts';
import { redactText } from '../../base/redact.ts';
import { findHeader } from '../http/headers.ts';
import type { FlowStep } from '../request/flow-step.ts';
import type { RequestObserver } from '../request/request-observer.ts';
import type { RequestContext } from '../request/request-context.ts';
import { discoverySteps, type FlowState, judgeFlow } from './flow-state.ts';

/** What became of a step. `challenged` is the 401 that a client without credentials gets: how every flow begins. */
export type StepOutcome = 'ok' | 'challenged' | 'refused' | 'failed';

/** One request of a flow. */
export interface InspectedStep {
  readonly name: string;
  /** When its head had arrived (ISO 8601), and how long the whole of it took. */
  readonly at: string;
  readonly milliseconds: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly outcome: StepOutcome;
  /** The id that the client saw. */
  readonly requestId: string;
  /** The stable reason, when it was refused or failed. */
  readonly reason: string | null;
  /** For the operator: what exactly failed. */
  readonly detail: string | null;
  /** The OAuth error code of the answer. */
  readonly error: string | null;
  readonly scope: string | null;
  readonly grantType: string | null;
  readonly notes: readonly string[];
}

/** Steps that belong together, as far as can be told. */
export interface InspectedFlow {
  readonly id: string;
  readonly startedAt: string;
  readonly lastAt: string;
  readonly state: FlowState;
  /** Why it was refused, or what it waits for. */
  readonly note: string | null;
  readonly host: string;
  /** Path of the protected resource. */
  readonly resource: string;
  readonly policy: string | null;
  /** Facade, Broker, Issuer or Direct. */
  readonly flow: string | null;
  readonly client: {
    readonly name: string | null;
    /** A hash of the client_id. */
    readonly id: string | null;
    readonly redirectHost: string | null;
    readonly address: string;
    readonly userAgent: string | null;
  };
  readonly steps: readonly InspectedStep[];
  /** Steps that were left out between the first and the last ones. */
  readonly omittedSteps: number;
  /** Requests that were let in. Only the first of them is a step. */
  readonly acceptedRequests: number;
}

/** Limits of the memory. */
interface FlowInspectorLimits {
  readonly maxFlows: number;
  readonly maxSteps: number;
  /** Steps that have nothing but the client's address in common belong together only within this time. */
  readonly maxPauseMs: number;
}

/** What the inspector looks at of a request. */
export type InspectedRequest = Pick<
  RequestContext,
  'flowStep' | 'startedAt' | 'startedAtMs' | 'requestId' | 'hostname' | 'path' | 'status' | 'reason' | 'detail'
> & {
  readonly exchange: Pick<RequestContext['exchange'], 'method' | 'headers'>;
  readonly client: Pick<RequestContext['client'], 'address'>;
};

/** The inspector. */
export interface FlowInspector extends RequestObserver {
  finish(request: InspectedRequest, ...more: readonly unknown[]): void;
  /** The latest first. */
  list(): InspectedFlow[];
}

const defaultLimits: FlowInspectorLimits = { maxFlows: 200, maxSteps: 40, maxPauseMs: 15 * 60_000 };
const maxKeys = 48;
const maxText = 512;

interface Flow {
  readonly id: string;
  readonly startedAtMs: number;
  lastAtMs: number;
  readonly host: string;
  resource: string;
  policy: string | undefined;
  flow: string | undefined;
  clientName: string | undefined;
  clientId: string | undefined;
  redirectHost: string | undefined;
  readonly address: string;
  readonly userAgent: string | undefined;
  readonly steps: InspectedStep[];
  omittedSteps: number;
  acceptedRequests: number;
  /** A login has begun; earlier steps are only discovery. */
  hasLogin: boolean;
  readonly keys: string[];
  /** Of those who took the steps that weak keys are of; as often as there are such keys. */
  readonly addresses: string[];
}

/** Builds an inspector that has seen nothing yet. */
export function createFlowInspector(
  limits: Partial<FlowInspectorLimits> = {},
  readNow: () => number = Date.now,
): FlowInspector {
  const { maxFlows, maxSteps, maxPauseMs } = { ...defaultLimits, ...limits };
  // In the order of their last step, the latest last. Keys lead to the latest flow that has them.
  const flows = new Set<Flow>();
  const byKey = new Map<string, Flow>();
  // How many weak keys there are with an address, which is part of each: most requests come from where no login was seen.
  const keysByAddress = new Map<string, number>();
  let unbegun = 0;

  const forget = (flow: Flow): void => {
    flows.delete(flow);
    if (!flow.hasLogin) unbegun -= 1;
    for (const key of flow.keys) if (byKey.get(key) === flow) byKey.delete(key);
    for (const address of flow.addresses) {
      const count = keysByAddress.get(address)! - 1;
      if (count === 0) keysByAddress.delete(address);
      else keysByAddress.set(address, count);
    }
  };
  const makeRoom = (): void => {
    if (flows.size < maxFlows) return;
    // Scanners that only collect a 401 must not evict logins in progress; those in turn leave half of the memory to new flows.
    const dropsUnbegun = unbegun > maxFlows / 2;
    for (const flow of flows) {
      if (dropsUnbegun && flow.hasLogin) continue;
      return forget(flow);
    }
  };
  const findFlow = (step: FlowStep, keys: StepKeys, now: number, isChallenge: boolean): Flow | undefined => {
    for (const key of keys.strong) {
      const flow = byKey.get(key);
      if (flow !== undefined) return flow;
    }
    for (const key of keys.weak) {
      const flow = byKey.get(key);
      if (flow === undefined || now - flow.lastAtMs > maxPauseMs) continue;
      // Two clients at one address: each has its own client_id.
      if (step.clientId !== undefined && flow.clientId !== undefined && flow.clientId !== step.clientId) continue;
      // A client that has logged in and comes back without a token starts over.
      if (isChallenge && flow.hasLogin) continue;
      return flow;
    }
    return undefined;
  };
  const startFlow = (context: InspectedRequest, step: FlowStep): Flow => {
    makeRoom();
    unbegun += 1;
    const agent = findHeader(context.exchange.headers, 'user-agent');
    return {
      id: randomUUID(),
      startedAtMs: context.startedAtMs,
      lastAtMs: context.startedAtMs,
      host: keepText(context.hostname),
      resource: step.resource ?? '',
      policy: undefined,
      flow: undefined,
      clientName: undefined,
      clientId: undefined,
      redirectHost: undefined,
      address: context.client.address,
      userAgent: agent === undefined ? undefined : keepText(agent),
      steps: [],
      omittedSteps: 0,
      acceptedRequests: 0,
      hasLogin: false,
      keys: [],
      addresses: [],
    };
  };
  const remember = (flow: Flow, keys: StepKeys, address: string): void => {
    for (const key of [...keys.strong, ...keys.weak]) {
      if (byKey.get(key) === flow) continue;
      if (flow.keys.length >= maxKeys) return;
      byKey.set(key, flow);
      flow.keys.push(key);
      if (!keys.weak.includes(key)) continue;
      flow.addresses.push(address);
      keysByAddress.set(address, (keysByAddress.get(address) ?? 0) + 1);
    }
  };

  return {
    start: () => {},
    finish(context) {
      const step = context.flowStep;
      if (step === undefined || context.exchange.method === 'OPTIONS') return;
      const outcome = judgeOutcome(context, step);
      const isAccess = step.name === 'access' && outcome === 'ok';
      if (isAccess && step.links === undefined && !keysByAddress.has(context.client.address)) return;
      const keys = listKeys(context, step);
      let flow = findFlow(step, keys, context.startedAtMs, outcome === 'challenged');
      // An allowed request with an existing token is not part of a login, and there are far too many of them.
      if (isAccess && flow === undefined) return;
      flow ??= startFlow(context, step);
      // To the end of the order.
      flows.delete(flow);
      flows.add(flow);
      flow.lastAtMs = Math.max(flow.lastAtMs, context.startedAtMs);
      if (!flow.hasLogin && (isLoginStep(step) || (step.name === 'access' && outcome !== 'challenged'))) {
        flow.hasLogin = true;
        unbegun -= 1;
      }
      flow.policy = step.policy ?? flow.policy;
      flow.flow = step.flow ?? flow.flow;
      flow.resource = step.resource ?? flow.resource;
      flow.clientId = step.clientId ?? flow.clientId;
      flow.clientName = step.clientName ?? flow.clientName;
      flow.redirectHost = step.redirectHost ?? flow.redirectHost;
      if (isAccess) {
        flow.acceptedRequests += 1;
        if (flow.steps.findLast(({ name }) => name === 'access')?.outcome === 'ok') return;
      }
      remember(flow, keys, context.client.address);
      flow.steps.push(describeStep(context, step, outcome));
      if (flow.steps.length > maxSteps) {
        // The first and the last steps matter most.
        flow.steps.splice(Math.floor(maxSteps / 2), 1);
        flow.omittedSteps += 1;
      }
    },
    list() {
      const nowMs = readNow();
      return [...flows].toReversed().map((flow) => describeFlow(flow, nowMs));
    },
  };
}

/** What a step has in common with others of its flow: surely, and perhaps. */
interface StepKeys {
  readonly strong: readonly string[];
  readonly weak: readonly string[];
}

function listKeys(request: InspectedRequest, step: FlowStep): StepKeys {
  const place = describePlace(request, step);
  // The browser of a login is not the client, but mostly on the same machine, and names the same client_id.
  const client = step.clientId === undefined ? [] : [`client ${step.clientId} ${place}`];
  return { strong: (step.links ?? []).map((link) => `link ${link}`), weak: [...client, describeAgent(request, step)] };
}

function describePlace({ client: { address }, hostname }: InspectedRequest, { resource = '' }: FlowStep): string {
  return `${address} ${hostname}${resource}`;
}

/** The client and the resource, as far as every request shows them. */
export function describeAgent(request: InspectedRequest, step: FlowStep): string {
  return `agent ${describePlace(request, step)} ${shorten(findHeader(request.exchange.headers, 'user-agent')) ?? ''}`;
}

/** From registration on somebody is logging in. */
function isLoginStep({ name }: FlowStep): boolean {
  return name !== 'access' && !discoverySteps.has(name);
}

/** What became of a step. */
export function judgeOutcome({ status, reason, exchange }: InspectedRequest, { name }: FlowStep): StepOutcome {
  if (status === 401 && findHeader(exchange.headers, 'authorization') === undefined) return 'challenged';
  // The MCP server's answer to an allowed request is not part of the login; nor is a stream that the client ended.
  if (name === 'access' && (reason === undefined || reason === 'client_disconnected')) return 'ok';
  if (status >= 500 || reason === 'client_disconnected') return 'failed';
  // A refusal can travel to the client as a redirect (RFC 6749 4.1.2.1).
  return status >= 400 || reason !== undefined ? 'refused' : 'ok';
}

function describeStep(context: InspectedRequest, step: FlowStep, outcome: StepOutcome): InspectedStep {
  const { exchange } = context;
  const detail = step.detail ?? context.detail;
  return {
    name: step.name,
    at: new Date(context.startedAtMs).toISOString(),
    milliseconds: Math.round((performance.now() - context.startedAt) * 10) / 10,
    method: keepText(exchange.method),
    path: keepText(context.path),
    status: context.status,
    outcome,
    requestId: context.requestId,
    reason: context.reason ?? null,
    detail: detail === undefined ? null : redactText(keepText(detail)),
    error: step.error ?? null,
    scope: step.scope ?? null,
    grantType: step.grantType ?? null,
    notes: (step.notes ?? []).map(redactText),
  };
}

function describeFlow(flow: Flow, nowMs: number): InspectedFlow {
  return {
    id: flow.id,
    startedAt: new Date(flow.startedAtMs).toISOString(),
    lastAt: new Date(flow.lastAtMs).toISOString(),
    ...judgeFlow(flow, nowMs),
    host: flow.host,
    resource: flow.resource === '' ? '/' : flow.resource,
    policy: flow.policy ?? null,
    flow: flow.flow ?? null,
    client: {
      name: flow.clientName ?? null,
      id: flow.clientId ?? null,
      redirectHost: flow.redirectHost ?? null,
      address: flow.address,
      userAgent: flow.userAgent ?? null,
    },
    steps: [...flow.steps],
    omittedSteps: flow.omittedSteps,
    acceptedRequests: flow.acceptedRequests,
  };
}

function shorten(text: string | undefined): string | undefined {
  return text === undefined ? undefined : cutText(text, maxText);
}

/** Cut, and never a piece of a longer text: that would keep a whole request with its credentials in memory. */
function keepText(text: string): string {
  return text.length > maxText ? cutText(text, maxText) : copyText(text);
}
