import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Http1Error } from './http1-error.ts';
import { type ReaderLimits, RequestReader, ResponseReader } from './message-reader.ts';
import type { RequestHead } from './request-head.ts';
import type { ResponseHead } from './response-head.ts';
import { effort } from '../../test/kit/effort.ts';

const limits: ReaderLimits = { maxHeaderBytes: 1_000, maxHeaderCount: 12 };

type Head = RequestHead | ResponseHead;

/** A reader of heads that have no body. Returns what each text is read as: a head, or the code of an error. */
function createReader(kind: 'request' | 'response'): (text: string, isToHead?: boolean) => Head | string {
  let told: Head | string = 'nothing';
  const events = {
    onHead: (head: Head): void => void (told = head),
    onBody: (): void => {},
    onEnd: (): void => {},
    onError: ({ code }: Http1Error): void => void (told = code),
  };
  const reader = kind === 'request' ? new RequestReader(limits, events) : new ResponseReader(limits, events);
  return (text, isToHead = false) => {
    told = 'nothing';
    if (reader instanceof ResponseReader) reader.isToHead = isToHead;
    reader.push(Buffer.from(text, 'latin1'));
    return told;
  };
}

const readAlone = (kind: 'request' | 'response', text: string, isToHead = false): Head | string =>
  createReader(kind)(text, isToHead);

function format(startLine: string, lines: readonly string[]): string {
  return `${[startLine, ...lines].join('\r\n')}\r\n\r\n`;
}

const request = format('GET /mcp HTTP/1.1', [
  'Host: example.com',
  'Accept: text/event-stream',
  'Authorization: Bearer abc.def.ghi',
  'X-Trace: 1',
]);

describe('a head that comes again', () => {
  test('is the same object, and nothing of it is read again', () => {
    const read = createReader('request');
    const [first, second, third] = [read(request), read(request), read(request)];
    assert.deepEqual(first, readAlone('request', request));
    assert.equal(second, first);
    assert.equal(third, first);
  });

  test('with another line has the same strings in all others', () => {
    const read = createReader('request');
    const before = read(request) as RequestHead;
    for (const changed of [
      request.replace('ghi', 'jkl'),
      request.replace('X-Trace: 1', 'X-Trace: 2'),
      request.replace('Host: example.com\r\n', 'Host: example.com\r\nMcp-Session-Id: 1\r\n'),
      request.replace('Accept: text/event-stream\r\n', ''),
      request.replace('GET', 'DELETE'),
      request.replace('X-Trace: 1\r\n', ''),
      request.replace('X-Trace: 1', 'X-Trace: 1\r\nX-Last: 2'),
      request.replace('Host: example.com', 'Host: example.org'),
    ]) {
      assert.deepEqual(read(changed), readAlone('request', changed), JSON.stringify(changed));
      assert.equal(read(request), before);
    }
  });

  test('after enough others the last of them is the one that is known', () => {
    const read = createReader('request');
    const first = read(request);
    // One line that changes is no reason.
    for (let at = 2; at < 40; at++) read(request.replace('X-Trace: 1', `X-Trace: ${at}`));
    assert.equal(read(request), first);
    const others = Array.from({ length: 16 }, (_, at) =>
      request.replaceAll(/: ./g, `: ${String.fromCharCode(97 + at)}`),
    );
    const heads = others.map((text) => read(text));
    assert.deepEqual(
      heads,
      others.map((text) => readAlone('request', text)),
    );
    assert.equal(read(others.at(-1)!), heads.at(-1));
    assert.notEqual(read(request), first);
  });

  test('is longer or shorter by a line that ends like a known one', () => {
    const base = format('GET / HTTP/1.1', ['host: a', 'b: c', 'x-b: c']);
    for (const lines of [
      ['host: a', 'b: c'],
      ['host: a', 'x-b: c'],
      ['host: a', 'xx-b: c'],
      ['host: a', 'x-b: c', 'b: c'],
      ['host: a', 'b: d', 'x-x-b: c'],
      ['host: a', 'b: d', 'x-b: c', 'x-x-b: c'],
      ['host: a', 'b: cb: c', 'x-b: c'],
      ['host: a', 'b: c', 'b: c', 'x-b: c', 'x-b: c'],
      ['host: a', ' b: c', 'x-b: c'],
      ['b: c', 'x-b: c'],
      [],
    ]) {
      const text = format('GET / HTTP/1.1', lines);
      for (const before of [base, base.replace('b: c', 'b: d'), base.replace('b: c', 'bb: d')]) {
        const read = createReader('request');
        read(base);
        read(before);
        assert.deepEqual(read(text), readAlone('request', text), JSON.stringify([before, text]));
      }
    }
  });

  test('has no more fields than allowed, counted with those that are known', () => {
    const lines = ['host: a', ...Array.from({ length: 11 }, (_, each) => `a${each}: b`)];
    const read = createReader('request');
    const full = format('GET / HTTP/1.1', lines);
    assert.deepEqual(read(full), readAlone('request', full));
    const other = full.replace('a3: b', 'a3: c');
    assert.deepEqual(read(other), readAlone('request', other));
    assert.equal(read(format('GET / HTTP/1.1', [...lines, 'one: more'])), 'too_many_headers');
  });

  test('to HEAD says nothing about a body, and the other way round', () => {
    const text = format('HTTP/1.1 304 Not Modified', ['Content-Length: 0', 'Server: x']);
    const sized = format('HTTP/1.1 200 OK', ['Content-Length: 5', 'Server: x']);
    const read = createReader('response');
    assert.deepEqual(read(sized, true), readAlone('response', sized, true));
    assert.deepEqual(read(sized, true), readAlone('response', sized, true));
    assert.deepEqual(read(text), readAlone('response', text));
    assert.deepEqual(read(text, true), readAlone('response', text, true));
    const head = read(sized) as ResponseHead;
    assert.equal(head.bodyLength, 5);
  });

  test('is told apart from one whose end has not come', () => {
    const events: string[] = [];
    const reader = new RequestReader(limits, {
      onHead: ({ target }) => void events.push(target),
      onBody: () => {},
      onEnd: () => {},
      onError: ({ code }) => void events.push(code),
    });
    const bytes = Buffer.from(request, 'latin1');
    for (let at = 0; at <= bytes.length; at++) {
      reader.push(bytes.subarray(0, at));
      reader.push(bytes.subarray(at));
    }
    assert.deepEqual(
      events,
      Array.from({ length: bytes.length + 1 }, () => '/mcp'),
    );
  });
});

/** A head made of few words, so that lines are often the same or parts of one another, and now and then broken. */
const line = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom('host: a', 'a: b', 'x-a: b', 'content-length: 0', 'b:', 'connection: close'),
  },
  { weight: 2, arbitrary: fc.string({ unit: fc.constantFrom('a', ':', ' ', '\r', '\n', '\0', 'é'), maxLength: 6 }) },
);
const startLine = {
  request: fc.constantFrom('GET / HTTP/1.1', 'POST /a HTTP/1.1', 'GET / HTTP/1.0', 'GET /\0 HTTP/1.1', 'a: b'),
  response: fc.constantFrom('HTTP/1.1 200 OK', 'HTTP/1.1 404 No', 'HTTP/1.1 200', 'HTTP/1.1 200 \0', 'a: b'),
};

/** What is done to the head before. */
const change = fc.record({
  startLine: fc.option(fc.nat(4)),
  at: fc.nat(6),
  removed: fc.nat(2),
  added: fc.array(line, { maxLength: 2 }),
  isToHead: fc.boolean(),
});

for (const kind of ['request', 'response'] as const) {
  test(`a ${kind} is read as if it were the first of its connection, whatever came before`, () => {
    fc.assert(
      fc.property(
        fc.array(startLine[kind], { minLength: 5, maxLength: 5 }),
        fc.array(line, { maxLength: 6 }),
        fc.array(change, { maxLength: 30 }),
        (startLines, first, changes) => {
          let read = createReader(kind);
          let lines = ['host: a', ...first];
          let start = startLines[0]!;
          for (const { startLine: other, at, removed, added, isToHead } of changes) {
            const text = format(start, lines);
            // Only a whole head, and nothing after it.
            if (text.indexOf('\r\n\r\n') === text.length - 4) {
              const found = read(text, isToHead);
              assert.deepEqual(found, readAlone(kind, text, isToHead), JSON.stringify(text));
              // After an error there is no next one.
              if (typeof found === 'string' || found.bodyLength !== 0) read = createReader(kind);
            }
            lines = lines.toSpliced(at, removed, ...added);
            if (other !== null) start = startLines[other]!;
          }
        },
      ),
      { numRuns: effort(2_000) },
    );
  });
}
