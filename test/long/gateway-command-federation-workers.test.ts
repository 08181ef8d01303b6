// `mcp-gatehouse gateway --workers 2` with a federation: what any worker knows of its servers is told to the controller, also when a server is back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { federation, initializeAt, key } from '../integration/gateway-command-federation-fixture.ts';
import { configure, publish, route, startController, startGatewayCommandProcess, waitForSettled } from '../integration/gateway-command-fixture.ts'; // prettier-ignore
import { findFreePorts } from '../kit/free-ports.ts';
import { waitFor } from '../kit/wait-for.ts';
import { startFederationServer } from '../mcp/federation-servers.ts';

test('a server is down for the controller when one worker cannot reach it, and up when it is back', async (t) => {
  const desk = await startFederationServer({ name: 'desk', era: 'legacy', tools: [{ name: 'close' }] });
  t.after(() => desk.close());
  const server = await startController(t);
  const [port, closed] = (await findFreePorts(2)) as [number, number];
  await startGatewayCommandProcess(t, `http://127.0.0.1:${server.port}`, ['--workers', '2']);
  const backends = [federation({ desk: desk.port, wiki: closed })];
  const routes = [route('all', '/mcp', { backends: [{ backend: key, weight: 1 }] })];
  await waitForSettled(server, publish(server, configure(port, closed, { routes, backends })));
  const readTargets = () => server.connected.get()[0]?.targets ?? [];
  assert.equal(readTargets().length, 0);
  assert.equal(await initializeAt(port), 200);
  await waitFor('the controller knows of both', () => readTargets().length === 2);
  assert.deepEqual(
    readTargets().map(({ target, down }) => [target, down]),
    [
      ['desk', false],
      ['wiki', true],
    ],
  );
  const wiki = await startFederationServer({ name: 'wiki', era: 'legacy', tools: [], port: closed });
  t.after(() => wiki.close());
  await waitFor('it is back', () => readTargets().every(({ down }) => !down));
  assert.equal(readTargets().length, 2);
});
