import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildContext } from '../../../test/integration/admin-fixture.ts';
import { createLog, type LineLog } from '../../base/log.ts';
import type { Decision } from '../request/decision.ts';
import { accessLogKind, createAccessLog, formatAccessText } from './access-log.ts';
import type { RequestContext } from '../request/request-context.ts';

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

const passed: Decision = {
  step: 'traffic.jwtAuthentication',
  policy: 'default/jwt',
  mode: 'Strict',
  outcome: 'allow',
  reason: undefined,
  detail: undefined,
  decidedBy: undefined,
  rules: [],
};

function decisionOf(policy: string, action: 'Allow' | 'Deny', index: number): Decision {
  const place = { policy, level: 'rule', target: 'HTTPRoute default/tickets, rule main' } as const;
  return {
    ...passed,
    step: 'traffic.authorization',
    policy,
    mode: '',
    outcome: action === 'Allow' ? 'allow' : 'deny',
    decidedBy: { ...place, action, index, source: 'true' },
  };
}

function tokenOf(subject: string | undefined, claims: Record<string, unknown>): NonNullable<RequestContext['caller']> {
  return { issuer: 'https://idp.example.com', subject, claims, scopes: undefined, expiresAtMs: 0 };
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

  test('name the caller by the token, and never have the token', () => {
    const read = (context: Partial<RequestContext>): unknown[] => {
      const line = parseRequest(buildContext(context));
      return [line['subject'], line['issuer'], line['client_id']];
    };
    const issuer = 'https://idp.example.com';
    assert.deepEqual(read({}), [undefined, undefined, undefined]);
    assert.deepEqual(read({ caller: tokenOf('alice', { client_id: 'editor', azp: 'other' }) }), [
      'alice',
      issuer,
      'editor',
    ]);
    assert.deepEqual(read({ caller: tokenOf('alice', { azp: 'other' }) }), ['alice', issuer, 'other']);
    assert.deepEqual(read({ caller: tokenOf(undefined, {}) }), [undefined, issuer, undefined]);
    for (const odd of [7, null, ['editor'], { a: 1 }, true])
      assert.deepEqual(read({ caller: tokenOf('alice', { client_id: odd, azp: odd }) }), ['alice', issuer, undefined]);
    assert.equal(
      read({ caller: tokenOf('a'.repeat(9_000), { client_id: 'b'.repeat(9_000) }) }).join().length < 1_000,
      true,
    );
  });

  test('name the policy and the rule that decided', () => {
    const read = (...decisions: Decision[]): unknown[] => {
      const line = parseRequest(buildContext({ decisions }));
      return [line['policy'], line['rule']];
    };
    assert.deepEqual(read(), [undefined, undefined]);
    assert.deepEqual(read(passed), ['default/jwt', undefined]);
    assert.deepEqual(read(passed, decisionOf('default/team', 'Allow', 2)), ['default/team', 'default/team/Allow/2']);
    assert.deepEqual(read(decisionOf('default/team', 'Allow', 2), passed), ['default/team', 'default/team/Allow/2']);
    assert.deepEqual(read(decisionOf('default/team', 'Allow', 2), decisionOf('default/no', 'Deny', 0)), [
      'default/no',
      'default/no/Deny/0',
    ]);
    assert.deepEqual(
      read(decisionOf('default/team', 'Allow', 2), { ...passed, policy: 'default/unmatched', outcome: 'deny' }),
      ['default/unmatched', undefined],
    );
  });

  test('name the message that rules read, and never its arguments or the query of a resource', () => {
    const read = (mcpMessage: RequestContext['mcpMessage']): unknown[] => {
      const line = parseRequest(buildContext({ mcpMessage }));
      return [line['mcp_method'], line['mcp_item'], line['mcp_messages']];
    };
    assert.deepEqual(read(undefined), [undefined, undefined, undefined]);
    assert.deepEqual(read({ method: 'ping', item: undefined, count: 1 }), ['ping', undefined, undefined]);
    assert.deepEqual(read({ method: 'tools/call', item: { kind: 'tool', name: 'open' }, count: 3 }), [
      'tools/call',
      'open',
      3,
    ]);
    const uri = `file:///${'a'.repeat(9_000)}?token=S3CRET`;
    const long = read({ method: 'm'.repeat(9_000), item: { kind: 'resource', name: uri }, count: 1 });
    assert.ok(long.join().length < 600);
    const name = 'file:///a?token=S3CRET';
    assert.deepEqual(read({ method: 'resources/read', item: { kind: 'resource', name }, count: 1 }), [
      'resources/read',
      'file:///a',
      undefined,
    ]);
  });

  test('name the message by the headers that repeat it, where no rules read the body', () => {
    const read = (...headers: string[]): unknown[] => {
      const line = parseRequest(buildContext({}, { headers }));
      return [line['mcp_method'], line['mcp_item']];
    };
    assert.deepEqual(read('Mcp-Method', 'tools/call', 'mcp-name', 'open'), ['tools/call', 'open']);
    assert.deepEqual(read('Mcp-Method', 'resources/read', 'Mcp-Name', 'file:///a?token=S3CRET'), [
      'resources/read',
      'file:///a',
    ]);
    assert.deepEqual(read('Mcp-Method', 'ping', 'Mcp-Name', 'task-1'), ['ping', undefined]);
    assert.deepEqual(read('Mcp-Method', 'tools/call', 'Mcp-Name', '=?base64?YQ==?='), ['tools/call', undefined]);
    assert.deepEqual(read('Mcp-Name', 'open'), [undefined, undefined]);
    const rules = { method: 'tools/list', item: undefined, count: 1 };
    const line = parseRequest(buildContext({ mcpMessage: rules }, { headers: ['Mcp-Method', 'ping'] }));
    assert.equal(line['mcp_method'], 'tools/list');
  });

  test('have the time at which the request ended', () => {
    const before = Date.now();
    const { time } = parseRequest(
      buildContext({ startedAt: performance.now() - 60_000, startedAtMs: before - 60_000 }),
    );
    // The clock is read to the millisecond, and not for every line.
    assert.ok(Math.abs(Date.parse(String(time)) - before) < 5_000, String(time));
  });

  test('cost nothing when the level is higher', () => {
    let written = 0;
    const quiet: LineLog = { isEnabled: () => false, writeLine: () => (written += 1) };
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
      logRequest(buildContext({ durationMs: 12.34 }), 'text'),
      /^[\d:.]{12} INFO {2}200 POST {8}12\.3ms mcp\.example\/mcp -> ProxyBackend\/default\/tickets \(127\.0\.0\.1:3001\) request-1\n$/,
    );
  });

  test('has the subject, shortened, and no control characters of it', () => {
    const read = (subject: string): string => logRequest(buildContext({ caller: tokenOf(subject, {}) }), 'text');
    assert.match(read('alice'), /mcp\.example\/mcp by alice -> ProxyBackend/);
    assert.match(read('a\u001b[2J\nb'), / by a\\x1b\[2J\\x0ab -> /);
    assert.match(read('x'.repeat(300)), / by x{8}…x{4}\.{3} -> tickets request-1\n$/);
  });

  test('has the message, shortened, and no control characters of it', () => {
    const read = (name: string, count = 1): string =>
      logRequest(buildContext({ mcpMessage: { method: 'tools/call', item: { kind: 'tool', name }, count } }), 'text');
    assert.match(read('open'), /mcp\.example\/mcp tools\/call open -> ProxyBackend/);
    assert.match(read('open', 3), / tools\/call open \(of 3\) -> /);
    assert.match(read('a\u001b[2J\nb'), / tools\/call a\\x1b\[2J\\x0ab -> /);
    assert.match(read('x'.repeat(300)), / tools\/call x{16}…x{12}\.{3} -> tickets request-1\n$/);
    const plain = buildContext({ mcpMessage: { method: 'ping', item: undefined, count: 1 } });
    assert.match(logRequest(plain, 'text'), /mcp\.example\/mcp ping -> /);
  });

  test('fits into 120 columns where possible; the id of a refused request is never cut', () => {
    const requestId = '5f0c7f1e-5d2b-4c39-9f43-0c9c1a8a2f6b';
    const context = buildContext({
      requestId,
      caller: tokenOf('auth0|5f7c8ec7c33c6c004bbafe82', {}),
      mcpMessage: { method: 'tools/call', item: { kind: 'tool', name: 'search_tickets_of_customer' }, count: 1 },
      path: '/teams/support/mcp',
      durationMs: 5.5,
    });
    const line = logRequest(context, 'text');
    assert.match(
      line,
      / {5}[\d.]+ms mcp\.example\/teams…\S+\/mcp tools\/call search…\S+tomer by auth0\|…\S+ -> tickets 5f0c7f1e…\n$/,
    );
    assert.ok(line.length <= 121, line);
    const short = logRequest(buildContext({ requestId, path: '/mcp' }), 'text');
    assert.match(short, / mcp\.example\/mcp -> tickets 5f0c7f1e-5d2b-4c39-9f43-0c9c1a8a2f6b\n$/);
    assert.ok(short.length <= 121, short);
    const refused = logRequest(buildContext({ requestId, status: 403, reason: 'rbac_denied' }), 'text');
    assert.ok(refused.endsWith(` rbac_denied ${requestId}\n`), refused);
    assert.match(logRequest(context, 'json'), /"mcp_item":"search_tickets_of_customer"/);
  });

  test('never cuts what went wrong: names give way, then the line is wrapped on a terminal', () => {
    const requestId = '5f0c7f1e-5d2b-4c39-9f43-0c9c1a8a2f6b';
    const named = {
      requestId,
      hostname: 'tickets-of-the-support-team.mcp.example.com',
      path: '/teams/support/region/europe/mcp',
      caller: tokenOf('auth0|5f7c8ec7c33c6c004bbafe82', {}),
      mcpMessage: { method: 'tools/call', item: { kind: 'tool', name: 'search_tickets_of_customer' }, count: 1 },
    } as const;
    const served = logRequest(buildContext(named), 'text');
    assert.ok(served.length <= 121, served);
    assert.match(served, / ticket\S*…\S+\.com\/team\S*…\S+\/mcp tools\/call searc\S*…/);
    const refused = logRequest(buildContext({ ...named, status: 403, reason: 'rbac_denied' }), 'text');
    assert.ok(refused.endsWith(` rbac_denied ${requestId}\n`), refused);
    assert.ok(refused.indexOf(requestId) <= 121, refused);
    const detail =
      'no Allow rule of default/tickets matches; the nearest is default/tickets/Allow/2, which needs the group support';
    const told = logRequest(buildContext({ ...named, status: 403, reason: 'rbac_denied', detail }), 'text');
    assert.ok(told.endsWith(` rbac_denied ${detail} ${requestId}\n`), told);
    assert.ok(told.indexOf(detail) <= 121, told);
  });

  test('shows what went wrong, and no control characters', () => {
    const line = logRequest(
      buildContext({ status: 502, reason: 'upstream_reset', detail: 'read ECONNRESET', path: '/a\u001b[2J' }),
      'text',
    );
    assert.match(line, /WARN {2}502 .*\/a\\x1b\[2J .*upstream_reset read ECONNRESET request-1\n$/);
  });
});
