// Every method of a client at a federation of servers each of which does one thing wrong: what comes of it, and that the others are as they are without it.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { Fault } from '../mcp/faulty-server.ts';
import {
  connect,
  type Era,
  eras,
  failureOf,
  failures,
  hung,
  prompt,
  read,
  start,
} from './federation-faults-fixture.ts';

/** A request about something of one target. */
interface ItemMethod {
  readonly method: string;
  readonly clients: readonly Era[];
  readonly params: (target: string) => Readonly<Record<string, unknown>>;
  /** The result without a fault. */
  readonly whole: (target: string) => unknown;
  /** The servers that have it; absent: all. Others say that they do not, whatever else is wrong with them. */
  readonly servers?: readonly Era[];
}

const text = (said: string): object => ({ type: 'text', text: said });

const itemMethods: readonly ItemMethod[] = [
  {
    method: 'tools/call',
    clients: eras,
    params: (target) => ({ name: `${target}_x`, arguments: {} }),
    whole: () => ({ content: [text('called')] }),
  },
  {
    method: 'prompts/get',
    clients: eras,
    params: (target) => ({ name: `${target}_x` }),
    whole: () => ({ messages: [{ role: 'user', content: text('prompted') }] }),
  },
  {
    method: 'resources/read',
    clients: eras,
    params: (target) => ({ uri: `${target}+file:///x` }),
    whole: (target) => ({ contents: [{ uri: `${target}+file:///x`, text: 'read' }] }),
  },
  {
    method: 'completion/complete',
    clients: eras,
    params: (target) => ({ ref: { type: 'ref/prompt', name: `${target}_x` }, argument: { name: 'a', value: 'b' } }),
    whole: () => ({ completion: { values: ['completed'] } }),
  },
  {
    method: 'tasks/get',
    clients: eras,
    params: (target) => ({ taskId: `${target}_7` }),
    whole: (target) => ({ taskId: `${target}_7`, status: 'working' }),
  },
  {
    method: 'tasks/cancel',
    clients: eras,
    params: (target) => ({ taskId: `${target}_7` }),
    whole: (target) => ({ taskId: `${target}_7`, status: 'cancelled' }),
  },
  {
    method: 'tasks/result',
    clients: ['legacy'],
    servers: ['legacy'],
    params: (target) => ({ taskId: `${target}_7` }),
    whole: (target) => ({ content: [{ type: 'resource_link', uri: `${target}+file:///x`, name: 'x' }] }),
  },
  {
    method: 'tasks/update',
    clients: ['modern'],
    servers: ['modern'],
    params: (target) => ({ taskId: `${target}_7`, inputResponses: {} }),
    whole: () => ({}),
  },
  {
    method: 'resources/subscribe',
    clients: ['legacy'],
    params: (target) => ({ uri: `${target}+file:///x` }),
    whole: () => ({}),
  },
  {
    method: 'resources/unsubscribe',
    clients: ['legacy'],
    params: (target) => ({ uri: `${target}+file:///x` }),
    whole: () => ({}),
  },
];

/** A request to all targets. */
interface CommonMethod {
  readonly method: string;
  readonly clients: readonly Era[];
  readonly params?: Readonly<Record<string, unknown>>;
  /** Whether a server of the era is asked at all. */
  readonly asks: (server: Era) => boolean;
  /** What one target adds to the answer; undefined: nothing can be seen of it there. */
  readonly entry: ((target: string) => string) | undefined;
  /** How the entries are read. */
  readonly read: (result: Readonly<Record<string, unknown>>) => readonly unknown[];
}

const list = (member: string, key: string, entry: (target: string) => string): Omit<CommonMethod, 'method'> => ({
  clients: eras,
  asks: () => true,
  entry,
  read: (result) => (result[member] as readonly Record<string, unknown>[]).map((each) => each[key]),
});

const commonMethods: readonly CommonMethod[] = [
  { method: 'tools/list', ...list('tools', 'name', (target) => `${target}_x`) },
  { method: 'prompts/list', ...list('prompts', 'name', (target) => `${target}_x`) },
  { method: 'resources/list', ...list('resources', 'uri', (target) => `${target}+file:///x`) },
  {
    method: 'resources/templates/list',
    ...list('resourceTemplates', 'uriTemplate', (target) => `${target}+file:///x/{path}`),
  },
  {
    method: 'tasks/list',
    ...list('tasks', 'taskId', (target) => `${target}_7`),
    clients: ['legacy'],
    asks: (server) => server === 'legacy',
  },
  {
    method: 'logging/setLevel',
    params: { level: 'info' },
    clients: ['legacy'],
    asks: (server) => server === 'legacy',
    entry: undefined,
    read: () => [],
  },
];

function expectItem({ method, whole }: ItemMethod, fault: Fault, server: Era): unknown {
  const isSubscription = method === 'resources/subscribe' || method === 'resources/unsubscribe';
  if (server === 'modern' && isSubscription) {
    // The gateway keeps it, so there is nothing to ask the server for.
    if (method === 'resources/unsubscribe') return {};
    // The answer to a stream is its end: it has begun without the resource.
    if (fault === 'other-result')
      return {
        code: -32_602,
        message: 'The server does not tell of changes of this resource.',
        data: { uri: `${fault}+file:///x` },
      };
  }
  if (fault === 'other-result') return 'nothing';
  return failureOf(fault, fault) ?? whole(fault);
}

/** Whether a target with the fault is missing in what all targets answer together. */
function isMissing({ asks, entry }: CommonMethod, fault: Fault, server: Era): boolean {
  if (!asks(server)) return false;
  // Whoever sets a level is not told anything that could be misread.
  if (fault === 'other-result') return entry !== undefined;
  return failures[fault] !== undefined;
}

const unknown = { code: -32_601, message: 'Method not found' };

function has({ servers = eras }: ItemMethod, era: Era): boolean {
  return servers.includes(era);
}

/** Targets each with its own fault in every method. */
async function askEverything(t: TestContext, client: Era, server: Era, faults: readonly Fault[]): Promise<void> {
  const { gateway, servers } = await start(t, faults, server);
  const ask = await connect(gateway, client);
  const setFaults = (method: string): void => {
    const key = server === 'modern' && method === 'resources/subscribe' ? 'subscriptions/listen' : method;
    for (const fault of faults) servers[fault]!.faults.set(key, fault);
  };
  const isOf = ({ clients }: { clients: readonly Era[] }): boolean => clients.includes(client);
  const others = server === 'legacy' ? 'modern' : 'legacy';
  /** Of all but the missing ones. */
  const listAll = ({ entry, asks }: CommonMethod, missing: readonly Fault[] = []): readonly string[] => {
    if (entry === undefined) return [];
    const own = asks(server) ? faults.filter((fault) => !missing.includes(fault)) : [];
    return [...own, ...(asks(others) ? ['good'] : [])].map(entry);
  };
  // Without faults, so that it is known what every server speaks.
  for (const each of commonMethods.filter(isOf)) {
    // eslint-disable-next-line no-await-in-loop
    const answer = await ask(each.method, each.params);
    assert.deepEqual(each.read(read(answer) as never), listAll(each), each.method);
  }

  const items = itemMethods.filter(isOf);
  for (const { method } of items) setFaults(method);
  const look = async ({ method, params }: ItemMethod, target: string, expected: unknown): Promise<void> => {
    const answer = await ask(method, params(target));
    // From 2026-07-28 on, the status says it as well.
    const isAlsoStatus = expected === unknown && client === 'modern';
    assert.equal(answer.status, isAlsoStatus ? 404 : 200, `${method} ${target}`);
    assert.deepEqual(read({ ...answer, status: 200 }), expected, `${method} ${target}`);
  };
  await Promise.all(
    items.flatMap((each) => [
      ...faults.map((fault) => look(each, fault, has(each, server) ? expectItem(each, fault, server) : unknown)),
      look(each, 'good', has(each, others) ? each.whole('good') : unknown),
    ]),
  );

  for (const { method } of commonMethods) setFaults(method);
  await Promise.all(
    commonMethods.filter(isOf).map(async (each) => {
      const { method, params, entry } = each;
      const result = read(await ask(method, params)) as Readonly<Record<string, unknown>>;
      if (entry === undefined) return assert.deepEqual(result, {}, method);
      const missing = faults.filter((fault) => isMissing(each, fault, server));
      if (listAll(each, missing).length === 0)
        return assert.deepEqual(result, {
          code: -32_603,
          message: `The servers that can be reached do not have this method, and these cannot be reached: ${missing.join(', ')}.`,
          data: { targets: missing },
        });
      assert.deepEqual(each.read(result), listAll(each, missing), method);
      const meta = result['_meta'] as Readonly<Record<string, unknown>> | undefined;
      assert.deepEqual(meta?.['gateway.proxy/unavailable'] ?? [], missing, method);
    }),
  );

  // Nothing of it stays.
  for (const { faults: own } of Object.values(servers)) own.clear();
  for (const each of commonMethods.filter(isOf)) {
    // eslint-disable-next-line no-await-in-loop
    const result = read(await ask(each.method, each.params)) as Readonly<Record<string, unknown>>;
    assert.equal(result['_meta'], undefined, each.method);
  }
  const [call] = itemMethods;
  await Promise.all([...faults, 'good'].map((target) => look(call!, target, call!.whole(target))));
}

/** No list may be without any of the targets, of which one after the other has a fault. */
async function askForLists(t: TestContext, client: Era, server: Era, faults: readonly Fault[]): Promise<void> {
  const { gateway, servers } = await start(t, faults, server, { failureMode: 'FailClosed' });
  const ask = await connect(gateway, client);
  const methods = commonMethods.filter(({ clients }) => clients.includes(client));
  const look = async (each: CommonMethod, fault: Fault): Promise<void> => {
    const { method, params, entry, asks } = each;
    const answer = read(await ask(method, params));
    const title = `${method} ${fault}`;
    if (isMissing(each, fault, server)) return assert.deepEqual(answer, expectRefusal(method, fault), title);
    if (entry === undefined) return assert.deepEqual(answer, {}, title);
    const good = asks(server === 'legacy' ? 'modern' : 'legacy') ? ['good'] : [];
    const all = [...(asks(server) ? faults : []), ...good].map(entry);
    assert.deepEqual(each.read(answer as never), all, title);
  };
  for (const fault of faults) {
    const own = servers[fault]!.faults;
    for (const { method } of methods) own.set(method, fault);
    // eslint-disable-next-line no-await-in-loop -- one server at a time is not well
    await Promise.all(methods.map((each) => look(each, fault)));
    own.clear();
  }
}

function expectRefusal(method: string, fault: Fault): unknown {
  if (method === 'tasks/list' || method === 'logging/setLevel')
    return failureOf(fault, fault) ?? failureOf(fault, 'no-json');
  const message = `The server ${fault} is not available, and this list must not be without it. Try again later.`;
  return { code: -32_603, message };
}

const pairs = eras.flatMap((server) => eras.map((client) => ({ client, server })));

for (const { client, server } of pairs) {
  test(`a ${client} client, ${server} servers each of which does one thing wrong`, (t) =>
    askEverything(t, client, server, prompt));
  test(`a ${client} client, lists that must not be without any of ${server} servers`, (t) =>
    askForLists(t, client, server, prompt));
}

// They wait for nothing but time limits.
describe('servers that hang', { concurrency: true }, () => {
  for (const { client, server } of pairs) {
    test(`a ${client} client, ${server} servers`, (t) => askEverything(t, client, server, hung));
    for (const fault of hung)
      test(`a ${client} client, lists that must not be without a ${server} server: ${fault}`, (t) =>
        askForLists(t, client, server, [fault]));
  }
});
