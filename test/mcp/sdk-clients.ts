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
}

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
  /** Ends the session with DELETE. */
  terminateSession(): Promise<void>;
  close(): Promise<void>;
}

/** What only the SDKs for TypeScript are told. */
interface SdkConnectOptions extends ConnectOptions {
  /** An access token that the person has already. */
  readonly token?: string;
}

/** One of the SDKs for TypeScript, which can also say what they want to hear of. */
export interface SdkClient extends DrivenClient {
  /** How often the server said that its tools have changed. SDK v2 hears of it where it speaks a version with sessions. */
  readonly toolChanges: number;
  /** The servers that the list of tools names as missing. */
  listMissing(): Promise<readonly string[]>;
  /** The resources that changed, as the server said. */
  readonly updated: readonly string[];
  setLogLevel(level: 'debug' | 'info' | 'warning' | 'error'): Promise<void>;
  subscribe(uri: string): Promise<void>;
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
  connect(options: SdkConnectOptions): Promise<SdkClient>;
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

function carry(token: string | undefined): { requestInit?: RequestInit } {
  return token === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${token}` } } };
}

function readMissing({ _meta: meta }: { _meta?: Readonly<Record<string, unknown>> | undefined }): readonly string[] {
  return (meta?.['gateway.proxy/unavailable'] ?? []) as readonly string[];
}

/** SDK v1: `@modelcontextprotocol/sdk`. */
export const sdkV1: SdkLibrary = {
  name: 'SDK v1',
  stateless: false,
  async connect({ url, legacySse, modelName = 'model', person = defaultPerson, beforeResume, token }) {
    const wire = new WireTap(beforeResume);
    const sampled: string[] = [];
    const elicited: string[] = [];
    const logged: unknown[] = [];
    const client = new ClientV1(identity, { capabilities });
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
    let toolChanges = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (toolChanges += 1));
    const updated: string[] = [];
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri));
    const transport =
      legacySse === true
        ? new SseV1(new URL(url), { fetch: wire.fetch, ...carry(token) })
        : new HttpV1(new URL(url), { fetch: wire.fetch, reconnectionOptions, ...carry(token) });
    await client.connect(transport);
    return {
      wire,
      sampled,
      elicited,
      logged,
      updated,
      get toolChanges() {
        return toolChanges;
      },
      serverName: client.getServerVersion()?.name ?? '',
      protocolVersion: (transport instanceof HttpV1 ? transport.protocolVersion : undefined) ?? '',
      sessionId: transport instanceof HttpV1 ? transport.sessionId : undefined,
      listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
      listMissing: async () => readMissing(await client.listTools()),
      async callTool(name, args, onProgress) {
        const options =
          onProgress === undefined ? {} : { onprogress: (p: { progress: number }) => onProgress(p.progress) };
        const { content } = await client.callTool({ name, arguments: args }, undefined, options);
        return joinText(content);
      },
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
    async connect({ url, legacySse, modelName = 'model', person = defaultPerson, beforeResume, token }) {
      const wire = new WireTap(beforeResume);
      const sampled: string[] = [];
      const elicited: string[] = [];
      const logged: unknown[] = [];
      const client = new ClientV2(identity, { capabilities, versionNegotiation: { mode } });
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
      let toolChanges = 0;
      client.setNotificationHandler('notifications/tools/list_changed', () => void (toolChanges += 1));
      const updated: string[] = [];
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => void updated.push(params.uri));
      const transport =
        legacySse === true
          ? new SseV2(new URL(url), { fetch: wire.fetch, ...carry(token) })
          : new HttpV2(new URL(url), { fetch: wire.fetch, reconnectionOptions, ...carry(token) });
      await client.connect(transport);
      return {
        wire,
        sampled,
        elicited,
        logged,
        updated,
        get toolChanges() {
          return toolChanges;
        },
        serverName: client.getServerVersion()?.name ?? '',
        protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
        sessionId: transport instanceof HttpV2 ? transport.sessionId : undefined,
        listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
        listMissing: async () => readMissing(await client.listTools()),
        async callTool(tool, args, onProgress) {
          const options =
            onProgress === undefined ? {} : { onprogress: (p: { progress: number }) => onProgress(p.progress) };
          const { content } = await client.callTool({ name: tool, arguments: args }, options);
          return joinText(content);
        },
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
