// What a real MCP client must be able to do through the gateway: one function per thing, with assertions on real values.
import assert from 'node:assert/strict';
import type { ClientLibrary, DrivenClient } from './sdk-clients.ts';
import type { ExpectedCall, ServerFixture } from './server-fixtures.ts';

/** A client library, a server, and where the gateway serves it. */
export interface ScenarioContext {
  readonly library: ClientLibrary;
  readonly server: ServerFixture;
  readonly url: string;
}

/** A thing to be able to do. */
export interface ClientScenario {
  readonly title: string;
  /** Needs sessions, which protocol version 2026-07-28 has no more. */
  readonly needsSession: boolean;
  run(context: ScenarioContext): Promise<void>;
}

async function withClient(
  { library, server, url }: ScenarioContext,
  use: (client: DrivenClient) => Promise<void>,
): Promise<void> {
  const { beforeResume } = server.resumption;
  const client = await library.connect({ url, ...(beforeResume === undefined ? {} : { beforeResume }) });
  try {
    await use(client);
  } finally {
    await client.close();
  }
}

async function callAndCheck(
  client: DrivenClient,
  { tool, args, answer }: ExpectedCall,
  onProgress?: (progress: number) => void,
): Promise<void> {
  const text = await client.callTool(tool, args, onProgress);
  for (const expected of answer) assert.ok(text.includes(expected), `${tool} answered ${JSON.stringify(text)}`);
}

/** All scenarios, in the order of the compatibility matrix. */
export const clientScenarios: readonly ClientScenario[] = [
  {
    title: 'initialize',
    needsSession: false,
    run: (context) =>
      withClient(context, async (client) => {
        assert.equal(client.serverName, context.server.serverName);
        if (context.library.stateless) {
          assert.equal(client.protocolVersion, '2026-07-28');
          assert.equal(client.sessionId, undefined);
        } else {
          assert.equal(client.protocolVersion, '2025-11-25');
          assert.match(client.sessionId ?? '', /^[\x21-\x7e]+$/);
        }
      }),
  },
  {
    title: 'list tools',
    needsSession: false,
    run: (context) =>
      withClient(context, async (client) => {
        const listed = await client.listTools();
        assert.deepEqual(
          context.server.tools.filter((tool) => !listed.includes(tool)),
          [],
        );
      }),
  },
  {
    title: 'call a tool',
    needsSession: false,
    run: (context) => withClient(context, (client) => callAndCheck(client, context.server.call)),
  },
  {
    title: 'progress',
    needsSession: false,
    run: (context) =>
      withClient(context, async (client) => {
        const progress: number[] = [];
        await callAndCheck(client, context.server.progress, (value) => progress.push(value));
        assert.deepEqual(progress, [1, 2, 3, 4]);
      }),
  },
  {
    title: 'sampling',
    needsSession: false,
    run: (context) =>
      withClient(context, async (client) => {
        await callAndCheck(client, context.server.sampling);
        assert.deepEqual(client.sampled, [context.server.sampling.question]);
      }),
  },
  {
    title: 'elicitation',
    needsSession: false,
    run: (context) =>
      withClient(context, async (client) => {
        await callAndCheck(client, context.server.elicitation);
        assert.deepEqual(client.elicited, [context.server.elicitation.question]);
      }),
  },
  {
    title: 'resume with Last-Event-ID',
    needsSession: true,
    run: (context) =>
      withClient(context, async (client) => {
        const progress: number[] = [];
        client.wire.cutAfterProgress(2);
        await callAndCheck(client, context.server.resumption, (value) => progress.push(value));
        assert.deepEqual(progress, [1, 2, 3, 4, 5, 6], 'events were lost or repeated');
        const [resumed] = client.wire.listResumptions();
        assert.equal(resumed?.method, 'GET');
        assert.equal(resumed.status, 200);
        assert.match(resumed.contentType ?? '', /^text\/event-stream/);
        assert.equal(resumed.sessionId, client.sessionId);
      }),
  },
  {
    title: 'end the session with DELETE',
    needsSession: true,
    run: (context) =>
      withClient(context, async (client) => {
        const { sessionId } = client;
        assert.ok(sessionId !== undefined);
        assert.equal(await postPing(context.url, sessionId), 200);
        await client.terminateSession();
        const deleted = client.wire.exchanges.find((exchange) => exchange.method === 'DELETE');
        assert.equal(deleted?.status, 200);
        assert.equal(await postPing(context.url, sessionId), context.server.statusAfterDelete);
      }),
  },
];

async function postPing(url: string, sessionId: string): Promise<number> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2025-11-25',
      'mcp-session-id': sessionId,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'ping', method: 'ping' }),
  });
  await response.text();
  return response.status;
}
