import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSealKey } from '../../../../base/sealed.ts';
import { waitFor } from '../../../../../test/kit/wait-for.ts';
import type { FakeBehaviour } from '../testing/fake-target.ts';
import { createFederation, createTarget, type FederationFixture, type Talk } from '../testing/federation-fixture.ts';

const call = (name: string): object => ({ name, arguments: {} });
const textOf = (json: Record<string, unknown>): Record<string, unknown> => {
  const { content } = json['result'] as { content: { text: string }[] };
  return JSON.parse(content[0]!.text) as Record<string, unknown>;
};
const errorOf = (json: Record<string, unknown>): string => {
  const { code, message } = json['error'] as { code: number; message: string };
  return `${code} ${message}`;
};

interface Introduced extends Record<string, unknown> {
  readonly result: { readonly capabilities: Record<string, unknown> };
}

describe('one request to one target', () => {
  test('the prefix says to which, and it gets its own name', async () => {
    const { ask, initialize, targets } = createFederation({ a: { sessionId: 'sa' }, b: {} });
    const session = await initialize();
    const talk = await ask(session, 'tools/call', call('a_close_all')).done;
    assert.equal(talk.status, 200);
    assert.deepEqual(textOf(talk.json)['params'], call('close_all'));
    assert.equal(talk.context.endpoint, 'a');
    assert.equal(targets['a']!.calls.length, 1);
    assert.equal(targets['b']!.calls.length, 0);
    const { speaker } = targets['a']!.calls[0]!;
    assert.equal(speaker.sessions?.get('a')?.id, 'sa');
    assert.equal(speaker.capabilities, '{"roots":{}}');
  });

  test('in 2026-07-28, without a session', async () => {
    const { askModern, targets } = createFederation({ a: {}, b: {} });
    const talk = await askModern('tools/call', { name: 'b_x' }, 'ann').done;
    assert.equal(talk.status, 200);
    const { speaker, message } = targets['b']!.calls[0]!;
    assert.equal(speaker.era, 'modern');
    assert.equal(speaker.clientInfo, '{"name":"c","version":"1"}');
    assert.ok(speaker.owner !== undefined);
    assert.equal(message.message.params['name'], 'x');
  });

  test('a name leads where it led when rules judged it', async () => {
    const { ask, initialize, reconfigure, targets } = createFederation({ a: {}, b: {}, c: {} });
    const session = await initialize();
    const talks = ['a_close', 'c_close'].map((name) => ask(session, 'tools/call', call(name)));
    // The prefixes of two servers change places, and one server goes, after rules were asked.
    reconfigure((config) => ({
      ...config,
      targets: config.targets.slice(0, 2).map((target) => ({ ...target, prefix: target.prefix === 'a' ? 'b' : 'a' })),
    }));
    const [moved, gone] = await Promise.all(talks.map(async ({ done }) => done));
    assert.equal(moved!.context.endpoint, 'a');
    assert.equal(targets['a']!.calls.length, 1);
    assert.equal(targets['b']!.calls.length, 0);
    assert.equal(errorOf(gone!.json), '-32603 The server "c" cannot be reached.');
    assert.equal((await ask(session, 'tools/call', call('a_close')).done).context.endpoint, 'b');
  });

  test('a list has the names that the rules of its request know', async () => {
    const listing: FakeBehaviour = {
      onRequest: (each) => each.answer({ tools: [{ name: 'close' }], ttlMs: 60_000, cacheScope: 'public' }),
    };
    const { askModern, reconfigure } = createFederation({ a: listing, b: {}, c: listing });
    const namesOf = ({ json }: Talk): readonly string[] =>
      (json['result'] as { tools: { name: string }[] }).tools.map(({ name }) => name);
    const before = askModern('tools/list');
    // One server gets another prefix and keeps its tool to itself, one goes, and one comes.
    const nothing = (): boolean => false;
    reconfigure((config) => ({
      ...config,
      targets: [
        { ...config.targets[0]!, prefix: 'x', selects: { tool: nothing, prompt: nothing, resource: nothing } },
        { ...createTarget('d'), prefix: 'c' },
      ],
    }));
    assert.deepEqual(namesOf(await before.done), ['a_close']);
    assert.deepEqual(namesOf(await askModern('tools/list').done), [], 'what others were shown is not kept');
  });

  test('unknown names are unknown items, at no cost of a target', async () => {
    const { ask, initialize, targets } = createFederation({ a: {} });
    const session = await initialize();
    for (const [method, params, expected] of [
      ['tools/call', call('c_x'), '-32602 Unknown tool: c_x'],
      ['tools/call', call('x'), '-32602 Unknown tool: x'],
      ['prompts/get', { name: 'c_x' }, '-32602 Unknown prompt: c_x'],
      ['resources/read', { uri: 'file:///a' }, '-32002 Resource not found'],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' } }, '-32602 Unknown prompt: x'],
      ['tools/call', {}, '-32602 The message has no name.'],
      ['tasks/get', { taskId: 'c_1' }, '-32602 Task not found'],
      ['nothing/known', {}, '-32601 Method not found'],
      ['server/discover', {}, '-32601 Method not found'],
    ] as const) {
      const talk = await ask(session, method, params).done;
      assert.equal(errorOf(talk.json), expected);
      assert.equal(talk.status, 200);
    }
    assert.equal(targets['a']!.calls.length, 0);
  });

  test('what is not selected is unknown', async () => {
    const fixture = createFederation({ a: {} });
    fixture.reconfigure((config) => ({
      ...config,
      targets: [
        {
          ...createTarget('a'),
          selects: { tool: (name) => name !== 'wipe', prompt: () => true, resource: () => true },
        },
      ],
    }));
    const session = await fixture.initialize();
    assert.equal(
      errorOf((await fixture.ask(session, 'tools/call', call('a_wipe')).done).json),
      '-32602 Unknown tool: a_wipe',
    );
    assert.equal((await fixture.ask(session, 'tools/call', call('a_x')).done).status, 200);
  });

  test('a failure names the target, and its refusal is not the client’s', async () => {
    const fixture = createFederation({ a: { onRequest() {} } });
    const session = await fixture.initialize();
    const failures = [
      { kind: 'down', detail: 'ECONNREFUSED' },
      { kind: 'timeout' },
      { kind: 'garbage' },
      { kind: 'refused', status: 401, headers: ['WWW-Authenticate', 'Bearer', 'Retry-After', '3'] },
      { kind: 'no-answer' },
    ] as const;
    const told: string[] = [];
    for (const failure of failures) {
      fixture.targets['a']!.behaviour.onRequest = (each) => each.fail(failure);
      const talk = await fixture.ask(session, 'tools/call', call('a_x')).done;
      assert.equal(talk.status, 200);
      assert.ok(!talk.headers.includes('WWW-Authenticate'));
      told.push(`${errorOf(talk.json)} ${JSON.stringify((talk.json['error'] as { data: object }).data)}`);
    }
    assert.deepEqual(told, [
      '-32603 The server "a" cannot be reached. {"target":"a","reason":"down"}',
      '-32603 The server "a" did not answer in time. {"target":"a","reason":"timeout"}',
      '-32603 The server "a" sent an answer that cannot be read. {"target":"a","reason":"garbage"}',
      '-32603 The server "a" refused the request (HTTP 401). {"target":"a","reason":"refused","status":401,"retryAfter":"3"}',
      '-32603 The server "a" broke off before it answered. {"target":"a","reason":"no-answer"}',
    ]);
  });

  test('a stream as soon as something comes before the answer; links are the client’s', async () => {
    const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } };
    const { ask, initialize } = createFederation({
      a: {
        onRequest(each) {
          each.say(progress);
          each.answer({ content: [{ type: 'resource_link', uri: 'file:///a', name: 'n' }] });
        },
      },
    });
    const talk = await ask(await initialize(), 'tools/call', call('a_x')).done;
    assert.deepEqual(talk.headers.slice(0, 2), ['content-type', 'text/event-stream']);
    assert.deepEqual(talk.events, [
      progress,
      { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'resource_link', uri: 'a+file:///a', name: 'n' }] } },
    ]);
  });

  test('a client that leaves: cancelled in 2026-07-28, not before', async () => {
    const { ask, askModern, initialize, targets } = createFederation({ a: { onRequest() {} } });
    const session = await initialize();
    const leave = async (start: () => ReturnType<typeof ask>): Promise<unknown> => {
      const before = targets['a']!.calls.length;
      const talk = start();
      await waitFor('the call', () => targets['a']!.calls.length > before);
      talk.leave();
      return targets['a']!.calls.at(-1)!.aborted;
    };
    assert.deepEqual(await leave(() => ask(session, 'tools/call', call('a_x'))), { cancel: false });
    assert.deepEqual(await leave(() => askModern('tools/call', { name: 'a_x' })), { cancel: true });
  });

  test('a slow client slows its target', async () => {
    let room: boolean | undefined;
    const { ask, initialize, targets } = createFederation({
      a: { onRequest: (each) => void (room = each.say({ jsonrpc: '2.0', method: 'notifications/message' })) },
    });
    const talk = ask(await initialize(), 'tools/call', call('a_x'));
    talk.isPaused = true;
    await waitFor('a message', () => room !== undefined);
    assert.equal(room, false);
    talk.resume();
    assert.equal(targets['a']!.calls[0]!.resumed, 1);
    talk.leave();
  });
});

describe('questions of servers', () => {
  test('go under ids that lead back to who asked, in this session only', async () => {
    const { ask, initialize, talk, targets } = createFederation({
      a: { onRequest: (each) => void each.say({ jsonrpc: '2.0', id: 7, method: 'roots/list' }) },
      b: {},
    });
    const [session, other] = [await initialize(), await initialize()];
    const asking = ask(session, 'tools/call', call('a_x'));
    await waitFor('the question', () => asking.events.length > 0);
    const { id } = asking.events[0] as { id: string };
    assert.equal(typeof id, 'string');
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
    targets['a']!.calls[0]!.say(cancelled);
    assert.deepEqual(asking.events[1], { ...cancelled, params: { requestId: id } });
    targets['a']!.calls[0]!.say(
      '{ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7, "reason": 1.0 } }',
    );
    await waitFor('the cancellation as it was written', () =>
      asking.body.includes(`"params": { "requestId": ${JSON.stringify(id)}, "reason": 1.0 }`),
    );
    const post = (to: string, body: object) => talk({ headers: ['Mcp-Session-Id', to], body }).done;
    const answer = { jsonrpc: '2.0', id, result: { roots: [] } };
    assert.equal((await post(other, answer)).status, 400);
    assert.equal((await post(session, { ...answer, id: 7 })).status, 400);
    assert.equal((await post(session, { ...answer, id: `${id}x` })).status, 400);
    assert.deepEqual(targets['a']!.told, []);
    assert.equal((await post(session, answer)).status, 202);
    assert.deepEqual(targets['a']!.told, ['{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}']);
    assert.deepEqual(targets['b']!.told, []);
    asking.leave();
  });
});

describe('sessions', () => {
  const refused = async (fixture: ReturnType<typeof createFederation>, id: string, user?: string): Promise<string> => {
    const talk = await fixture.ask(id, 'ping', {}, user).done;
    return `${talk.status} ${talk.body === '' ? '' : errorOf(talk.json)}`;
  };

  test('of another caller, another key, altered, cut, invented, or ended: never existed', async () => {
    const keys = [createSealKey()];
    const fixture = createFederation({ a: { sessionId: 'x' } }, { keys });
    const session = await fixture.initialize('ann');
    assert.equal((await fixture.ask(session, 'ping', {}, 'ann').done).status, 200);
    const gone = '404 -32001 Session not found';
    assert.equal(await refused(fixture, session, 'bob'), gone);
    assert.equal(await refused(fixture, session), gone);
    assert.equal(await refused(fixture, session.slice(0, -4), 'ann'), gone);
    assert.equal(await refused(fixture, `${session}AAAA`, 'ann'), gone);
    assert.equal(await refused(fixture, 'x', 'ann'), gone);
    assert.equal(await refused(createFederation({ a: {} }), session, 'ann'), gone);
    const replica = createFederation({ a: {} }, { keys });
    assert.equal((await replica.ask(session, 'ping', {}, 'ann').done).status, 200);
    const ended = await fixture.talk({ method: 'DELETE', headers: ['Mcp-Session-Id', session], user: 'ann' }).done;
    assert.equal(ended.status, 200);
    assert.deepEqual(fixture.targets['a']!.ended, ['x']);
    assert.equal(await refused(fixture, session, 'ann'), gone);
  });

  test('there is one id, and it is needed', async () => {
    const fixture = createFederation({ a: {} });
    const body = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const none = await fixture.talk({ body }).done;
    assert.equal(none.status, 400);
    assert.equal(errorOf(none.json), '-32000 Bad Request: Mcp-Session-Id header is required');
    const session = await fixture.initialize();
    const two = await fixture.talk({ headers: ['Mcp-Session-Id', session, 'mcp-session-id', session], body }).done;
    assert.equal(two.status, 400);
  });

  test('another replica knows the sessions of the targets', async () => {
    const keys = [createSealKey()];
    const behaviours = { a: { sessionId: 'sa' }, b: {} };
    const first = createFederation(behaviours, { keys });
    const second = createFederation(behaviours, { keys });
    const session = await first.initialize();
    await second.ask(session, 'tools/call', call('a_x')).done;
    assert.equal(second.targets['a']!.calls[0]!.speaker.sessions?.get('a')?.id, 'sa');
  });
});

describe('initialize and server/discover', () => {
  test('one target down is missing, all down is an error', async () => {
    const fixture = createFederation({ a: { introduction: { instructions: ' Be kind. ' } }, b: { failure: {} } });
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: {} };
    const body = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
    const talk = await fixture.talk({ body }).done;
    assert.deepEqual(talk.json['result'], {
      protocolVersion: '2025-06-18',
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        completions: {},
        logging: {},
      },
      serverInfo: { name: 'all', version: '1.0.0' },
      instructions: '# a\nBe kind.',
    });
    fixture.targets['a']!.behaviour.failure = {};
    const down = await fixture.talk({ body }).done;
    assert.equal(errorOf(down.json), '-32603 No server behind this endpoint can be reached: a, b.');
    assert.ok(!down.headers.includes('mcp-session-id'));
  });

  test('a target that says nothing is waited for as long as a connection may take, and five seconds more', async (t) => {
    const fixture = createFederation({ a: { introduction: { instructions: 'Be kind.' } }, b: { hangs: true } });
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    // The federation is loaded with the first request.
    await fixture.federations.find('ProxyBackend/default/all');
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} };
    const body = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
    for (const ask of [() => fixture.talk({ body }), () => fixture.askModern('server/discover')]) {
      const talk = ask();
      // eslint-disable-next-line no-await-in-loop
      for (let turns = 0; turns < 20; turns += 1) await turn();
      // The connection may take a second.
      t.mock.timers.tick(5_999);
      // eslint-disable-next-line no-await-in-loop
      for (let turns = 0; turns < 20; turns += 1) await turn();
      assert.ok(!talk.isOver);
      t.mock.timers.tick(1);
      // eslint-disable-next-line no-await-in-loop
      const { json } = await talk.done;
      assert.equal((json['result'] as { instructions: string }).instructions, '# a\nBe kind.');
    }
  });

  test('server/discover tells both eras', async () => {
    const fixture = createFederation({
      a: { introduction: { capabilities: '{"extensions":{"io.modelcontextprotocol/ui":{},"x/y":{}}}' } },
    });
    const { result } = (await fixture.askModern('server/discover').done).json as { result: Record<string, unknown> };
    assert.deepEqual(result['supportedVersions'], [
      '2026-07-28',
      '2025-11-25',
      '2025-06-18',
      '2025-03-26',
      '2024-11-05',
    ]);
    assert.deepEqual((result['capabilities'] as Record<string, unknown>)['extensions'], {
      'io.modelcontextprotocol/ui': {},
    });
    assert.equal(result['resultType'], 'complete');
  });

  test('tasks are advertised where a server has them, logs always', async () => {
    const has = (capabilities: object) => ({ introduction: { capabilities: JSON.stringify(capabilities) } });
    const tasks = { list: {}, requests: { tools: { call: {} } } };
    const extensions = { 'io.modelcontextprotocol/tasks': {} };
    const fixture = createFederation({ a: has({ tasks, extensions }), b: has({ tasks: { cancel: {} }, logging: {} }) });
    const discovered = (await fixture.askModern('server/discover').done).json as Introduced;
    assert.deepEqual(discovered.result.capabilities['extensions'], extensions);
    assert.equal(discovered.result.capabilities['tasks'], undefined);
    assert.deepEqual(discovered.result.capabilities['logging'], {});
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} };
    const body = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
    const initialized = (await fixture.talk({ body }).done).json as Introduced;
    assert.deepEqual(initialized.result.capabilities['tasks'], { ...tasks, cancel: {} });
    const without = createFederation({ a: {} });
    const alone = (await without.askModern('server/discover').done).json as Introduced;
    assert.equal(alone.result.capabilities['extensions'], undefined);
  });

  test('versions that are not spoken', async () => {
    const fixture = createFederation({ a: {} });
    const unknown = await fixture.talk({
      headers: ['MCP-Protocol-Version', '2099-01-01', 'Mcp-Method', 'ping'],
      body: { jsonrpc: '2.0', id: 1, method: 'ping' },
    }).done;
    assert.equal(unknown.status, 400);
    assert.equal(errorOf(unknown.json), '-32022 Unsupported protocol version: 2099-01-01');
    const bare = await fixture.talk({
      headers: ['MCP-Protocol-Version', '2026-07-28', 'Mcp-Method', 'tools/list'],
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    }).done;
    assert.equal(errorOf(bare.json), '-32602 The message has no io.modelcontextprotocol/protocolVersion in its _meta.');
    assert.equal((await fixture.talk({ headers: ['MCP-Protocol-Version', '2026-07-28'] }).done).status, 405);
  });
});

describe('everybody', () => {
  test('lists of all, with what is missing', async () => {
    const list = (name: string) => (each: { answer(result: object): void }) => each.answer({ tools: [{ name }] });
    const fixture = createFederation({ a: { onRequest: list('x') }, b: { failure: {} }, c: { onRequest: list('x') } });
    const session = await fixture.initialize();
    const { result } = (await fixture.ask(session, 'tools/list').done).json as { result: object };
    assert.deepEqual(result, {
      tools: [{ name: 'a_x' }, { name: 'c_x' }],
      _meta: { 'gateway.proxy/unavailable': ['b'] },
    });
  });

  test('a server that hangs makes one list slow, and not the next one', async (t) => {
    const list = (each: { answer(result: object): void }): void => each.answer({ tools: [{ name: 'x' }] });
    const fixture = createFederation({ a: { onRequest: list }, b: { onRequest() {} } });
    const session = await fixture.initialize();
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const first = fixture.ask(session, 'tools/list');
    for (let turn = 0; turn < 100 && (fixture.targets['b']!.calls.length === 0 || !first.isOver); turn += 1) {
      // eslint-disable-next-line no-await-in-loop
      await new Promise((resolve) => setImmediate(resolve));
      if (fixture.targets['b']!.calls.length > 0) t.mock.timers.tick(15_000);
    }
    const expected = { tools: [{ name: 'a_x' }], _meta: { 'gateway.proxy/unavailable': ['b'] } };
    assert.deepEqual((await first.done).json['result'], expected);
    assert.deepEqual((await fixture.ask(session, 'tools/list').done).json['result'], expected);
    assert.equal(fixture.targets['b']!.calls.length, 1);
  });

  test('nor does it keep a level of logs or a list of tasks waiting, whatever timeouts there are', async (t) => {
    const answer = (each: { answer(result: object): void }): void => each.answer({ tasks: [{ taskId: '1' }] });
    const fixture = createFederation({ a: { onRequest: answer }, b: { onRequest() {} } });
    const session = await fixture.initialize();
    const { b } = fixture.targets;
    t.mock.timers.enable({ apis: ['setTimeout'] });
    for (const [method, params, expected] of [
      ['logging/setLevel', { level: 'debug' }, {}],
      ['tasks/list', {}, { tasks: [{ taskId: 'a_1' }], _meta: { 'gateway.proxy/unavailable': ['b'] } }],
    ] as const) {
      const before = b!.calls.length;
      const first = fixture.ask(session, method, params);
      for (let turn = 0; turn < 100 && b!.calls.length === before; turn += 1)
        // eslint-disable-next-line no-await-in-loop
        await new Promise((resolve) => setImmediate(resolve));
      t.mock.timers.tick(14_999);
      // eslint-disable-next-line no-await-in-loop
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(first.isOver, false);
      t.mock.timers.tick(1);
      // eslint-disable-next-line no-await-in-loop
      assert.deepEqual((await first.done).json['result'], expected);
      assert.deepEqual(b!.calls.at(-1)!.aborted, { cancel: true });
      // eslint-disable-next-line no-await-in-loop
      assert.deepEqual((await fixture.ask(session, method, params).done).json['result'], expected);
      assert.equal(b!.calls.length, before + 1);
    }
    b!.behaviour.onRequest = (each) => each.answer({ tools: [{ name: 'x' }] });
    const { result } = (await fixture.ask(session, 'tools/list').done).json as { result: { tools: object[] } };
    assert.deepEqual(result.tools.at(-1), { name: 'b_x' }, 'who hangs on something else may have its tools');
  });

  test('a server that must not be missing fails what all are asked when it hangs; who leaves is not waited for', async (t) => {
    const fixture = createFederation({ a: {}, b: { onRequest() {} } }, { failsClosed: ['b'] });
    const session = await fixture.initialize();
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const setLevel = async () => {
      const { length } = fixture.targets['b']!.calls;
      const talk = fixture.ask(session, 'logging/setLevel', { level: 'debug' });
      for (let turn = 0; turn < 100 && fixture.targets['b']!.calls.length === length; turn += 1)
        // eslint-disable-next-line no-await-in-loop
        await new Promise((resolve) => setImmediate(resolve));
      return talk;
    };
    (await setLevel()).leave();
    t.mock.timers.tick(15_000);
    const talk = await setLevel();
    t.mock.timers.tick(15_000);
    assert.equal(errorOf((await talk.done).json), '-32603 The server "b" did not answer in time.');
    assert.equal(fixture.targets['b']!.calls.length, 2);
  });

  test('nor does it make other servers late, whatever else is wrong with them', async (t) => {
    const uris = ['x:1'];
    const list = (each: { answer(result: object): void }): void =>
      each.answer({ resources: uris.map((uri) => ({ uri })), tools: [{ name: 'x' }] });
    const fixture = createFederation({
      a: { onRequest() {} },
      b: { onRequest: (each) => each.fail({ kind: 'garbage' }) },
      c: { onRequest: list },
    });
    const session = await fixture.initialize();
    t.mock.timers.enable({ apis: ['setTimeout'] });
    for (const method of ['resources/list', 'tools/list']) {
      const first = fixture.ask(session, method);
      for (let turn = 0; turn < 100 && !first.isOver; turn += 1) {
        // eslint-disable-next-line no-await-in-loop
        await new Promise((resolve) => setImmediate(resolve));
        t.mock.timers.tick(500);
      }
      // eslint-disable-next-line no-await-in-loop
      const { result } = (await first.done).json as { result: Record<string, unknown> };
      assert.deepEqual(result['_meta'], { 'gateway.proxy/unavailable': ['a', 'b'] });
      assert.deepEqual(result['resources'] ?? result['tools'], [
        method === 'tools/list' ? { name: 'c_x' } : { uri: 'c+x:1' },
      ]);
    }
    const { a, b, c } = fixture.targets;
    assert.deepEqual([a!.calls.length, b!.calls.length, c!.calls.length], [1, 2, 2]);
  });

  test('notifications; a cancellation goes to the one that was asked', async () => {
    const { ask, initialize, talk, targets } = createFederation({ a: { onRequest() {} }, b: {} });
    const session = await initialize();
    const post = (method: string, params = {}) =>
      talk({ headers: ['Mcp-Session-Id', session], body: { jsonrpc: '2.0', method, params } }).done;
    assert.equal((await post('notifications/initialized')).status, 202);
    assert.equal((await post('notifications/roots/list_changed')).status, 202);
    assert.equal(targets['a']!.told.length + targets['b']!.told.length, 2);
    const asking = ask(session, 'tools/call', call('a_x'));
    await waitFor('the call', () => targets['a']!.calls.length === 1);
    await post('notifications/cancelled', { requestId: 1 });
    assert.deepEqual([targets['a']!.told.length, targets['b']!.told.length], [2, 1]);
    await post('notifications/cancelled', { requestId: 99 });
    assert.deepEqual([targets['a']!.told.length, targets['b']!.told.length], [3, 2]);
    asking.leave();
  });

  test('logging/setLevel and tasks/list', async () => {
    const fixture = createFederation({
      a: {
        onRequest: (each) =>
          each.answer(each.message.message.method === 'tasks/list' ? { tasks: [{ taskId: '1' }] } : {}),
      },
      b: {},
    });
    const session = await fixture.initialize();
    fixture.targets['b']!.behaviour.onRequest = (each) => {
      const { message } = each.message;
      each.say({
        jsonrpc: '2.0',
        id: message.kind === 'request' ? message.id : 0,
        error: { code: -32_601, message: 'no' },
      });
      each.end();
    };
    assert.deepEqual((await fixture.ask(session, 'logging/setLevel', { level: 'debug' }).done).json['result'], {});
    assert.deepEqual((await fixture.ask(session, 'tasks/list').done).json['result'], { tasks: [{ taskId: 'a_1' }] });
    // No server has logs now: the level is kept all the same.
    fixture.targets['a']!.behaviour.onRequest = fixture.targets['b']!.behaviour.onRequest;
    assert.deepEqual((await fixture.ask(session, 'logging/setLevel', { level: 'info' }).done).json['result'], {});
  });

  test('tasks/list: who answers with nonsense is missing; a method is unknown only where all servers say so', async () => {
    const fixture = createFederation({ a: {}, b: {} });
    const session = await fixture.initialize();
    const { a, b } = fixture.targets;
    const listTasks = async () => (await fixture.ask(session, 'tasks/list').done).json;
    a!.behaviour.onRequest = (each) => each.answer({ tasks: [{ taskId: '1' }] });
    b!.behaviour.onRequest = (each) => each.answer('nothing' as unknown as object);
    const missing = { 'gateway.proxy/unavailable': ['b'] };
    assert.deepEqual((await listTasks())['result'], { tasks: [{ taskId: 'a_1' }], _meta: missing });
    a!.behaviour.onRequest = (each) => {
      const error = { code: -32_601, message: 'no' };
      each.say({ jsonrpc: '2.0', id: (each.message.message as { id: string }).id, error });
      each.end();
    };
    assert.equal(
      errorOf(await listTasks()),
      '-32603 The servers that can be reached do not have this method, and these cannot be reached: b.',
    );
    b!.behaviour.onRequest = a!.behaviour.onRequest;
    assert.equal(errorOf(await listTasks()), '-32601 Method not found');
  });

  test('tasks/list: tasks are as their servers wrote them, page by page', async () => {
    const fixture = createFederation({ a: {} });
    const session = await fixture.initialize();
    fixture.targets['a']!.behaviour.onRequest = (each) => {
      const { id, params } = each.message.message as { id: string; params: { cursor?: string } };
      const page =
        params.cursor === 'p2'
          ? '{"tasks":[{"taskId":"2"}],"nextCursor":null}'
          : '{"nextCursor":"p2","tasks":[ {"taskId":"1","at":12345678901234567890,"x":1.0} ,7]}';
      each.say(`{"jsonrpc":"2.0","id":"${id}","result":${page}}`);
      each.end();
    };
    const { body } = await fixture.ask(session, 'tasks/list').done;
    const tasks = '{"taskId":"a_1","at":12345678901234567890,"x":1.0},7,{"taskId":"a_2"}';
    assert.equal(body, `{"jsonrpc":"2.0","id":1,"result":{"tasks":[${tasks}]}}`);
  });

  test('tasks/list: a server with too many tasks is missing', async () => {
    const fixture = createFederation({ a: {}, b: { onRequest: (each) => each.answer({ tasks: [{ taskId: '1' }] }) } });
    const session = await fixture.initialize();
    const text = 'x'.repeat(6 * 1024 * 1024);
    const { a } = fixture.targets;
    const missing = { tasks: [{ taskId: 'b_1' }], _meta: { 'gateway.proxy/unavailable': ['a'] } };
    a!.behaviour.onRequest = (each) => each.answer({ tasks: [{ text }], nextCursor: 'more' });
    const large = await fixture.ask(session, 'tasks/list').done;
    assert.deepEqual(large.json['result'], missing);
    assert.equal(large.context.detail, 'a: its list of tasks has more than 16777216 characters');
    assert.equal(a!.calls.length, 3);
    a!.behaviour.onRequest = (each) => each.answer({ tasks: [], nextCursor: 'more' });
    const endless = await fixture.ask(session, 'tasks/list').done;
    assert.deepEqual(endless.json['result'], missing);
    assert.equal(endless.context.detail, 'a: its list of tasks has more than 100 pages');
  });

  test('a level that is none is refused, and no server hears of it; one that is set is kept for those that are down', async () => {
    const fixture = createFederation({ a: {}, b: { failure: {} } });
    const session = await fixture.initialize();
    const set = async (params: object) => (await fixture.ask(session, 'logging/setLevel', params).done).json;
    const known = 'The levels are debug, info, notice, warning, error, critical, alert, emergency.';
    assert.equal(errorOf(await set({ level: 'loud' })), `-32602 Unknown log level: "loud". ${known}`);
    assert.equal(errorOf(await set({ level: 7 })), `-32602 Unknown log level: 7. ${known}`);
    assert.equal(errorOf(await set({})), '-32602 The message has no level.');
    assert.deepEqual([fixture.targets['a']!.calls.length, fixture.targets['b']!.calls.length], [0, 0]);
    assert.deepEqual((await set({ level: 'alert' }))['result'], {});
    const { sessions } = fixture.targets['b']!.calls[0]!.speaker;
    assert.equal(sessions!.wishes.findLevel(sessions!.name), 'alert');
  });

  test('a batch is split and answered together', async () => {
    const { initialize, talk, targets } = createFederation({ a: {}, b: {} });
    const session = await initialize(undefined, '2025-03-26');
    const request = (id: number, method: string, params = {}) => ({ jsonrpc: '2.0', id, method, params });
    const body = [
      request(1, 'ping'),
      request(2, 'tools/call', call('a_x')),
      request(3, 'tools/call', call('b_y')),
      { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
    ];
    const batch = await talk({ headers: ['Mcp-Session-Id', session], body }).done;
    const ids = (batch.json as unknown as { id: number }[]).map(({ id }) => id);
    assert.deepEqual(
      ids.toSorted((left, right) => left - right),
      [1, 2, 3],
    );
    assert.equal(targets['a']!.told.length, 1);
    const notices = await talk({ headers: ['Mcp-Session-Id', session], body: [body[3]] }).done;
    assert.equal(notices.status, 202);
  });
});

const tasksExtension = { 'io.modelcontextprotocol/tasks': {} };

function listenForTasks(fixture: FederationFixture, notifications: object, extensions: object = tasksExtension): Talk {
  const meta = { 'io.modelcontextprotocol/clientCapabilities': { extensions } };
  return fixture.askModern('subscriptions/listen', { notifications, _meta: meta });
}

describe('streams', () => {
  test('a GET merges those of all targets, and tells when one comes or goes', async () => {
    const fixture = createFederation({ a: {}, b: {} });
    const session = await fixture.initialize();
    const stream = fixture.talk({ headers: ['Mcp-Session-Id', session] });
    await waitFor('both', () => fixture.targets['b']?.streams.length === 1);
    const updated = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'x:y' } };
    fixture.targets['a']!.streams[0]!.say(updated);
    fixture.targets['b']!.streams[0]!.say(updated);
    const uris = stream.events.map(({ params }) => (params as { uri: string }).uri);
    assert.deepEqual(uris, ['a+x:y', 'b+x:y']);
    fixture.targets['b']!.become('up');
    assert.equal(stream.events.length, 2);
    fixture.targets['b']!.become('down');
    assert.deepEqual(
      stream.events.slice(2).map(({ method }) => method),
      ['tools', 'prompts', 'resources'].map((list) => `notifications/${list}/list_changed`),
    );
    const before = stream.events.length;
    fixture.reconfigure((config) => ({ ...config, targets: [config.targets[0]!, createTarget('c')] }));
    assert.equal(stream.events.length, before + 3);
    assert.ok(fixture.targets['b']!.isClosed && fixture.targets['b']!.streams[0]!.isClosed);
    assert.equal(fixture.targets['c']!.streams.length, 1);
    assert.equal(fixture.targets['a']!.streams.length, 1);
    fixture.federations.close();
    assert.ok(stream.isOver);
  });

  test('a subscription is acknowledged with what the targets say, and names itself everywhere', async () => {
    const fixture = createFederation({ a: {}, b: {} });
    const stream = fixture.askModern('subscriptions/listen', {
      notifications: { toolsListChanged: true, resourceSubscriptions: ['a+x:y', 'b+x:y', 'c+x:y'] },
    });
    await waitFor('both', () => fixture.targets['b']?.streams.length === 1);
    const [a, b] = [fixture.targets['a']!.streams[0]!, fixture.targets['b']!.streams[0]!];
    assert.deepEqual(a.filter, { tools: true, prompts: false, resources: false, uris: ['x:y'], tasks: [] });
    const acknowledge = (uris: readonly string[]) => ({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { toolsListChanged: true, resourceSubscriptions: uris } },
    });
    a.say(acknowledge(['x:y']));
    a.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    assert.deepEqual(stream.events, []);
    b.end();
    assert.deepEqual(stream.events, [
      {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: {
          notifications: { toolsListChanged: true, resourceSubscriptions: ['a+x:y'] },
          _meta: { 'io.modelcontextprotocol/subscriptionId': 1 },
        },
      },
      {
        jsonrpc: '2.0',
        method: 'notifications/tools/list_changed',
        params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 1 } },
      },
    ]);
    stream.leave();
    assert.ok(a.isClosed);
  });

  test('tasks are told of by the servers that have them; others are left out', async () => {
    const fixture = createFederation({ a: {}, b: {} });
    const stream = listenForTasks(fixture, { taskIds: ['a_7', 'b_8_9', 'b_lost', 'c_1', 'x'] });
    await waitFor('both', () => fixture.targets['b']?.streams.length === 1);
    const [a, b] = [fixture.targets['a']!.streams[0]!, fixture.targets['b']!.streams[0]!];
    const none = { tools: false, prompts: false, resources: false, uris: [] };
    assert.deepEqual(
      [a.filter, b.filter],
      [
        { ...none, tasks: ['7'] },
        { ...none, tasks: ['8_9', 'lost'] },
      ],
    );
    const acknowledge = (taskIds: readonly string[]) => ({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds } },
    });
    a.say(acknowledge(['7']));
    b.say(acknowledge(['8_9']));
    const result = { content: [{ type: 'resource_link', uri: 'x:y' }] };
    b.say({ jsonrpc: '2.0', method: 'notifications/tasks', params: { taskId: '8_9', status: 'completed', result } });
    const meta = { 'io.modelcontextprotocol/subscriptionId': 1 };
    const told = stream.events.map(({ method, params }) => [method, params]);
    assert.deepEqual(told, [
      ['notifications/subscriptions/acknowledged', { notifications: { taskIds: ['a_7', 'b_8_9'] }, _meta: meta }],
      [
        'notifications/tasks',
        {
          taskId: 'b_8_9',
          status: 'completed',
          result: { content: [{ type: 'resource_link', uri: 'b+x:y' }] },
          _meta: meta,
        },
      ],
    ]);
    stream.leave();
    assert.ok(a.isClosed && b.isClosed);
  });

  test('a subscription to nothing but tasks that no server can have is refused, as are wrong ones', async () => {
    const fixture = createFederation({ a: {} });
    const refused = async (notifications: object, extensions?: object): Promise<string> => {
      const talk = await listenForTasks(fixture, notifications, extensions).done;
      return `${talk.status} ${errorOf(talk.json)}`;
    };
    assert.equal(await refused({ taskIds: ['c_1', 'x'] }), '200 -32602 Task not found');
    assert.equal(await refused({ taskIds: 'a_1' }), '200 -32602 The message has taskIds that are not an array.');
    assert.equal(await refused({ taskIds: ['a_1', 7] }), '200 -32602 The message has taskIds that are not strings.');
    const many = Array.from({ length: 1_001 }, (_, index) => `a_${index}`);
    assert.equal(await refused({ taskIds: many }), '200 -32602 The message has more than 1000 taskIds.');
    assert.equal(
      await refused({ taskIds: [`a_${'x'.repeat(262_144)}`] }),
      '200 -32602 The message has more than 262144 characters of taskIds.',
    );
    const missing = 'Missing required client capability: io.modelcontextprotocol/tasks';
    assert.equal(await refused({ taskIds: ['a_1'], toolsListChanged: true }, {}), `400 -32021 ${missing}`);
    assert.deepEqual(fixture.targets['a']!.streams, []);
    const stream = listenForTasks(fixture, { taskIds: ['c_1'], toolsListChanged: true });
    await waitFor('the stream', () => fixture.targets['a']!.streams.length === 1);
    stream.leave();
  });

  test('nothing of a notification changes but what names the subscription', async () => {
    const fixture = createFederation({ a: {} });
    const stream = fixture.askModern('subscriptions/listen', { notifications: { toolsListChanged: true } });
    await waitFor('the stream', () => fixture.targets['a']?.streams.length === 1);
    const server = fixture.targets['a']!.streams[0]!;
    const changed = 'tools/list_changed';
    const write = (method: string, params: string): string =>
      `{"jsonrpc":"2.0","method":"notifications/${method}"${params === '' ? '' : `,"params":${params}`}}`;
    server.say(write('subscriptions/acknowledged', '{"notifications":{"toolsListChanged":true}}'));
    const stamp = '"io.modelcontextprotocol/subscriptionId":1';
    for (const [own, seen] of [
      ['{"at":12345678901234567890,"_meta":{"x":1.0}}', `{"_meta":{${stamp},"x":1.0},"at":12345678901234567890}`],
      ['{"_meta":{"io.modelcontextprotocol/subscriptionId":"listen", "x":1e400}}', `{"_meta":{${stamp},"x":1e400}}`],
      ['{"_meta":null,"x":1.0}', `{"_meta":{${stamp}},"x":1.0}`],
      ['null', `{"_meta":{${stamp}}}`],
      ['', `{"_meta":{${stamp}}}`],
    ] as const) {
      const before = stream.body.length;
      server.say(write(changed, own));
      const sent = /^data: (.*)$/m.exec(stream.body.slice(before))?.[1] ?? '{}';
      // Members may change places, and nothing else.
      const { params, method, ...rest } = JSON.parse(sent) as Record<string, unknown>;
      assert.deepEqual([method, rest], [`notifications/${changed}`, { jsonrpc: '2.0' }]);
      assert.deepEqual(params, JSON.parse(seen));
      for (const number of seen.match(/12345678901234567890|1\.0|1e400/g) ?? []) assert.ok(sent.includes(number), sent);
    }
    stream.leave();
  });

  test('a server that says nothing is waited for five seconds', async (t) => {
    const fixture = createFederation({ a: {}, b: {} });
    await fixture.initialize();
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const notifications = { resourceSubscriptions: ['a+x:y', 'b+x:y'] };
    const stream = fixture.askModern('subscriptions/listen', { notifications });
    for (let turn = 0; turn < 100 && fixture.targets['b']!.streams.length === 0; turn += 1)
      // eslint-disable-next-line no-await-in-loop
      await new Promise((resolve) => setImmediate(resolve));
    fixture.targets['a']!.streams[0]!.say({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { resourceSubscriptions: ['x:y'] } },
    });
    t.mock.timers.tick(4_999);
    assert.equal(stream.events.length, 0);
    t.mock.timers.tick(1);
    const { params } = stream.events[0] as { params: { notifications: object } };
    assert.deepEqual(params.notifications, { resourceSubscriptions: ['a+x:y'] });
    stream.leave();
  });
});
