// An MCP server on SDK v2 for tests: tools that ask the client's model and person, report progress, and outlive their stream.
import { once } from 'node:events';
import {
  acceptedContent,
  type CallToolResult,
  inputRequired,
  inputResponse,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { hostMcpServer, type McpHost } from '../../src/demo/mcp-host.ts';

/** Starts the server on a free loopback port. */
export function startDialogueServer(): Promise<McpHost> {
  return hostMcpServer({ host: '127.0.0.1', port: 0, retryInterval: 10, createServer: createDialogueServer });
}

function createDialogueServer(): McpServer {
  const server = new McpServer({ name: 'dialogue', version: '1.0.0' }, { capabilities: { tools: {}, logging: {} } });
  addCountingTools(server);
  addAskingTools(server);
  return server;
}

function addCountingTools(server: McpServer): void {
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } }),
  );
  server.registerTool(
    'echo',
    { description: 'Repeats a text and names its session.', inputSchema: z.object({ text: z.string() }) },
    ({ text }, { sessionId }) => say(`${sessionId ?? 'no session'}: ${text}`),
  );
  server.registerTool(
    'announce',
    {
      description: 'Sends a log message outside of any call, on the stream that the client keeps open.',
      inputSchema: z.object({ text: z.string() }),
    },
    async ({ text }) => {
      await server.server.notification({ method: 'notifications/message', params: { level: 'info', data: text } });
      return say('Announced.');
    },
  );
  server.registerTool(
    'count',
    { description: 'Counts with progress.', inputSchema: z.object({ steps: z.int().positive() }) },
    async ({ steps }, context) => {
      await report(context, 1, steps, steps);
      return say(`Counted to ${steps}.`);
    },
  );
  server.registerTool(
    'count_across_cut',
    {
      description: 'Counts with progress, and in the middle waits until the client has lost its stream.',
      inputSchema: z.object({ steps: z.int().positive(), cutAfter: z.int().positive() }),
    },
    async ({ steps, cutAfter }, context) => {
      await report(context, 1, cutAfter, steps);
      const signal = context.http?.req?.signal;
      if (signal !== undefined && !signal.aborted) await once(signal, 'abort');
      await report(context, cutAfter + 1, steps, steps);
      return say(`Counted to ${steps}.`);
    },
  );
}

function addAskingTools(server: McpServer): void {
  const question = z.object({ question: z.string() });
  server.registerTool(
    'ask_model',
    { description: "Asks the client's model.", inputSchema: question },
    ({ question: text }, { mcpReq }) => {
      const given = inputResponse(mcpReq.inputResponses, 'model');
      if (given.kind === 'sampling') {
        const { content, model } = given.result;
        const block = Array.isArray(content) ? content[0] : content;
        return say(`${model} says: ${block?.type === 'text' ? block.text : ''}`);
      }
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text } }];
      return inputRequired({ inputRequests: { model: inputRequired.createMessage({ messages, maxTokens: 100 }) } });
    },
  );
  const form = z.object({ name: z.string(), attending: z.boolean() });
  server.registerTool(
    'ask_person',
    { description: 'Asks the person at the client.', inputSchema: question },
    ({ question: message }, { mcpReq }) => {
      const accepted = acceptedContent(mcpReq.inputResponses, 'person', form);
      if (accepted !== undefined) return say(`${accepted.name} ${accepted.attending ? 'comes' : 'stays away'}.`);
      const given = inputResponse(mcpReq.inputResponses, 'person');
      if (given.kind === 'elicit') return say(`The person answered: ${given.action}.`);
      return inputRequired({ inputRequests: { person: inputRequired.elicit({ message, requestedSchema: form }) } });
    },
  );
}

async function report({ mcpReq }: ServerContext, from: number, to: number, total: number): Promise<void> {
  const { _meta: meta } = mcpReq;
  if (meta?.progressToken === undefined) return;
  for (let progress = from; progress <= to; progress += 1) {
    const params = { progressToken: meta.progressToken, progress, total };
    await mcpReq.notify({ method: 'notifications/progress', params });
  }
}

function say(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] };
}
