import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import { HeaderModifierSchema, type HeaderModifier } from '../../ir/gen/config_pb.ts';
import {
  applyHeaderModifier,
  applyRequestHeaderModifier,
  findUnsendableHeader,
  prepareRequestHeaders,
  prepareResponseHeaders,
  prepareTrailers,
  type RequestHeadersInput,
} from './headers.ts';

function prepare(headers: string[], overrides: Partial<RequestHeadersInput> = {}): string[] {
  return prepareRequestHeaders({
    headers,
    remoteAddress: '203.0.113.7',
    scheme: 'https',
    authority: 'mcp.example.com',
    localPort: 443,
    requestId: 'id-1',
    ...overrides,
  });
}

function values(headers: readonly string[], name: string): string[] {
  return headers.filter((_, i) => i % 2 === 1 && headers[i - 1]!.toLowerCase() === name);
}

function toHeaders(pairs: [string, string][] = []): { name: string; value: string }[] {
  return pairs.map(([name, value]) => ({ name, value }));
}

function modifier(parts: { set?: [string, string][]; add?: [string, string][]; remove?: string[] }): HeaderModifier {
  return create(HeaderModifierSchema, {
    set: toHeaders(parts.set),
    add: toHeaders(parts.add),
    remove: parts.remove ?? [],
  });
}

function portOf(authority: string): string {
  return values(prepare([], { authority, localPort: 10_443 }), 'x-forwarded-port')[0]!;
}

describe('request headers', () => {
  test('what something was decided by stays even when Connection names it', () => {
    const sent = ['Connection', 'content-type, mcp-name, Mcp_Name, x-y, upgrade', 'Content-Type', 'application/json'];
    const others = ['Mcp-Name', 'a', 'Mcp_Name', 'b', 'X-Y', 'c', 'Upgrade', 'd', 'Mcp-Session-Id', 'e'];
    const names = (prepared: readonly string[]): string[] => prepared.filter((_, i) => i % 2 === 0).slice(0, -5);
    assert.deepEqual(names(prepare([...sent, ...others])), ['Mcp-Session-Id']);
    const isEndToEnd = (name: string): boolean => name === 'content-type' || name.startsWith('mcp-');
    assert.deepEqual(names(prepare([...sent, ...others], { isEndToEnd })), [
      'Content-Type', 'Mcp-Name', 'Mcp-Session-Id',
    ]); // prettier-ignore
    // And what only looks like it does not; what the gateway takes out for its own reasons is out.
    const removedFields = new Set(['mcp-name']);
    assert.deepEqual(names(prepare([...sent, ...others], { isEndToEnd, removedFields })), [
      'Content-Type', 'Mcp-Session-Id',
    ]); // prettier-ignore
  });

  test('cookies of the gateway stay here', () => {
    const sent = ['Cookie', 'a=1; __Host-mcp-gateway-consent=x', 'cookie', 'mcp-gateway-login-y=z', 'COOKIE', 'b=2'];
    assert.deepEqual(prepare(sent).slice(0, 4), ['Cookie', 'a=1', 'COOKIE', 'b=2']);
  });

  test('hop-by-hop fields and those that Connection names end here, unknown ones and their order stay', () => {
    const headers = prepare([
      'Host', 'x', 'X-First', '1', 'Connection', 'keep-alive, X-Private', 'connection', 'x-other', 'Keep-Alive', 'timeout=5', 'X-Private', 'a',
      'x-OTHER', 'b', 'Proxy-Connection', 'c', 'Proxy-Authorization', 'd', 'Proxy-Authenticate', 'e', 'TE', 'trailers', 'Transfer-Encoding', 'chunked',
      'Upgrade', 'h2c', 'HTTP2-Settings', 'x', 'Content-Length', '3', 'Expect', '100-continue', 'Trailer', 'x-sum', 'X-Last', '2', 'x-first', '3',
    ]); // prettier-ignore
    assert.deepEqual(headers.slice(0, 8), ['X-First', '1', 'Trailer', 'x-sum', 'X-Last', '2', 'x-first', '3']);
    assert.deepEqual(headers.slice(8).filter((_, i) => i % 2 === 0), [
      'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-port', 'x-request-id',
    ]); // prettier-ignore
  });

  test('what the gateway adds cannot be removed by Connection', () => {
    const headers = prepare([
      'Connection',
      'x-forwarded-for, x-request-id, x-auth-subject',
      'X-Auth-Subject',
      'forged',
    ]);
    assert.deepEqual(values(headers, 'x-forwarded-for'), ['203.0.113.7']);
    assert.deepEqual(values(headers, 'x-request-id'), ['id-1']);
    assert.deepEqual(values(headers, 'x-auth-subject'), []);
  });

  test('what policies remove goes in every spelling, and nothing that only looks like it', () => {
    const removedFields = new Set(['x-auth-subject']);
    const sent = ['X-Auth-Subject', '1', 'x_auth_subject', '2', 'X-AUTH_subject', '3', 'X-Auth-Subjects', '4', 'XAuthSubject', '5'];
    assert.deepEqual(prepare(sent, { removedFields }).slice(0, -10), ['X-Auth-Subjects', '4', 'XAuthSubject', '5']);
  }); // prettier-ignore

  test('a stranger is not believed about where a request comes from', () => {
    const headers = prepare([
      'X-Forwarded-For', '1.1.1.1', 'x-forwarded-proto', 'http', 'X-Forwarded-Host', 'evil', 'X-Forwarded-Port', '1', 'X-Forwarded-Uri', '/x', 'X-Forwarded-Prefix', '/y',
      'X_Forwarded_For', '2.2.2.2', 'Forwarded', 'for=3.3.3.3', 'X-Real-IP', '4.4.4.4', 'X-Request-Id', 'forged', 'X_Request_Id', 'forged',
    ]); // prettier-ignore
    assert.deepEqual(headers, [
      'x-forwarded-for', '203.0.113.7', 'x-forwarded-proto', 'https', 'x-forwarded-host', 'mcp.example.com', 'x-forwarded-port', '443', 'x-request-id', 'id-1',
    ]); // prettier-ignore
  });

  test('a trusted proxy is believed and its address is appended', () => {
    const sent = [
      'X-Forwarded-For',
      '1.1.1.1',
      'X-Forwarded-For',
      '2.2.2.2',
      'X-Forwarded-Proto',
      'http',
      'X-Forwarded-Host',
      'public',
      'X-Forwarded-Port',
      '80',
      'X-Real-IP',
      '1.1.1.1',
    ];
    const headers = prepare([...sent, 'Forwarded', 'for=3.3.3.3'], { isTrustedPeer: true });
    assert.deepEqual(values(headers, 'x-forwarded-for'), ['1.1.1.1, 2.2.2.2, 203.0.113.7']);
    assert.deepEqual(values(headers, 'x-forwarded-proto'), ['http']);
    assert.deepEqual(values(headers, 'x-forwarded-host'), ['public']);
    assert.deepEqual(values(headers, 'x-forwarded-port'), ['80']);
    assert.deepEqual(values(headers, 'x-real-ip'), ['1.1.1.1']);
    assert.deepEqual(values(headers, 'forwarded'), []);
    assert.deepEqual(values(prepare(sent, { isTrustedPeer: false }), 'x-forwarded-for'), ['203.0.113.7']);
    const tls = prepare(['X-Forwarded-Proto', 'https'], { isTrustedPeer: true, localPort: 8080 });
    assert.deepEqual(values(tls, 'x-forwarded-port'), ['443'], 'our own port is not what the client connected to');
  });

  test('the port is the one the client named, else the one it reached', () => {
    assert.equal(portOf('a:8443'), '8443');
    assert.equal(portOf('[::1]:8443'), '8443');
    assert.equal(portOf('[::1]'), '10443');
    assert.equal(portOf('a'), '10443');
    assert.equal(portOf('a:x'), '10443');
    assert.equal(portOf(''), '10443');
  });

  test('te: trailers goes on where the upstream can use it, and nothing else of TE', () => {
    assert.deepEqual(values(prepare(['TE', 'trailers, deflate;q=0.5'], { keepTeTrailers: true }), 'te'), ['trailers']);
    assert.deepEqual(values(prepare(['TE', 'deflate'], { keepTeTrailers: true }), 'te'), []);
    assert.deepEqual(values(prepare(['TE', 'trailers']), 'te'), []);
  });

  test('property: no hop-by-hop field and nothing named by Connection ever passes, everything else does', () => {
    const name = fc.constantFrom(
      'x-a',
      'X-B',
      'Accept',
      'cookie',
      'connection',
      'Keep-Alive',
      'TE',
      'upgrade',
      'Transfer-Encoding',
      'x_forwarded_for',
    );
    const field = name.chain((key) =>
      fc.tuple(
        fc.constant(key),
        /^connection$/i.test(key) ? fc.constantFrom('close', 'X-a', ' x-b ,te') : fc.constant('v'),
      ),
    );
    fc.assert(
      fc.property(fc.array(field), (fields) => {
        const prepared = prepare(fields.flat());
        const named = new Set(
          fields
            .filter(([key]) => key === 'connection')
            .flatMap(([, value]) => value.split(',').map((part) => part.trim().toLowerCase())),
        );
        const gone = new Set([
          'connection',
          'keep-alive',
          'te',
          'upgrade',
          'transfer-encoding',
          'x_forwarded_for',
          ...named,
        ]);
        assert.deepEqual(prepared.slice(0, -10), fields.filter(([key]) => !gone.has(key.toLowerCase())).flat());
      }),
    );
  });
});

describe('header modifiers', () => {
  test('set overwrites in place, add appends, remove removes, without regard to case', () => {
    const headers = ['X-Set', '1', 'A', 'a', 'x-set', '2', 'X-Gone', '3', 'X-Add', '4'];
    const changed = applyHeaderModifier(
      headers,
      modifier({
        set: [
          ['x-SET', 'new'],
          ['x-fresh', 'f'],
        ],
        add: [['x-add', '5']],
        remove: ['x-gone', 'x-absent'],
      }),
    );
    assert.deepEqual(changed, ['x-SET', 'new', 'A', 'a', 'X-Add', '4', 'x-fresh', 'f', 'x-add', '5']);
  });

  test('of several entries with one name the first counts', () => {
    assert.deepEqual(
      applyHeaderModifier(
        [],
        modifier({
          set: [
            ['a', '1'],
            ['A', '2'],
          ],
          add: [
            ['b', '1'],
            ['B', '2'],
          ],
        }),
      ),
      ['a', '1', 'b', '1'],
    );
  });

  test('an empty modifier changes nothing', () => {
    const headers = ['a', '1', 'A', '2'];
    assert.deepEqual(applyHeaderModifier(headers, modifier({})), headers);
    assert.deepEqual(applyRequestHeaderModifier(headers, modifier({})), headers);
  });

  test('of a request set and remove names in every spelling (CVE-2025-64484); of an answer only this one', () => {
    const headers = [
      'X_User',
      'forged',
      'x-user',
      '1',
      'X-Gone_too',
      'forged',
      'a_b',
      '2',
      'X-Added',
      '3',
      'X_Added',
      '4',
    ];
    const change = modifier({ set: [['X-User', 'static']], add: [['X-Added', '5']], remove: ['x_gone_Too'] });
    assert.deepEqual(applyRequestHeaderModifier(headers, change), [
      'X-User', 'static', 'a_b', '2', 'X-Added', '3', 'X_Added', '4', 'X-Added', '5',
    ]); // prettier-ignore
    assert.deepEqual(applyHeaderModifier(headers, change), [
      'X_User', 'forged', 'X-User', 'static', 'X-Gone_too', 'forged', 'a_b', '2', 'X-Added', '3', 'X_Added', '4', 'X-Added', '5',
    ]); // prettier-ignore
    // Two names of one spelling that the filter itself sets are both its own.
    assert.deepEqual(applyRequestHeaderModifier(['x-a', '0', 'x_a', '0'], modifier({ set: [['x-a', '1'], ['x_a', '2']] })), [
      'x-a', '1', 'x_a', '2',
    ]); // prettier-ignore
  });
});

describe('response headers', () => {
  test('hop-by-hop fields go first, then the modifiers come, then ours', () => {
    const received = [
      'Connection',
      'X-Hop',
      'X-Hop',
      '1',
      'Transfer-Encoding',
      'chunked',
      'Keep-Alive',
      'x',
      'Set-Cookie',
      'a',
      'Set-Cookie',
      'b',
      'Vary',
      'Accept',
      'X-Request-Id',
      'theirs',
      'Content-Length',
      '3',
    ];
    const prepared = prepareResponseHeaders(
      received,
      [modifier({ add: [['x-hop', 'ours']] }), modifier({ set: [['x-hop', 'changed']] })],
      ['x-request-id', 'ours', 'vary', 'Origin'],
    );
    assert.deepEqual(prepared, [
      'Set-Cookie', 'a', 'Set-Cookie', 'b', 'Vary', 'Accept', 'Content-Length', '3', 'x-hop', 'changed', 'x-request-id', 'ours', 'vary', 'Origin',
    ]); // prettier-ignore
  });
});

describe('trailers', () => {
  test('fields that would change framing, routing or identity do not come after a body', () => {
    assert.deepEqual(
      prepareTrailers([
        'X-Sum',
        '1',
        'Content-Length',
        '2',
        'Host',
        'x',
        'Authorization',
        'y',
        'grpc-status',
        '0',
        'X-Forwarded-For',
        'z',
      ]),
      ['X-Sum', '1', 'grpc-status', '0'],
    );
  });
});

describe('what may be sent', () => {
  test('line breaks, NUL and other controls are refused, in names and in values', () => {
    for (const value of ['a\r\nb', 'a\nb', 'a\rb', 'a\0b', 'a\x01b', 'a\x7fb', 'snow \u2603']) {
      assert.equal(findUnsendableHeader(['ok', 'fine', 'x-bad', value]), 'x-bad', JSON.stringify(value));
    }
    for (const name of ['', 'a b', 'a:', 'a\n']) assert.equal(findUnsendableHeader([name, 'x']), name);
    assert.equal(findUnsendableHeader(['a', 'tab\tand caf\u00e9', 'b', '']), undefined);
  });
});
