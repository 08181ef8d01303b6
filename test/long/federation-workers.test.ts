// A federation behind several worker processes: each has its own table, and what a session needs is in its id.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runGatewayProcess } from '../kit/run-gateway.ts';
import { describeFederation } from '../mcp/federated-gateway.ts';
import { startFederationServer } from '../mcp/federation-servers.ts';
import { sdkV1 } from '../mcp/sdk-clients.ts';
import { initialize, post, printError, request } from '../integration/federation-fixture.ts';

test('sessions, and answers to questions, whichever worker gets them', async (t) => {
  const server = await startFederationServer({
    name: 'tickets',
    era: 'legacy',
    tools: [
      { name: 'where' },
      {
        name: 'ask',
        async run(_args, context) {
          const params = { messages: [{ role: 'user', content: { type: 'text', text: 'who' } }], maxTokens: 9 };
          const answer = (await context.ask('sampling/createMessage', params)) as { content: { text: string } };
          return { content: [{ type: 'text', text: answer.content.text }] };
        },
      },
    ],
  });
  const targets = { tickets: { url: server.url }, crm: { url: server.url } };
  const gateway = await runGatewayProcess({
    resources: (port) => describeFederation(port, { targets }),
    flags: ['--workers', '2'],
  });
  t.after(async () => {
    await gateway.stop();
    await server.close();
  });
  const session = await initialize(gateway);
  // Each on a connection of its own, so that both workers get some.
  const call = (id: number) =>
    post(gateway, request('tools/call', { name: 'tickets_where', arguments: {} }, id), {
      session,
      headers: { connection: 'close' },
    });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, id) => call(id)));
  for (const answer of answers) assert.ok(answer.messages.at(-1)?.result, printError(answer));
  assert.equal(server.listRequests('initialize').length, 2);
  const client = await sdkV1.connect({ url: gateway.urlOf('/mcp') });
  const asked = await Promise.all(Array.from({ length: 10 }, () => client.callTool('crm_ask', {})));
  assert.deepEqual(new Set(asked), new Set(['the answer to "who"']));
  await client.close();
});
