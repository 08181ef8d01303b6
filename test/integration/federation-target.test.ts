// A target of a federation: real servers of both eras, asked by clients of both.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { waitFor } from '../kit/wait-for.ts';
import {
  type FederationServer,
  type FederationServerOptions,
  startFederationServer,
} from '../mcp/federation-servers.ts';
import type { Speaker, Target } from '../../src/gateway/mcp/federation/target.ts';
import { ask, connectTo, readText, speakAs, startAsk, startListening } from './federation-target-fixture.ts';

const eras = ['legacy', 'modern'] as const;
const serverEras = ['legacy', 'modern', 'both', 'sse'] as const;

async function serve(
  t: TestContext,
  options: Partial<FederationServerOptions> & Pick<FederationServerOptions, 'era'>,
): Promise<{ server: FederationServer; target: Target; lines: readonly string[] }> {
  const lines: string[] = [];
  const server = await startFederationServer({ name: 'one', ...options });
  const connected = connectTo({
    ports: [server.port],
    log: { ...silentLog, info: (_fields, line) => void lines.push(line) },
    ...(options.era === 'sse' ? { path: '/sse', transport: 'sse' } : {}),
  });
  t.after(async () => {
    await connected.close();
    await server.close();
  });
  return { server, target: connected.target, lines };
}

for (const serverEra of serverEras)
  for (const era of eras)
    test(`a ${era} client at a ${serverEra} server: introduction, list, call, progress, errors`, async (t) => {
      const { server, target } = await serve(t, {
        era: serverEra,
        instructions: 'Be kind.',
        resources: [{ uri: 'file:///a', name: 'a' }],
        tools: [
          { name: 'where' },
          {
            name: 'count',
            async run(_args, context) {
              await context.progress(1, 2);
              return { content: [{ type: 'text', text: context.era }] };
            },
          },
        ],
      });
      const speaker = speakAs(era);
      const introduction = await target.introduce(speaker);
      assert.ok(introduction.ok, JSON.stringify(introduction));
      assert.deepEqual(introduction.serverInfo, { name: 'one', version: '1.0.0' });
      assert.equal(introduction.instructions, 'Be kind.');
      assert.ok((JSON.parse(introduction.capabilities) as { tools?: object }).tools);
      assert.equal(target.describe().health, 'up');
      const spoken = { both: era, sse: 'legacy' as const, legacy: 'legacy' as const, modern: 'modern' as const }[
        serverEra
      ];
      assert.equal(target.describe().version, spoken === 'modern' ? '2026-07-28' : '2025-11-25');

      const listed = await ask(target, speaker, 'tools/list');
      const { result = {} } = listed.answer ?? {};
      assert.deepEqual(
        result.tools?.map(({ name }) => name),
        ['where', 'count'],
      );
      assert.equal(target.describe().tools, 2);
      assert.equal(result['resultType'], era === 'modern' ? 'complete' : undefined);
      assert.equal(result['cacheScope'], era === 'modern' ? 'private' : undefined);
      assert.equal(result['ttlMs'], era === 'modern' ? 0 : undefined);

      const called = startAsk(target, speaker, 'tools/call', { name: 'where', arguments: { x: 'ä' } }, { id: 7 });
      const outcome = await called.done;
      assert.equal(outcome.answer?.id, 7);
      assert.equal(readText(outcome), 'one where {"x":"ä"}');

      const counted = await ask(target, speaker, 'tools/call', { name: 'count', _meta: { progressToken: 'p-1' } });
      assert.equal(readText(counted), spoken);
      const [progress] = counted.messages;
      assert.equal(progress?.method, 'notifications/progress');
      assert.equal((JSON.parse(progress.text) as { params: { progressToken: string } }).params.progressToken, 'p-1');

      const unknown = await ask(target, speaker, 'resources/read', { uri: 'file:///b' });
      // SDK v2 says -32602 in every version, and within one era an answer stays as it is.
      const isTranslated = era === 'legacy' && serverEra !== 'both';
      assert.equal(unknown.answer?.error?.code, isTranslated ? -32_002 : -32_602);
      const read = await ask(target, speaker, 'resources/read', { uri: 'file:///a' });
      assert.equal(read.answer?.result?.contents?.[0]?.uri, 'file:///a');
      const missing = await ask(target, speaker, 'no/such');
      assert.equal(missing.answer?.error?.code, -32_601);

      assert.equal(server.requests[0]!.headers['x-caller'], 'test');
      assert.equal(server.sessionCount, spoken === 'modern' ? 0 : 1);
      assert.equal(server.listRequests('initialize').length > 0, spoken === 'legacy' || era === 'legacy');
      await target.endSession(speaker);
      if (era === 'legacy') await waitFor('the session has ended', () => server.sessionCount === 0);
    });

for (const [serverEra, era] of [
  ['legacy', 'legacy'],
  ['legacy', 'modern'],
  ['sse', 'legacy'],
  ['sse', 'modern'],
] as const)
  test(`a session that a ${serverEra} server lost is begun again, once for all requests (${era} client)`, async (t) => {
    const { server, target, lines } = await serve(t, { era: serverEra });
    const speaker = speakAs(era);
    assert.equal(readText(await ask(target, speaker, 'tools/call', { name: 'where' })), 'one where {}');
    assert.deepEqual(lines, []);
    server.forgetSessions();
    server.forgetRequests();
    const outcomes = await Promise.all(
      [1, 2, 3].map((n) => ask(target, speaker, 'tools/call', { name: 'where', arguments: { n } })),
    );
    assert.deepEqual(
      outcomes.map((outcome) => readText(outcome)),
      [1, 2, 3].map((n) => `one where {"n":${n}}`),
    );
    assert.equal(server.sessionCount, 1);
    assert.equal(server.listRequests('initialize').length, 1);
    assert.deepEqual(lines, ['a server of a federation has lost a session; it was begun again']);
  });

for (const serverEra of ['legacy', 'modern', 'sse'] as const)
  for (const era of eras)
    test(`a ${era} client hears what a ${serverEra} server says on its own, also after it was away`, async (t) => {
      const { server, target } = await serve(t, {
        era: serverEra,
        resources: [{ uri: 'file:///a', name: 'a' }],
      });
      const speaker: Speaker = speakAs(era);
      if (era === 'legacy') await target.introduce(speaker);
      const heard = startListening(target, speaker, era === 'modern' ? ['file:///a'] : []);
      const methods = (): (string | undefined)[] => heard.messages.map(({ method }) => method);
      if (era === 'modern')
        await waitFor('acknowledged', () => methods().includes('notifications/subscriptions/acknowledged'));
      else
        await waitFor('the stream is open', () =>
          server.requests.some((request) => request.method === 'GET' || request.rpcMethod === 'subscriptions/listen'),
        );
      const countChanges = (): number =>
        methods().filter((method) => method === 'notifications/tools/list_changed').length;
      await waitFor('the change is heard', async () => {
        await server.setTools([{ name: 'new' }]);
        return countChanges() > 0;
      });
      if (era === 'modern')
        await waitFor('the update is heard', async () => {
          await server.tellUpdated('file:///a');
          return methods().includes('notifications/resources/updated');
        });
      for (const { text } of heard.messages) assert.doesNotMatch(text, /subscriptionId/);
      await server.kill();
      await waitFor('it is known to be down', async () => {
        await ask(target, speaker, 'tools/list');
        return target.describe().health === 'down';
      });
      await server.restart();
      await waitFor('it is back without a client', () => target.describe().health === 'up');
      const before = countChanges();
      await waitFor('the next change is heard', async () => {
        await server.setTools([{ name: 'newer' }]);
        return countChanges() > before;
      });
      assert.equal((await ask(target, speaker, 'tools/call', { name: 'newer' })).failure, undefined);
      heard.call.abort(true);
    });
