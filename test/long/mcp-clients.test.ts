// Real MCP clients (SDK v1 and SDK v2) use real MCP servers through a real gateway process.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { clientScenarios } from '../mcp/client-scenarios.ts';
import { type ClientLibrary, type DrivenClient, sdkV1, sdkV2, sdkV2Stateless } from '../mcp/sdk-clients.ts';
import {
  answerOfModel,
  dialogueFixture,
  everythingFixture,
  legacyRoute,
  type ServedFixtures,
  serveFixtures,
  type ServerFixture,
} from '../mcp/server-fixtures.ts';
import { waitFor } from '../kit/wait-for.ts';
import { effort } from '../kit/effort.ts';

let served: ServedFixtures;

before(async () => {
  served = await serveFixtures();
});

after(async () => {
  await served?.stop();
});

const pairs: readonly (readonly [ClientLibrary, ServerFixture])[] = [
  [sdkV1, dialogueFixture],
  [sdkV1, everythingFixture],
  [sdkV2, dialogueFixture],
  [sdkV2, everythingFixture],
  [sdkV2Stateless, dialogueFixture],
];

for (const [library, server] of pairs) {
  describe(`${library.name} through the gateway to ${server.title}`, () => {
    for (const scenario of clientScenarios) {
      if (scenario.needsSession && library.stateless) continue;
      test(scenario.title, () => scenario.run({ library, server, url: served.gateway.urlOf(server.route) }));
    }
  });
}

for (const library of [sdkV1, sdkV2]) {
  describe(`${library.name} through the gateway`, () => {
    test('messages outside of calls arrive on the stream that the client keeps open', async (t) => {
      const client = await library.connect({ url: served.gateway.urlOf('dialogue') });
      t.after(() => client.close());
      // The client opens its stream on its own, some time after initialize; until then announcements go unheard.
      await waitFor('an announcement arrives', async () => {
        await client.callTool('announce', { text: 'lunch is ready' });
        return client.logged.length > 0;
      });
      assert.equal(client.logged[0], 'lunch is ready');
      const stream = client.wire.exchanges.find((exchange) => exchange.method === 'GET');
      assert.equal(stream?.status, 200);
    });

    test('a legacy SSE server: the endpoint event leads back through the gateway', async (t) => {
      const client = await library.connect({ url: served.gateway.urlOf(legacyRoute), legacySse: true });
      t.after(() => client.close());
      assert.equal(client.serverName, 'mcp-servers/everything');
      assert.ok((await client.listTools()).includes('get-sum'));
      assert.equal(await client.callTool('echo', { message: 'hello' }), 'Echo: hello');
      const progress: number[] = [];
      await client.callTool('trigger-long-running-operation', { duration: 0.1, steps: 4 }, (step) =>
        progress.push(step),
      );
      // The fourth comes together with the answer, and then the SDKs' legacy transports forget to tell of it.
      assert.deepEqual(progress.slice(0, 3), [1, 2, 3]);
      const sampled = await client.callTool('trigger-sampling-request', { prompt: 'ready?' });
      assert.match(sampled, /the answer to/);
      assert.deepEqual(client.sampled, ['Resource trigger-sampling-request context: ready?']);
      await client.callTool('trigger-elicitation-request', {});
      assert.equal(client.elicited.length, 1);
      for (const exchange of client.wire.exchanges) {
        assert.equal(new URL(exchange.url).origin, served.gateway.url, `${exchange.method} went past the gateway`);
        assert.ok(new URL(exchange.url).pathname.startsWith(`/${legacyRoute}`), exchange.url);
      }
      const posts = client.wire.exchanges.filter((exchange) => exchange.method === 'POST');
      assert.ok(posts.length >= 7 && posts.every((exchange) => exchange.status === 202));
    });
  });
}

interface Labelled {
  readonly label: string;
  readonly attending: boolean;
  readonly client: DrivenClient;
}

const rounds = effort(25, 8);

test('clients with equal JSON-RPC ids at the same time never get each other’s answers', async (t) => {
  const url = served.gateway.urlOf('dialogue');
  const clients: Labelled[] = [];
  t.after(() => Promise.all(clients.map(({ client }) => client.close())));
  for (const [index, library] of [sdkV1, sdkV2, sdkV1, sdkV2].entries()) {
    const label = `client ${index}`;
    const attending = index % 2 === 0;
    const client = await library.connect({ url, modelName: label, person: { name: label, attending } });
    clients.push({ label, attending, client });
  }
  const sessions = await Promise.all(
    clients.map(async (labelled) => {
      const answers = await Promise.all(Array.from({ length: rounds }, (_, round) => converse(labelled, round)));
      assert.equal(new Set(answers).size, 1, 'one client, one session at the server');
      return answers[0];
    }),
  );
  assert.equal(new Set(sessions).size, clients.length, 'every client has a session of its own');
  for (const { label, client } of clients) {
    const questions = Array.from({ length: rounds }, (_, round) => `${label}, question ${round}`).toSorted();
    assert.deepEqual(client.sampled.toSorted(), questions);
    assert.deepEqual(client.elicited.toSorted(), questions);
    assert.deepEqual(listIds(client), listIds(clients[0]!.client), 'the clients used equal ids');
  }
});

/** One of each kind of call at the same time. Returns the session that the server saw. */
async function converse({ label, attending, client }: Labelled, round: number): Promise<string> {
  const question = `${label}, question ${round}`;
  const steps = Array.from({ length: 1 + round }, (_, step) => step + 1);
  const progress: number[] = [];
  const [echo, model, answer, count] = await Promise.all([
    client.callTool('echo', { text: question }),
    client.callTool('ask_model', { question }),
    client.callTool('ask_person', { question }),
    client.callTool('count', { steps: steps.length }, (step) => progress.push(step)),
  ]);
  assert.equal(model, `${label} says: ${answerOfModel(question)}`);
  assert.equal(answer, `${label} ${attending ? 'comes' : 'stays away'}.`);
  assert.equal(count, `Counted to ${steps.length}.`);
  assert.deepEqual(progress, steps);
  const [session, text] = echo.split(': ');
  assert.equal(text, question);
  // The gateway may add to the id which endpoint the session lives on.
  assert.ok(client.sessionId?.startsWith(session!), `${client.sessionId} at the client, ${session} at the server`);
  return session!;
}

function listIds(client: DrivenClient): number[] {
  const ids = client.wire.listRequestIds().map(Number);
  return ids.toSorted((a, b) => a - b);
}
