// A target of a federation as its callers have it: connected to a server on loopback, and asked in the name of a client of either era.

import { randomUUID } from 'node:crypto';
import { type Log, silentLog } from '../../src/base/log.ts';
import type { BackendConfig } from '../../src/gateway/config/runtime-config.ts';
import { Upstreams } from '../../src/gateway/forward/upstream/upstreams.ts';
import { connectTarget } from '../../src/gateway/mcp/federation/connect-target.ts';
import { WishTable } from '../../src/gateway/mcp/federation/session-wishes.ts';
import type {
  Speaker,
  Target,
  TargetCall,
  TargetFailure,
  TargetMessage,
  TargetSession,
} from '../../src/gateway/mcp/federation/target.ts';

export interface ConnectedFixture {
  readonly target: Target;
  /** Other endpoints, as after a change of the configuration. */
  move(ports: readonly number[]): void;
  close(): Promise<void>;
}

export interface TargetPlace {
  readonly ports: readonly number[];
  readonly path?: string;
  readonly transport?: 'streamable-http' | 'sse';
  readonly backend?: Partial<BackendConfig>;
  readonly introductionMs?: number;
  readonly clock?: () => number;
  readonly log?: Log;
}

/** Connects to servers on these ports of loopback. */
export function connectTo({
  ports,
  path = '/mcp',
  transport = 'streamable-http',
  backend = {},
  introductionMs = 5_000,
  clock = () => performance.now(),
  log = silentLog,
}: TargetPlace): ConnectedFixture {
  const config: BackendConfig = {
    key: 'federation/targets/one',
    fingerprint: '1',
    endpoints: ports.map((port) => ({ host: '127.0.0.1', port })),
    tls: undefined,
    protocol: 'http1',
    connectTimeoutMs: 10_000,
    requestTimeoutMs: 0,
    idleTimeoutMs: 0,
    hostHeader: '',
    mcp: { target: 'one', path, transport, sessionRouting: 'stateful' },
    picker: undefined,
    ...backend,
  };
  const upstreams = new Upstreams();
  upstreams.reconcile(new Map([[config.key, config]]));
  const target = connectTarget({
    config: {
      name: 'one',
      prefix: 'one',
      failsClosed: false,
      backend: config,
      selects: { tool: () => true, prompt: () => true, resource: () => true },
    },
    findBackend: () => upstreams.get(config.key),
    log,
    introductionMs,
    clock,
  });
  return {
    target,
    move(moved) {
      const endpoints = moved.map((port) => ({ host: '127.0.0.1', port }));
      upstreams.reconcile(new Map([[config.key, { ...config, fingerprint: moved.join(' '), endpoints }]]));
    },
    async close() {
      target.close();
      upstreams.destroy();
      await upstreams.close();
    },
  };
}

/** A client of either era. */
export function speakAs(era: Speaker['era'], changes: Partial<Speaker> = {}): Speaker {
  const sessions = new Map<string, TargetSession>();
  return {
    era,
    version: era === 'modern' ? '2026-07-28' : '2025-11-25',
    clientInfo: '{"name":"test","version":"1"}',
    capabilities: '{"sampling":{},"elicitation":{"form":{}}}',
    headers: ['x-caller', 'test'],
    host: '127.0.0.1',
    owner: 'somebody',
    sessions:
      era === 'modern'
        ? undefined
        : {
            name: randomUUID(),
            wishes: new WishTable({ isEnded: () => false }),
            get: (name) => sessions.get(name),
            set(name, session) {
              if (session === undefined) sessions.delete(name);
              else sessions.set(name, session);
            },
          },
    ...changes,
  };
}

/** An answer, as far as tests look at it. */
export interface RpcAnswer {
  readonly id?: string | number;
  readonly result?: {
    readonly [key: string]: unknown;
    readonly tools?: readonly { readonly name: string }[];
    readonly contents?: readonly { readonly uri: string; readonly text?: string }[];
    readonly content?: readonly { readonly text: string }[];
  };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** What came of a call. */
export interface Outcome {
  readonly messages: readonly TargetMessage[];
  /** The last one, parsed. */
  readonly answer: RpcAnswer | undefined;
  readonly failure: TargetFailure | undefined;
}

/** A call that runs. */
export interface RunningAsk {
  readonly call: TargetCall;
  readonly messages: TargetMessage[];
  readonly done: Promise<Outcome>;
}

let lastId = 0;

/** The text of a request. */
export function writeRequest(speaker: Speaker, method: string, params: object, id: string | number): string {
  const { _meta: meta = {}, ...rest } = params as { _meta?: object };
  const envelope =
    speaker.era === 'legacy'
      ? {}
      : {
          'io.modelcontextprotocol/protocolVersion': speaker.version,
          'io.modelcontextprotocol/clientInfo': JSON.parse(speaker.clientInfo!) as unknown,
          'io.modelcontextprotocol/clientCapabilities': JSON.parse(speaker.capabilities) as unknown,
        };
  return JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...rest, _meta: { ...envelope, ...meta } } });
}

/** Sends a request and collects what comes. */
export function startAsk(
  target: Target,
  speaker: Speaker,
  method: string,
  params: object = {},
  options: { readonly id?: string | number; readonly takes?: () => boolean } = {},
): RunningAsk {
  lastId += 1;
  const { id = `ask-${lastId}`, takes = () => true } = options;
  const text = writeRequest(speaker, method, params, id);
  const message = {
    kind: 'request' as const,
    id,
    method,
    params: (JSON.parse(text) as { params: Record<string, unknown> }).params,
  };
  const messages: TargetMessage[] = [];
  const { promise: done, resolve } = Promise.withResolvers<Outcome>();
  const finish = (failure: TargetFailure | undefined): void => {
    const last = messages.at(-1);
    const answer = last?.kind === 'response' ? (JSON.parse(last.text) as RpcAnswer) : undefined;
    resolve({ messages, answer, failure });
  };
  const call = target.request(
    speaker,
    { text, message, parameterHeaders: [] },
    {
      onMessage(received) {
        messages.push(received);
        return takes();
      },
      onEnd: () => finish(undefined),
      onFailure: finish,
    },
  );
  return { call, messages, done };
}

/** Sends a request and waits for its end. */
export function ask(target: Target, speaker: Speaker, method: string, params: object = {}): Promise<Outcome> {
  return startAsk(target, speaker, method, params).done;
}

/** The text of the first content of a tool's result. */
export function readText({ answer, failure }: Outcome): string {
  return answer?.result?.content?.[0]?.text ?? JSON.stringify(failure ?? answer);
}

/** Listens, and collects what comes. */
export function startListening(
  target: Target,
  speaker: Speaker,
  uris: readonly string[] = [],
  tasks: readonly string[] = [],
  lists = true,
): RunningAsk {
  const messages: TargetMessage[] = [];
  const { promise: done, resolve } = Promise.withResolvers<Outcome>();
  const finish = (failure?: TargetFailure): void => resolve({ messages, answer: undefined, failure });
  const call = target.listen(
    speaker,
    { tools: lists, prompts: lists, resources: lists, uris, tasks },
    {
      onMessage(received) {
        messages.push(received);
        return true;
      },
      onEnd: () => finish(),
      onFailure: finish,
    },
  );
  return { call, messages, done };
}
