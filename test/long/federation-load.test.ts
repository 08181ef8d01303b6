// A server of a federation is killed and restarted under load: not one call to the others fails, lists tell what is missing, and clients with a stream hear when it goes and is back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  initialize,
  modern,
  openStream,
  post,
  type RawAnswer,
  type RawStream,
  request,
} from '../integration/federation-fixture.ts';
import { type GatewayRun, runGateway, runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { describeFederation } from '../mcp/federated-gateway.ts';
import { startFederationServers } from '../mcp/federation-servers.ts';

type Ask = (method: string, params?: Record<string, unknown>) => Promise<RawAnswer>;

async function connect(gateway: GatewayRun, era: 'legacy' | 'modern'): Promise<Ask> {
  if (era === 'modern')
    return (method, params) => {
      const { body, headers } = modern(method, params);
      return post(gateway, body, { headers });
    };
  const session = await initialize(gateway);
  return (method, params) => post(gateway, request(method, params), { session });
}

function readMissing({ messages }: RawAnswer): unknown {
  const { _meta: meta } = messages.at(-1)!.result as { _meta?: Record<string, unknown> };
  return meta?.['gateway.proxy/unavailable'];
}

const eras = ['legacy', 'modern'] as const;
const clientsPerEra = 2;
const kills = 3;
/** Between the rounds of a client, so that the load is steady and not all that the machine can do. */
const pauseMs = 10;

for (const workers of [1, 2])
  for (const era of eras)
    test(`a ${era} server, ${workers} process(es) of the gateway`, async (t) => {
      const servers = await startFederationServers({
        tickets: { era: 'legacy' },
        victim: { era },
        wiki: { era: 'modern' },
      });
      const { tickets, victim, wiki } = servers;
      const targets = { tickets: { url: tickets.url }, victim: { url: victim.url }, wiki: { url: wiki.url } };
      const resources = (port: number): readonly object[] => describeFederation(port, { targets });
      const gateway =
        workers === 1
          ? await runGateway({ resources })
          : await runGatewayProcess({ resources, flags: ['--workers', String(workers)] });
      const state = { isOver: false };
      let load: readonly Promise<void>[] = [];
      let streams: readonly RawStream[] = [];
      t.after(async () => {
        state.isOver = true;
        for (const stream of streams) stream.close();
        await Promise.allSettled(load);
        await gateway.stop();
        await servers.closeAll();
      });

      const asks = await Promise.all(
        eras.flatMap((each) => Array.from({ length: clientsPerEra }, () => connect(gateway, each))),
      );
      const wrong: string[] = [];
      const counts = { others: 0, victim: 0, victimFailed: 0, lists: 0, listsWithout: 0 };
      const names = ['tickets_where', 'victim_where', 'wiki_where'];
      const callOnce = async (ask: Ask, name: string): Promise<void> => {
        const { messages, text } = await ask('tools/call', { name, arguments: {} });
        const { result, error } = messages.at(-1) ?? {};
        const isOther = name !== 'victim_where';
        counts[isOther ? 'others' : 'victim'] += 1;
        if (result !== undefined && result['isError'] !== true) return;
        const isNamed = error?.code === -32_603 && error.message.startsWith('The server "victim" ');
        if (isOther || !isNamed) wrong.push(`${name}: ${text}`);
        counts.victimFailed += 1;
      };
      const listOnce = async (ask: Ask): Promise<void> => {
        const answer = await ask('tools/list');
        const tools = answer.messages.at(-1)?.result?.['tools'] as readonly { name: string }[] | undefined;
        const listed = tools?.map(({ name }) => name).join(' ');
        const missing = readMissing(answer);
        const isWhole = listed === names.join(' ') && missing === undefined;
        const isWithout = listed === 'tickets_where wiki_where' && JSON.stringify(missing) === '["victim"]';
        if (!isWhole && !isWithout) wrong.push(`tools/list: ${answer.text}`);
        counts.lists += 1;
        if (isWithout) counts.listsWithout += 1;
      };
      load = asks.map(async (ask) => {
        while (!state.isOver) {
          for (const name of names) {
            // eslint-disable-next-line no-await-in-loop
            await callOnce(ask, name);
          }
          // eslint-disable-next-line no-await-in-loop
          await listOnce(ask);
          // eslint-disable-next-line no-await-in-loop
          await delay(pauseMs);
        }
      });

      const listening = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
      streams = await Promise.all([
        openStream(gateway, { session: await initialize(gateway) }),
        openStream(gateway, listening),
      ]);
      const listChanges = (): readonly number[] =>
        streams.map(
          ({ messages }) => messages.filter(({ method }) => method === 'notifications/tools/list_changed').length,
        );
      const heardSince = (before: readonly number[]): boolean =>
        listChanges().every((count, index) => count > before[index]!);

      for (let kill = 1; kill <= kills; kill += 1) {
        const before = { ...counts, changes: listChanges() };
        // eslint-disable-next-line no-await-in-loop
        await victim.kill();
        // eslint-disable-next-line no-await-in-loop
        await waitFor('lists are without it', () => counts.listsWithout > before.listsWithout + asks.length);
        // eslint-disable-next-line no-await-in-loop
        await waitFor('the streams tell that it is gone', () => heardSince(before.changes));
        const gone = listChanges();
        // eslint-disable-next-line no-await-in-loop
        await victim.restart();
        // eslint-disable-next-line no-await-in-loop
        await waitFor('the streams tell that it is back', () => heardSince(gone));
        // eslint-disable-next-line no-await-in-loop
        await waitFor('lists have it again, for every client', async () => {
          const answers = await Promise.all(asks.map((ask) => ask('tools/list')));
          return answers.every((answer) => readMissing(answer) === undefined);
        });
        const { others } = counts;
        // eslint-disable-next-line no-await-in-loop
        await waitFor('the load goes on', () => counts.others > others + asks.length);
      }
      state.isOver = true;
      await Promise.all(load);
      assert.deepEqual(wrong, []);
      assert.ok(counts.victimFailed > 0);
      // Each process of the gateway finds out by itself that the server is back; the lists above may have come from one of them.
      await waitFor('calls of every client reach it again', async () => {
        const calls = await Promise.all(asks.map((ask) => ask('tools/call', { name: 'victim_where', arguments: {} })));
        return calls.every(({ messages }) => messages.at(-1)?.result !== undefined);
      });
    });
