// A federation of fake targets, and requests of clients to it, without sockets.
import type { Log } from '../../../../base/log.ts';
import type { FederationConfig, FederationTarget } from '../../../config/federation-config.ts';
import { formatTargetKey } from '../../../config/federation-config.ts';
import type { BackendConfig, RuntimeConfig } from '../../../config/runtime-config.ts';
import { createContext, createToken } from '../../../authentication/testing/auth-fixture.ts';
import type { UpstreamEvents } from '../../../forward/upstream/upstream-call.ts';
import type { RequestContext } from '../../../request/request-context.ts';
import { parseBody } from '../../read/parse-message.ts';
import { Federations } from '../federations.ts';
import { createFederatedCall } from '../methods/load-federated-call.ts';
import { type FakeBehaviour, FakeTarget } from './fake-target.ts';

const backend = 'ProxyBackend/default/all';
const silent: Log = {
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
  isEnabled: () => false,
  child: () => silent,
};

/** One request of a client, and its answer so far. */
export interface Talk {
  readonly context: RequestContext;
  status: number;
  headers: readonly string[];
  body: string;
  isOver: boolean;
  error: Error | undefined;
  /** The client takes no more. */
  isPaused: boolean;
  resume(): void;
  leave(): void;
  /** When the answer is over. */
  readonly done: Promise<Talk>;
  /** The data of all events so far. */
  readonly events: readonly Record<string, unknown>[];
  /** The ids of all events so far, in order. */
  readonly eventIds: readonly string[];
  readonly json: Record<string, unknown>;
}

export interface TalkRequest {
  readonly method?: string;
  readonly headers?: readonly string[];
  /** JSON, or a text. */
  readonly body?: unknown;
  /** Undefined: nobody knows who it is. */
  readonly user?: string;
  /** Default: what clients accept. */
  readonly accept?: string;
}

export interface FederationFixture {
  readonly federations: Federations;
  readonly targets: Readonly<Record<string, FakeTarget>>;
  readonly talk: (request: TalkRequest) => Talk;
  /** Begins a legacy session, and gives its id. */
  readonly initialize: (user?: string, version?: string) => Promise<string>;
  /** A request in a session. */
  readonly ask: (session: string, method: string, params?: object, user?: string) => Talk;
  /** A request of 2026-07-28. */
  readonly askModern: (method: string, params?: Record<string, unknown>, user?: string) => Talk;
  readonly reconfigure: (change: (config: FederationConfig) => FederationConfig) => void;
}

const all = (): boolean => true;

/** Targets by name, which is their prefix as well. */
export function createFederation(
  behaviours: Readonly<Record<string, FakeBehaviour>>,
  options: {
    readonly keys?: readonly Uint8Array[];
    readonly config?: Partial<FederationConfig>;
    readonly failsClosed?: readonly string[];
  } = {},
): FederationFixture {
  const targets: Record<string, FakeTarget> = {};
  const federations = new Federations({
    log: silent,
    findBackend: () => undefined,
    connect: (config) => (targets[config.name] = new FakeTarget(config, behaviours[config.name] ?? {})),
  });
  let config: FederationConfig = {
    targets: Object.keys(behaviours).map((name) => createTarget(name, options.failsClosed?.includes(name) === true)),
    naming: 'always',
    serverInfo: { name: 'all', title: undefined, version: '1.0.0', instructions: undefined },
    ...options.config,
  };
  let version = 0;
  const apply = (): void => {
    version += 1;
    const whole = { key: backend, fingerprint: String(version), federation: config } as unknown as BackendConfig;
    const runtime: Pick<RuntimeConfig, 'backends' | 'sealKeys'> = {
      backends: new Map([[backend, whole]]),
      sealKeys: options.keys ?? [],
    };
    federations.reconcile(runtime);
  };
  apply();
  const fixture: FederationFixture = {
    federations,
    targets,
    talk: (request) => talk(federations, config, request),
    async initialize(user, protocolVersion = '2025-11-25') {
      const params = { protocolVersion, capabilities: { roots: {} }, clientInfo: { name: 'c', version: '1' } };
      const body = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
      const { headers } = await fixture.talk({ body, ...(user !== undefined && { user }) }).done;
      return headers[headers.indexOf('mcp-session-id') + 1]!;
    },
    ask: (session, method, params = {}, user) =>
      fixture.talk({
        headers: ['Mcp-Session-Id', session],
        body: { jsonrpc: '2.0', id: 1, method, params },
        ...(user !== undefined && { user }),
      }),
    askModern(method, params = {}, user) {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      return fixture.talk({
        headers: ['MCP-Protocol-Version', '2026-07-28', 'Mcp-Method', method],
        body: {
          jsonrpc: '2.0',
          id: 1,
          method,
          params: { ...params, _meta: { ...meta, ...(params['_meta'] as object) } },
        },
        ...(user !== undefined && { user }),
      });
    },
    reconfigure(change) {
      config = change(config);
      apply();
    },
  };
  return fixture;
}

/** A target of a configuration. */
export function createTarget(name: string, failsClosed = false): FederationTarget {
  const key = formatTargetKey(backend, name);
  return {
    name,
    prefix: name,
    failsClosed,
    backend: { key, fingerprint: name, connectTimeoutMs: 1_000 } as unknown as BackendConfig,
    selects: { tool: all, prompt: all, resource: all },
  };
}

function talk(federations: Federations, config: FederationConfig, request: TalkRequest): Talk {
  const { method = request.body === undefined ? 'GET' : 'POST', user } = request;
  const { accept = method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream' } = request;
  const headers = ['Accept', accept, ...(request.headers ?? [])];
  const { context } = createContext({ method, headers });
  if (user !== undefined) context.caller = createToken({ subject: user });
  const { promise: done, resolve } = Promise.withResolvers<Talk>();
  const state: Talk = {
    context,
    status: 0,
    headers: [],
    body: '',
    isOver: false,
    error: undefined,
    isPaused: false,
    resume() {
      state.isPaused = false;
      call.resume();
    },
    leave: () => call.abort(),
    done,
    get events() {
      const datas = state.body.split('\n\n').flatMap((event) => /^data: (.+)$/m.exec(event)?.[1] ?? []);
      return datas.map((data) => JSON.parse(data) as Record<string, unknown>);
    },
    get eventIds() {
      return Array.from(state.body.matchAll(/^id: (.*)$/gm), ([, id]) => id!);
    },
    get json() {
      return JSON.parse(state.body) as Record<string, unknown>;
    },
  };
  const end = (): void => {
    state.isOver = true;
    resolve(state);
  };
  const events: UpstreamEvents = {
    onStart() {},
    onInformational() {},
    onHead: (status, received) => Object.assign(state, { status, headers: received }),
    onData(chunk) {
      state.body += Buffer.from(chunk).toString();
      return !state.isPaused;
    },
    onEnd: end,
    onUpgrade() {},
    onBodyDrain() {},
    onBodyRefused() {},
    onError(error) {
      state.error = error;
      end();
    },
  };
  const text = typeof request.body === 'string' ? request.body : JSON.stringify(request.body);
  const read = request.body === undefined ? undefined : parseBody(Buffer.from(text), new Map());
  if (read?.ok === false) throw new Error(`the test ${read.problem}`);
  const call = createFederatedCall(
    { federations, backend, config, context, method, headers, host: 'gateway', events, log: silent },
    read,
  );
  call.start();
  return state;
}
