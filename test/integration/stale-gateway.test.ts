// `mcp-gatehouse gateway --max-staleness`: a gateway that is cut off from its controller, or starts without one, and what it does about it.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { AuthorizationAction, type Policy } from '../../src/ir/gen/config_pb.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import type { CommandRun } from '../kit/run-command.ts';
import { waitFor } from '../kit/wait-for.ts';
import {
  configure, type GatewayCommand, getStatus, makeFolder, policy, publish, route, startController, startGatewayCommand, waitForSettled,
} from './gateway-command-fixture.ts'; // prettier-ignore
import { startUpstream, type Upstream } from './gateway-fixture.ts';
import { startBlackHole } from './xds-client-black-hole.ts';

let upstream: Upstream;
/** Ends the answer that waits. */
let release: () => void;
before(async () => {
  upstream = await startUpstream();
  upstream.handle('/events', (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: first\n\n');
  });
  upstream.handle('/slow', (_, response) => {
    response.write('begun, ');
    release = () => response.end('done');
  });
  upstream.server.on('upgrade', (_, socket: Socket) => {
    socket.on('error', () => {});
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello');
  });
});
after(() => upstream.close());

const refuseAll: Policy = policy('p', 'r', {
  case: 'authorization',
  value: { action: AuthorizationAction.DENY, expressions: ['true'] },
});
const freePort = async (): Promise<number> => (await findFreePorts(1))[0]!;
const openTo = (port: number) => configure(port, upstream.port, { routes: [route('r', '/')] });

type Gateway = GatewayCommand<CommandRun>;

async function readMetric({ metricsPort }: Gateway, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)![1]);
}

/** The check of the readiness page. */
async function readCheck({ readinessPort }: Gateway): Promise<{ ready: boolean; reason?: string } | undefined> {
  const page = await fetch(`http://127.0.0.1:${readinessPort}/ready`);
  const { checks } = (await page.json()) as { checks: { name: string; ready: boolean; reason?: string }[] };
  return checks.find(({ name }) => name === 'controller');
}

const countLines = ({ child }: Gateway, text: string): number => child.readOutput().split(text).length - 1;

/** An answer that has begun, and what became of it. */
function open(port: number, path: string, headers: Record<string, string> = {}) {
  const state = { text: '', end: undefined as string | undefined, status: 0 };
  const follow = (stream: IncomingMessage | Socket): void => {
    stream.on('data', (chunk: Buffer) => (state.text += chunk.toString()));
    stream.on('error', (error) => (state.end ??= error.message));
    stream.on('end', () => (state.end ??= 'ended'));
    stream.on('close', () => (state.end ??= 'closed'));
  };
  const call = get({ host: '127.0.0.1', port, path, headers, agent: false }, (response) => {
    state.status = response.statusCode!;
    follow(response);
  });
  call.on('upgrade', (response, socket, head) => {
    state.status = response.statusCode!;
    state.text += head.toString();
    follow(socket);
  });
  call.on('error', (error) => (state.end ??= error.message));
  return { state, close: () => call.destroy() };
}

/** The same, once it has begun as it should: on a machine that is busy for as long as the limit, a gateway is stale in between. */
function openWhenServed(port: number, path: string, text: string, headers: Record<string, string> = {}) {
  let opened = open(port, path, headers);
  return waitFor(`${path} is open`, () => {
    if (opened.state.text.includes(text)) return opened;
    if (opened.state.end !== undefined) opened = open(port, path, headers);
    return undefined;
  });
}

describe('a gateway that is cut off from its controller', () => {
  test('closes, with everything that is open, and opens again only with the configuration of that time', async (t) => {
    const server = await startController(t);
    const hole = await startBlackHole(server.port);
    t.after(() => hole.close());
    const port = await freePort();
    const flags = ['--max-staleness', '2s', '--on-stale', 'close'];
    const gateway = await startGatewayCommand(t, hole.url, flags);
    publish(server, openTo(port));
    await waitFor('it serves', async () => (await gateway.isReady()) && (await getStatus(port, '/')) === 200);
    assert.ok((await readMetric(gateway, 'mcp_gateway_controller_silence_seconds')) >= 0);

    const events = await openWhenServed(port, '/events', 'data: first');
    const upgraded = await openWhenServed(port, '/ws', 'hello', { connection: 'upgrade', upgrade: 'websocket' });
    const slow = await openWhenServed(port, '/slow', 'begun');
    t.after(() => [events, upgraded, slow].forEach(({ close }) => close()));

    // Half-open: the connection stays, and nothing comes any more. Then the policy changes.
    hole.swallow();
    publish(server, configure(port, upstream.port, { routes: [route('r', '/')], policies: [refuseAll] }));
    await waitFor('it is closed', async () => (await getStatus(port, '/')) === 503);
    const refused = await fetch(`http://127.0.0.1:${port}/`);
    assert.equal(refused.headers.get('retry-after'), '5');
    assert.equal(refused.headers.get('connection'), 'close', 'the next request may get to another gateway');
    assert.equal(((await refused.json()) as { error: string }).error, 'configuration_stale');
    assert.equal((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' })).status, 503);
    await waitFor('both streams are over', () => events.state.end !== undefined && upgraded.state.end !== undefined);
    assert.notEqual(events.state.end, 'ended', 'a client must see that the stream was broken off');
    assert.match(
      gateway.child.readOutput(),
      /"reason":"configuration_stale","detail":"no contact with a controller since /,
    );

    assert.equal(await gateway.isReady(), false);
    const check = await readCheck(gateway);
    assert.match(check!.reason!, /^no contact with a controller since \S+Z, longer than 2s \(maxStaleness\)$/);
    assert.equal((await fetch(`http://127.0.0.1:${gateway.readinessPort}/live`)).status, 200);
    assert.equal(await readMetric(gateway, 'mcp_gateway_stale'), 1);
    assert.ok((await readMetric(gateway, 'mcp_gateway_controller_silence_seconds')) >= 2);
    const page = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/`)).text();
    assert.match(page, /This gateway is stale, so it is not ready and answers every request with 503: no contact/);

    // What was with the upstream before is answered: sending it again could do it twice.
    release();
    await waitFor('the other request is answered', () => slow.state.end !== undefined);
    assert.deepEqual([slow.state.status, slow.state.text, slow.state.end], [200, 'begun, done', 'ended']);

    hole.letThrough();
    hole.cut();
    const seen = new Set<number | 'refused'>();
    await waitFor('it serves by the changed policy', async () => {
      const status = await getStatus(port, '/');
      seen.add(status);
      return status === 403;
    });
    assert.equal(seen.has(200), false, 'the old policy is never in force again');
    await waitFor('it is ready', () => gateway.isReady());
    await waitFor('the metric says so', async () => (await readMetric(gateway, 'mcp_gateway_stale')) === 0);
    assert.ok(countLines(gateway, 'this gateway is stale') >= 1);
    assert.equal(
      countLines(gateway, 'this gateway is stale, so it is not ready and answers every request with 503'),
      countLines(gateway, 'up to date, and no longer stale'),
      'each is said once',
    );
  });

  test('is unready and goes on serving, unless it is to close', async (t) => {
    const server = await startController(t);
    const port = await freePort();
    const gateway = await startGatewayCommand(t, `http://127.0.0.1:${server.port}`, ['--max-staleness', '1s']);
    publish(server, openTo(port));
    await waitFor(() => gateway.isReady());
    const events = await openWhenServed(port, '/events', 'data: first');
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    t.after(() => [events, { close: () => session.destroy() }].forEach(({ close }) => close()));
    const goaway = once(session, 'goaway');
    await server.close();
    await waitFor('it is not ready', async () => !(await gateway.isReady()));
    const served = await fetch(`http://127.0.0.1:${port}/`);
    assert.equal(served.status, 200);
    assert.equal(served.headers.get('connection'), 'close', 'the next request may get to another gateway');
    await goaway;
    const another = connectHttp2(`http://127.0.0.1:${port}`);
    t.after(() => another.destroy());
    await once(another, 'remoteSettings');
    const stream = another.request({ ':path': '/' });
    stream.resume();
    const [headers] = (await once(stream, 'response')) as [{ ':status'?: number }];
    assert.equal(headers[':status'], 200, 'a new connection is served before it is sent away');
    assert.equal(events.state.end, undefined, 'streams go on');
    events.close();
    assert.match(
      gateway.child.readOutput(),
      /this gateway is stale, so it is not ready: no contact with a controller since/,
    );

    const again = await startController(t, { port: server.port });
    publish(again, openTo(port));
    await waitFor('it is ready again', () => gateway.isReady());
    await waitFor('connections are kept again', async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/`);
      return answer.headers.get('connection') === 'keep-alive';
    });
  });
});

describe('a gateway that starts from its snapshot file', () => {
  test('counts from when a controller was last heard before, and does not serve what may be too old', async (t) => {
    const server = await startController(t);
    const port = await freePort();
    const folder = makeFolder(t);
    const file = join(folder, 'snapshot');
    const limits = ['--max-staleness', '1h', '--on-stale', 'close'];
    const first = await startGatewayCommand(t, `http://127.0.0.1:${server.port}`, ['--snapshot-file', file, ...limits]);
    await waitForSettled(server, publish(server, openTo(port)));
    await waitFor('the time is saved, too', () => existsSync(`${file}.heard`));
    // What a crash at this moment would leave.
    const left = join(folder, 'left');
    copyFileSync(file, left);
    copyFileSync(`${file}.heard`, `${left}.heard`);
    await server.close();
    await first.stop();

    const startAgain = async (): Promise<Gateway> => {
      const gateway = await startGatewayCommand(t, 'http://127.0.0.1:1', ['--snapshot-file', left, ...limits]);
      await waitFor('its port is open', async () => (await getStatus(port, '/')) !== 'refused');
      return gateway;
    };
    const fresh = await startAgain();
    assert.equal(await getStatus(port, '/'), 200);
    assert.equal(await fresh.isReady(), true);
    // Starting alone is no contact: the time stays what it was.
    const heard = readFileSync(`${left}.heard`, 'utf8');
    await fresh.stop();
    assert.equal(readFileSync(`${left}.heard`, 'utf8'), heard);

    const [, wall] = / (\d+) \d+\n$/.exec(heard)!;
    const set = (time: number): void => writeFileSync(`${left}.heard`, heard.replace(wall!, String(time)));
    const expectStale = async (reason: RegExp): Promise<void> => {
      const gateway = await startAgain();
      assert.equal(await getStatus(port, '/'), 503);
      assert.equal(await gateway.isReady(), false);
      assert.match((await readCheck(gateway))!.reason!, reason);
      await gateway.stop();
    };
    set(Number(wall) - 3_600_000);
    await expectStale(/^no contact with a controller since \S+Z, longer than 1h \(maxStaleness\)$/);
    // The clock was set back since: nobody knows how long ago it was.
    set(Number(wall) + 3_600_000);
    await expectStale(/^it is not known when there was last contact/);
    rmSync(`${left}.heard`);
    await expectStale(/^it is not known when there was last contact/);

    // It is stale until it hears from one.
    const later = await startController(t);
    publish(later, openTo(port));
    const healed = await startGatewayCommand(t, `http://127.0.0.1:${later.port}`, ['--snapshot-file', left, ...limits]);
    await waitFor('it is ready', () => healed.isReady());
    await waitFor('it serves', async () => (await getStatus(port, '/')) === 200);
  });

  test('serves for any time without a limit', async (t) => {
    const server = await startController(t);
    const port = await freePort();
    const file = join(makeFolder(t), 'snapshot');
    const first = await startGatewayCommand(t, `http://127.0.0.1:${server.port}`, ['--snapshot-file', file]);
    await waitForSettled(server, publish(server, openTo(port)));
    await server.close();
    await first.stop();
    rmSync(`${file}.heard`);
    const second = await startGatewayCommand(t, 'http://127.0.0.1:1', ['--snapshot-file', file]);
    await waitFor('it is ready', () => second.isReady());
    assert.equal(await getStatus(port, '/'), 200);
    assert.equal(await readCheck(second), undefined);
    assert.equal(await readMetric(second, 'mcp_gateway_stale'), 0);
  });
});
