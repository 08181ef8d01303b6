import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildContext } from '../../test/integration/admin-fixture.ts';
import { createLog, type Log, silentLog } from '../base/log.ts';
import { accessLogKind, createAccessLog, formatAccessText } from './access-log.ts';
import type { RequestContext } from './request-context.ts';

function logRequest(context: RequestContext, format: 'json' | 'text' = 'json', clean = true): string {
  const lines: string[] = [];
  const log = createLog({
    level: 'info',
    format,
    env: {},
    destination: { write: (line) => lines.push(line) },
    textFormatters: { [accessLogKind]: formatAccessText },
  });
  createAccessLog(log)(context, clean, 120, 34);
  assert.equal(lines.length, 1);
  return lines[0]!;
}

function parseRequest(context: RequestContext, clean = true): Record<string, unknown> {
  return JSON.parse(logRequest(context, 'json', clean)) as Record<string, unknown>;
}

describe('access lines', () => {
  test('say who asked for what, where it went and how it ended', () => {
    const { time, duration_ms, ...line } = parseRequest(
      buildContext({ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }, { headers: ['User-Agent', 'curl/8'] }),
    );
    assert.match(String(time), /Z$/);
    assert.equal(typeof duration_ms, 'number');
    assert.deepEqual(line, {
      level: 'info',
      kind: 'access',
      request_id: 'request-1',
      method: 'POST',
      host: 'mcp.example',
      path: '/mcp',
      protocol: 'HTTP/1.1',
      scheme: 'http',
      status: 200,
      listener: 'default/gw/http',
      route: 'default/tickets/0',
      backend: 'ProxyBackend/default/tickets',
      endpoint: '127.0.0.1:3001',
      bytes_in: 34,
      bytes_out: 120,
      upstream_ms: 1.3,
      client: '127.0.0.1:50000',
      user_agent: 'curl/8',
      trace_id: 'a'.repeat(32),
      msg: 'request',
    });
  });

  test('are warnings when the gateway had to answer 5xx itself, with the detail', () => {
    const line = parseRequest(
      buildContext({ status: 502, reason: 'upstream_unreachable', detail: 'connect ECONNREFUSED', retries: 2 }),
    );
    assert.equal(line['level'], 'warn');
    assert.equal(line['reason'], 'upstream_unreachable');
    assert.equal(line['detail'], 'connect ECONNREFUSED');
    assert.equal(line['retries'], 2);
  });

  test("are no warnings for a client's mistake or an upstream's own 5xx", () => {
    assert.equal(parseRequest(buildContext({ status: 404, reason: 'no_route' }))['level'], 'info');
    assert.equal(parseRequest(buildContext({ status: 503 }))['level'], 'info');
  });

  test('never have the query or a header', () => {
    const line = logRequest(
      buildContext(
        { query: '?access_token=S3CRET&q=S3CRET', path: '' },
        {
          target: '/mcp?access_token=S3CRET',
          headers: ['Authorization', 'Bearer S3CRET', 'Cookie', 'S3CRET', 'X-Api-Key', 'S3CRET', 'X-Other', 'S3CRET'],
        },
      ),
    );
    assert.doesNotMatch(line, /S3CRET/);
    assert.match(line, /"path":"\/mcp"/);
  });

  test('say when the client did not get everything, and stay short', () => {
    const line = parseRequest(buildContext({ path: `/${'x'.repeat(9_000)}` }, { remoteAddress: '::1' }), false);
    assert.equal(line['complete'], false);
    assert.equal(line['client'], '[::1]:50000');
    assert.equal(String(line['path']).length < 1_100, true);
  });

  test('cost nothing when the level is higher', () => {
    let written = 0;
    const quiet: Log = { ...silentLog, isEnabled: () => false, info: () => (written += 1), child: () => quiet };
    const context = new Proxy(buildContext(), {
      get(target, name) {
        assert.equal(name, 'reason', 'only the reason decides about the level');
        return Reflect.get(target, name) as unknown;
      },
    });
    createAccessLog(quiet)(context, true, 0, 0);
    assert.equal(written, 0);
  });
});

describe('text form', () => {
  test('is one readable line', () => {
    assert.match(
      logRequest(buildContext({ startedAt: performance.now() - 12.34 }), 'text'),
      /^[\d:.]{12} INFO {2}200 POST {4} {2,4}1\d(?:\.\d)?ms mcp\.example\/mcp -> ProxyBackend\/default\/tickets \(127\.0\.0\.1:3001\) request-1\n$/,
    );
  });

  test('shows what went wrong, and no control characters', () => {
    const line = logRequest(
      buildContext({ status: 502, reason: 'upstream_reset', detail: 'read ECONNRESET', path: '/a\u001b[2J' }),
      'text',
    );
    assert.match(line, /WARN {2}502 .*\/a\\x1b\[2J .*upstream_reset read ECONNRESET request-1\n$/);
  });
});
