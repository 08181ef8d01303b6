// Every limit of a gateway process from the outside: past it there is an answer with a reason, the process stays ready, and what was
// given back can be used again. All limits are set by their environment variables, as a container does it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { formatFlagName } from '../../src/cmd/flags.ts';
import { runCommandFlags } from '../../src/cmd/run-flags.ts';
import { type Child, startChild } from '../kit/child-process.ts';
import { program } from '../kit/gateway-program.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import {
  ask,
  type Answer,
  type AskOptions,
  askHttp2,
  gatewayOf,
  openRequest,
  openSession,
  readAccessLog,
  readEcho,
  readError,
  readSeries,
  receiveHead,
  receiveResponse,
  rule,
  serviceOf,
  serviceRef,
  startUpstream,
  type Upstream,
} from '../integration/gateway-fixture.ts';
import { RawClient, readErrorAnswer } from '../integration/listen-fixture.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

const limits = { timeout: 180_000 };
let gateway: GatewayRun;
let upstream: Upstream;
let spare: Upstream;
let deadPort = 0;

const maxConnections = 24;
const variables = {
  MCP_GATEHOUSE_MAX_HEADER_BYTES: '4KiB',
  MCP_GATEHOUSE_MAX_HEADER_COUNT: '16',
  MCP_GATEHOUSE_HEADER_TIMEOUT: '1s',
  MCP_GATEHOUSE_IDLE_TIMEOUT: '1s',
  MCP_GATEHOUSE_MAX_CONNECTIONS: String(maxConnections),
  MCP_GATEHOUSE_MAX_CONCURRENT_STREAMS: '2',
  MCP_GATEHOUSE_MAX_UPSTREAM_REQUESTS: '2',
  MCP_GATEHOUSE_MAX_WAITING_REQUESTS: '1',
  MCP_GATEHOUSE_MAX_RESPONSE_HEADER_BYTES: '2KiB',
  MCP_GATEHOUSE_EJECT_AFTER_FAILURES: '2',
  MCP_GATEHOUSE_EJECTION_TIME: '1h',
  MCP_GATEHOUSE_EJECTION_TIME_MAX: '1h',
  MCP_GATEHOUSE_MAX_RETRIES: '1',
  MCP_GATEHOUSE_MIRROR_BUFFER: '1024',
  MCP_GATEHOUSE_UPSTREAM_KEEP_ALIVE: '300ms',
};

before(async () => {
  [upstream, spare] = await Promise.all([startUpstream('upstream'), startUpstream('spare')]);
  upstream.server.keepAliveTimeout = 0;
  [deadPort] = (await findFreePorts(1)) as [number];
  gateway = await runGateway({
    resources: (port) => [
      gatewayOf('test', [{ name: 'http', port, protocol: 'HTTP' }]),
      routeResource('main', [
        rule('/', [serviceRef('main')]),
        rule('/busy', [serviceRef('busy')]),
        rule('/half-dead', [serviceRef('half-dead')]),
      ]),
      ...serviceOf('main', [upstream.port]),
      ...serviceOf('busy', [upstream.port]),
      ...serviceOf('half-dead', [deadPort, spare.port]),
    ],
    env: variables,
  });
}, limits);

after(async () => {
  await gateway?.stop();
  await Promise.all([upstream, spare].map((each) => each?.close()));
});

const get = (path: string, options: AskOptions = {}): Promise<Answer> => ask(gateway.port, { path, ...options });

async function openRaw(t: TestContext): Promise<RawClient> {
  const socket = connect(gateway.port, '127.0.0.1');
  t.after(() => socket.destroy());
  const client = new RawClient(socket);
  await once(socket, 'connect');
  return client;
}

/** Requests and connections that were refused before they were requests, by reason. */
async function countRefused(reason: string): Promise<number> {
  const series = await readSeries(gateway, 'mcp_gateway_connections_refused_total');
  return series.get(`{reason="${reason}"}`) ?? 0;
}

async function assertReady(): Promise<void> {
  assert.equal((await fetch(`http://127.0.0.1:${gateway.readinessPort}/ready`)).status, 200);
  assert.equal((await fetch(`http://127.0.0.1:${gateway.readinessPort}/live`)).status, 200);
}

describe('what clients may send', limits, () => {
  test('--max-header-bytes: 431 headers_too_large over both versions, and it is counted', async (t) => {
    const refused = await countRefused('headers_too_large');
    const large = 'x'.repeat(5_000);
    const client = await openRaw(t);
    client.send(`GET / HTTP/1.1\r\nHost: localhost\r\nX-Large: ${large}\r\n\r\n`);
    const { status, error } = readErrorAnswer(await client.waitForClose());
    assert.deepEqual([status, error], [431, 'headers_too_large']);
    const session = await openSession(gateway.port);
    t.after(() => session.destroy());
    assert.equal(readError(await askHttp2(session, { ':path': '/', 'x-large': large })), '431 headers_too_large');
    assert.equal((await askHttp2(session, { ':path': '/' })).status, 200, 'the connection goes on');
    assert.equal(await countRefused('headers_too_large'), refused + 2);
    await assertReady();
  });

  test('--max-header-count: 431 too_many_headers', async (t) => {
    const fields = (count: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, '1']));
    assert.equal(readError(await get('/', { headers: fields(20) })), '431 too_many_headers');
    assert.equal((await get('/', { headers: fields(10) })).status, 200);
    const session = await openSession(gateway.port);
    t.after(() => session.destroy());
    assert.equal(readError(await askHttp2(session, { ':path': '/', ...fields(20) })), '431 too_many_headers');
    assert.equal(await countRefused('too_many_headers'), 2);
  });

  test('--header-timeout: 408 header_timeout, the connection closes, and others are served meanwhile', async (t) => {
    const slow = await openRaw(t);
    slow.send('GET / HTTP/1.1\r\nHost: local');
    assert.equal((await get('/meanwhile')).status, 200);
    const { status, error } = readErrorAnswer(await slow.waitForClose());
    assert.deepEqual([status, error], [408, 'header_timeout']);
    assert.equal(await countRefused('header_timeout'), 1);
  });

  test('--idle-timeout: an idle connection closes, one with an open stream does not', async (t) => {
    let stream: ServerResponse | undefined;
    upstream.handle('/quiet', (_request, response) => {
      stream = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    });
    const message = openRequest(gateway.port, { path: '/quiet' });
    t.after(() => message.destroy());
    message.end();
    const events = await receiveResponse(message);
    let received = '';
    events.setEncoding('utf8').on('data', (text: string) => (received += text));
    const idle = await openRaw(t);
    idle.send('GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await idle.waitForText('"upstream"');
    await idle.waitForClose();
    const session = await openSession(gateway.port);
    session.on('error', () => {});
    await once(session, 'close');
    assert.equal(stream!.destroyed, false);
    stream!.write('data: 2\n\n');
    await waitFor(() => received.includes('data: 2'));
  });

  test('--max-concurrent-streams: clients are told, and their next stream waits for one to end', async (t) => {
    const responses: ServerResponse[] = [];
    upstream.handle('/busy/hold', (_request, response) => {
      responses.push(response);
      response.writeHead(200).write('x');
    });
    const session = await openSession(gateway.port);
    t.after(() => session.destroy());
    await waitFor(() => session.remoteSettings?.maxConcurrentStreams === 2);
    const held = [1, 2].map(() => session.request({ ':path': '/busy/hold' }));
    await Promise.all(held.map((stream) => receiveHead(stream)));
    for (const stream of held) stream.resume();
    let served = false;
    const next = askHttp2(session, { ':path': '/next' }).then((answer) => {
      served = true;
      return answer;
    });
    assert.equal((await get('/other-connection')).status, 200);
    assert.equal(served, false);
    responses[0]!.end();
    assert.equal((await next).status, 200);
    responses[1]!.end();
  });

  test('--max-connections: 503 too_many_connections, ready and counted meanwhile, until one closes', async (t) => {
    await waitFor(async () => (await gateway.readMetric('mcp_gateway_connections')) === 0);
    // On a slow machine some are idle for too long before the last one is there: then there is room, and it starts over.
    const open: RawClient[] = [];
    let refusal = '';
    await waitFor(async () => {
      while (open.length < maxConnections) open.push(await openRaw(t));
      const client = await openRaw(t);
      refusal = await client.waitForClose();
      for (const each of open.splice(0).filter(({ closed }) => !closed)) open.push(each);
      return refusal !== '';
    });
    const { status, error } = readErrorAnswer(refusal);
    assert.deepEqual([status, error], [503, 'too_many_connections']);
    await assertReady();
    assert.ok((await countRefused('too_many_connections')) >= 1);
    for (const client of open) client.stream.destroy();
    await waitFor(async () => (await gateway.readMetric('mcp_gateway_connections')) === 0);
    assert.equal((await get('/')).status, 200);
  });
});

describe('what goes to upstreams', limits, () => {
  test('--max-upstream-requests and --max-waiting-requests: two run, one waits, the next gets 503 upstream_overloaded', async (t) => {
    const running: ServerResponse[] = [];
    upstream.handle('/busy/full', (_request, response) => void running.push(response));
    const answers = [0, 1].map(() => get('/busy/full'));
    await waitFor(() => running.length === 2);
    let waited = false;
    const waiting = get('/busy/full').then((answer) => {
      waited = true;
      return answer;
    });
    // A request that finds the queue full is refused; the queued one is not.
    await waitFor(async () => (await gateway.readMetric('mcp_gateway_requests_in_flight')) === 3);
    assert.equal(readError(await get('/busy/full')), '503 upstream_overloaded');
    assert.deepEqual([waited, running.length], [false, 2]);
    await assertReady();
    running[0]!.end('first');
    await waitFor(() => running.length === 3);
    running[1]!.end('second');
    running[2]!.end('third');
    assert.deepEqual(
      (await Promise.all([...answers, waiting])).map(({ status }) => status),
      [200, 200, 200],
    );
    t.diagnostic(`${upstream.hits} requests reached the upstream`);
  });

  test('--max-response-header-bytes: 502 upstream_protocol_error', async () => {
    upstream.handle('/large-head', (_request, response) =>
      response.writeHead(200, { 'x-large': 'y'.repeat(3_000) }).end(),
    );
    assert.equal(readError(await get('/large-head')), '502 upstream_protocol_error');
    upstream.handle('/fair-head', (_request, response) =>
      response.writeHead(200, { 'x-large': 'y'.repeat(1_000) }).end(),
    );
    assert.equal((await get('/fair-head')).status, 200);
  });

  test('--eject-after-failures, --ejection-time, --max-retries: after two failures no request is sent there', async () => {
    for (let index = 0; index < 40; index += 1) assert.equal(readEcho(await get('/half-dead')).upstream, 'spare');
    const lines = () => readAccessLog(gateway).filter(({ path }) => path === '/half-dead');
    await waitFor(() => lines().length === 40);
    assert.equal(lines().filter(({ retries }) => retries === 1).length, 2);
  });

  test('--upstream-keep-alive: an idle connection to an endpoint is closed', async () => {
    const count = (): Promise<number> =>
      new Promise((resolve, reject) =>
        upstream.server.getConnections((error, connections) => (error === null ? resolve(connections) : reject(error))),
      );
    assert.equal((await get('/keep')).status, 200);
    assert.equal((await get('/keep')).status, 200);
    await waitFor(async () => (await count()) === 0);
  });
});

describe('flags and environment variables', limits, () => {
  interface Ended {
    readonly code: number | null;
    readonly output: string;
  }

  async function runProgram(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
    const child = startChild({ command: process.execPath, args: [program, ...args], env: { ...process.env, ...env } });
    const code = await child.waitForExit();
    return { code, output: child.readOutput() };
  }

  test('every variable is read: a bad value is one line that names it, and exit code 2', async () => {
    const named = Object.entries(runCommandFlags.flags).flatMap(([key, flag]) =>
      'env' in flag ? [{ key, type: flag.type, env: flag.env }] : [],
    );
    const checked = named.filter(({ type }) => type !== 'string' && type !== 'strings' && type !== 'paths');
    assert.ok(checked.length >= 20, `${checked.length} variables`);
    const { code, output } = await runProgram(
      ['run', '-f', 'x.yaml'],
      Object.fromEntries(checked.map(({ env }) => [env, '-1 parsec'])),
    );
    assert.equal(code, 2);
    const lines = output.trimEnd().split('\n');
    for (const { env } of checked) {
      assert.equal(
        lines.filter((line) => line.startsWith(`mcp-gatehouse run: the environment variable ${env} must be `)).length,
        1,
        env,
      );
    }
    assert.equal(lines.length, checked.length + 1, output);
    assert.equal(lines.at(-1), 'See mcp-gatehouse run --help.');
    const help = await runProgram(['run', '--help-all'], {});
    assert.equal(help.code, 0);
    for (const { key, env } of named) {
      const name = formatFlagName(key).slice(2);
      assert.match(help.output, new RegExp(`--(no-)?${name}\\b`));
      assert.match(help.output, new RegExp(`\\b${env}\\b`));
    }
  });

  test('every numeric flag refuses what is out of its range, in one line', async () => {
    const { code, output } = await runProgram(
      [
        'run',
        '-f',
        'x.yaml',
        '--max-header-bytes',
        '10',
        '--idle-timeout',
        '1ms',
        '--max-connections',
        '0',
        '--admin-port',
        '70000',
      ],
      {},
    );
    assert.equal(code, 2);
    assert.match(output, /^mcp-gatehouse run: --max-header-bytes must be between 1KiB and 1MiB, not "10"$/m);
    assert.match(output, /^mcp-gatehouse run: --idle-timeout must be of at least 100ms, not "1ms"$/m);
    assert.match(output, /^mcp-gatehouse run: --max-connections must be a whole number of at least 1, not "0"$/m);
    assert.match(output, /^mcp-gatehouse run: --admin-port must be a port number between 0 and 65535, not "70000"$/m);
  });

  test('a gateway that is configured by variables alone; a flag wins over its variable', async (t) => {
    const [port, admin, metrics, readiness, unused] = (await findFreePorts(5)) as [
      number,
      number,
      number,
      number,
      number,
    ];
    const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-variables-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'gateway.yaml');
    const resources = [
      gatewayResource(port),
      routeResource('main', [ruleTo('/mcp', 'server')]),
      backendResource('server', upstream.port),
    ];
    writeFileSync(file, resources.map((each) => JSON.stringify(each)).join('\n---\n'));
    const child: Child = startChild({
      command: process.execPath,
      args: [program, 'run', '--readiness-port', String(readiness)],
      env: {
        ...process.env,
        MCP_GATEHOUSE_FILES: file,
        MCP_GATEHOUSE_ADMIN_PORT: String(admin),
        MCP_GATEHOUSE_METRICS_PORT: String(metrics),
        MCP_GATEHOUSE_READINESS_PORT: String(unused),
        MCP_GATEHOUSE_OBSERVABILITY_ADDRESS: '127.0.0.2',
        MCP_GATEHOUSE_ADDRESS: '127.0.0.3',
        MCP_GATEHOUSE_LOG_LEVEL: 'debug',
        MCP_GATEHOUSE_LOG_FORMAT: 'text',
        MCP_GATEHOUSE_ACCESS_LOG: 'off',
        MCP_GATEHOUSE_DRAIN_TIMEOUT: '100ms',
        MCP_GATEHOUSE_RELOAD_SETTLE: '5ms',
        // Set but empty: as if it were not there.
        MCP_GATEHOUSE_TARGET: '',
      },
    });
    t.after(() => child.stop());
    const tryFetch = (url: string, init?: RequestInit) => fetch(url, init).catch(() => undefined);
    await waitFor(async () => {
      if (child.exitCode() !== undefined) throw new Error(child.readOutput());
      return (await tryFetch(`http://127.0.0.2:${readiness}/ready`))?.ok === true;
    });
    assert.equal((await tryFetch(`http://127.0.0.2:${metrics}/metrics`))?.status, 200);
    assert.equal((await tryFetch(`http://127.0.0.1:${metrics}/metrics`))?.status, undefined);
    assert.equal((await tryFetch(`http://127.0.0.1:${admin}/loglevel`))?.status, 200);
    assert.match((await (await tryFetch(`http://127.0.0.1:${admin}/loglevel`))?.text()) ?? '', /"level": ?"debug"/);
    assert.equal(await tryFetch(`http://127.0.0.1:${unused}/ready`), undefined);
    assert.equal(await tryFetch(`http://127.0.0.1:${port}/mcp`), undefined);
    const served = await tryFetch(`http://127.0.0.3:${port}/mcp`, { method: 'POST', body: '{}' });
    const id = served?.headers.get('x-request-id');
    assert.equal(served?.status, 200);
    // A stream that does not end is cut after the drain time-out, and the exit code is 0.
    upstream.handle('/mcp/stream', (_request, response) => void response.writeHead(200).write('x'));
    const stream = await tryFetch(`http://127.0.0.3:${port}/mcp/stream`);
    assert.equal(await child.stop(), 0);
    await assert.rejects(async () => stream?.text());
    assert.match(child.readOutput(), /^Serving http:\/\/127\.0\.0\.3:/m);
    assert.ok(!child.readOutput().includes(String(id)), 'there is no access log');
  });

  test('the short form by variables', async () => {
    const { code, output } = await runProgram(['run', '--print'], {
      MCP_GATEHOUSE_TARGET: 'http://127.0.0.1:3001/sse',
      MCP_GATEHOUSE_PORT: '3456',
      MCP_GATEHOUSE_TRANSPORT: 'sse',
    });
    assert.equal(code, 0, output);
    assert.match(output, /port: 3456/);
    assert.match(output, /protocol: SSE/);
    assert.match(output, /path: \/sse/);
  });
});
