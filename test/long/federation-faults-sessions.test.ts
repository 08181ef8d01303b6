// Sessions and streams of clients at a federation of servers each of which does one thing wrong: they begin, go on and end all the same, and servers that are well again are used at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { initialize, modern, openStream, post, printError, request } from '../integration/federation-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';
import { connect, eras, failureOf, faults, prompt, read, start } from './federation-faults-fixture.ts';

const changed = 'notifications/tools/list_changed';
const called = { content: [{ type: 'text', text: 'called' }] };
const callOf = (target: string) => ({ name: `${target}_x`, arguments: {} });

for (const server of eras)
  for (const client of eras) {
    const title = `a ${client} client, ${server} servers`;

    test(`${title}: they do not say who they are, and then they do`, async (t) => {
      const { gateway, servers } = await start(t, faults, server, { timeouts: { connect: '1s' } });
      for (const fault of faults)
        for (const method of ['server/discover', 'initialize']) servers[fault]!.faults.set(method, fault);
      const ask = await connect(gateway, client);
      if (client === 'modern') assert.ok((await ask('server/discover')).messages.at(-1)!.result);
      assert.deepEqual(read(await ask('tools/call', callOf('good'))), called);
      for (const { faults: own } of Object.values(servers)) own.clear();
      // Those that said nothing count as down until they are asked again.
      await waitFor('lists have all of them', async () => {
        const { tools } = read(await ask('tools/list')) as { tools: readonly { name: string }[] };
        return tools.length === faults.length + 1;
      });
      await Promise.all(
        faults.map(async (fault) => assert.deepEqual(read(await ask('tools/call', callOf(fault))), called, fault)),
      );
    });

    test(`${title}: killed before each method, and restarted without its sessions`, async (t) => {
      const { gateway, servers } = await start(t, ['odd'], server);
      const odd = servers['odd']!;
      const ask = await connect(gateway, client);
      const items: readonly (readonly [method: string, params: Record<string, unknown>])[] = [
        ['tools/call', callOf('odd')],
        ['prompts/get', { name: 'odd_x' }],
        ['resources/read', { uri: 'odd+file:///x' }],
        ['completion/complete', { ref: { type: 'ref/prompt', name: 'odd_x' }, argument: { name: 'a', value: 'b' } }],
        ['tasks/get', { taskId: 'odd_7' }],
        ...(client === 'legacy' ? [['resources/subscribe', { uri: 'odd+file:///x' }] as const] : []),
      ];
      const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];
      const isWell = async (): Promise<boolean> =>
        JSON.stringify(read(await ask('tools/call', callOf('odd')))) === JSON.stringify(called);
      const unreachable = {
        code: -32_603,
        message: 'The server "odd" cannot be reached.',
        data: { target: 'odd', reason: 'down' },
      };
      for (const [method, params] of [...items, ...lists.map((each) => [each, {}] as const)]) {
        /* eslint-disable no-await-in-loop -- one after the other */
        assert.ok(await isWell(), method);
        // Lost without having been away: nothing is noticed.
        odd.forgetSessions();
        const whole = await ask(method, params);
        assert.ok(whole.messages.at(-1)!.result, `${method}: ${whole.text}`);
        await odd.kill();
        const answer = read(await ask(method, params)) as Record<string, unknown>;
        if (method.endsWith('/list'))
          assert.deepEqual(answer['_meta'], { 'gateway.proxy/unavailable': ['odd'] }, method);
        // The gateway has kept the subscription.
        else if (method === 'resources/subscribe' && server === 'modern') assert.deepEqual(answer, {});
        else assert.deepEqual(answer, unreachable, method);
        assert.deepEqual(read(await ask('tools/call', callOf('good'))), called);
        await odd.restart();
        await waitFor('it is back', isWell);
        /* eslint-enable no-await-in-loop */
      }
    });

    test(`${title}: a stream of all of them`, async (t) => {
      // Those that hang are cut off for their silence, and asked again.
      const { gateway, servers } = await start(t, faults, server, { timeouts: { connect: '1s', idle: '1s' } });
      for (const fault of faults)
        for (const method of ['GET', 'subscriptions/listen']) servers[fault]!.faults.set(method, fault);
      const listening = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
      const stream = await openStream(
        gateway,
        client === 'modern' ? listening : { session: await initialize(gateway) },
      );
      t.after(() => stream.close());
      assert.equal(stream.status, 200);
      const count = (): number => stream.messages.filter(({ method }) => method === changed).length;
      const hears = async (name: string): Promise<void> => {
        const speaking = servers[name]!;
        await waitFor(`${name} is listened to`, () => speaking.streamCount > 0);
        const before = count();
        speaking.tell(changed);
        await waitFor(`${name} is heard`, () => count() > before);
      };
      await hears('good');
      if (client === 'modern') assert.equal(stream.messages[0]!.method, 'notifications/subscriptions/acknowledged');
      for (const { faults: own } of Object.values(servers)) own.clear();
      for (const fault of faults) {
        // eslint-disable-next-line no-await-in-loop
        await hears(fault);
      }
      assert.ok(!stream.isOver);
      assert.ok(stream.messages.every(({ method }) => method?.startsWith('notifications/') === true));
      stream.close();
    });
  }

for (const server of eras) {
  test(`${server} servers: a batch has the answer of each, and nothing keeps it from the others`, async (t) => {
    const { gateway, servers } = await start(t, prompt, server);
    const session = await initialize(gateway, { version: '2025-03-26' });
    for (const fault of prompt) servers[fault]!.faults.set('tools/call', fault);
    const batch = [...prompt, 'good'].map((target) => request('tools/call', callOf(target), target));
    const { status, messages } = await post(gateway, batch, { session });
    assert.equal(status, 200);
    const answers = Object.fromEntries(
      messages.map(({ id, result, error }) => {
        const { resultType: _type, ...rest } = typeof result === 'object' ? result : {};
        return [id, error ?? (typeof result === 'string' ? result : rest)];
      }),
    );
    const expected = prompt.map((fault) => [
      fault,
      fault === 'other-result' ? 'nothing' : (failureOf(fault, fault) ?? called),
    ]);
    assert.deepEqual(answers, Object.fromEntries([...expected, ['good', called]]));
  });

  test(`${server} servers: notifications, ping and the end of a session are the gateway’s to answer`, async (t) => {
    const { gateway, servers } = await start(t, faults, server, { timeouts: { connect: '1s' } });
    const session = await initialize(gateway);
    const told = ['notifications/roots/list_changed', 'notifications/cancelled'];
    for (const fault of faults) for (const key of [...told, 'DELETE']) servers[fault]!.faults.set(key, fault);
    for (const method of told) {
      // eslint-disable-next-line no-await-in-loop
      const { status, text } = await post(gateway, { jsonrpc: '2.0', method, params: { requestId: 'x' } }, { session });
      assert.deepEqual([status, text], [202, '']);
    }
    assert.deepEqual(read(await post(gateway, request('ping'), { session })), {});
    const ended = await fetch(gateway.urlOf('/mcp'), { method: 'DELETE', headers: { 'mcp-session-id': session } });
    assert.equal(ended.status, 200);
    const gone = await post(gateway, request('tools/list'), { session });
    assert.deepEqual([gone.status, printError(gone)], [404, '-32001 Session not found']);
  });
}
