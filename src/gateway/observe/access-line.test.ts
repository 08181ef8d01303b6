import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildContext, buildListener, buildRoute } from '../../../test/integration/admin-fixture.ts';
import { createAccessLineFormatter } from './access-line.ts';
import type { Decision } from '../request/decision.ts';
import type { Exchange } from '../http/exchange.ts';
import type { RequestContext } from '../request/request-context.ts';

type Formatter = ReturnType<typeof createAccessLineFormatter>;

function format(
  formatLine: Formatter,
  context: Partial<RequestContext> = {},
  exchange: Partial<Exchange> = {},
  clean = true,
): string {
  return formatLine(buildContext({ durationMs: 12.34, ...context }, exchange), clean, 120, 34);
}

function parse(line: string): Record<string, unknown> {
  assert.match(line, /^,.*\}\n$/s);
  return JSON.parse(`{"level":"info"${line}`) as Record<string, unknown>;
}

const decision: Decision = {
  step: 'traffic.authorization',
  policy: 'default/team',
  mode: '',
  outcome: 'allow',
  reason: undefined,
  detail: undefined,
  decidedBy: {
    policy: 'default/team',
    level: 'rule',
    target: 'HTTPRoute default/tickets',
    action: 'Allow',
    index: 2,
    source: 'true',
  },
  rules: [],
};

describe('an access line', () => {
  test('has its members in their order', () => {
    const whole = format(
      createAccessLineFormatter(),
      {
        reason: 'upstream_reset',
        detail: 'read ECONNRESET',
        caller: {
          issuer: 'https://idp.example.com',
          subject: 'alice',
          claims: { client_id: 'editor' },
          scopes: undefined,
          expiresAtMs: 0,
        },
        mcpMessage: { method: 'tools/call', item: { kind: 'tool', name: 'open' }, count: 2 },
        decisions: [decision],
        retries: 1,
        traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      },
      { headers: ['user-agent', 'curl/8'] },
      false,
    );
    assert.equal(
      whole,
      ',"kind":"access","request_id":"request-1","method":"POST","host":"mcp.example","path":"/mcp","protocol":"HTTP/1.1","scheme":"http","status":200' +
        ',"reason":"upstream_reset","detail":"read ECONNRESET","subject":"alice","issuer":"https://idp.example.com","client_id":"editor"' +
        ',"mcp_method":"tools/call","mcp_item":"open","mcp_messages":2,"policy":"default/team","rule":"default/team/Allow/2"' +
        ',"listener":"default/gw/http","route":"default/tickets/0","backend":"ProxyBackend/default/tickets","endpoint":"127.0.0.1:3001","retries":1' +
        `,"bytes_in":34,"bytes_out":120,"duration_ms":12.3,"upstream_ms":1.3,"complete":false,"client":"127.0.0.1:50000","user_agent":"curl/8","trace_id":"${'a'.repeat(32)}","msg":"request"}\n`,
    );
    const unknown = { route: undefined, listener: undefined, backend: undefined, endpoint: undefined };
    assert.equal(
      format(createAccessLineFormatter(), { ...unknown, upstreamMs: undefined, status: 0, path: '', hostname: '' }),
      ',"kind":"access","request_id":"request-1","method":"POST","host":"","path":"/mcp","protocol":"HTTP/1.1","scheme":"http","status":0' +
        ',"bytes_in":34,"bytes_out":120,"duration_ms":12.3,"client":"127.0.0.1:50000","msg":"request"}\n',
    );
  });

  test('is of its own request, whatever the lines before were', () => {
    const formatLine = createAccessLineFormatter();
    const listeners = [buildListener('a'), buildListener('b')] as const;
    const routes = [buildRoute('default/a'), buildRoute('default/b')] as const;
    const rules = [decision.decidedBy, { ...decision.decidedBy!, index: 3 }] as const;
    // Everything that can differ, in all combinations: one that looks at too little for what it remembers is found out.
    for (let bits = 0; bits < 2 ** 13; bits += 1) {
      const choose = <T>(place: number, none: T, one: T): T => ((bits >> place) & 1 ? one : none);
      const expected = {
        level: 'info',
        kind: 'access',
        request_id: 'request-1',
        method: choose(0, 'GET', 'POST'),
        host: choose(1, 'a.example', 'b.example'),
        path: choose(2, '/a', '/b'),
        protocol: choose(3, 'HTTP/1.1', 'HTTP/2'),
        scheme: choose(4, 'http', 'https'),
        status: choose(5, 200, 404),
        policy: choose(6, 'default/x', 'default/y'),
        rule: choose(7, 'default/team/Allow/2', 'default/team/Allow/3'),
        listener: choose(8, 'default/gw/a', 'default/gw/b'),
        route: choose(9, 'default/a/0', 'default/b/0'),
        backend: choose(10, 'ProxyBackend/default/a', 'ProxyBackend/default/b'),
        endpoint: choose(11, '10.0.0.1:80', '10.0.0.2:80'),
        bytes_in: 34,
        bytes_out: 120,
        duration_ms: 12.3,
        upstream_ms: 1.3,
        client: choose(12, '127.0.0.1:50000', '[::1]:50000'),
        user_agent: choose(12, 'curl/8', 'sdk/2'),
        msg: 'request',
      };
      const { scheme, host, path, status, backend, endpoint, method, policy } = expected;
      const line = format(
        formatLine,
        {
          hostname: host,
          path,
          status,
          backend,
          endpoint,
          client: { isBehindProxy: false, address: '', scheme: scheme as 'http', port: undefined },
          listener: choose(8, ...listeners),
          route: choose(9, ...routes),
          decisions: [{ ...decision, policy, decidedBy: choose(7, ...rules) }],
        },
        {
          method,
          httpVersion: choose(3, '1.1', '2'),
          remoteAddress: choose(12, '127.0.0.1', '::1'),
          headers: ['User-Agent', expected.user_agent],
        },
      );
      assert.deepEqual(parse(line), expected);
    }
  });

  test('is of its own request also when there are more kinds of them than are remembered', () => {
    const formatLine = createAccessLineFormatter();
    for (let round = 0; round < 2; round += 1) {
      for (let index = 0; index < 100; index += 1) {
        const endpoint = `10.0.0.${index}:80`;
        const line = parse(
          format(formatLine, { status: 200 + index, endpoint }, { remotePort: index, method: `M${index}` }),
        );
        assert.deepEqual(
          [line['status'], line['endpoint'], line['client'], line['method']],
          [200 + index, endpoint, `127.0.0.1:${index}`, `M${index}`],
        );
      }
    }
  });

  test('is JSON whatever a client sends, the first time and again', () => {
    const formatLine = createAccessLineFormatter();
    const odd = ['"', '\\', 'a\tb\nc', '\u0000\u001f', '\u2028', '\u00e9', '\u{1f600}', '\ud800', '\ufffd', ''];
    for (const text of [...odd, ...odd]) {
      const exchange = { method: text, headers: ['User-Agent', text] };
      const line = format(formatLine, { path: `/${text}`, hostname: text, detail: text }, exchange);
      const { method, host, path, detail, user_agent } = parse(line);
      assert.deepEqual([method, host, path, detail, user_agent], [text, text, `/${text}`, text, text]);
    }
  });

  test('has no credentials, the first time and again', () => {
    const formatLine = createAccessLineFormatter();
    const token = `eyJ${'a'.repeat(20)}.${'b'.repeat(20)}.${'c'.repeat(20)}`;
    for (let round = 0; round < 3; round += 1) {
      const line = format(
        formatLine,
        {
          path: `/${token}`,
          hostname: token,
          detail: `Bearer ${token}`,
          caller: { issuer: token, subject: token, claims: { azp: token }, scopes: undefined, expiresAtMs: 0 },
          mcpMessage: { method: token, item: { kind: 'tool', name: token }, count: 1 },
        },
        { method: token, headers: ['User-Agent', token] },
      );
      assert.doesNotMatch(line, /eyJ|aaaa|bbbb|cccc/);
      assert.equal(parse(line)['path'], '/[redacted]');
    }
  });

  test('has times with one digit behind the point, and sizes of any size', () => {
    const formatLine = createAccessLineFormatter();
    for (const [milliseconds, shown] of [
      [0, 0],
      [0.04, 0],
      [0.05, 0.1],
      [12.34, 12.3],
      [409.6, 409.6],
      [9_999.96, 10_000],
      [86_400_000.25, 86_400_000.3],
    ] as const) {
      for (let round = 0; round < 2; round += 1) {
        const line = parse(format(formatLine, { durationMs: milliseconds, upstreamMs: milliseconds }));
        assert.deepEqual([line['duration_ms'], line['upstream_ms']], [shown, shown]);
        assert.equal(
          parse(format(formatLine, { durationMs: milliseconds, upstreamMs: undefined }))['duration_ms'],
          shown,
        );
      }
    }
    for (const bytes of [0, 1, 4_095, 4_096, 2 ** 40, 0, 1, 4_095, 4_096]) {
      const line = parse(formatLine(buildContext(), true, bytes, bytes + 1));
      assert.deepEqual([line['bytes_out'], line['bytes_in']], [bytes, bytes + 1]);
    }
  });

  test('names a client behind proxies without a port', () => {
    const client = { isBehindProxy: true, address: '2001:db8::1', scheme: 'https', authority: '', port: 443 } as const;
    const line = parse(format(createAccessLineFormatter(), { client }));
    assert.deepEqual([line['client'], line['scheme']], ['2001:db8::1', 'https']);
  });
});
