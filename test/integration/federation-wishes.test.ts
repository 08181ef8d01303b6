// The level of logs and subscriptions to resources, of real clients up to 2025-11-25, where one server has sessions and the other one speaks 2026-07-28 only.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, type FederationTool, startFederationServer } from '../mcp/federation-servers.ts';
import { sdkV1, sdkV2 } from '../mcp/sdk-clients.ts';
import { initialize, openStream, post, printError, type RawStream, request } from './federation-fixture.ts';

const work: FederationTool = {
  name: 'work',
  async run(_args, { log, server }) {
    await log('debug', `${server} debug`);
    await log('error', `${server} error`);
    return { content: [{ type: 'text', text: 'done' }] };
  },
};
const logLevel = 'io.modelcontextprotocol/logLevel';

describe('a server with sessions and one without', () => {
  let old: FederationServer;
  let wiki: FederationServer;
  let folder: string;
  let first: GatewayRun;
  let second: GatewayRun;

  before(async () => {
    const resources = ['a', 'b'].map((name) => ({ uri: `file:///${name}`, name }));
    old = await startFederationServer({ name: 'old', era: 'legacy', tools: [work], resources });
    wiki = await startFederationServer({ name: 'wiki', era: 'modern', tools: [work], resources });
    folder = mkdtempSync(join(tmpdir(), 'federation-wishes-'));
    const flags = ['--seal-key-file', join(folder, 'key')];
    const targets = { old: { url: old.url }, wiki: { url: wiki.url } };
    first = await startFederatedGateway({ targets, flags });
    second = await startFederatedGateway({ targets, flags });
  });
  after(async () => {
    await Promise.all([first.stop(), second.stop()]);
    await Promise.all([old.close(), wiki.close()]);
    rmSync(folder, { recursive: true });
  });

  const readLevels = (server: FederationServer): unknown[] =>
    server
      .listRequests('tools/call')
      .map(({ body }) => JSON.parse(body) as { params: { _meta?: Record<string, unknown> } })
      .map(({ params }) => params['_meta']?.[logLevel]);

  for (const library of [sdkV1, sdkV2]) {
    test(`${library.name}: the level holds for both, as each of them is told`, async (t) => {
      const client = await library.connect({ url: first.urlOf('/mcp') });
      t.after(() => client.close());
      for (const server of [old, wiki]) server.forgetRequests();
      await client.callTool('wiki_work', {});
      assert.deepEqual(client.logged, []);
      await client.setLogLevel('warning');
      await client.callTool('old_work', {});
      await client.callTool('wiki_work', {});
      assert.deepEqual(client.logged, ['old error', 'wiki error']);
      await client.setLogLevel('debug');
      await client.callTool('old_work', {});
      await client.callTool('wiki_work', {});
      assert.deepEqual(client.logged.slice(2), ['old debug', 'old error', 'wiki debug', 'wiki error']);
      const told = old.listRequests('logging/setLevel').map(({ body }) => JSON.parse(body) as { params: object });
      assert.deepEqual(
        told.map(({ params }) => params),
        [{ level: 'warning' }, { level: 'debug' }],
      );
      assert.deepEqual(readLevels(old), [undefined, undefined]);
      assert.equal(wiki.listRequests('logging/setLevel').length, 0);
      assert.deepEqual(readLevels(wiki), [undefined, 'warning', 'debug']);
    });

    test(`${library.name}: what changes is heard under the client’s own URI, by who subscribed`, async (t) => {
      const [ann, bob] = await Promise.all([1, 2].map(() => library.connect({ url: first.urlOf('/mcp') })));
      t.after(() => Promise.all([ann!.close(), bob!.close()]));
      for (const name of ['old', 'wiki']) await ann!.subscribe(`${name}+file:///a`);
      for (const name of ['old', 'wiki']) await bob!.subscribe(`${name}+file:///b`);
      const hear = async (client: typeof ann, server: FederationServer, uri: string): Promise<void> => {
        await waitFor(`${server.name} says that ${uri} has changed`, async () => {
          await server.tellUpdated(uri);
          return client!.updated.includes(`${server.name}+${uri}`);
        });
      };
      for (const server of [old, wiki]) await hear(ann, server, 'file:///a');
      for (const server of [old, wiki]) await hear(bob, server, 'file:///b');
      assert.ok(ann!.updated.every((uri) => uri.endsWith('/a')));
      assert.ok(bob!.updated.every((uri) => uri.endsWith('/b')));

      for (const name of ['old', 'wiki']) {
        await ann!.unsubscribe(`${name}+file:///a`);
        // Never subscribed, and another session's.
        await ann!.unsubscribe(`${name}+file:///b`);
        await ann!.unsubscribe(`${name}+file:///c`);
      }
      const heard = bob!.updated.length;
      for (const server of [old, wiki]) {
        await server.tellUpdated('file:///a');
        await server.tellUpdated('file:///b');
      }
      await waitFor('the other one still hears', () => bob!.updated.length >= heard + 2);
      await ann!.subscribe('wiki+file:///b');
      await hear(ann, wiki, 'file:///b');
      assert.equal(ann!.updated.filter((uri) => uri === 'old+file:///b').length, 0);
    });
  }

  const readUpdates = ({ messages }: RawStream): unknown[] =>
    messages.filter(({ method }) => method === 'notifications/resources/updated').map(({ params }) => params?.['uri']);

  test('unknown names and levels, at no cost of a server', async () => {
    const session = await initialize(first);
    await waitFor('the session has begun', () => old.listRequests('notifications/initialized').length > 0);
    for (const server of [old, wiki]) server.forgetRequests();
    const ask = async (method: string, params: object): Promise<string> =>
      printError(await post(first, request(method, params), { session }));
    assert.equal(await ask('resources/subscribe', { uri: 'other+file:///a' }), '-32002 Resource not found');
    assert.equal(await ask('resources/subscribe', { uri: 'plain' }), '-32602 The URI has no scheme');
    assert.match(await ask('logging/setLevel', { level: 'loud' }), /^-32602 Unknown log level: "loud"\./);
    assert.deepEqual([old.requests.length, wiki.requests.length], [0, 0]);
  });

  test('another process does not know of it until the client asks again', async (t) => {
    const session = await initialize(first);
    const ask = async (gateway: GatewayRun, method: string, params: object): Promise<void> => {
      const { messages } = await post(gateway, request(method, params), { session });
      assert.ok(messages.at(-1)!.result, JSON.stringify(messages));
    };
    wiki.forgetRequests();
    await ask(first, 'logging/setLevel', { level: 'info' });
    await ask(first, 'tools/call', { name: 'wiki_work' });
    await ask(second, 'tools/call', { name: 'wiki_work' });
    await ask(second, 'logging/setLevel', { level: 'error' });
    await ask(second, 'tools/call', { name: 'wiki_work' });
    assert.deepEqual(readLevels(wiki), ['info', undefined, 'error']);

    const stream = await openStream(second, { session });
    t.after(() => stream.close());
    await waitFor('the stream is there', () => wiki.listRequests('subscriptions/listen').length > 0);
    await ask(first, 'resources/subscribe', { uri: 'wiki+file:///a' });
    await ask(second, 'resources/subscribe', { uri: 'wiki+file:///b' });
    for (const name of ['a', 'b']) await wiki.tellUpdated(`file:///${name}`);
    await waitFor('what this process knows', () => readUpdates(stream).length > 0);
    assert.deepEqual(readUpdates(stream), ['wiki+file:///b']);
    await ask(second, 'resources/subscribe', { uri: 'wiki+file:///a' });
    await wiki.tellUpdated('file:///a');
    await waitFor('what it was told again', () => readUpdates(stream).length === 2);
    assert.deepEqual(readUpdates(stream), ['wiki+file:///b', 'wiki+file:///a']);
  });

  test('a subscription outlives streams, and a server that was away', async (t) => {
    const session = await initialize(first);
    await post(first, request('resources/subscribe', { uri: 'wiki+file:///a' }), { session });
    const hear = async (stream: RawStream): Promise<void> => {
      const told = readUpdates(stream).length;
      await waitFor('the change is heard', async () => {
        await wiki.tellUpdated('file:///a');
        return readUpdates(stream).length > told;
      });
      assert.deepEqual(new Set(readUpdates(stream)), new Set(['wiki+file:///a']));
    };
    const early = await openStream(first, { session });
    await hear(early);
    early.close();
    const stream = await openStream(first, { session });
    t.after(() => stream.close());
    await hear(stream);
    await wiki.kill();
    await wiki.restart();
    await hear(stream);
    const ended = await fetch(first.urlOf('/mcp'), { method: 'DELETE', headers: { 'mcp-session-id': session } });
    assert.equal(ended.status, 200);
    await waitFor('the stream has ended', () => stream.isOver);
    const late = await post(first, request('resources/subscribe', { uri: 'wiki+file:///b' }), { session });
    assert.equal(late.status, 404);
  });
});
