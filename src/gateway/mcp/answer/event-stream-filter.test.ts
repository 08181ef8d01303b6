import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { ListMethod } from '../read/list-methods.ts';
import type { ItemKind } from '../read/read-item.ts';
import { EventStreamFilter, type EventStreamFilterOptions } from './event-stream-filter.ts';
import { formatUnreadable } from './filter-list.ts';

const judge = (_kind: ItemKind, name: string): boolean => !name.includes('hidden');
const options: EventStreamFilterOptions = { judge, listRequests: undefined, injected: [], maxEventBytes: 10_000 };
const asking = (id: string): EventStreamFilterOptions => ({
  ...options,
  listRequests: new Map<string, ListMethod>([[id, 'tools/list']]),
});

/** Cuts the bytes at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

function run(
  text: string | Buffer,
  places: readonly number[] = [],
  given = options,
): { text: string; isChanged: boolean; notes: string[] } {
  const filter = new EventStreamFilter(given);
  const output: Uint8Array[] = [filter.begin()];
  const notes: string[] = [];
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  for (const filtered of [...cut(bytes, places).map((chunk) => filter.push(chunk)), filter.flush()]) {
    assert.ok(filtered.ok);
    output.push(filtered.bytes);
    if (filtered.note !== undefined) notes.push(filtered.note);
  }
  return { text: Buffer.concat(output).toString('latin1'), isChanged: filter.isChanged, notes };
}

const list = (names: string, id = '1'): string =>
  `{"jsonrpc":"2.0","id":${id},"result":{"tools":[${names
    .split(' ')
    .map((name) => `{"name":"${name}"}`)
    .join(',')}]}}`;
const update = (uri: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${uri}"}}`;
const toLatin1 = (text: string): string => Buffer.from(text).toString('latin1');

describe('an event stream', () => {
  const streams: [title: string, input: string, output: string, given?: EventStreamFilterOptions][] = [
    [
      'a list',
      `event: message\nid: 7\ndata: ${list('a hidden b')}\n\n`,
      `event: message\nid: 7\ndata: ${list('a b')}\n\n`,
    ],
    [
      'between others',
      `: hello\n\nretry: 5\n\ndata: {"x":1}\n\nid: 1\ndata:${list('hidden a')}\nevent: message\n\ndata: "tools"\n\n`,
      `: hello\n\nretry: 5\n\ndata: {"x":1}\n\nid: 1\ndata: ${list('a')}\nevent: message\n\ndata: "tools"\n\n`,
    ],
    ['CRLF', `data: ${list('hidden a')}\r\n\r\n`, `data: ${list('a')}\r\n\r\n`],
    ['CR', `data: ${list('hidden a')}\r\rdata: x\r\r`, `data: ${list('a')}\r\rdata: x\r\r`],
    [
      'data in several lines',
      'data: {"id":1,\ndata:"result":{"tools":[\ndata: {"name":"hidden"},{"name":\ndata: "a"}]\ndata: }}\nid: 1\n\n',
      'data: {"id":1,\ndata: "result":{"tools":[{"name":\ndata: "a"}]\ndata: }}\nid: 1\n\n',
    ],
    ['a byte order mark', `\ufeffdata: ${list('hidden a')}\n\n`, `\ufeffdata: ${list('a')}\n\n`],
    [
      'a batch',
      `data: [${list('hidden')},${list('hidden a', '2')}]\n\n`,
      `data: [{"jsonrpc":"2.0","id":1,"result":{"tools":[]}},${list('a', '2')}]\n\n`,
    ],
    ['other letters', `data: ${list('ä hidden ☃')}\n\ndata: ü\n\n`, `data: ${list('ä ☃')}\n\ndata: ü\n\n`],
    ['broken off', `data: ${list('a')}\n\ndata: ${list('hidden b')}`, `data: ${list('a')}\n\ndata: ${list('b')}`],
    [
      'no JSON, but a list was asked for',
      'id: 4\ndata: {"tools":[{}\n\n',
      `id: 4\ndata: ${formatUnreadable('1')}\n\n`,
      asking('1'),
    ],
    [
      'no JSON, and nobody knows of what',
      'id: 4\nevent: message\ndata: {"tools":[{}\ndata: x\n\n',
      'id: 4\nevent: message\n\n',
    ],
    ['two ids', `data: {"id":1,"id":2,"result":{"tools":[{"name":"hidden"}]}}\n\n`, ''],
    [
      'twice a list',
      `data: {"id":"x","result":{"tools":[],"tools":[{"name":"hidden"}]}}\n\n`,
      `data: ${formatUnreadable('"x"')}\n\n`,
    ],
    [
      'other fields with a list in them',
      `datax: ${list('hidden')}\n: ${list('hidden')}\nDATA: ${list('hidden')}\n\n`,
      `datax: ${list('hidden')}\n: ${list('hidden')}\nDATA: ${list('hidden')}\n\n`,
    ],
    [
      'notices about resources, one of them with an id',
      `event: message\ndata: ${update('hidden:1')}\n\nid: 8\nevent: message\ndata: ${update('hidden:2')}\n\ndata: ${update('a:3')}\n\n`,
      `id: 8\nevent: message\n\ndata: ${update('a:3')}\n\n`,
    ],
    [
      'a notice about a hidden resource, CRLF',
      `data: ${update('hidden:1')}\r\n\r\nretry: 5\r\ndata: ${update('hidden:1')}\r\n\r\ndata: 1\r\n\r\n`,
      'retry: 5\r\n\r\ndata: 1\r\n\r\n',
    ],
    ['a batch of hidden notices', `data: [${update('hidden:1')},${update('hidden:2')}]\n\ndata: 1\n\n`, 'data: 1\n\n'],
    [
      'a batch with a hidden notice',
      `data: [${update('hidden:1')},{"id":1,"result":{}}]\n\n`,
      'data: [{"id":1,"result":{}}]\n\n',
    ],
    ['no JSON at all', `event: endpoint\ndata: /mcp?"tools"\n\n`, `event: endpoint\ndata: /mcp?"tools"\n\n`],
    [
      'an answer of the gateway first',
      `\ufeffdata: {}\n\n`,
      `event: message\ndata: {"id":1}\n\nevent: message\ndata: {"id":2}\n\ndata: {}\n\n`,
      { ...options, injected: ['{"id":1}', '{"id":2}'] },
    ],
  ];

  for (const [title, input, output, given] of streams) {
    test(`${title}, at every cut`, () => {
      const expected = toLatin1(output);
      assert.equal(run(input, [], given).text, expected);
      assert.equal(run(input, [], given).isChanged, input !== output);
      const { length } = Buffer.from(input);
      for (let at = 1; at < length; at += 1) assert.equal(run(input, [at], given).text, expected, `cut at ${at}`);
      assert.equal(
        run(
          input,
          Array.from({ length }, (_, i) => i),
          given,
        ).text,
        expected,
        'byte by byte',
      );
    });
  }

  test('what is not UTF-8 is no list that can be read', () => {
    const bytes = Buffer.concat([
      Buffer.from(`id: 1\ndata: ${list('a')}`),
      Buffer.from([0xff]),
      Buffer.from('\n\ndata: 1\n\n'),
    ]);
    const { text, notes } = run(bytes);
    assert.equal(text, 'id: 1\n\ndata: 1\n\n');
    assert.deepEqual(notes, ['the upstream sent a list that is not UTF-8']);
  });

  test('property: any stream, cut anywhere, gives what it gives in one piece', () => {
    const line = fc.constantFrom(
      `data: ${list('a hidden')}`,
      'data: {"id":3,',
      'data: "result":{"prompts":[{"name":"hidden"},{"name":"p"}]}}',
      'data: {"tools":',
      'data: {"method":"notifications/resources/updated","params":{"uri":"hidden"}}',
      'data',
      'id: 1',
      ': x',
      '',
      '',
      'x',
      '\ufeff',
    );
    const end = fc.constantFrom('\n', '\r', '\r\n');
    const stream = fc.array(fc.tuple(line, end)).map((lines) => lines.flat().join(''));
    fc.assert(
      fc.property(stream, fc.array(fc.nat(1_000)), (text, places) => {
        const whole = run(text);
        const pieces = run(text, places);
        assert.equal(pieces.text, whole.text);
        assert.equal(pieces.isChanged, whole.isChanged);
        assert.deepEqual(pieces.notes.slice(0, 1), whole.notes.slice(0, 1));
      }),
      { numRuns: 1_000 },
    );
  });

  test('a complete event does not wait for the next one', () => {
    const filter = new EventStreamFilter(options);
    const push = (text: string): string => {
      const filtered = filter.push(Buffer.from(text));
      assert.ok(filtered.ok);
      return Buffer.from(filtered.bytes).toString();
    };
    assert.equal(push('data: 1\n\ndata: 2'), 'data: 1\n\n');
    assert.equal(push('\n'), '');
    assert.equal(push('\n'), 'data: 2\n\n');
  });

  test('an event without an end ends the stream', () => {
    for (const size of [1, 7, 64]) {
      const filter = new EventStreamFilter({ ...options, maxEventBytes: 64 });
      let fed = 0;
      for (
        let filtered = filter.push(Buffer.alloc(size, 'x'));
        filtered.ok;
        filtered = filter.push(Buffer.alloc(size, 'x'))
      )
        fed += size;
      assert.ok(fed <= 64 && fed + size > 64, String(fed));
    }
    const filter = new EventStreamFilter({ ...options, maxEventBytes: 64 });
    assert.deepEqual(filter.push(Buffer.from(`${'x'.repeat(64)}\n\n`)), {
      ok: false,
      detail: 'an event of the upstream is larger than 64 bytes',
    });
  });

  test('joined in the middle of an event, it judges from the next one on', () => {
    const filter = new EventStreamFilter(options);
    filter.joinAt({ isBetweenEvents: false, lastByte: 0x20 });
    const filtered = filter.push(Buffer.from(`${list('hidden')}\n\ndata: ${list('hidden a')}\n\n`));
    assert.ok(filtered.ok);
    assert.equal(Buffer.from(filtered.bytes).toString(), `${list('hidden')}\n\ndata: ${list('a')}\n\n`);
  });

  test('joined between events, it judges at once; what it holds goes to the one after it', () => {
    const first = new EventStreamFilter(options);
    first.joinAt({ isBetweenEvents: true, lastByte: 0x0a });
    const filtered = first.push(Buffer.from(`data: ${list('hidden a')}\n\ndata: {"id":1,`));
    assert.ok(filtered.ok);
    assert.equal(Buffer.from(filtered.bytes).toString(), `data: ${list('a')}\n\n`);
    assert.equal(Buffer.from(first.release()).toString(), 'data: {"id":1,');
    assert.equal(first.release().length, 0);
  });

  test('headers that speak of the body go', () => {
    const kept = new EventStreamFilter(options).prepareHeaders([
      'Content-Type',
      'text/event-stream',
      'Content-Length',
      '5',
      'ETag',
      '"x"',
      'Repr-Digest',
      'x',
      'X-Y',
      'z',
    ]);
    assert.deepEqual(kept, ['Content-Type', 'text/event-stream', 'X-Y', 'z']);
  });
});
