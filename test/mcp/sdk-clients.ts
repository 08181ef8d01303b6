// Real MCP clients, SDK v1 and SDK v2, behind one small interface, so that one test can drive both.
import {
  Client as ClientV2,
  SSEClientTransport as SseV2,
  StreamableHTTPClientTransport as HttpV2,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { type ResumeGate, type Wire, WireTap } from './wire-tap.ts';

/** How to reach a server. */
export interface ConnectOptions {
  readonly url: string;
  /** The legacy HTTP+SSE transport instead of Streamable HTTP. */
  readonly legacySse?: boolean;
  /** What the client's model answers with; tells clients apart. */
  readonly modelName?: string;
  /** What the client's person fills in. */
  readonly person?: Record<string, string | number | boolean>;
  /** Holds back the resumption of a stream. */
  readonly beforeResume?: ResumeGate;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** URIs of folders that servers may ask for; default: the client has no such thing. */
  readonly roots?: readonly string[];
}

/** What libraries have a method for, beside lists and calls of tools. */
export type AskedMethod =
  | 'ping'
  | 'tools/list'
  | 'prompts/list'
  | 'prompts/get'
  | 'resources/list'
  | 'resources/templates/list'
  | 'resources/read'
  | 'completion/complete'
  | 'logging/setLevel';

export interface CallOptions {
  readonly onProgress?: (progress: number) => void;
  /** Gives the call up. */
  readonly signal?: AbortSignal;
}

/** A result as the library gives it. */
export type Answer = Readonly<Record<string, unknown>>;

/** A connected client. */
export interface DrivenClient {
  readonly serverName: string;
  readonly protocolVersion: string;
  readonly sessionId: string | undefined;
  readonly wire: Wire;
  /** What the server asked the model, in order. */
  readonly sampled: readonly string[];
  /** What the server asked the person, in order. */
  readonly elicited: readonly string[];
  /** The log messages that the server sent. */
  readonly logged: readonly unknown[];
  listTools(): Promise<string[]>;
  /** Calls a tool and returns the text of its answer. */
  callTool(name: string, args: Record<string, unknown>, onProgress?: (progress: number) => void): Promise<string>;
  /** Calls a tool and returns all of its answer. */
  callFully(name: string, args: Record<string, unknown>, options?: CallOptions): Promise<Answer>;
  /** Asks with the library's own method for it. */
  ask(method: AskedMethod, params?: Record<string, unknown>): Promise<Answer>;
  /** The resources that changed, as the server said. */
  readonly updated: readonly string[];
  /** The kinds of lists that changed, as the server said: `tools`. */
  readonly changed: readonly string[];
  /** Wants to hear when the resource changes; with 2026-07-28 with a stream for it. */
  subscribe(uri: string): Promise<void>;
  /** Wants to hear when the list of tools changes; up to 2025-11-25 clients do not have to say so. */
  watchTools(): Promise<void>;
  /** Ends the session with DELETE. */
  terminateSession(): Promise<void>;
  close(): Promise<void>;
}

/** One of the SDKs for TypeScript. */
export interface SdkClient extends DrivenClient {
  /** The servers that the list of tools names as missing. */
  listMissing(): Promise<readonly string[]>;
  setLogLevel(level: 'debug' | 'info' | 'warning' | 'error'): Promise<void>;
  unsubscribe(uri: string): Promise<void>;
}

/** A client library. */
export interface ClientLibrary {
  readonly name: string;
  /** Speaks protocol version 2026-07-28, which has no sessions. */
  readonly stateless: boolean;
  connect(options: ConnectOptions): Promise<DrivenClient>;
}

interface SdkLibrary extends ClientLibrary {
  connect(options: ConnectOptions): Promise<SdkClient>;
}

const identity = { name: 'mcp-gatehouse-test', version: '1.0.0' };
const capabilities = { sampling: {}, elicitation: {} };
// Resuming starts at once and is tried often: what a test waits for is the stream, not the delay.
const reconnectionOptions = {
  initialReconnectionDelay: 10,
  maxReconnectionDelay: 50,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 1_000,
};
const defaultPerson = { name: 'Ada', attending: true };

/** Folders are named after the last part of their URI. */
function describeRoots(roots: readonly string[]): { uri: string; name: string }[] {
  return roots.map((uri) => ({ uri, name: uri.split('/').at(-1) ?? '' }));
}

/** A library that is asked for what it has no method for would be a mistake of the test. */
type Asking = Readonly<Record<AskedMethod, (params: never) => Promise<object>>>;

async function askWith(methods: Asking, method: AskedMethod, params: Record<string, unknown> = {}): Promise<Answer> {
  return { ...(await methods[method](params as never)) };
}

function describeCall({ onProgress, signal }: CallOptions): {
  onprogress?: (progress: { progress: number }) => void;
  signal?: AbortSignal;
} {
  return {
    ...(onProgress !== undefined && { onprogress: ({ progress }) => onProgress(progress) }),
    ...(signal !== undefined && { signal }),
  };
}

interface ContentBlock {
  readonly type: string;
  readonly text?: string;
}

function joinText(content: unknown): string {
  return (content as ContentBlock[]).map((block) => block.text ?? `[${block.type}]`).join('\n');
}

function readQuestion(content: unknown): string {
  const block = (Array.isArray(content) ? content[0] : content) as ContentBlock | undefined;
  return block?.text ?? '';
}

function readMissing({ _meta: meta }: { _meta?: Readonly<Record<string, unknown>> | undefined }): readonly string[] {
  return (meta?.['gateway.proxy/unavailable'] ?? []) as readonly string[];
}

/** SDK v1: `@modelcontextprotocol/sdk`. */
export const sdkV1: SdkLibrary = {
  name: 'SDK v1',
  stateless: false,
  async connect({ url, legacySse, modelName = 'model', person = defaultPerson, beforeResume, headers = {}, roots }) {
    const wire = new WireTap(beforeResume);
    const sampled: string[] = [];
    const elicited: string[] = [];
    const logged: unknown[] = [];
    const client = new ClientV1(identity, {
      capabilities: { ...capabilities, ...(roots !== undefined && { roots: {} }) },
    });
    if (roots !== undefined) client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: describeRoots(roots) }));
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
      const question = readQuestion(params.messages[0]?.content);
      sampled.push(question);
      return { role: 'assistant', model: modelName, content: { type: 'text', text: `the answer to "${question}"` } };
    });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      elicited.push(params.message);
      return { action: 'accept', content: person };
    });
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params.data));
    const updated: string[] = [];
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri));
    const changed: string[] = [];
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changed.push('tools'));
    const asking: Asking = {
      ping: () => client.ping(),
      'tools/list': (params) => client.listTools(params),
      'prompts/list': (params) => client.listPrompts(params),
      'prompts/get': (params) => client.getPrompt(params),
      'resources/list': (params) => client.listResources(params),
      'resources/templates/list': (params) => client.listResourceTemplates(params),
      'resources/read': (params) => client.readResource(params),
      'completion/complete': (params) => client.complete(params),
      'logging/setLevel': ({ level }) => client.setLoggingLevel(level),
    };
    const requestInit = { headers };
    const transport =
      legacySse === true
        ? new SseV1(new URL(url), { fetch: wire.fetch, requestInit })
        : new HttpV1(new URL(url), { fetch: wire.fetch, reconnectionOptions, requestInit });
    await client.connect(transport);
    return {
      wire,
      sampled,
      elicited,
      logged,
      updated,
      serverName: client.getServerVersion()?.name ?? '',
      protocolVersion: (transport instanceof HttpV1 ? transport.protocolVersion : undefined) ?? '',
      sessionId: transport instanceof HttpV1 ? transport.sessionId : undefined,
      listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
      listMissing: async () => readMissing(await client.listTools()),
      async callTool(name, args, onProgress) {
        const options = describeCall(onProgress === undefined ? {} : { onProgress });
        const { content } = await client.callTool({ name, arguments: args }, undefined, options);
        return joinText(content);
      },
      callFully: (name, args, options = {}) =>
        client.callTool({ name, arguments: args }, undefined, describeCall(options)),
      ask: (method, params) => askWith(asking, method, params),
      watchTools: () => Promise.resolve(),
      changed,
      async setLogLevel(level) {
        await client.setLoggingLevel(level);
      },
      async subscribe(uri) {
        await client.subscribeResource({ uri });
      },
      async unsubscribe(uri) {
        await client.unsubscribeResource({ uri });
      },
      async terminateSession() {
        if (transport instanceof HttpV1) await transport.terminateSession();
      },
      close: () => client.close(),
    };
  },
};

function createSdkV2(name: string, mode: 'legacy' | { pin: string }): SdkLibrary {
  return {
    name,
    stateless: mode !== 'legacy',
    async connect({ url, legacySse, modelName = 'model', person = defaultPerson, beforeResume, headers = {}, roots }) {
      const wire = new WireTap(beforeResume);
      const sampled: string[] = [];
      const elicited: string[] = [];
      const logged: unknown[] = [];
      const client = new ClientV2(identity, {
        capabilities: { ...capabilities, ...(roots !== undefined && { roots: {} }) },
        versionNegotiation: { mode },
      });
      if (roots !== undefined) client.setRequestHandler('roots/list', () => ({ roots: describeRoots(roots) }));
      client.setRequestHandler('sampling/createMessage', ({ params }) => {
        const question = readQuestion(params.messages[0]?.content);
        sampled.push(question);
        return { role: 'assistant', model: modelName, content: { type: 'text', text: `the answer to "${question}"` } };
      });
      client.setRequestHandler('elicitation/create', ({ params }) => {
        elicited.push(params.message);
        return { action: 'accept', content: person };
      });
      client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params.data));
      const updated: string[] = [];
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => void updated.push(params.uri));
      const changed: string[] = [];
      client.setNotificationHandler('notifications/tools/list_changed', () => void changed.push('tools'));
      // What the library has kept would hide what the server says now.
      const fresh = { cacheMode: 'refresh' } as const;
      const asking: Asking = {
        ping: () => client.ping(),
        'tools/list': (params) => client.listTools(params, fresh),
        'prompts/list': (params) => client.listPrompts(params, fresh),
        'prompts/get': (params) => client.getPrompt(params),
        'resources/list': (params) => client.listResources(params, fresh),
        'resources/templates/list': (params) => client.listResourceTemplates(params, fresh),
        'resources/read': (params) => client.readResource(params, fresh),
        'completion/complete': (params) => client.complete(params),
        'logging/setLevel': ({ level }) => client.setLoggingLevel(level),
      };
      const requestInit = { headers };
      const transport =
        legacySse === true
          ? new SseV2(new URL(url), { fetch: wire.fetch, requestInit })
          : new HttpV2(new URL(url), { fetch: wire.fetch, reconnectionOptions, requestInit });
      await client.connect(transport);
      return {
        wire,
        sampled,
        elicited,
        logged,
        updated,
        serverName: client.getServerVersion()?.name ?? '',
        protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
        sessionId: transport instanceof HttpV2 ? transport.sessionId : undefined,
        listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
        listMissing: async () => readMissing(await client.listTools()),
        async callTool(tool, args, onProgress) {
          const options = describeCall(onProgress === undefined ? {} : { onProgress });
          const { content } = await client.callTool({ name: tool, arguments: args }, options);
          return joinText(content);
        },
        callFully: (tool, args, options = {}) =>
          client.callTool({ name: tool, arguments: args }, describeCall(options)),
        ask: (method, params) => askWith(asking, method, params),
        async watchTools() {
          if (mode !== 'legacy') await client.listen({ toolsListChanged: true });
        },
        changed,
        async setLogLevel(level) {
          await client.setLoggingLevel(level);
        },
        async subscribe(uri) {
          if (mode === 'legacy') await client.subscribeResource({ uri });
          else await client.listen({ resourceSubscriptions: [uri] });
        },
        async unsubscribe(uri) {
          await client.unsubscribeResource({ uri });
        },
        async terminateSession() {
          if (transport instanceof HttpV2) await transport.terminateSession();
        },
        close: () => client.close(),
      };
    },
  };
}

/** SDK v2 with the initialize handshake and sessions (protocol versions up to 2025-11-25). */
export const sdkV2 = createSdkV2('SDK v2', 'legacy');

/** SDK v2 with self-contained requests (protocol version 2026-07-28). */
export const sdkV2Stateless = createSdkV2('SDK v2, 2026-07-28', { pin: '2026-07-28' });
