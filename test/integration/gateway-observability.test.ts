// What a gateway process tells about its traffic, and what it never tells: access log, metrics, traces, admin pages.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { type Collector, startCollector } from './admin-otlp-collector.ts';
import {
  type AccessLine,
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
  readText,
  receiveResponse,
  resource,
  rule,
  serviceOf,
  serviceRef,
  startUpstream,
  tlsSecretOf,
  type Upstream,
  valuesOf,
} from './gateway-fixture.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { RawClient } from './listen-fixture.ts';
import { routeResource } from '../kit/gateway-resources.ts';
import { type GatewayProcessRun, runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { createCertificate } from '../self-signed-certificate.ts';

const limits = { timeout: 180_000 };
let gateway: GatewayProcessRun;
let upstream: Upstream;
let collector: Collector;
let tlsPort = 0;
let deadPort = 0;

/** Everything below is sent or configured somewhere and must not be seen anywhere. */
const secrets = {
  bearer: 'BEARER-4f1c9e7a2b',
  cookie: 'COOKIE-7d3e1f9a4c',
  query: 'QUERY-9b2d4e6f8a',
  basic: Buffer.from('user:BASIC-1a2b3c4d5e').toString('base64'),
  header: 'HEADER-5e4d3c2b1a',
  setCookie: 'SETCOOKIE-8f7e6d5c4b',
  environment: 'ENVIRONMENT-3c5e7f9b1d',
  filter: 'FILTER-6b8d0f2a4c',
  path: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJQQVRIIn0.c2lnbmF0dXJl',
  trailer: 'TRAILER-0a9b8c7d6e',
};
const certificate = createCertificate({ names: ['secret.test'] });

before(async () => {
  upstream = await startUpstream();
  collector = await startCollector();
  [tlsPort, deadPort] = (await findFreePorts(2)) as [number, number];
  gateway = await runGatewayProcess({
    resources: (port) => [
      gatewayOf('test', [
        { name: 'http', port, protocol: 'HTTP' },
        { name: 'https', port: tlsPort, protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'certificate' }] } },
      ]),
      routeResource('main', [
        rule('/', [serviceRef('main')]),
        rule('/dead', [serviceRef('dead')]),
        rule('/credential', [serviceRef('main')], {
          filters: [
            {
              type: 'RequestHeaderModifier',
              requestHeaderModifier: { set: [{ name: 'authorization', value: `Bearer ${secrets.filter}` }] },
            },
          ],
        }),
      ]),
      ...serviceOf('main', [upstream.port]),
      ...serviceOf('dead', [deadPort]),
      tlsSecretOf('certificate', certificate.cert, certificate.key),
      resource('v1', 'Secret', 'unused', { stringData: { password: '${TEST_SECRET_VALUE}' } }),
    ],
    env: {
      TEST_SECRET_VALUE: secrets.environment,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_SERVICE_NAME: 'gateway-under-test',
    },
  });
}, limits);

after(async () => {
  await gateway?.stop();
  await Promise.all([upstream?.close(), collector?.close()]);
});

const get = (path: string, options: AskOptions = {}): Promise<Answer> => ask(gateway.port, { path, ...options });

async function findLine(path: string): Promise<AccessLine> {
  await waitFor(() => readAccessLog(gateway).some((line) => line['path'] === path));
  return readAccessLog(gateway).find((line) => line['path'] === path)!;
}

const readAdmin = async (path: string, init?: RequestInit): Promise<string> =>
  (await fetch(`http://127.0.0.1:${gateway.adminPort}${path}`, init)).text();

describe('the access log', limits, () => {
  test('of a request that went well', async () => {
    const answer = await ask(
      gateway.port,
      { path: '/fine?q=1', method: 'POST', headers: { 'user-agent': 'test/1.0' } },
      'twelve bytes',
    );
    const line = await findLine('/fine');
    const { listener, route, backend, client, duration_ms: duration, upstream_ms: upstreamMs, ...rest } = line;
    assert.equal(line['request_id'], answer.headers['x-request-id']);
    assert.match(String(line['request_id']), /^[0-9a-f-]{36}$/);
    assert.match(String(listener), /default\/test\/http$/);
    assert.match(String(route), /default\/main/);
    assert.match(String(backend), /default\/main/);
    assert.match(String(client), /^127\.0\.0\.1:\d+$/);
    assert.ok(Number(duration) >= Number(upstreamMs) && Number(upstreamMs) > 0, `${duration} ${upstreamMs}`);
    for (const [name, value] of Object.entries({
      method: 'POST',
      host: '127.0.0.1',
      path: '/fine',
      protocol: 'HTTP/1.1',
      scheme: 'http',
      status: 200,
      endpoint: `127.0.0.1:${upstream.port}`,
      bytes_in: 12,
      bytes_out: answer.body.length,
      user_agent: 'test/1.0',
      reason: undefined,
      complete: undefined,
      retries: undefined,
    })) {
      assert.equal(rest[name], value, name);
    }
  });

  test('of answers that the gateway made: reason, and a detail that is not in the answer', async () => {
    const denied = await get('/forbidden', { headers: { origin: 'https://evil.test' } });
    assert.equal(readError(denied), '403 origin_not_allowed');
    const line = await findLine('/forbidden');
    assert.deepEqual([line['status'], line['reason'], line['backend']], [403, 'origin_not_allowed', undefined]);
    assert.match(String(line['detail']), /evil\.test/);
    const dead = await get('/dead');
    assert.equal(readError(dead), '502 upstream_unreachable');
    assert.ok(!dead.body.includes(String(deadPort)), 'no address of the inside in an answer');
    const failed = await findLine('/dead');
    assert.deepEqual([failed['status'], failed['reason']], [502, 'upstream_unreachable']);
    assert.equal(failed['endpoint'], `127.0.0.1:${deadPort}`);
  });

  test('of streams that broke off, by the upstream and by the client', async () => {
    let end: (() => void) | undefined;
    upstream.handle('/broken-stream', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      end = () => response.socket!.destroy();
    });
    const message = openRequest(gateway.port, { path: '/broken-stream' });
    message.end();
    const text = readText(await receiveResponse(message));
    end!();
    await assert.rejects(text);
    const byUpstream = await findLine('/broken-stream');
    assert.deepEqual(
      [byUpstream['status'], byUpstream['reason'], byUpstream['complete'], byUpstream['bytes_out']],
      [200, 'upstream_aborted', false, 9],
    );

    upstream.handle('/left-stream', (_request, response) => void response.writeHead(200).write('x'));
    const leaving = openRequest(gateway.port, { path: '/left-stream' });
    leaving.end();
    await receiveResponse(leaving);
    leaving.destroy();
    const byClient = await findLine('/left-stream');
    assert.deepEqual(
      [byClient['status'], byClient['reason'], byClient['complete']],
      [200, 'client_disconnected', false],
    );
  });

  test('a path cannot break the line, and a long one is cut', async () => {
    await get(`/${'long'.repeat(600)}`);
    await get('/line%0abreak%1b[31m');
    await waitFor(() => readAccessLog(gateway).some(({ path }) => String(path).startsWith('/longlong')));
    const long = readAccessLog(gateway).find(({ path }) => String(path).startsWith('/longlong'))!;
    assert.ok(String(long['path']).length < 1_100);
    await waitFor(() => gateway.readOutput().includes('line%0'));
    assert.ok(!gateway.readOutput().includes('\u001b[31m'));
  });
});

describe('secrets', limits, () => {
  test('no line, page, metric or span shows what was sent or configured', async () => {
    const level = await fetch(`http://127.0.0.1:${gateway.adminPort}/loglevel`, {
      method: 'PUT',
      body: '{"level":"trace"}',
    });
    assert.equal(level.status, 200);
    upstream.handle('/secret', (request, response) => {
      request.resume();
      response.writeHead(200, { 'set-cookie': `session=${secrets.setCookie}` });
      response.end('ok');
    });
    const headers = {
      authorization: `Bearer ${secrets.bearer}`,
      cookie: `session=${secrets.cookie}`,
      'x-api-key': secrets.header,
    };
    const query = `?access_token=${secrets.query}&code=${secrets.query}&x=1`;
    const ok = await get(`/secret${query}`, { headers });
    assert.match(String(ok.headers['set-cookie']), new RegExp(secrets.setCookie));
    await get(`/dead${query}`, { headers: { ...headers, authorization: `Basic ${secrets.basic}` } });
    await get(`/secret/${secrets.path}${query}`, { headers });
    await get(`/nobody${query}`, {
      headers: { ...headers, host: 'evil.test', origin: `https://x.test/?token=${secrets.query}` },
    });
    const session = await openSession(gateway.port);
    await askHttp2(session, { ':path': `/secret${query}`, ...headers }, undefined);
    await askHttp2(session, { ':path': `/dead${query}`, ...headers, referer: `https://x.test/${query}` });
    session.destroy();
    // Malformed on purpose, so that the refusal has something to say.
    const socket = connect(gateway.port, '127.0.0.1');
    await once(socket, 'connect');
    const raw = new RawClient(socket);
    raw.send(
      `GET /secret${query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secrets.bearer}\r\nbad header\r\n\r\n`,
    );
    await raw.waitForClose();
    const filtered = await get('/credential');
    assert.deepEqual(valuesOf(readEcho(filtered).headers, 'authorization'), [`Bearer ${secrets.filter}`]);
    await findLine('/credential');
    await waitFor(() => collector.spans.some(({ attributes }) => attributes['url.path'] === '/credential'));
    await fetch(`http://127.0.0.1:${gateway.adminPort}/loglevel`, { method: 'PUT', body: '{"level":"info"}' });

    const metrics = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
    const places = {
      log: gateway.readOutput(),
      config: await readAdmin('/config'),
      routes: await readAdmin('/routes'),
      routesJson: await readAdmin('/routes?format=json'),
      index: await readAdmin('/'),
      metrics,
      spans: JSON.stringify(collector.spans),
    };
    const key = certificate.key.split('\n').slice(1, -2).join('');
    for (const [place, text] of Object.entries(places)) {
      for (const [name, secret] of Object.entries(secrets)) assert.ok(!text.includes(secret), `${name} in ${place}`);
      assert.ok(!text.includes('PRIVATE KEY'), place);
      for (const part of [key.slice(0, 40), key.slice(-40)])
        assert.ok(!text.replaceAll('\\n', '').includes(part), place);
    }
    assert.match(places.config, /secret\.test/, 'the certificate itself is shown');
    assert.match(places.log, /"path":"\/secret"/);
  });
});

describe('traces', limits, () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';

  test("the client's trace goes on upstream and to the collector", async () => {
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    const echo = readEcho(await get('/traced', { headers: { traceparent, tracestate: 'vendor=1' } }));
    const [sent = ''] = valuesOf(echo.headers, 'traceparent');
    assert.match(sent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    assert.notEqual(sent, traceparent, 'the span of the gateway is the parent of what the upstream does');
    assert.deepEqual(valuesOf(echo.headers, 'tracestate'), ['vendor=1']);
    await waitFor(() => collector.spans.filter((span) => span.traceId === traceId).length === 2);
    const spans = collector.spans.filter((span) => span.traceId === traceId);
    const server = spans.find(({ kind }) => kind === 2)!;
    const client = spans.find(({ kind }) => kind === 3)!;
    assert.equal(server.parentSpanId, 'b7ad6b7169203331');
    assert.equal(client.parentSpanId, server.spanId);
    assert.equal(sent.split('-')[2], client.spanId);
    assert.equal(collector.resource['service.name'], 'gateway-under-test');
    assert.equal((await findLine('/traced'))['trace_id'], traceId);
  });

  test('a request without a trace starts one; a broken traceparent is not passed on', async () => {
    const fresh = readEcho(await get('/untraced'));
    assert.match(valuesOf(fresh.headers, 'traceparent').join(), /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]$/);
    const broken = readEcho(await get('/badly-traced', { headers: { traceparent: '00-zzz', tracestate: 'vendor=1' } }));
    assert.match(valuesOf(broken.headers, 'traceparent').join(), /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]$/);
    assert.deepEqual(valuesOf(broken.headers, 'tracestate'), [], 'the state of a trace that nobody can read');
  });

  test('an error has its reason in the span', async () => {
    const failed = '1bf7651916cd43dd8448eb211c80319c';
    await get('/dead', { headers: { traceparent: `00-${failed}-b7ad6b7169203331-01` } });
    await waitFor(() => collector.spans.some((span) => span.traceId === failed && span.kind === 2));
    const span = collector.spans.find((each) => each.traceId === failed && each.kind === 2)!;
    assert.equal(span.statusCode, 2);
    assert.match(JSON.stringify(span.attributes), /upstream_unreachable/);
  });
});

describe('metrics', limits, () => {
  test('labels stay bounded whatever clients invent', async (t) => {
    const name = 'mcp_gateway_requests_total';
    const session = await openSession(gateway.port);
    t.after(() => session.destroy());
    const send = async (index: number): Promise<void> => {
      await askHttp2(session, { ':method': `M${index}`, ':path': `/random-${index}`, 'x-n': String(index) });
      await get(`/random-${index}`, { headers: { host: `h${index}.localhost`, origin: `https://o${index}.test` } });
      await askHttp2(session, { ':path': `/dead/${index}?x=${index}`, ':authority': `d${index}.localhost` });
    };
    await send(0);
    const known = (await readSeries(gateway, name)).size;
    for (let index = 1; index <= 50; index += 1) await send(index);
    const series = await readSeries(gateway, name);
    assert.equal(series.size, known, [...series.keys()].join('\n'));
    const all = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
    assert.doesNotMatch(all, /random-|M7|h7\.localhost|o7\.test/);
    const counted = [...series].filter(([labels]) => labels.includes('reason="upstream_unreachable"'));
    assert.ok(counted.reduce((sum, [, count]) => sum + count, 0) >= 51);
  });

  test('requests in flight, open streams and connections go up and come down again', async () => {
    let end: (() => void) | undefined;
    upstream.handle('/counted', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      end = () => response.end();
    });
    const countStreams = async (): Promise<number> =>
      [...(await readSeries(gateway, 'mcp_gateway_open_streams')).values()].reduce((sum, count) => sum + count, 0);
    await waitFor(async () => (await gateway.readMetric('mcp_gateway_requests_in_flight')) === 0);
    const streamsBefore = await countStreams();
    const message = openRequest(gateway.port, { path: '/counted' });
    message.end();
    const response = await receiveResponse(message);
    assert.equal(await gateway.readMetric('mcp_gateway_requests_in_flight'), 1);
    assert.ok((await gateway.readMetric('mcp_gateway_connections')) >= 1);
    assert.equal(await countStreams(), streamsBefore + 1);
    end!();
    assert.equal(await readText(response), 'data: 1\n\n');
    await waitFor(async () => (await gateway.readMetric('mcp_gateway_requests_in_flight')) === 0);
    assert.equal(await countStreams(), streamsBefore);
  });

  test('what happened to upstreams is counted by backend', async () => {
    await get('/dead');
    const failures = await readSeries(gateway, 'mcp_gateway_upstream_connect_failures_total');
    const dead = [...failures].filter(([labels]) => labels.includes('dead') && labels.includes('reason="refused"'));
    assert.equal(dead.length, 1, [...failures.keys()].join('\n'));
    assert.ok(dead[0]![1] >= 1);
  });
});

describe('admin', limits, () => {
  test('/loglevel changes what is logged while it runs', async () => {
    const setLevel = (level: string): Promise<string> =>
      readAdmin('/loglevel', { method: 'PUT', body: JSON.stringify({ level }) });
    assert.match(await setLevel('error'), /"level": ?"error"/);
    await get('/not-logged');
    assert.match(await setLevel('info'), /"level": ?"info"/);
    await get('/logged-again');
    await findLine('/logged-again');
    assert.ok(!gateway.readOutput().includes('/not-logged'));
    assert.match(await setLevel('loud'), /invalid_level/);
    // Nothing changes by GET, and no web page gets in.
    await readAdmin('/loglevel?level=error');
    assert.match(await readAdmin('/loglevel'), /"level": ?"info"/);
    const foreign = await fetch(`http://127.0.0.1:${gateway.adminPort}/loglevel`, {
      method: 'PUT',
      body: '{"level":"error"}',
      headers: { origin: 'https://evil.test' },
    });
    assert.equal(foreign.status, 403);
    assert.match(await readAdmin('/loglevel'), /"level": ?"info"/);
  });

  test('/routes and /config show what is in force', async () => {
    const routes = await readAdmin('/routes');
    assert.match(routes, new RegExp(`:${gateway.port}\\b`));
    assert.match(routes, /\/dead/);
    const config = JSON.parse(await readAdmin('/config')) as Record<string, readonly object[]>;
    assert.equal(config['listeners']?.length, 2);
    assert.equal(config['secrets']?.length, 1, 'only what is used');
  });

  test('at the start the log says what is served', () => {
    const line = gateway
      .readOutput()
      .split('\n')
      .find((each) => each.includes('"msg":"serving"'))!;
    const record = JSON.parse(line) as { served: unknown; pages: Record<string, string>; version: string };
    for (const port of [gateway.port, tlsPort])
      assert.match(JSON.stringify(record.served), new RegExp(`"port":${port}\\b`));
    assert.equal(record.pages['admin'], `http://127.0.0.1:${gateway.adminPort}`);
  });
});
