// Real MCP clients with a token, behind one interface: what they see of a server, what they can use, and what they are told.
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
  SSEClientTransport as SseV2,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

/** How to reach a server, and as whom. */
export interface DeskConnection {
  readonly url: string;
  readonly token: string;
  /** The older HTTP+SSE transport. */
  readonly legacySse?: boolean;
}

/** Everything that a client is shown. */
export interface SeenItems {
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
  readonly resources: readonly string[];
  readonly templates: readonly string[];
}

/** A connected client. */
export interface DeskClient {
  readonly protocolVersion: string;
  readonly contentTypes: ReadonlySet<string>;
  /** Which lists it was told have changed, in order. */
  readonly changes: readonly string[];
  listTools(): Promise<string[]>;
  listAll(): Promise<SeenItems>;
  /** The text of the answer; rejects with the error of the server. */
  callTool(name: string, args?: Record<string, unknown>): Promise<string>;
  getPrompt(name: string): Promise<string>;
  readResource(uri: string): Promise<string>;
  /** Opens the stream on which it is told, where that does not happen by itself. */
  listen(): Promise<void>;
  close(): Promise<void>;
}

/** A client library. */
export interface DeskLibrary {
  readonly name: string;
  connect(connection: DeskConnection): Promise<DeskClient>;
}

const identity = { name: 'mcp-gatehouse-test', version: '1.0.0' };

/** A fetch that notes the types of answers to messages. */
function tapTypes(types: Set<string>): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method === 'POST' && response.status === 200)
      types.add(response.headers.get('content-type')?.split(';')[0] ?? '');
    return response;
  };
}

interface TextContent {
  readonly text?: string;
}

const joinText = (content: unknown): string => (content as TextContent[]).map(({ text = '' }) => text).join('\n');

/** SDK v1. */
export const deskV1: DeskLibrary = {
  name: 'SDK v1',
  async connect({ url, token, legacySse = false }) {
    const changes: string[] = [];
    const contentTypes = new Set<string>();
    const client = new ClientV1(identity);
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes.push('tools'));
    client.setNotificationHandler(PromptListChangedNotificationSchema, () => void changes.push('prompts'));
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void changes.push('resources'));
    const init = { requestInit: { headers: { authorization: `Bearer ${token}` } }, fetch: tapTypes(contentTypes) };
    const transport = legacySse ? new SseV1(new URL(url), init) : new HttpV1(new URL(url), init);
    await client.connect(transport);
    const listTools = async (): Promise<string[]> =>
      (await client.listTools()).tools.map(({ name }) => name).toSorted();
    return {
      protocolVersion: (transport instanceof HttpV1 ? transport.protocolVersion : undefined) ?? '',
      contentTypes,
      changes,
      listTools,
      async listAll() {
        const { prompts } = await client.listPrompts();
        const { resources } = await client.listResources();
        const { resourceTemplates } = await client.listResourceTemplates();
        return sortItems(await listTools(), prompts, resources, resourceTemplates);
      },
      callTool: async (name, args = { id: '7' }) =>
        joinText((await client.callTool({ name, arguments: args })).content),
      getPrompt: async (name) => joinText((await client.getPrompt({ name })).messages.map(({ content }) => content)),
      readResource: async (uri) => joinText((await client.readResource({ uri })).contents),
      listen: () => Promise.resolve(),
      close: () => client.close(),
    };
  },
};

function createDeskV2(name: string, mode: 'legacy' | { pin: string }): DeskLibrary {
  return {
    name,
    async connect({ url, token, legacySse = false }) {
      const changes: string[] = [];
      const contentTypes = new Set<string>();
      const client = new ClientV2(identity, { versionNegotiation: { mode } });
      client.setNotificationHandler('notifications/tools/list_changed', () => void changes.push('tools'));
      client.setNotificationHandler('notifications/prompts/list_changed', () => void changes.push('prompts'));
      client.setNotificationHandler('notifications/resources/list_changed', () => void changes.push('resources'));
      const init = { requestInit: { headers: { authorization: `Bearer ${token}` } }, fetch: tapTypes(contentTypes) };
      const transport = legacySse ? new SseV2(new URL(url), init) : new HttpV2(new URL(url), init);
      await client.connect(transport);
      const listTools = async (): Promise<string[]> =>
        (await client.listTools()).tools.map(({ name: tool }) => tool).toSorted();
      return {
        protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
        contentTypes,
        changes,
        listTools,
        async listAll() {
          const { prompts } = await client.listPrompts();
          const { resources } = await client.listResources();
          const { resourceTemplates } = await client.listResourceTemplates();
          return sortItems(await listTools(), prompts, resources, resourceTemplates);
        },
        callTool: async (tool, args = { id: '7' }) =>
          joinText((await client.callTool({ name: tool, arguments: args })).content),
        getPrompt: async (prompt) =>
          joinText((await client.getPrompt({ name: prompt })).messages.map(({ content }) => content)),
        readResource: async (uri) => joinText((await client.readResource({ uri })).contents),
        async listen() {
          if (mode !== 'legacy')
            await client.listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true });
        },
        close: () => client.close(),
      };
    },
  };
}

/** SDK v2 with sessions. */
export const deskV2 = createDeskV2('SDK v2', 'legacy');

/** SDK v2 with self-contained requests. */
export const deskV2Stateless = createDeskV2('SDK v2', { pin: '2026-07-28' });

function sortItems(
  tools: readonly string[],
  prompts: readonly { readonly name: string }[],
  resources: readonly { readonly uri: string }[],
  templates: readonly { readonly uriTemplate: string }[],
): SeenItems {
  return {
    tools,
    prompts: prompts.map(({ name }) => name).toSorted(),
    resources: resources.map(({ uri }) => uri).toSorted(),
    templates: templates.map(({ uriTemplate }) => uriTemplate).toSorted(),
  };
}
