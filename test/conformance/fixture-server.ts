// The server that the MCP conformance suite tests: every fixture that its server scenarios ask for by name.
import { randomBytes } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/server';
import { hostMcpServer, type McpHost } from '../../src/demo/mcp-host.ts';
import { addContentTools, addPrompts, addResources } from './fixture-content.ts';
import { addInputRequiredTools, addServerRequestTools, createDialogueCodec } from './fixture-dialogues.ts';

/** Starts the conformance fixture server on a free loopback port. */
export async function startFixtureServer(): Promise<McpHost> {
  const codec = createDialogueCodec(randomBytes(32));
  const host: McpHost = await hostMcpServer({
    host: '127.0.0.1',
    port: 0,
    retryInterval: 50,
    createServer: ({ era }) => {
      const server = new McpServer(
        { name: 'conformance-fixture', version: '1.0.0' },
        {
          capabilities: {
            tools: { listChanged: true },
            prompts: { listChanged: true },
            resources: { subscribe: true, listChanged: true },
            completions: {},
            logging: {},
          },
          requestState: { verify: (state, context) => codec.verify(state, context) },
        },
      );
      addContentTools(server, () => host.notify);
      addResources(server);
      addPrompts(server);
      addInputRequiredTools(server, codec);
      // These send requests to the client from the middle of a call, which 2026-07-28 has no place for.
      if (era === 'legacy') addServerRequestTools(server);
      return server;
    },
  });
  return host;
}
