// As many servers behind one endpoint as docs/federation.md says are tested: 32, of both eras. Lists, calls, streams, and one that is killed and comes back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFor } from '../kit/wait-for.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { startFederationServers } from '../mcp/federation-servers.ts';
import {
  initialize,
  modern,
  openStream,
  post,
  printError,
  type RawStream,
  request,
} from '../integration/federation-fixture.ts';

const names = Array.from({ length: 32 }, (_, index) => `server-${index}`);
const changed = 'notifications/tools/list_changed';

test('32 servers: lists, a call to each, streams of both eras, one killed and back', async (t) => {
  const resources = [{ uri: 'file:///a', name: 'a' }];
  const servers = await startFederationServers<string>(
    Object.fromEntries(
      names.map((name, index) => [
        name,
        { era: index % 2 === 0 ? ('legacy' as const) : ('modern' as const), resources },
      ]),
    ),
  );
  const streams: RawStream[] = [];
  const gateway = await startFederatedGateway({
    targets: Object.fromEntries(names.map((name) => [name, { url: servers[name]!.url }])),
  });
  t.after(async () => {
    // A gateway that stops waits for streams that are open.
    for (const stream of streams) stream.close();
    await gateway.stop();
    await servers.closeAll();
  });
  const session = await initialize(gateway);
  const clients = [
    (method: string, params: Record<string, unknown> = {}) => post(gateway, request(method, params), { session }),
    (method: string, params: Record<string, unknown> = {}) => {
      const { body, headers } = modern(method, params);
      return post(gateway, body, { headers });
    },
  ];
  const listTools = async (ask: (typeof clients)[number]) => {
    const { messages, text } = await ask('tools/list');
    const result = messages.at(-1)?.result;
    assert.ok(result, text);
    const { tools, _meta: meta = {} } = result as { tools: { name: string }[]; _meta?: Record<string, unknown> };
    return { tools: tools.map(({ name }) => name), missing: meta['gateway.proxy/unavailable'] };
  };
  const all = names.map((name) => `${name}_where`);

  for (const ask of clients) {
    assert.deepEqual(await listTools(ask), { tools: all, missing: undefined });
    const uris: string[] = [];
    let cursor: string | undefined;
    do {
      const { messages } = await ask('resources/list', cursor === undefined ? {} : { cursor });
      const page = messages.at(-1)!.result as { resources: { uri: string }[]; nextCursor?: string };
      uris.push(...page.resources.map(({ uri }) => uri));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    assert.deepEqual(
      uris,
      names.map((name) => `${name}+file:///a`),
    );
    const called = await Promise.all(names.map((name) => ask('tools/call', { name: `${name}_where`, arguments: {} })));
    assert.deepEqual(
      called.map(({ messages }) => (messages.at(-1)!.result!['content'] as { text: string }[])[0]!.text),
      names.map((name) => `${name} where {}`),
    );
  }

  const { body, headers } = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
  streams.push(await openStream(gateway, { session }), await openStream(gateway, { body, headers }));
  await waitFor('the acknowledgement', () => streams[1]!.messages.length > 0);
  const count = (): readonly number[] =>
    streams.map(({ messages }) => messages.filter(({ method }) => method === changed).length);
  const hearAll = async (what: string, change: () => Promise<unknown>): Promise<void> => {
    const before = count();
    await change();
    await waitFor(what, () => count().every((heard, index) => heard > before[index]!));
  };
  // A server is heard as soon as its own stream is open, which the client does not see.
  for (const name of [names[0]!, names[31]!]) {
    const before = count();
    await waitFor(`a change of ${name} is heard on both streams`, async () => {
      await servers[name]!.setTools([{ name: 'where' }]);
      return count().every((heard, index) => heard > before[index]!);
    });
  }

  for (const name of [names[6]!, names[7]!]) {
    const server = servers[name]!;
    const others = all.filter((tool) => tool !== `${name}_where`);
    await hearAll(`${name} is gone`, async () => {
      await server.kill();
      await waitFor(`${name} is down`, async () => (await listTools(clients[0]!)).missing !== undefined);
    });
    for (const ask of clients) {
      assert.deepEqual(await listTools(ask), { tools: others, missing: [name] });
      assert.match(
        printError(await ask('tools/call', { name: `${name}_where`, arguments: {} })),
        new RegExp(`^-32603 .*${name}`),
      );
      const other = await ask('tools/call', { name: `${names[8]}_where`, arguments: {} });
      assert.ok(other.messages.at(-1)?.result, other.text);
    }
    await hearAll(`${name} is back`, () => server.restart());
    for (const ask of clients) {
      await waitFor(`${name} is listed again`, async () => (await listTools(ask)).missing === undefined);
      assert.deepEqual((await listTools(ask)).tools, all);
      const { messages, text } = await ask('tools/call', { name: `${name}_where`, arguments: {} });
      assert.ok(messages.at(-1)?.result, text);
    }
  }
});
