import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  createMessageSigner,
  LegacySseRewriter,
  readAnnouncedTarget,
  readMessageTarget,
  writeMessageUrl,
} from './legacy-sse.ts';

const key = new Uint8Array(32).fill(7);
const signer = createMessageSigner(key, 'default/b');

/** Pushes the text in pieces that end at these places. */
function rewrite(text: string, cuts: readonly number[] = []): { text: string; seen: string[] } {
  const seen: string[] = [];
  const rewriter = new LegacySseRewriter((announced) => {
    seen.push(announced);
    return '/new';
  });
  const bytes = Buffer.from(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  const output: Uint8Array[] = [];
  let start = 0;
  for (const end of [...places, bytes.length]) {
    const chunk = bytes.subarray(start, end);
    start = end;
    const result = rewriter.push(chunk);
    assert.ok(result.ok);
    output.push(result.bytes);
  }
  output.push(rewriter.flush());
  return { text: Buffer.concat(output).toString(), seen };
}

const write = (target: string, query = ''): string =>
  writeMessageUrl({ publicPath: '/mcp', query, target, tag: 'abcdef', signer });
const queryOf = (url: string): string => url.slice(url.indexOf('?'));

describe('the event stream', () => {
  test('a second announcement ends the stream before the client can act on it, however it is cut', () => {
    const first = 'event: endpoint\ndata: /m\n\nevent: message\ndata: event: endpoint\n\n';
    for (const second of [
      'event: endpoint\ndata: /other\n\n',
      'data: /other\r\nevent:endpoint\r\n\r\n',
      'data: /other\revent: endpoint\r\r',
    ]) {
      fc.assert(
        fc.property(fc.array(fc.nat({ max: 200 }), { maxLength: 6 }), (cuts) => {
          const rewriter = new LegacySseRewriter(() => '/new');
          const bytes = Buffer.from(`${first}${second}data: later\n\n`);
          const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
          const output: Uint8Array[] = [];
          let start = 0;
          let refused = false;
          for (const end of [...places, bytes.length]) {
            const result = rewriter.push(bytes.subarray(start, end));
            start = end;
            if (!result.ok) {
              refused = true;
              break;
            }
            output.push(result.bytes);
          }
          const text = Buffer.concat(output).toString();
          assert.ok(refused);
          // Without the blank line after it, the second event does not exist for a client.
          assert.ok(
            !/endpoint(?:\r\n|\n|\r)(?:data[^\r\n]*(?:\r\n|\n|\r))?(?:\r\n|\n|\r)/.test(
              text.slice(text.indexOf('data: event: endpoint') + 22),
            ),
          );
        }),
      );
    }
  });

  const streams: [string, string, string | undefined][] = [
    ['event: endpoint\ndata: /messages?s=1\n\n', 'event: endpoint\ndata: /new\n\n', '/messages?s=1'],
    ['event:endpoint\r\ndata:/m\r\n\r\n', 'event:endpoint\r\ndata: /new\r\n\r\n', '/m'],
    ['event: endpoint\rdata: /m\r\rdata: x\r\r', 'event: endpoint\rdata: /new\r\rdata: x\r\r', '/m'],
    ['\ufeffevent: endpoint\ndata: /m\n\n', '\ufeffevent: endpoint\ndata: /new\n\n', '/m'],
    [
      ': hello\n\nretry: 5\n\nevent: endpoint\nid: 7\ndata: /m\n\nevent: message\ndata: {}\n\n',
      ': hello\n\nretry: 5\n\nevent: endpoint\nid: 7\ndata: /new\n\nevent: message\ndata: {}\n\n',
      '/m',
    ],
    ['data: /m\nevent: endpoint\n\n', 'data: /new\nevent: endpoint\n\n', '/m'],
    [
      'event: ping\ndata: 1\n\nevent: endpoint\ndata: /caf\u00e9\n\ndata: \u2603\n\n',
      'event: ping\ndata: 1\n\nevent: endpoint\ndata: /new\n\ndata: \u2603\n\n',
      '/caf\u00e9',
    ],
    ['event: endpoint\ndata: /a\ndata: b\n\n', 'event: endpoint\ndata: /new\n\n', '/a\nb'],
    ['event: endpoint\n\nevent: endpoint\ndata: /m\n\n', 'event: endpoint\n\nevent: endpoint\ndata: /new\n\n', '/m'],
    ['event: message\ndata: endpoint\n\n', 'event: message\ndata: endpoint\n\n', undefined],
    ['event: endpoint\ndata: /cut off', 'event: endpoint\ndata: /cut off', undefined],
  ];

  for (const [input, expected, announced] of streams) {
    test(`property: ${JSON.stringify(input)}, however it is cut`, () => {
      fc.assert(
        fc.property(fc.array(fc.nat(200)), (cuts) => {
          const result = rewrite(input, cuts);
          assert.equal(result.text, expected);
          assert.deepEqual(result.seen, announced === undefined ? [] : [announced]);
        }),
      );
      // One byte at a time.
      assert.equal(
        rewrite(
          input,
          Array.from({ length: 200 }, (_, i) => i),
        ).text,
        expected,
      );
    });
  }

  test('a complete event does not wait for the next one', () => {
    const rewriter = new LegacySseRewriter(() => '/new');
    const first = rewriter.push(Buffer.from(': ping\n\n'));
    assert.ok(first.ok);
    assert.equal(Buffer.from(first.bytes).toString(), ': ping\n\n');
  });

  test('an announcement that is not acceptable ends the stream, and so does an endless event', () => {
    const refusing = new LegacySseRewriter(() => undefined);
    assert.equal(refusing.push(Buffer.from('event: endpoint\ndata: https://evil.example/\n\n')).ok, false);
    const waiting = new LegacySseRewriter(() => '/new');
    assert.equal(waiting.push(Buffer.alloc(65_536, 'x')).ok, true);
    assert.equal(waiting.push(Buffer.from('x')).ok, false);
  });
});

describe('announced URLs', () => {
  const hosts = ['mcp.example.com', '127.0.0.1:3001'];
  test('relative ones and those of the upstream itself', () => {
    for (const [announced, target] of [
      ['/messages?sessionId=1', '/messages?sessionId=1'],
      ['messages?x=1', '/base/messages?x=1'],
      ['?sessionId=1', '/base/sse?sessionId=1'],
      ['http://127.0.0.1:3001/m?s=1#f', '/m?s=1'],
      ['https://mcp.example.com/m', '/m'],
      ['https://mcp.example.com:443/m', '/m'],
      ['http://MCP.example.com:80/m', '/m'],
      ['//mcp.example.com/m', '/m'],
      ['/a/../b', '/b'],
    ] as const) {
      assert.equal(readAnnouncedTarget(announced, '/base/sse', hosts), target, announced);
    }
  });

  test('those of anybody else are refused', () => {
    for (const announced of [
      'https://evil.example/m',
      '//evil.example/m',
      '/\\evil.example/m',
      'http://127.0.0.1:3002/m',
      'http://mcp.example.com:8080/m',
      'javascript:alert(1)',
      'ftp://mcp.example.com/',
      'http://user@mcp.example.com/',
      'http://[',
      'file:///etc/passwd',
    ]) {
      assert.equal(readAnnouncedTarget(announced, '/sse', hosts), undefined, announced);
    }
  });
});

describe('message URLs', () => {
  test('lead back to what was announced, and keep the query of the GET', () => {
    const url = write('/messages?sessionId=1&a=b', '?team=a&mcp-endpoint=old&x');
    assert.match(url, /^\/mcp\?team=a&x&mcp-endpoint=[\w.-]+$/);
    assert.deepEqual(readMessageTarget(queryOf(url), signer), {
      kind: 'valid',
      target: '/messages?sessionId=1&a=b',
      tag: 'abcdef',
    });
  });

  test('no other path, endpoint or backend can be written into one', () => {
    const url = write('/messages?sessionId=1');
    const [tag, target, mac] = url.slice(url.indexOf('=') + 1).split('.') as [string, string, string];
    const admin = Buffer.from('/admin').toString('base64url');
    for (const forged of [
      `${tag}.${admin}.${mac}`,
      `ghijkl.${target}.${mac}`,
      `${tag}.${target}`,
      `${tag}.${target}.`,
      `${tag}.${target}.${mac}.x`,
      '',
      `.${admin}.`,
      `${tag}.${target}.${mac}&mcp-endpoint=x`,
    ]) {
      assert.deepEqual(readMessageTarget(`?mcp-endpoint=${forged}`, signer), { kind: 'invalid' }, forged);
    }
    assert.deepEqual(readMessageTarget(queryOf(url), createMessageSigner(key, 'default/other')), { kind: 'invalid' });
    assert.deepEqual(readMessageTarget(queryOf(url), createMessageSigner(new Uint8Array(32), 'default/b')), {
      kind: 'invalid',
    });
    assert.deepEqual(readMessageTarget('?a=b', signer), { kind: 'none' });
  });

  test('property: any flipped character is refused', () => {
    const url = write('/messages?sessionId=1');
    const start = url.indexOf('=') + 1;
    fc.assert(
      fc.property(fc.nat(url.length - start - 1), fc.constantFrom('A', 'b', '9', '_'), (offset, letter) => {
        const changed = url.slice(0, start + offset) + letter + url.slice(start + offset + 1);
        const result = readMessageTarget(queryOf(changed), signer);
        // Other spellings of the same bytes exist in base64url; they still name what was announced.
        if (result.kind === 'valid') assert.deepEqual([result.target, result.tag], ['/messages?sessionId=1', 'abcdef']);
      }),
    );
  });
});
