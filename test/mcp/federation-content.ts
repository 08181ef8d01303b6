// What a server of federation-servers.ts has: tools, prompts and resources as data, served by SDK v1 or SDK v2.
import { Server as ServerV1 } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport as TransportV1 } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

type JsonObject = Record<string, unknown>;
type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/** What a tool can do while it runs. */
export interface ToolContext {
  readonly server: string;
  readonly era: 'legacy' | 'modern';
  readonly sessionId: string | undefined;
  /** `_meta` of the request. */
  readonly meta: JsonObject;
  /** Answers to `inputRequests`; modern only. */
  readonly params: JsonObject;
  readonly signal: AbortSignal;
  notify(method: string, params: JsonObject): Promise<void>;
  /** Reports progress where the client asked for it. */
  progress(progress: number, total: number): Promise<void>;
  /** Says something in the log, on the stream of the call, where the client wants to hear of this level. */
  readonly log: (level: LogLevel, data: unknown) => Promise<void>;
  /** Asks the client; legacy only. */
  ask(method: string, params: JsonObject): Promise<unknown>;
  /** Closes the stream of the call, to be asked for the rest; only of servers whose events have ids. */
  closeStream(): void;
}

/** A tool: all members of its description, and what it answers. */
export interface FederationTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly _meta?: JsonObject;
  /** Default: a text with the server, the tool and the arguments. */
  readonly run?: (args: JsonObject, context: ToolContext) => JsonObject | Promise<JsonObject>;
}

export interface FederationContent {
  /** The name that the server gives itself. */
  readonly name: string;
  readonly instructions?: string;
  /** Default: one tool `where`. */
  readonly tools?: readonly FederationTool[];
  readonly prompts?: readonly { readonly name: string; readonly description?: string }[];
  readonly resources?: readonly { readonly uri: string; readonly name: string; readonly text?: string }[];
  readonly templates?: readonly { readonly uriTemplate: string; readonly name: string }[];
  /** Items on a page of a list; default: all. */
  readonly pageSize?: number;
  /** Of the lists; modern only. */
  readonly ttlMs?: number;
  readonly cacheScope?: 'public' | 'private';
  /** In place of those that follow from the content. */
  readonly capabilities?: JsonObject;
}

/** One session of a legacy client. */
export interface LegacyPeer {
  readonly subscriptions: ReadonlySet<string>;
  connect(transport: TransportV1): Promise<void>;
  setContent(content: FederationContent): void;
  notify(method: string, params: JsonObject): Promise<void>;
  ask(method: string, params: JsonObject): Promise<unknown>;
  close(): Promise<void>;
}

const logLevels: readonly LogLevel[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];
const defaultTools: readonly FederationTool[] = [{ name: 'where', description: 'Names its server.' }];
const anyObject: JsonObject = { type: 'object' };
const anyResult = z.looseObject({});

const schemasV1: Readonly<Record<string, readonly RequestSchemaV1[]>> = {
  tools: [ListToolsRequestSchema],
  prompts: [ListPromptsRequestSchema, GetPromptRequestSchema],
  completions: [CompleteRequestSchema],
  resources: [
    ListResourcesRequestSchema,
    ListResourceTemplatesRequestSchema,
    ReadResourceRequestSchema,
    SubscribeRequestSchema,
    UnsubscribeRequestSchema,
  ],
};

type RequestSchemaV1 =
  | typeof ListToolsRequestSchema
  | typeof ListPromptsRequestSchema
  | typeof GetPromptRequestSchema
  | typeof CompleteRequestSchema
  | typeof ListResourcesRequestSchema
  | typeof ListResourceTemplatesRequestSchema
  | typeof ReadResourceRequestSchema
  | typeof SubscribeRequestSchema
  | typeof UnsubscribeRequestSchema;

const methodsV2: Readonly<Record<string, readonly RequestMethodV2[]>> = {
  tools: ['tools/list'],
  prompts: ['prompts/list', 'prompts/get'],
  completions: ['completion/complete'],
  resources: [
    'resources/list',
    'resources/templates/list',
    'resources/read',
    'resources/subscribe',
    'resources/unsubscribe',
  ],
};

type RequestMethodV2 =
  | 'tools/list'
  | 'prompts/list'
  | 'prompts/get'
  | 'completion/complete'
  | 'resources/list'
  | 'resources/templates/list'
  | 'resources/read'
  | 'resources/subscribe'
  | 'resources/unsubscribe';

/** A server on SDK v1. */
export function createServerV1(first: FederationContent): LegacyPeer {
  let content = first;
  const subscriptions = new Set<string>();
  const server = new ServerV1(describe(content), { capabilities: chooseCapabilities(content), ...instruct(content) });
  let logLevel: LogLevel = 'debug';
  if ('logging' in chooseCapabilities(content))
    server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
      logLevel = params.level;
      return {};
    });
  // The SDK refuses handlers for what is not advertised.
  for (const capability of Object.keys(chooseCapabilities(content)))
    for (const schema of schemasV1[capability] ?? [])
      server.setRequestHandler(schema, (request) =>
        answerRequest(content, request.method, request.params ?? {}, subscriptions, 'legacy'),
      );
  server.setRequestHandler(CallToolRequestSchema, (request, extra) =>
    runTool(content, request.params, {
      era: 'legacy',
      sessionId: extra.sessionId,
      signal: extra.signal,
      notify: (method, params) => extra.sendNotification({ method, params }),
      async log(level, data) {
        if (logLevels.indexOf(level) < logLevels.indexOf(logLevel)) return;
        await extra.sendNotification({ method: 'notifications/message', params: { level, data } });
      },
      ask: (method, params) => extra.sendRequest({ method, params }, anyResult),
      closeStream: () => extra.closeSSEStream?.(),
    }),
  );
  return {
    subscriptions,
    connect: (transport) => server.connect(transport),
    setContent: (next) => void (content = next),
    notify: (method, params) => server.notification({ method, params }),
    ask: (method, params) => server.request({ method, params }, anyResult),
    close: () => server.close(),
  };
}

/** A server on SDK v2, for one session or for one request of 2026-07-28. */
export function createServerV2(
  first: FederationContent,
  era: 'legacy' | 'modern',
): { readonly server: McpServer; readonly peer: LegacyPeer } {
  let content = first;
  const subscriptions = new Set<string>();
  const mcp = new McpServer(describe(content), { capabilities: chooseCapabilities(content), ...instruct(content) });
  const { server } = mcp;
  for (const capability of Object.keys(chooseCapabilities(content)))
    for (const method of methodsV2[capability] ?? [])
      server.setRequestHandler(
        method,
        ({ params }) => answerRequest(content, method, (params ?? {}) as JsonObject, subscriptions, era) as never,
      );
  server.setRequestHandler(
    'tools/call',
    (request, context) =>
      runTool(content, request.params as JsonObject, {
        era,
        sessionId: context.sessionId,
        signal: context.mcpReq.signal,
        given: context.mcpReq,
        notify: (method, params) => context.mcpReq.notify({ method, params }),
        log: (level, data) => context.mcpReq.log(level, data),
        ask: (method, params) => context.mcpReq.send({ method, params }, anyResult as never),
        closeStream: () => context.http?.closeSSE?.(),
      }) as never,
  );
  const peer: LegacyPeer = {
    subscriptions,
    connect: (transport) => server.connect(transport),
    setContent: (next) => void (content = next),
    notify: (method, params) => server.notification({ method, params }),
    ask: (method, params) => server.request({ method, params }, anyResult as never),
    close: () => mcp.close(),
  };
  return { server: mcp, peer };
}

function describe({ name }: FederationContent): { name: string; version: string } {
  return { name, version: '1.0.0' };
}

function instruct({ instructions }: FederationContent): { instructions?: string } {
  return instructions === undefined ? {} : { instructions };
}

function chooseCapabilities(content: FederationContent): JsonObject {
  const { prompts, resources, templates, capabilities } = content;
  if (capabilities !== undefined) return capabilities;
  const hasResources = resources !== undefined || templates !== undefined;
  return {
    tools: { listChanged: true },
    ...(prompts === undefined ? {} : { prompts: { listChanged: true }, completions: {} }),
    ...(hasResources ? { resources: { listChanged: true, subscribe: true } } : {}),
    logging: {},
  };
}

interface RunParts extends Pick<
  ToolContext,
  'era' | 'sessionId' | 'signal' | 'notify' | 'log' | 'ask' | 'closeStream'
> {
  /** What SDK v2 took out of the params: `_meta`, `inputResponses`, `requestState`. */
  readonly given?: JsonObject;
}

async function runTool(content: FederationContent, params: JsonObject, parts: RunParts): Promise<JsonObject> {
  const { given = {}, ...rest } = parts;
  const tool = (content.tools ?? defaultTools).find(({ name }) => name === params['name']);
  if (tool === undefined) throw rpcError(-32_602, `Unknown tool: ${String(params['name'])}`);
  const args = (params['arguments'] ?? {}) as JsonObject;
  const meta = (given['_meta'] ?? params['_meta'] ?? {}) as JsonObject;
  const { progressToken } = meta;
  const context: ToolContext = {
    ...rest,
    server: content.name,
    meta,
    params: { ...params, ...given },
    async progress(progress, total) {
      if (progressToken !== undefined) await rest.notify('notifications/progress', { progressToken, progress, total });
    },
  };
  if (tool.run !== undefined) return tool.run(args, context);
  return { content: [{ type: 'text', text: `${content.name} ${tool.name} ${JSON.stringify(args)}` }] };
}

function answerRequest(
  content: FederationContent,
  method: string,
  params: JsonObject,
  subscriptions: Set<string>,
  era: 'legacy' | 'modern',
): JsonObject {
  const { name, tools = defaultTools, prompts = [], resources = [], templates = [] } = content;
  const uri = String(params['uri']);
  switch (method) {
    case 'tools/list':
      return list(content, params, era, 'tools', tools.map(describeTool));
    case 'prompts/list':
      return list(content, params, era, 'prompts', prompts);
    case 'resources/list':
      return list(
        content,
        params,
        era,
        'resources',
        resources.map(({ text: _text, ...resource }) => resource),
      );
    case 'resources/templates/list':
      return list(content, params, era, 'resourceTemplates', templates);
    case 'prompts/get': {
      const prompt = prompts.find((each) => each.name === params['name']);
      if (prompt === undefined) throw rpcError(-32_602, `Unknown prompt: ${String(params['name'])}`);
      const text = `${name} ${prompt.name} ${JSON.stringify(params['arguments'] ?? {})}`;
      return { messages: [{ role: 'user', content: { type: 'text', text } }] };
    }
    case 'resources/read': {
      const resource = resources.find((each) => each.uri === uri);
      const isOfTemplate = templates.some(({ uriTemplate }) => uri.startsWith(uriTemplate.split('{', 1)[0]!));
      if (resource === undefined && !isOfTemplate)
        throw rpcError(era === 'legacy' ? -32_002 : -32_602, 'Resource not found', { uri });
      return { contents: [{ uri, mimeType: 'text/plain', text: resource?.text ?? `${name} ${uri}` }] };
    }
    case 'completion/complete':
      return { completion: { values: [`${name}: ${JSON.stringify(params['ref'])}`] } };
    case 'resources/subscribe':
      subscriptions.add(uri);
      return {};
    case 'resources/unsubscribe':
      subscriptions.delete(uri);
      return {};
    default:
      return {};
  }
}

function describeTool({ run: _run, inputSchema = anyObject, ...tool }: FederationTool): JsonObject {
  return { ...tool, inputSchema };
}

function list(
  content: FederationContent,
  params: JsonObject,
  era: 'legacy' | 'modern',
  key: string,
  items: readonly object[],
): JsonObject {
  const { pageSize = items.length, ttlMs, cacheScope } = content;
  const cursor = params['cursor'] as string | undefined;
  const start = cursor === undefined ? 0 : Number(/^at-(\d+)$/.exec(cursor)?.[1] ?? Number.NaN);
  if (!Number.isSafeInteger(start)) throw rpcError(-32_602, 'Invalid cursor');
  const end = start + pageSize;
  return {
    [key]: items.slice(start, end),
    ...(end < items.length ? { nextCursor: `at-${end}` } : {}),
    ...(era === 'modern' && ttlMs !== undefined ? { ttlMs } : {}),
    ...(era === 'modern' && cacheScope !== undefined ? { cacheScope } : {}),
  };
}

/** Both SDKs answer with the code of an error that has one. */
function rpcError(code: number, message: string, data?: JsonObject): Error {
  return Object.assign(new Error(message), { code, ...(data === undefined ? {} : { data }) });
}
