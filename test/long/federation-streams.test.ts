// Streams of calls through a federation: they stay streams, and a client that lost one gets the rest, with real clients and servers and with every way not to have it.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { type RecordedRequest, type RecordingUpstream, startRecordingUpstream } from '../kit/recording-upstream.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';
import type { McpHost } from '../../src/demo/mcp-host.ts';
import { startDialogueServer } from '../mcp/dialogue-server.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, type FederationTool, startFederationServer } from '../mcp/federation-servers.ts';
import { sdkV1, sdkV2 } from '../mcp/sdk-clients.ts';
import {
  initialize,
  openStream,
  post,
  printError,
  type RawStream,
  request,
} from '../integration/federation-fixture.ts';

const countCall = request('tools/call', { name: 'tickets_count', arguments: {}, _meta: { progressToken: 'p' } }, 'c-1');
const counted = { content: [{ type: 'resource_link', uri: 'tickets+file:///counted', name: 'counted' }] };

/** A server whose tools wait for the test in the middle. */
async function startTickets(era: 'legacy' | 'both'): Promise<{ server: FederationServer; goOn: () => Promise<void> }> {
  let waiting: (() => void)[] = [];
  const count: FederationTool = {
    name: 'count',
    async run(_args, context) {
      await context.progress(1, 3);
      await context.progress(2, 3);
      await new Promise<void>((resolve) => waiting.push(resolve));
      await context.progress(3, 3);
      return { content: [{ type: 'resource_link', uri: 'file:///counted', name: 'counted' }] };
    },
  };
  const poll: FederationTool = {
    name: 'poll',
    async run(_args, context) {
      await context.progress(1, 2);
      context.closeStream();
      await new Promise<void>((resolve) => waiting.push(resolve));
      await context.progress(2, 2);
      return { content: [{ type: 'text', text: 'polled' }] };
    },
  };
  const tools = [{ name: 'where' }, count, poll];
  const server = await startFederationServer({ name: 'tickets', era, isResumable: true, retryMs: 10, tools });
  const goOn = async (): Promise<void> => {
    await waitFor('a tool waits', () => waiting.length > 0);
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  return { server, goOn };
}

const progressOf = ({ messages }: RawStream): unknown[] =>
  messages.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params?.['progress']);

/** The streams that were asked for again at a server, after which event. */
const resumptionsAt = (server: FederationServer): unknown[] =>
  server.requests.flatMap(({ headers }) => headers['last-event-id'] ?? []);

for (const era of ['legacy', 'both'] as const)
  describe(`a server on SDK ${era === 'legacy' ? 'v1' : 'v2'}, behind two replicas that share the seal key`, () => {
    let tickets: FederationServer;
    let goOn: () => Promise<void>;
    let crm: FederationServer;
    let folder: string;
    let first: GatewayRun;
    let second: GatewayRun;

    before(async () => {
      ({ server: tickets, goOn } = await startTickets(era));
      crm = await startFederationServer({ name: 'crm', era: 'legacy', answersAsJson: true });
      folder = mkdtempSync(join(tmpdir(), 'federation-streams-'));
      const flags = ['--seal-key-file', join(folder, 'key')];
      const targets = { tickets: { url: tickets.url }, crm: { url: crm.url } };
      first = await startFederatedGateway({ targets, flags });
      second = await startFederatedGateway({ targets, flags });
    });
    after(async () => {
      await Promise.all([first.stop(), second.stop()]);
      await Promise.all([tickets.close(), crm.close()]);
      rmSync(folder, { recursive: true });
    });

    const begin = async (t: TestContext, session: string): Promise<RawStream> => {
      const stream = await openStream(first, { session, body: countCall });
      t.after(() => stream.close());
      await waitFor('the middle of the call', () => progressOf(stream).length === 2);
      return stream;
    };
    const comeBack = async (
      t: TestContext,
      gateway: GatewayRun,
      session: string,
      lastEventId: string,
    ): Promise<RawStream> => {
      const stream = await openStream(gateway, { session, headers: { 'last-event-id': lastEventId } });
      t.after(() => stream.close());
      return stream;
    };

    test('a stream begins with an id and a time, before there is any message; JSON stays JSON', async (t) => {
      const session = await initialize(first);
      const stream = await begin(t, session);
      assert.match(stream.text, /^id: [\w-]+\nretry: 10\ndata: \n\nevent: message\nid: [\w-]+\ndata: \{/);
      await goOn();
      await waitFor('the end', () => stream.isOver);
      assert.deepEqual(stream.messages.at(-1), { jsonrpc: '2.0', id: 'c-1', result: counted });
      assert.equal(new Set(stream.eventIds).size, 5);
      const plain = await post(first, request('tools/call', { name: 'crm_where' }), { session });
      assert.match(plain.headers.get('content-type')!, /json/);
    });

    for (const where of ['the same', 'the other'])
      test(`the rest of a call at ${where} replica, from each event on`, async (t) => {
        const gateway = where === 'the same' ? first : second;
        const session = await initialize(first);
        const stream = await begin(t, session);
        const [primed, afterFirst, afterSecond] = stream.eventIds;
        stream.close();
        const back = await comeBack(t, gateway, session, afterSecond!);
        assert.equal(back.status, 200);
        await waitFor('the server is asked', () => resumptionsAt(tickets).length > 0);
        await goOn();
        await waitFor('the end', () => back.isOver);
        assert.deepEqual(progressOf(back), [3]);
        assert.deepEqual(back.messages.at(-1), { jsonrpc: '2.0', id: 'c-1', result: counted });
        // Also when everything has been answered long ago.
        for (const [lastEventId, expected] of [
          [primed!, [1, 2, 3]],
          [afterFirst!, [2, 3]],
        ] as const) {
          // eslint-disable-next-line no-await-in-loop
          const late = await comeBack(t, gateway, session, lastEventId);
          // eslint-disable-next-line no-await-in-loop
          await waitFor('the end', () => late.isOver);
          assert.deepEqual(progressOf(late), expected);
          assert.equal(late.messages.at(-1)?.id, 'c-1');
        }
        tickets.forgetRequests();
        const over = await comeBack(t, gateway, session, back.eventIds.at(-1)!);
        assert.equal(over.status, 204);
        assert.deepEqual(resumptionsAt(tickets), []);
      });

    test('the connection to the server breaks in the middle: the gateway goes on, the client notices nothing', async (t) => {
      const session = await initialize(first);
      tickets.forgetRequests();
      const stream = await begin(t, session);
      tickets.breakConnections();
      await waitFor('the server is asked', () => resumptionsAt(tickets).length > 0);
      await goOn();
      await waitFor('the end', () => stream.isOver);
      assert.deepEqual(progressOf(stream), [1, 2, 3]);
      assert.equal(stream.messages.at(-1)?.id, 'c-1');
      const back = await comeBack(t, first, session, stream.eventIds.at(-2)!);
      await waitFor('the end', () => back.isOver);
      assert.deepEqual(back.messages, stream.messages.slice(-1));
    });

    test('what another session, or nobody, was given is refused', async (t) => {
      const session = await initialize(first);
      const other = await initialize(first);
      const stream = await begin(t, session);
      const id = stream.eventIds.at(-1)!;
      const own = Buffer.from(`${id.slice(0, 30)}x`).toString('base64url');
      tickets.forgetRequests();
      for (const [mine, lastEventId] of [
        [other, id],
        [session, id.slice(0, -4)],
        [session, `${id}A`],
        [session, id.toLowerCase()],
        [session, own],
        [session, '0'],
        [session, session],
      ] as const) {
        // eslint-disable-next-line no-await-in-loop
        const refused = await fetch(second.urlOf('/mcp'), {
          headers: { accept: 'text/event-stream', 'mcp-session-id': mine, 'last-event-id': lastEventId },
        });
        assert.equal(refused.status, 400);
        // eslint-disable-next-line no-await-in-loop
        assert.deepEqual(await refused.json(), {
          jsonrpc: '2.0',
          error: { code: -32_000, message: 'Bad Request: the Last-Event-ID is none of this session' },
          id: null,
        });
      }
      assert.equal(tickets.requests.length, 0);
      await goOn();
      await waitFor('the end', () => stream.isOver);
    });

    test('the server has lost the session meanwhile, is down, and is back without it', async (t) => {
      const session = await initialize(first);
      const stream = await begin(t, session);
      const id = stream.eventIds.at(-1)!;
      stream.close();
      const look = async (): Promise<unknown> => {
        const back = await comeBack(t, second, session, id);
        await waitFor('the end', () => back.isOver);
        assert.equal(back.messages.length, 1);
        const [{ id: answered, error } = {}] = back.messages;
        assert.equal(answered, 'c-1');
        return error?.message;
      };
      const lost = 'The server "tickets" does not go on with this call (HTTP 404).';
      tickets.forgetSessions();
      await goOn();
      assert.equal(await look(), lost);
      // Whatever the client has there by now.
      await post(second, request('tools/call', { name: 'tickets_where' }), { session });
      assert.equal(await look(), lost);
      await tickets.kill();
      assert.equal(await look(), 'The server "tickets" cannot be reached.');
      await tickets.restart();
      await waitFor('it is back', async () => (await look()) === lost);
    });

    for (const library of [sdkV1, sdkV2]) {
      test(`${library.name}: a client whose stream is cut comes back by itself`, async () => {
        tickets.forgetRequests();
        const asked = resumptionsAt(tickets).length;
        const client = await library.connect({ url: first.urlOf('/mcp') });
        client.wire.cutAfterProgress(2);
        const progress: number[] = [];
        const call = client.callTool('tickets_count', {}, (each) => progress.push(each));
        await waitFor('it is back', () => resumptionsAt(tickets).length > asked);
        await goOn();
        assert.equal(await call, '[resource_link]');
        assert.deepEqual(progress, [1, 2, 3]);
        const [resumed] = client.wire.listResumptions();
        assert.equal(resumed?.status, 200);
        await client.close();
      });

      test(`${library.name}: a server that closes its stream is polled by the client`, async () => {
        tickets.forgetRequests();
        const client = await library.connect({ url: second.urlOf('/mcp') });
        const progress: number[] = [];
        const call = client.callTool('tickets_poll', {}, (each) => progress.push(each));
        await waitFor('it is back', () => resumptionsAt(tickets).length > 0);
        await goOn();
        assert.equal(await call, 'polled');
        assert.deepEqual(progress, [1, 2]);
        assert.equal(client.wire.listResumptions().length, 1);
        await client.close();
      });
    }
  });

test('a client before 2025-11-25 gets no events without data, and comes back all the same', async (t) => {
  const { server, goOn } = await startTickets('legacy');
  const gateway = await startFederatedGateway({
    targets: { tickets: { url: server.url } },
    mcp: { mode: 'Federated' },
  });
  t.after(async () => {
    await gateway.stop();
    await server.close();
  });
  const session = await initialize(gateway, { version: '2025-06-18' });
  const stream = await openStream(gateway, { session, body: countCall });
  await waitFor('the middle of the call', () => progressOf(stream).length === 2);
  assert.equal(stream.eventIds.length, 2);
  stream.close();
  const back = await openStream(gateway, { session, headers: { 'last-event-id': stream.eventIds[0]! } });
  await waitFor('the server is asked', () => resumptionsAt(server).length > 0);
  await goOn();
  await waitFor('the end', () => back.isOver);
  assert.deepEqual(progressOf(back), [2, 3]);
});

test('a client that comes back after an error is told that there is no more, and opens no other stream', async (t) => {
  const { server } = await startTickets('legacy');
  const gateway = await startFederatedGateway({
    targets: { tickets: { url: server.url } },
    mcp: { mode: 'Federated' },
  });
  t.after(async () => {
    await gateway.stop();
    await server.close();
  });
  // For SDK v1 an error is no answer: it asks for more.
  const client = await sdkV1.connect({ url: gateway.urlOf('/mcp') });
  const { wire } = client;
  for (let times = 1; times <= 2; times += 1) {
    // eslint-disable-next-line no-await-in-loop
    await assert.rejects(client.callTool('tickets_nothing', {}), /Unknown tool: nothing/);
    // eslint-disable-next-line no-await-in-loop
    await waitFor('it has asked', () => wire.listResumptions().filter(({ status }) => status === 204).length === times);
  }
  assert.equal(await client.callTool('tickets_where', {}), 'tickets where {}');
  assert.equal(wire.exchanges.filter(({ method }) => method === 'GET').length, 3);
  await client.close();
});

describe('a real server whose tool waits until the stream is lost', () => {
  let dialogue: McpHost;
  let other: FederationServer;
  let gateway: GatewayRun;

  before(async () => {
    dialogue = await startDialogueServer();
    other = await startFederationServer({ name: 'other', era: 'modern' });
    gateway = await startFederatedGateway({
      targets: { other: { url: other.url }, dialogue: { url: dialogue.url } },
      mcp: { names: { prefix: 'Never' } },
    });
  });
  after(async () => {
    await gateway.stop();
    await dialogue.close();
    await other.close();
  });

  for (const library of [sdkV1, sdkV2])
    test(`${library.name}: without prefixes`, async () => {
      const client = await library.connect({ url: gateway.urlOf('/mcp') });
      client.wire.cutAfterProgress(2);
      const progress: number[] = [];
      const args = { steps: 6, cutAfter: 2 };
      const text = await client.callTool('count_across_cut', args, (each) => progress.push(each));
      assert.equal(text, 'Counted to 6.');
      assert.deepEqual(progress, [1, 2, 3, 4, 5, 6], 'events were lost or repeated');
      await client.close();
    });
});

test('what rules hide is unknown, also to a client that comes back', async (t) => {
  const { server, goOn } = await startTickets('legacy');
  const rules = {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'rules' },
    spec: {
      targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'all' }],
      backend: {
        mcp: { authorization: { action: 'Deny', policy: { matchExpressions: ['mcp.tool.name == "tickets_poll"'] } } },
      },
    },
  };
  const targets = { tickets: { url: server.url }, crm: { url: server.url } };
  const gateway = await startFederatedGateway({ targets, resources: [rules] });
  t.after(async () => {
    await gateway.stop();
    await server.close();
  });
  const session = await initialize(gateway);
  const call = (name: string): Promise<RawStream> =>
    openStream(gateway, { session, body: request('tools/call', { name, arguments: {} }) });
  const look = async (name: string): Promise<{ first: string; rest: string; lengths: readonly number[] }> => {
    const stream = await call(name);
    await waitFor('the end', () => stream.isOver);
    const back = await openStream(gateway, { session, headers: { 'last-event-id': stream.eventIds[0]! } });
    await waitFor('the end', () => back.isOver);
    const [first, rest] = [stream, back].map(({ text }) =>
      text.replaceAll(/^id: .*$/gm, 'id').replaceAll(name, 'NAME'),
    );
    const lengths = [...stream.eventIds, ...back.eventIds].map(({ length }) => length);
    return { first: first!, rest: rest!, lengths };
  };
  const hidden = await look('tickets_poll');
  const unknown = await look('tickets_none');
  assert.match(hidden.rest, /Unknown tool: poll/);
  assert.deepEqual(
    { ...hidden, rest: hidden.rest.replace('poll', 'none'), first: hidden.first.replace('poll', 'none') },
    unknown,
  );
  // What is not hidden goes on as it is.
  const stream = await call('tickets_count');
  const id = await waitFor('an id', () => stream.eventIds[0]);
  stream.close();
  const back = await openStream(gateway, { session, headers: { 'last-event-id': id } });
  await waitFor('the server is asked', () => server.requests.at(-1)?.method === 'GET');
  await goOn();
  await waitFor('the end', () => back.isOver);
  assert.deepEqual(back.messages.at(-1)?.result, counted);
});

test('the events of one caller are none of another one', async (t) => {
  const issuer = createIssuer('https://idp.example');
  const { server, goOn } = await startTickets('legacy');
  const login = {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'login' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'all' }],
      traffic: { jwtAuthentication: { providers: [providerOf('corp', issuer)] } },
    },
  };
  const targets = { tickets: { url: server.url }, crm: { url: server.url } };
  const gateway = await startFederatedGateway({ targets, resources: [login] });
  t.after(async () => {
    await gateway.stop();
    await server.close();
  });
  const [ann, bob] = await Promise.all([issuer.sign({ sub: 'ann' }), issuer.sign({ sub: 'bob' })]);
  const session = await initialize(gateway, { token: ann });
  const own = await initialize(gateway, { token: bob });
  const stream = await openStream(gateway, { session, token: ann, body: countCall });
  await waitFor('the middle of the call', () => progressOf(stream).length === 2);
  const headers = { 'last-event-id': stream.eventIds.at(-1)! };
  server.forgetRequests();
  const statuses = await Promise.all([
    openStream(gateway, { session, token: bob, headers }),
    openStream(gateway, { session: own, token: bob, headers }),
    openStream(gateway, { session, headers }),
  ]);
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [404, 400, 401],
  );
  assert.deepEqual(resumptionsAt(server), []);
  await goOn();
  await waitFor('the end', () => stream.isOver);
});

describe('a server that does not go on', () => {
  const heard: (string | undefined)[] = [];
  let answerGet: (response: ServerResponse) => void;
  let odd: RecordingUpstream;
  let gateway: GatewayRun;

  before(async () => {
    odd = await startRecordingUpstream('odd', (recorded: RecordedRequest, response) => {
      const { id, method } = (recorded.body === '' ? {} : JSON.parse(recorded.body)) as {
        id?: unknown;
        method?: string;
      };
      const json = (value: object): void =>
        void response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
      if (method === 'server/discover') return json({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'no' } });
      if (method === 'initialize') {
        const serverInfo = { name: 'odd', version: '1' };
        const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
        return json({ jsonrpc: '2.0', id, result });
      }
      if (recorded.method === 'GET') {
        heard.push(...recorded.all('last-event-id'));
        return answerGet(response);
      }
      if (method !== 'tools/call') return void response.writeHead(202).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('id: e-1\ndata:\n\n');
    });
    gateway = await startFederatedGateway({
      targets: { odd: { url: `http://127.0.0.1:${odd.port}/mcp` } },
      mcp: { mode: 'Federated' },
    });
  });
  after(async () => {
    await gateway.stop();
    await odd.close();
  });

  const begin = async (): Promise<{ session: string; id: string }> => {
    const session = await initialize(gateway);
    const stream = await openStream(gateway, { session, body: request('tools/call', { name: 'odd_x' }) });
    const id = await waitFor('an id', () => stream.eventIds[0]);
    stream.close();
    heard.length = 0;
    return { session, id };
  };
  const comeBack = async ({ session, id }: { session: string; id: string }): Promise<RawStream> => {
    const back = await openStream(gateway, { session, headers: { 'last-event-id': id } });
    await waitFor('the end', () => back.isOver);
    return back;
  };
  const says = ({ messages: [message] }: RawStream): string | undefined =>
    message?.error === undefined ? JSON.stringify(message?.result) : message.error.message;
  const refused = (status: number): string => `The server "odd" does not go on with this call (HTTP ${status}).`;

  test('because it says so, in every way', async () => {
    const call = await begin();
    for (const status of [400, 401, 404, 405, 500]) {
      answerGet = (response) =>
        void response
          .writeHead(status, { 'content-type': 'application/json' })
          .end('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No."}}');
      // eslint-disable-next-line no-await-in-loop
      assert.equal(says(await comeBack(call)), refused(status));
    }
    assert.deepEqual(heard, ['e-1', 'e-1', 'e-1', 'e-1', 'e-1']);
  });

  test('because it still has the old connection, at first or for good', async () => {
    const call = await begin();
    answerGet = (response) => {
      if (heard.length < 3) return void response.writeHead(409).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('id: e-2\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
    };
    assert.equal(says(await comeBack(call)), '{}');
    assert.deepEqual(heard, ['e-1', 'e-1', 'e-1']);
    answerGet = (response) => void response.writeHead(409).end();
    assert.equal(says(await comeBack(call)), refused(409));
  });

  test('because its connection breaks, again and again; what came counts', async () => {
    const call = await begin();
    const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}';
    answerGet = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const number = heard.length + 1;
      response.write(`retry: 1\nid: e-${number}\ndata: ${progress}\n\n`);
      if (number < 4) return void setImmediate(() => response.destroy());
      response.end('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
    };
    const back = await comeBack(call);
    assert.deepEqual(heard, ['e-1', 'e-2', 'e-3']);
    assert.deepEqual(progressOf(back), [1, 1, 1]);
    assert.deepEqual(back.messages.at(-1)?.result, {});
    heard.length = 0;
    answerGet = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('retry: 1\n\n');
      setImmediate(() => response.destroy());
    };
    assert.equal(says(await comeBack(call)), 'The server "odd" broke off before it answered.');
    assert.deepEqual(heard, ['e-1', 'e-1', 'e-1']);
  });

  test('because it says nonsense, or answers what nobody asked', async () => {
    const call = await begin();
    answerGet = (response) => void response.setHeader('content-type', 'application/json').end('{');
    assert.equal(says(await comeBack(call)), 'The server "odd" sent an answer that cannot be read.');
    answerGet = (response) =>
      void response.setHeader('content-type', 'application/json').end('{"jsonrpc":"2.0","id":7,"result":{}}');
    assert.equal(says(await comeBack(call)), 'The server "odd" broke off before it answered.');
    // One that has it as JSON has it all the same.
    answerGet = (response) =>
      void response.setHeader('content-type', 'application/json').end('{"jsonrpc":"2.0","id":1,"result":{}}');
    assert.equal(says(await comeBack(call)), '{}');
  });

  test('but wants to be polled: as often as the client likes', async () => {
    const call = await begin();
    answerGet = (response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
    for (let times = 0; times < 6; times += 1) {
      // eslint-disable-next-line no-await-in-loop
      const back = await comeBack(call);
      assert.deepEqual(back.messages, []);
      assert.deepEqual(back.eventIds, [call.id]);
    }
    assert.equal(heard.length, 6);
    assert.equal(
      printError(await post(gateway, request('ping'), { session: call.session })),
      '200 {"jsonrpc":"2.0","id":1,"result":{}}',
    );
  });
});
