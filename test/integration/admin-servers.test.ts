// The gateway's own ports over real sockets: admin, metrics, readiness.
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { createHealth, type Health } from '../../src/base/health.ts';
import { createLog, type RootLog, silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { startAdminServer } from '../../src/gateway/admin/admin-server.ts';
import { createFlowInspector } from '../../src/gateway/observe/flow-inspector.ts';
import { LiveRequests } from '../../src/gateway/observe/live-requests.ts';
import { createRequestJournal } from '../../src/gateway/observe/request-journal.ts';
import { startMetricsServer } from '../../src/gateway/admin/metrics-server.ts';
import { ListenFailedError, type PlainServer, PortInUseError } from '../../src/gateway/admin/plain-server.ts';
import { startReadinessServer } from '../../src/gateway/admin/readiness-server.ts';
import { compile } from '../../src/gateway/config/compile/compile.ts';
import { adminConfiguration, hiddenKeyLine, hiddenValue } from './admin-configuration.ts';

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** Not fetch: it would not send a foreign Host, and it would follow the path's dots itself. */
function send(server: PlainServer, path: string, sent: Sent = {}): Promise<Answer> {
  // Spelled out: node's client would send the body of a GET without framing it.
  const length = { 'content-length': String(Buffer.byteLength(sent.body ?? '')) };
  const headers = sent.body === undefined ? sent.headers : { ...sent.headers, ...length };
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port: server.port, path, method: sent.method ?? 'GET', headers: headers ?? {} },
      (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (body += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      },
    );
    request.on('error', reject);
    request.end(sent.body);
  });
}

function parse(answer: Answer): Record<string, unknown> {
  assert.equal(answer.headers['content-type'], 'application/json');
  return JSON.parse(answer.body) as Record<string, unknown>;
}

/** A gateway that has just started. */
const quietGateway = {
  live: new LiveRequests(),
  metrics: createMetrics(),
  getSessions: () => ({ kind: 'no_issuer' as const }),
  readState: () =>
    Promise.resolve({
      applied: undefined,
      endpoints: [],
      federations: [],
      keyProblems: [],
      sourceProblems: [],
      workers: 1,
    }),
};

describe('admin', () => {
  let admin: PlainServer;
  let log: RootLog;
  const lines: string[] = [];

  before(async () => {
    log = createLog({ level: 'info', format: 'json', destination: { write: (line) => lines.push(line) } });
    const { runtime } = compile(adminConfiguration);
    admin = await startAdminServer({
      port: 0,
      version: '1.2.3',
      flows: createFlowInspector(),
      journal: createRequestJournal(),
      ...quietGateway,
      getConfiguration: () => adminConfiguration,
      getRuntime: () => runtime,
      log,
    });
  });
  after(() => admin.close());

  test('/config shows the configuration and hides what is secret', async () => {
    const answer = await send(admin, '/config');
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.equal(Array.isArray(parse(answer)['listeners']), true);
    assert.equal(answer.body.includes(hiddenValue), false);
    assert.equal(answer.body.includes(hiddenKeyLine), false);
  });

  test('/routes is text for people and JSON for machines', async () => {
    const text = await send(admin, '/routes');
    assert.equal(text.headers['content-type'], 'text/plain; charset=utf-8');
    assert.match(text.body, /prefix \/mcp/);
    for (const answer of [
      await send(admin, '/routes?format=json'),
      await send(admin, '/routes', { headers: { accept: 'application/json' } }),
    ]) {
      assert.equal((parse(answer)['ports'] as unknown[]).length, 1);
      assert.equal(answer.body.includes(hiddenValue), false);
    }
    assert.equal((await send(admin, '/routes?format=xml')).status, 400);
  });

  test('browsers get pages of both, with the same secrets hidden; programs get what they always got', async () => {
    const html = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };
    const [routes, config] = [await send(admin, '/routes', html), await send(admin, '/config', html)];
    for (const answer of [routes, config]) {
      assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8');
      assert.match(String(answer.headers['content-security-policy']), /^default-src 'none'/);
      assert.equal(answer.body.includes(hiddenValue), false);
      assert.equal(answer.body.includes(hiddenKeyLine), false);
      assert.doesNotMatch(answer.body, /<script/);
    }
    assert.match(routes.body, /1 of 2 routes are OPEN/);
    assert.match(routes.body, /badge bad">OPEN/);
    assert.match(config.body, /<h2 id="kind-ProxyPolicy">ProxyPolicy<\/h2>/);
    assert.match(config.body, /cors:\n    allowOrigins:\n    - https:\/\/app\.example/);
    const { headers } = await send(admin, '/config?format=json', html);
    assert.equal(headers['content-type'], 'application/json');
    assert.equal((await send(admin, '/config?format=xml')).status, 400);
    assert.match((await send(admin, '/routes?format=text', html)).body, /^127\.0\.0\.1:8443 HTTPS/);
  });

  test('/metrics has the metrics, for those who reach only this port', async () => {
    const answer = await send(admin, '/metrics');
    assert.deepEqual([answer.status, answer.headers['cache-control']], [200, 'no-store']);
    assert.match(String(answer.headers['content-type']), /^text\/plain; version=0\.0\.4/);
  });

  test('/loglevel is read by GET and changed by PUT and POST only', async () => {
    const children = log.child({});
    assert.equal(parse(await send(admin, '/loglevel'))['level'], 'info');
    await send(admin, '/loglevel?level=trace');
    assert.equal(log.level, 'info', 'nothing changes by GET');
    const put = await send(admin, '/loglevel', { method: 'PUT', body: '{"level":"debug"}' });
    assert.equal(parse(put)['level'], 'debug');
    assert.equal(children.isEnabled('debug'), true);
    assert.equal((await send(admin, '/loglevel', { method: 'POST', body: 'level=warn' })).status, 200);
    assert.equal(log.level, 'warn');
    assert.equal((await send(admin, '/loglevel?level=error', { method: 'POST' })).status, 200);
    assert.equal(log.level, 'error');
    const form = await send(admin, '/loglevel', {
      method: 'POST',
      body: 'level=info',
      headers: { accept: 'text/html', origin: `http://127.0.0.1:${admin.port}` },
    });
    assert.deepEqual([form.status, form.headers['location'], log.level], [303, '/', 'info']);
    assert.match(lines.join(''), /"before":"info","level":"debug"|"level":"info".*debug/);
  });

  for (const [why, body] of [
    ['an unknown level', '{"level":"loud"}'],
    ['no level', '{}'],
    ['broken JSON', '{"level"'],
    ['a level that is no text', '{"level":5}'],
    ['nothing', ''],
  ] as const) {
    test(`/loglevel refuses ${why}`, async () => {
      const answer = await send(admin, '/loglevel', { method: 'PUT', body });
      assert.equal(answer.status, 400);
      assert.equal(parse(answer)['error'], 'invalid_level');
      assert.equal(log.level, 'info');
    });
  }

  test('/ is a page without scripts', async () => {
    const answer = await send(admin, '/');
    assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8');
    assert.match(String(answer.headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/);
    assert.match(answer.body, /<html lang="en">[\s\S]*<main>[\s\S]*<label for="level">/);
    assert.match(answer.body, /prefers-color-scheme: dark/);
    assert.match(answer.body, /<option selected>info<\/option>/);
    assert.doesNotMatch(answer.body, /<script/);
  });

  test('a foreign Host or Origin gets 403, on every path and method, and changes nothing', async () => {
    for (const path of ['/', '/config', '/routes', '/live', '/live/events', '/metrics', '/loglevel', '/none']) {
      for (const method of ['GET', 'PUT', 'POST', 'OPTIONS']) {
        const body = '{"level":"trace"}';
        const host = await send(admin, path, { method, body, headers: { host: 'evil.example' } });
        assert.equal(parse(host)['error'], 'host_not_allowed');
        const origin = await send(admin, path, { method, body, headers: { origin: 'https://evil.example' } });
        assert.equal(parse(origin)['error'], 'origin_not_allowed');
        assert.deepEqual([host.status, origin.status], [403, 403]);
      }
    }
    assert.equal(log.level, 'info');
  });

  test('other methods get 405 with Allow, other paths 404, both as JSON', async () => {
    const method = await send(admin, '/config', { method: 'DELETE' });
    assert.deepEqual([method.status, method.headers['allow']], [405, 'GET, HEAD']);
    const body = parse(method);
    assert.equal(body['error'], 'method_not_allowed');
    assert.match(String(body['request_id']), /^[0-9a-f-]{36}$/);
    assert.equal((await send(admin, '/loglevel', { method: 'PATCH' })).headers['allow'], 'GET, PUT, POST, HEAD');
    for (const path of ['/none', '/__proto__', '/constructor', '//config', '/config/']) {
      assert.equal((await send(admin, path)).status, 404, path);
    }
    assert.equal((await send(admin, '/loglevel', { method: 'constructor' })).status, 400, 'not a method of HTTP');
  });

  test('HEAD has the headers and no body', async () => {
    const answer = await send(admin, '/routes', { method: 'HEAD' });
    assert.deepEqual([answer.status, answer.body], [200, '']);
    assert.notEqual(answer.headers['content-length'], '0');
  });

  test('a large body is refused', async () => {
    const answer = await send(admin, '/loglevel', { method: 'PUT', body: 'x'.repeat(100_000) }).catch(
      (error: NodeJS.ErrnoException) => error.code,
    );
    // The answer comes before the whole body was read; a client that is still writing may see the closed connection instead.
    assert.equal(typeof answer === 'object' ? answer.status : answer, typeof answer === 'object' ? 413 : 'ECONNRESET');
    assert.equal(log.level, 'info');
  });

  test('a page that fails is a 500 without details, and a line in the log', async () => {
    const broken = await startAdminServer({
      port: 0,
      version: '',
      flows: createFlowInspector(),
      journal: createRequestJournal(),
      ...quietGateway,
      getConfiguration: () => {
        throw new Error('inner detail');
      },
      getRuntime: () => compile(adminConfiguration).runtime,
      log,
    });
    try {
      const answer = await send(broken, '/config');
      assert.equal(answer.status, 500);
      assert.doesNotMatch(answer.body, /inner detail/);
      assert.match(lines.at(-1) ?? '', /inner detail/);
    } finally {
      await broken.close();
    }
  });
});

describe('metrics', () => {
  test('/metrics has the Prometheus content type, for any Host', async () => {
    const metrics = createMetrics({ processMetrics: true });
    metrics.counter('hits_total', 'Hits.', {}).add({}, 3);
    const server = await startMetricsServer({ port: 0, metrics, log: silentLog });
    try {
      const answer = await send(server, '/metrics', { headers: { host: '10.1.2.3:15020' } });
      assert.equal(answer.status, 200);
      assert.match(String(answer.headers['content-type']), /^text\/plain; version=0\.0\.4/);
      assert.match(answer.body, /^hits_total 3$/m);
      assert.match(answer.body, /^nodejs_eventloop_lag_seconds /m);
      assert.equal((await send(server, '/metrics', { method: 'POST' })).status, 405);
      assert.equal((await send(server, '/config')).status, 404);
    } finally {
      await server.close();
    }
  });
});

describe('readiness', () => {
  let health: Health;
  let server: PlainServer;
  before(async () => {
    health = createHealth();
    server = await startReadinessServer({ port: 0, health, log: silentLog });
  });
  after(() => server.close());

  test('/ready follows the checks and says why, /live is live', async () => {
    const check = health.addCheck('configuration', 'not loaded yet');
    const early = await send(server, '/ready');
    assert.equal(early.status, 503);
    assert.deepEqual(parse(early), {
      ready: false,
      checks: [{ name: 'configuration', ready: false, reason: 'not loaded yet' }],
    });
    check.pass();
    assert.equal((await send(server, '/ready')).status, 200);
    check.fail('draining');
    assert.match((await send(server, '/ready')).body, /draining/);
    assert.equal((await send(server, '/live')).status, 200);
  });
});

describe('ports', () => {
  test('a taken port is one clear error that says what to change', async () => {
    const first = await startReadinessServer({ port: 0, health: createHealth(), log: silentLog });
    try {
      const error: unknown = await startMetricsServer({
        port: first.port,
        metrics: createMetrics(),
        log: silentLog,
      }).catch((reason: unknown) => reason);
      assert.equal(error instanceof PortInUseError, true);
      assert.equal((error as PortInUseError).code, 'port_in_use');
      assert.equal(
        (error as PortInUseError).message,
        `port ${first.port} on 127.0.0.1 (metrics) is in use; choose another with --metrics-port or MCP_GATEHOUSE_METRICS_PORT`,
      );
    } finally {
      await first.close();
    }
  });

  test('an address of somebody else is another error', async () => {
    await assert.rejects(
      startMetricsServer({ address: '192.0.2.1', port: 0, metrics: createMetrics(), log: silentLog }),
      (error: unknown) =>
        error instanceof ListenFailedError && error.code === 'listen_failed' && /192\.0\.2\.1/.test(error.message),
    );
  });

  test('close frees the port, also with a connection that is kept alive', async () => {
    const server = await startReadinessServer({ port: 0, health: createHealth(), log: silentLog });
    await fetch(`${server.url}/live`).then((answer) => answer.text());
    await server.close();
    const again = await startReadinessServer({ port: server.port, health: createHealth(), log: silentLog });
    await again.close();
  });
});
