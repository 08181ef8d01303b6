// MCP servers of every protocol version, answering in JSON or in events, with tools, prompts, resources and templates to hide.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  type NodeIncomingMessageLike,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { listenOnLoopback } from './gateway-fixture.ts';

/** The versions that have sessions, and the one that has none. */
export const sessionVersions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;
export const statelessVersion = '2026-07-28';

export type AnswerForm = 'json' | 'events';

/** What the servers have. */
export const offer = {
  tools: ['admin_reset', 'close_ticket', 'delete_ticket', 'read_ticket'],
  prompts: ['audit', 'summary'],
  resources: ['desk://open', 'desk://secret'],
  templates: ['desk://secret/{id}', 'desk://ticket/{id}'],
} as const;

/** A running server. */
export interface DeskServer {
  readonly port: number;
  /** Streams for notifications that are open: of GETs, and of subscriptions. */
  countStreams(): number;
  /** What tools were called, in order. */
  readonly calls: readonly string[];
  close(): Promise<void>;
}

/** Starts one. */
export async function startDeskServer(version: string, form: AnswerForm): Promise<DeskServer> {
  const calls: string[] = [];
  let streams = 0;
  const serve = version === statelessVersion ? createStateless(form, calls) : createStateful(version, form, calls);
  const server = createServer((request, response) => {
    const isStream = request.method === 'GET' || request.headers['mcp-method'] === 'subscriptions/listen';
    if (isStream) {
      streams += 1;
      response.once('close', () => (streams -= 1));
    }
    void serve(request, response);
  });
  const listening = await listenOnLoopback(server);
  return { ...listening, calls, countStreams: () => streams };
}

type Serve = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

function createStateless(form: AnswerForm, calls: string[]): Serve {
  const handler = createMcpHandler(() => createDesk(calls, undefined), {
    legacy: 'reject',
    responseMode: form === 'events' ? 'sse' : 'auto',
  });
  const serve = toNodeHandler(handler);
  return async (request, response) => serve(request as NodeIncomingMessageLike, response, await readJson(request));
}

function createStateful(version: string, form: AnswerForm, calls: string[]): Serve {
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  return async (request, response) => {
    const body = request.method === 'POST' ? await readJson(request) : undefined;
    let transport = sessions.get(String(request.headers['mcp-session-id']));
    if (transport === undefined) {
      const created = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        enableJsonResponse: form === 'json',
        onsessioninitialized: (id) => void sessions.set(id, created),
      });
      await createDesk(calls, version).connect(created);
      transport = created;
    }
    await transport.handleRequest(request, response, body);
  };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) text += chunk;
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}

function createDesk(calls: string[], version: string | undefined): McpServer {
  const listChanged = true;
  const server = new McpServer(
    { name: 'desk', version: '1.0.0' },
    {
      capabilities: { tools: { listChanged }, prompts: { listChanged }, resources: { listChanged } },
      ...(version === undefined ? {} : { supportedProtocolVersions: [version] }),
    },
  );
  for (const name of offer.tools)
    server.registerTool(name, { description: name, inputSchema: z.object({ id: z.string() }) }, ({ id }) => {
      calls.push(name);
      return { content: [{ type: 'text', text: `${name} ${id}` }] };
    });
  for (const name of offer.prompts)
    server.registerPrompt(name, { description: name }, () => ({
      messages: [{ role: 'user', content: { type: 'text', text: name } }],
    }));
  for (const uri of offer.resources)
    server.registerResource(uri, uri, { description: uri }, () => ({ contents: [{ uri, text: uri }] }));
  for (const template of offer.templates)
    server.registerResource(template, new ResourceTemplate(template, { list: undefined }), {}, ({ href }, { id }) => {
      if (id === undefined) throw new ResourceNotFoundError(href);
      return { contents: [{ uri: href, text: href }] };
    });
  return server;
}
