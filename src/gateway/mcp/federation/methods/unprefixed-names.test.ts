// Requests to a federation whose names have no prefixes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFor } from '../../../../../test/kit/wait-for.ts';
import type { FakeBehaviour, FakeCall } from '../testing/fake-target.ts';
import { createFederation, type FederationFixture, type Talk } from '../testing/federation-fixture.ts';

interface Items {
  tools?: readonly string[];
  prompts?: readonly string[];
  resources?: readonly string[];
  resourceTemplates?: readonly string[];
}

const keys = { tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate' } as const;
const members: Readonly<Record<string, keyof Items>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

/** Answers with its lists, and with the message itself to anything else. */
function has(items: Items): FakeBehaviour & { failure?: object | undefined } {
  return {
    onRequest(call: FakeCall) {
      const member = members[call.message.message.method];
      if (member === undefined) return call.answer({ content: [{ type: 'text', text: call.message.text }] });
      call.answer({ [member]: (items[member] ?? []).map((own) => ({ [keys[member]]: own })) });
    },
  };
}

const never = { config: { naming: 'never' } } as const;
/** Without the lists. */
const listCalls = ({ targets }: FederationFixture, name: string): readonly string[] =>
  targets[name]!.calls.map(({ message }) => message.message.method).filter((method) => !method.endsWith('/list'));
const say = ({ json, context }: Talk): string => {
  const { error } = json as { readonly error?: { readonly code: number; readonly message: string } };
  return error === undefined ? String(context.endpoint) : `${error.code} ${error.message}`;
};
const entriesOf = ({ json }: Talk, member: keyof Items): readonly unknown[] => {
  const { result } = json as { readonly result: Record<string, readonly Record<string, unknown>[]> };
  return result[member]!.map((entry) => entry[keys[member]]);
};

test('names are those of the servers, and lead to the one that lists them', async () => {
  const fixture = createFederation(
    {
      a: has({ tools: ['x'], prompts: ['p'], resources: ['file:///a'], resourceTemplates: ['db:///{id}'] }),
      b: has({ tools: ['a_y'], prompts: ['q'], resources: ['ui://b/app'], resourceTemplates: ['file:///{+path}'] }),
    },
    never,
  );
  const session = await fixture.initialize();
  for (const [method, params, expected] of [
    ['tools/call', { name: 'x' }, 'a'],
    ['tools/call', { name: 'a_y' }, 'b'],
    ['tools/call', { name: 'y' }, '-32602 Unknown tool: y'],
    ['prompts/get', { name: 'q' }, 'b'],
    ['prompts/get', { name: 'x' }, '-32602 Unknown prompt: x'],
    ['resources/read', { uri: 'file:///a' }, 'a'],
    ['resources/read', { uri: 'file:///b' }, 'b'],
    ['resources/read', { uri: 'ui://b/app' }, 'b'],
    ['resources/subscribe', { uri: 'db:///1' }, 'a'],
    ['resources/read', { uri: 'other:x' }, '-32002 Resource not found'],
    ['completion/complete', { ref: { type: 'ref/resource', uri: 'db:///{id}' } }, 'a'],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' } }, 'a'],
  ] as const)
    assert.equal(say(await fixture.ask(session, method, params).done), expected, JSON.stringify(params));
  const call = fixture.targets['b']!.calls.find(({ message }) => message.message.method === 'tools/call');
  assert.deepEqual(JSON.parse(call!.message.text), {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'a_y' },
  });
  assert.deepEqual(entriesOf(await fixture.ask(session, 'tools/list').done, 'tools'), ['x', 'a_y']);
  const modern = await fixture.askModern('resources/list').done;
  assert.deepEqual(entriesOf(modern, 'resources'), ['file:///a', 'ui://b/app']);
  assert.equal(say(await fixture.askModern('tools/call', { name: 'x' }).done), 'a');
});

test('what two claim is in no list and served by neither, also while one is down', async () => {
  const a = has({ tools: ['x', 'own'], resourceTemplates: ['db:///{id}'] });
  const fixture = createFederation(
    { a, b: has({ tools: ['x', 'y'], resourceTemplates: ['db:///{id}', 'db:///{id}/y'] }) },
    never,
  );
  const session = await fixture.initialize();
  const list = async (): Promise<readonly unknown[]> =>
    entriesOf(await fixture.ask(session, 'tools/list').done, 'tools');
  const call = async (name: string): Promise<string> => say(await fixture.ask(session, 'tools/call', { name }).done);
  assert.deepEqual(await list(), ['own', 'y']);
  assert.equal(await call('x'), '-32602 Unknown tool: x');
  a.failure = { kind: 'down' };
  fixture.targets['a']!.become('down');
  assert.deepEqual(await list(), ['y']);
  assert.equal(await call('x'), '-32602 Unknown tool: x');
  assert.match(await call('own'), /-32603 The server "a" cannot be reached/);
  assert.deepEqual(listCalls(fixture, 'b'), []);
  const [state] = fixture.federations.describe();
  assert.deepEqual(state!.contested, [{ kind: 'tool', name: 'x', targets: ['a', 'b'] }]);
  const refused = await fixture.ask(session, 'tools/call', { name: 'x' }).done;
  assert.equal(refused.context.detail, 'several servers claim the tool x: a, b');
  delete a.failure;
  fixture.targets['a']!.become('up');
  assert.equal(await call('own'), 'a');
  const templates = await fixture.ask(session, 'resources/templates/list').done;
  assert.deepEqual(entriesOf(templates, 'resourceTemplates'), ['db:///{id}/y']);
});

test('a name of a server that is down goes to nobody else', async () => {
  const a = has({ tools: ['x'] });
  const items: { tools: readonly string[] } = { tools: ['y'] };
  const fixture = createFederation({ a, b: has(items) }, never);
  const session = await fixture.initialize();
  assert.equal(say(await fixture.ask(session, 'tools/call', { name: 'x' }).done), 'a');
  a.failure = { kind: 'down' };
  fixture.targets['a']!.become('down');
  items.tools = ['x', 'y'];
  assert.deepEqual(entriesOf(await fixture.ask(session, 'tools/list').done, 'tools'), ['y']);
  assert.equal(say(await fixture.ask(session, 'tools/call', { name: 'x' }).done), '-32602 Unknown tool: x');
  assert.deepEqual(listCalls(fixture, 'b'), []);
});

test('nothing is served while nobody knows what an indispensable server has', async () => {
  const fixture = createFederation(
    { a: has({ tools: ['x'] }), b: { failure: { kind: 'down' } } },
    { ...never, failsClosed: ['b'] },
  );
  const session = await fixture.initialize();
  const refused = await fixture.ask(session, 'tools/call', { name: 'x' }).done;
  assert.match(say(refused), /^-32603 The server "b" cannot be reached/);
  assert.deepEqual(listCalls(fixture, 'a'), []);
});

test('a configuration decides who may have a name; a target that is gone claims nothing', async () => {
  const fixture = createFederation({ a: has({ tools: ['x'] }), b: has({ tools: ['x'] }) }, never);
  const session = await fixture.initialize();
  const call = async (): Promise<string> => say(await fixture.ask(session, 'tools/call', { name: 'x' }).done);
  assert.equal(await call(), '-32602 Unknown tool: x');
  fixture.reconfigure((config) => ({
    ...config,
    targets: config.targets.map((target) =>
      target.name === 'a' ? { ...target, selects: { ...target.selects, tool: () => false } } : target,
    ),
  }));
  assert.equal(await call(), 'b');
  fixture.reconfigure((config) => ({ ...config, targets: config.targets.filter(({ name }) => name === 'b') }));
  assert.equal(await call(), 'b');
  assert.deepEqual(fixture.federations.describe()[0]!.contested, []);
});

test('tasks carry their target all the same', async () => {
  const fixture = createFederation({ a: has({}), b: has({}) }, never);
  const session = await fixture.initialize();
  const talk = await fixture.ask(session, 'tasks/get', { taskId: 'b_1' }).done;
  assert.equal(talk.context.endpoint, 'b');
});

test('a subscription asks whose the resources are', async () => {
  const fixture = createFederation({ a: has({ resources: ['x:1'] }), b: has({ resources: ['x:2'] }) }, never);
  const talk = fixture.askModern('subscriptions/listen', {
    notifications: { resourceSubscriptions: ['x:1', 'x:2', 'x:3'] },
  });
  await waitFor(() => ['a', 'b'].every((name) => fixture.targets[name]?.streams.length === 1));
  for (const [name, uri] of [
    ['a', 'x:1'],
    ['b', 'x:2'],
  ] as const) {
    const [stream] = fixture.targets[name]!.streams;
    assert.deepEqual(stream!.filter.uris, [uri]);
    const params = { notifications: { resourceSubscriptions: [uri] } };
    stream!.say({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params });
  }
  await waitFor(() => talk.events.length === 1);
  const { params } = talk.events[0] as { params: { notifications: object } };
  assert.deepEqual(params.notifications, { resourceSubscriptions: ['x:1', 'x:2'] });
  talk.leave();
});

test('a subscription is acknowledged within five seconds, also when a server does not list', async (t) => {
  const fixture = createFederation({ a: has({ resources: ['x:1'] }), b: { onRequest() {} } }, never);
  await fixture.initialize();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const notifications = { toolsListChanged: true, resourceSubscriptions: ['x:1', 'x:2'] };
  const talk = fixture.askModern('subscriptions/listen', { notifications });
  const { a, b } = fixture.targets;
  for (let count = 0; count < 100 && b!.calls.length < 2; count += 1)
    // eslint-disable-next-line no-await-in-loop
    await turn();
  t.mock.timers.tick(4_999);
  for (let count = 0; count < 100 && b!.streams.length === 0; count += 1)
    // eslint-disable-next-line no-await-in-loop
    await turn();
  const params = { notifications: { resourceSubscriptions: ['x:1'] } };
  a!.streams[0]!.say({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params });
  assert.deepEqual(talk.events, []);
  t.mock.timers.tick(1);
  const [said] = talk.events as { params: { notifications: object } }[];
  assert.deepEqual(said!.params.notifications, { toolsListChanged: true, resourceSubscriptions: ['x:1'] });
  talk.leave();
});

test('a client that leaves while its server is looked for reaches none', async () => {
  const calls: FakeCall[] = [];
  const fixture = createFederation({ a: { onRequest: (call) => void calls.push(call) } }, never);
  const session = await fixture.initialize();
  const talk = fixture.ask(session, 'tools/call', { name: 'x' });
  await waitFor(() => calls.length === 1);
  talk.leave();
  calls[0]!.answer({ tools: [{ name: 'x' }] });
  assert.deepEqual(entriesOf(await listOnce(fixture, session, calls), 'tools'), ['x']);
  assert.deepEqual(listCalls(fixture, 'a'), []);
});

async function listOnce(fixture: FederationFixture, session: string, calls: readonly FakeCall[]): Promise<Talk> {
  const talk = fixture.ask(session, 'tools/list');
  await waitFor(() => calls.length === 2);
  calls[1]!.answer({ tools: [{ name: 'x' }] });
  return talk.done;
}
