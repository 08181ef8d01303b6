// The xDS server and the client of our own gateways, together: what one side promises, the other relies on.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { type Configuration, emptyConfiguration } from '../../src/ir/configuration.ts';
import { type ApplyOutcome, startXdsClient, type XdsClientOptions } from '../../src/xds/client.ts';
import { getTypeUrl, makeSnapshot } from '../../src/xds/testing/small-snapshots.ts';
import { gateway, startServer } from './xds-server-fixture.ts';
import { waitFor, waitForValue } from '../kit/wait-for.ts';

const options = { timeout: 120_000 };

/** A gateway that keeps what it is given. The rest of an update is waited for without end: it has to come. */
function connectGateway(
  t: TestContext,
  port: number,
  judge: (configuration: Configuration) => ApplyOutcome['problems'] = () => [],
  overrides: Partial<XdsClientOptions> = {},
) {
  const applied: Configuration[] = [];
  const client = startXdsClient({
    log: silentLog,
    server: `http://127.0.0.1:${port}`,
    nodeId: 'pod-1',
    gateway,
    version: '1.2.3',
    apply: async (configuration) => {
      applied.push(configuration);
      return { problems: judge(configuration) };
    },
    observer: { connected() {}, disconnected() {}, received() {}, acknowledged() {}, rejected() {} },
    random: () => 0,
    times: { quietMs: 100_000 },
    ...overrides,
  });
  t.after(() => client.close());
  return { client, applied, last: () => applied.at(-1) ?? emptyConfiguration };
}

test('an update of many responses is put in force as a whole, once', options, async (t) => {
  const { server, counts } = await startServer(t);
  const makeMany = (content: string) => {
    const contents = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`r${i}`, content.repeat(10_000)]));
    return makeSnapshot({ policies: contents, routes: contents });
  };
  const first = makeMany('1');
  server.setSnapshot(gateway, first);
  const peer = connectGateway(t, server.port);
  await waitForValue(server.connected, (list) => list[0]?.settled === first.digest);
  assert.ok(counts.pushed.length > 8, `${counts.pushed.length} responses`);
  assert.deepEqual(
    peer.applied.map(({ routes, policies }) => [routes.length, policies.length]),
    [[300, 300]],
  );
  const second = makeMany('2');
  server.setSnapshot(gateway, second);
  await waitForValue(server.connected, (list) => list[0]?.settled === second.digest);
  assert.equal(peer.applied.length, 2);
  assert.ok(peer.last().routes.every(({ ruleName }) => ruleName.startsWith('2')));
});

test('changes that come faster than they are put in force end with the newest', options, async (t) => {
  const { server } = await startServer(t);
  const peer = connectGateway(t, server.port);
  for (let round = 0; round < 200; round += 1) {
    const contents = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`r${(i + round) % 30}`, `${round}`]));
    server.setSnapshot(gateway, makeSnapshot({ policies: contents, routes: contents }));
    await new Promise((resolve) => setTimeout(resolve, round % 13));
  }
  const last = makeSnapshot({ policies: { p: 'last' } });
  server.setSnapshot(gateway, last);
  await waitForValue(server.connected, (list) => list[0]?.settled === last.digest);
  assert.deepEqual([peer.last().policies.map(({ key }) => key), peer.last().routes.length], [['p'], 0]);
});

test('a rejection is reported, also to another replica; a repair elsewhere heals it', options, async (t) => {
  const { server } = await startServer(t);
  const { port } = server;
  const broken = makeSnapshot({ secrets: { ca: 'broken' }, policies: { p: '1' } });
  const judge = ({ secrets, policies }: Configuration): ApplyOutcome['problems'] =>
    secrets.some(({ value }) => value.value === 'broken')
      ? policies.map(({ key }) => ({ list: 'policies' as const, key, message: 'its CA cannot be read' }))
      : [];
  server.setSnapshot(gateway, broken);
  connectGateway(t, port, judge);
  const [rejecting] = await waitForValue(server.connected, (list) => list[0]?.settled === broken.digest);
  assert.deepEqual(
    rejecting!.rejections.map(({ typeUrl, name, reason }) => ({ typeUrl, name, reason })),
    [{ typeUrl: getTypeUrl('policies'), name: 'p', reason: 'its CA cannot be read' }],
  );

  await server.close();
  const { server: other } = await startServer(t, { port });
  other.setSnapshot(gateway, broken);
  const [again] = await waitForValue(other.connected, (list) => list[0]?.settled === broken.digest);
  assert.deepEqual(again!.rejections, rejecting!.rejections);

  // Only the Secret changes. The policy does not, and can be used again.
  const repaired = makeSnapshot({ secrets: { ca: 'good' }, policies: { p: '1' } });
  other.setSnapshot(gateway, repaired);
  const [healed] = await waitForValue(other.connected, (list) => list[0]?.settled === repaired.digest);
  assert.deepEqual(healed!.rejections, []);
  // And spoiled once more, without being sent.
  other.setSnapshot(gateway, broken);
  const [spoiled] = await waitForValue(other.connected, (list) => list[0]?.settled === broken.digest);
  assert.deepEqual(spoiled!.rejections, rejecting!.rejections);
});

test('a gateway comes back by itself and is sent nothing that it has', options, async (t) => {
  const { server } = await startServer(t);
  const { port } = server;
  const snapshot = makeSnapshot({ secrets: { s: '1' }, routes: { r: '1' } });
  server.setSnapshot(gateway, snapshot);
  const peer = connectGateway(t, port);
  peer.client.report({ keyProblems: [], bindProblems: [{ port: 80, reason: 'taken' } as never] });
  await waitForValue(
    server.connected,
    (list) => list[0]?.settled === snapshot.digest && list[0].bindProblems.length === 1,
  );
  await server.close();
  const { server: other, counts } = await startServer(t, { port });
  other.setSnapshot(gateway, snapshot);
  await waitForValue(
    other.connected,
    (list) => list[0]?.settled === snapshot.digest && list[0].bindProblems.length === 1,
  );
  assert.ok(counts.pushed.every(({ resources }) => resources === 0));
  assert.equal(peer.applied.length, 1);
});

test('a gateway is served only once its token is accepted', options, async (t) => {
  const { server, counts } = await startServer(t, {
    authorizeGateway: async ({ token }) =>
      token === 'good' ? { allowed: true } : { allowed: false, code: 'unauthenticated', reason: 'who are you' },
  });
  const snapshot = makeSnapshot({ secrets: { s: '1' } });
  server.setSnapshot(gateway, snapshot);
  let token = 'bad';
  const peer = connectGateway(t, server.port, undefined, {
    readToken: async () => token,
    times: { quietMs: 100_000, refusedFirstMs: 10, refusedMaxMs: 20 },
  });
  await waitFor(() => counts.refused.length >= 2);
  assert.deepEqual(peer.applied, []);
  token = 'good';
  await waitForValue(server.connected, (list) => list[0]?.settled === snapshot.digest);
  assert.equal(peer.applied.length, 1);
});

test('a gateway whose token expires comes back with the next one, without a warning', options, async (t) => {
  const shown: string[] = [];
  const lines: string[] = [];
  const note =
    (level: string) =>
    (_: object, message: string): void =>
      void lines.push(`${level} ${message}`);
  const log = { ...silentLog, child: () => log, info: note('info'), warn: note('warn'), error: note('error') };
  const { server, counts } = await startServer(t, {
    log,
    authorizeGateway: async ({ token = '' }) => {
      shown.push(token);
      // The third lives long.
      return { allowed: true, expiresAt: Date.now() + (token === 'token-3' ? 3_600_000 : 200) };
    },
  });
  const snapshot = makeSnapshot({ secrets: { s: '1' }, routes: { r: '1' } });
  server.setSnapshot(gateway, snapshot);
  let reads = 0;
  const peer = connectGateway(t, server.port, undefined, {
    log,
    readToken: async () => `token-${(reads += 1)}`,
    // Any end but a good one would keep it away for an hour.
    times: { quietMs: 100_000, stableMs: 0, firstMs: 3_600_000, maxMs: 3_600_000, refusedFirstMs: 3_600_000 },
    random: () => 1,
  });
  peer.client.report({ keyProblems: [], bindProblems: [] });
  await waitFor(() => shown.includes('token-3'));
  await waitForValue(server.connected, (list) => list[0]?.settled === snapshot.digest);
  assert.deepEqual([...new Set(shown)], ['token-1', 'token-2', 'token-3']);
  assert.equal(peer.applied.length, 1, 'nothing was sent that it had');
  assert.deepEqual(counts.refused, []);
  assert.deepEqual(
    lines.filter((line) => !line.startsWith('info')),
    [],
  );
});
