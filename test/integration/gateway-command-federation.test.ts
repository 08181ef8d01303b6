// `mcp-gatehouse gateway` with a federation: it tells its controller which servers are up, and which are down.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFreePorts } from '../kit/free-ports.ts';
import { waitFor } from '../kit/wait-for.ts';
import { startFederationServer } from '../mcp/federation-servers.ts';
import { federation, initializeAt, key } from './gateway-command-federation-fixture.ts';
import { configure, publish, route, startController, startGatewayCommand, waitForSettled } from './gateway-command-fixture.ts'; // prettier-ignore

test('servers are not told before a client has come; then as they are, and no more when they are gone', async (t) => {
  const desk = await startFederationServer({ name: 'desk', era: 'legacy', tools: [{ name: 'close' }] });
  t.after(() => desk.close());
  const server = await startController(t);
  const [port, closed] = (await findFreePorts(2)) as [number, number];
  await startGatewayCommand(t, `http://127.0.0.1:${server.port}`);
  const backends = [federation({ desk: desk.port, wiki: closed })];
  const routes = [route('all', '/mcp', { backends: [{ backend: key, weight: 1 }] })];
  await waitForSettled(server, publish(server, configure(port, closed, { routes, backends })));
  assert.equal(server.connected.get()[0]?.targets?.length ?? 0, 0);

  assert.equal(await initializeAt(port), 200);
  const told = await waitFor('the controller knows of both', () => {
    const targets = server.connected.get()[0]?.targets ?? [];
    return targets.length === 2 ? targets : undefined;
  });
  assert.deepEqual(
    told.map(({ backend, target, down, error }) => [backend, target, down, error !== '']),
    [
      [key, 'desk', false, false],
      [key, 'wiki', true, true],
    ],
  );
  assert.match(told[1]!.error, /ECONNREFUSED/);
  assert.ok(Math.abs(told[1]!.since - Date.now() / 1_000) < 60);

  await waitForSettled(server, publish(server, configure(port, closed, { routes: [route('r', '/')] })));
  await waitFor(
    'the federation is gone',
    () => server.connected.get()[0]?.targets === undefined || server.connected.get()[0]?.targets?.length === 0,
  );
});
