import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Http1Error } from './http1-error.ts';
import { type MessageEvents, type ReaderLimits, RequestReader, ResponseReader } from './message-reader.ts';
import type { RawHeaders } from './raw-headers.ts';
import type { RequestHead } from './request-head.ts';
import type { ResponseHead } from './response-head.ts';

type Told = readonly [event: 'head' | 'body' | 'end' | 'error', detail: string];

const limits: ReaderLimits = { maxHeaderBytes: 1_000, maxHeaderCount: 20 };

/** Writes down what it hears; pieces of a body become one. */
class Listener implements MessageEvents<RequestHead | ResponseHead> {
  readonly told: Told[] = [];
  onTold: (event: Told[0]) => void = () => {};

  onHead(head: RequestHead | ResponseHead): void {
    this.#tell('head', 'method' in head ? `${head.method} ${head.target}` : String(head.status));
  }

  onBody(chunk: Buffer): void {
    const last = this.told.at(-1);
    if (last?.[0] === 'body') this.told.pop();
    this.#tell('body', (last?.[0] === 'body' ? last[1] : '') + chunk.toString('latin1'));
  }

  onEnd(trailers: RawHeaders): void {
    this.#tell('end', trailers.join('='));
  }

  onError(error: Http1Error): void {
    this.#tell('error', error.code);
  }

  #tell(...event: Told): void {
    this.told.push(event);
    this.onTold(event[0]);
  }
}

/** Whole, byte by byte and in two pieces cut at every place: it must not make a difference. */
function read(kind: typeof RequestReader | typeof ResponseReader, text: string, isToHead = false): readonly Told[] {
  const bytes = Buffer.from(text, 'latin1');
  const readPieces = (pieces: readonly Buffer[]): readonly Told[] => {
    const listener = new Listener();
    const reader = new kind(limits, listener);
    if (reader instanceof ResponseReader) reader.isToHead = isToHead;
    for (const piece of pieces) reader.push(piece);
    reader.end();
    return listener.told;
  };
  const whole = readPieces([bytes]);
  assert.deepEqual(readPieces(Array.from(bytes, (byte) => Buffer.from([byte]))), whole, JSON.stringify(text));
  for (let at = 1; at < bytes.length; at++)
    assert.deepEqual(
      readPieces([bytes.subarray(0, at), bytes.subarray(at)]),
      whole,
      `${JSON.stringify(text)} at ${at}`,
    );
  return whole;
}

const requests = (text: string): readonly Told[] => read(RequestReader, text);
const responses = (text: string, isToHead = false): readonly Told[] => read(ResponseReader, text, isToHead);

describe('requests', () => {
  test('one after the other, with every kind of body', () => {
    assert.deepEqual(
      requests(
        'POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\nHost: x\r\n\r\n' +
          'PUT /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n00A;n=v;q="a\\"b";z\r\n0123456789\r\n0\r\nX-T: y\r\n\r\n' +
          '\r\nDELETE /d HTTP/1.1\r\nHost: x\r\n\r\n',
      ),
      [
        ['head', 'POST /a'],
        ['body', 'hello'],
        ['end', ''],
        ['head', 'GET /b'],
        ['end', ''],
        ['head', 'PUT /c'],
        ['body', 'abc0123456789'],
        ['end', 'X-T=y'],
        ['head', 'DELETE /d'],
        ['end', ''],
      ],
    );
  });

  test('chunks that are not what they must be end it', () => {
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    for (const body of [
      '\r\n',
      'x\r\n',
      '0x3\r\nabc\r\n',
      '+3\r\nabc\r\n',
      ' 3\r\nabc\r\n',
      '3 \r\nabc\r\n',
      '3\nabc\r\n',
      '3\r\nabcd\r\n',
      '3\r\nabc\n',
      '3\r\nabc\r\r',
      '00000000000003\r\nabc\r\n',
      'ffffffffffffff\r\n',
      '3;\r\nabc\r\n',
      '3; a\r\nabc\r\n',
      '3;a="b\r\nabc\r\n',
      '3;a=b c\r\nabc\r\n',
      '3;a\nabc\r\n',
      `3;${'a'.repeat(17_000)}\r\nabc\r\n`,
      '0\r\nX : y\r\n\r\n',
      '0\r\n\nGET / HTTP/1.1\r\nHost: x\r\n\r\n',
      '0\r\n\rX',
      '0\r\nContent-Length: 5\r\n\r\n',
      '0\r\nA: b\r\ntransfer-encoding: chunked\r\n\r\n',
    ]) {
      const listener = new Listener();
      const reader = new RequestReader(limits, listener);
      reader.push(Buffer.from(head + body, 'latin1'));
      assert.deepEqual(listener.told.at(-1), ['error', 'bad_request'], JSON.stringify(body));
    }
  });

  test('a stream that ends in the middle', () => {
    for (const text of [
      'GET / HT',
      'GET / HTTP/1.1\r\nHost: x\r\n\r',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhell',
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n',
    ])
      assert.deepEqual(requests(text).at(-1), ['error', 'incomplete']);
    assert.deepEqual(requests(''), []);
    assert.deepEqual(requests('\r\n'), []);
  });

  test('a head has a largest size, however it comes', () => {
    const head = (bytes: number): string => {
      const text = 'GET / HTTP/1.1\r\nHost: x\r\nA: ';
      return `${text}${'a'.repeat(bytes - text.length - 4)}\r\n\r\n`;
    };
    assert.deepEqual(requests(head(1_000)), [
      ['head', 'GET /'],
      ['end', ''],
    ]);
    assert.deepEqual(requests(head(1_001)), [['error', 'headers_too_large']]);
    assert.deepEqual(requests('a'.repeat(2_000)), [['error', 'headers_too_large']]);
  });

  test('a broken line is refused before the head is complete', () => {
    for (const text of ['GET / HTTP/1.1\n', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\rc', 'GET / HTTP/1.1\r\nA: \0']) {
      const listener = new Listener();
      new RequestReader(limits, listener).push(Buffer.from(text, 'latin1'));
      assert.deepEqual(listener.told, [['error', 'bad_request']], JSON.stringify(text));
    }
  });

  test('nothing is read after an error', () => {
    const listener = new Listener();
    const reader = new RequestReader(limits, listener);
    reader.push(Buffer.from('GET / HTTP/9.9\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n'));
    reader.push(Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
    reader.end();
    assert.deepEqual(listener.told, [['error', 'bad_request']]);
  });
});

describe('responses', () => {
  test('framed by length, chunks and the end of the connection', () => {
    assert.deepEqual(
      responses(
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok' +
          'HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304\r\nContent-Length: 9\r\n\r\n' +
          'HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nT: u\r\n\r\nHTTP/1.0 200 OK\r\n\r\nto the end',
      ),
      [
        ['head', '100'],
        ['end', ''],
        ['head', '200'],
        ['body', 'ok'],
        ['end', ''],
        ['head', '204'],
        ['end', ''],
        ['head', '304'],
        ['end', ''],
        ['head', '200'],
        ['body', 'a'],
        ['end', 'T=u'],
        ['head', '200'],
        ['body', 'to the end'],
        ['end', ''],
      ],
    );
  });

  test('one to HEAD has no body', () => {
    assert.deepEqual(responses('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', true), [
      ['head', '200'],
      ['end', ''],
    ]);
  });

  test('what could be read in two ways is refused', () => {
    for (const text of [
      '\r\nHTTP/1.1 200 OK\r\n\r\n',
      'HTTP/1.1  200 OK\r\n\r\n',
      'HTTP/1.1 20 OK\r\n\r\n',
      'HTTP/1.1 0200 OK\r\n\r\n',
      'HTTP/2.0 200 OK\r\n\r\n',
      'HTTP/1.1 200 O\0K\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n',
      'HTTP/1.1 199 X\r\nContent-Length: 1\r\n\r\na',
      'HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ])
      assert.deepEqual(responses(text), [['error', 'bad_request']], JSON.stringify(text));
  });

  test('whether the connection can be used again', () => {
    const heads: ResponseHead[] = [];
    const readHead = (text: string): ResponseHead => {
      const reader = new ResponseReader(limits, {
        onHead: (head) => void heads.push(head),
        onBody: () => {},
        onEnd: () => {},
        onError: (error) => assert.fail(error.message),
      });
      reader.push(Buffer.from(text));
      return heads.at(-1)!;
    };
    assert.equal(readHead('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n').keepsAlive, true);
    assert.equal(readHead('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n').keepsAlive, false);
    assert.equal(readHead('HTTP/1.1 200 OK\r\n\r\n').keepsAlive, false);
    assert.equal(readHead('HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n').keepsAlive, false);
    const kept = readHead(
      'HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5, max=9\r\n\r\n',
    );
    assert.deepEqual([kept.keepsAlive, kept.keepAliveSeconds], [true, 5]);
  });
});

describe('pauses', () => {
  const two = 'POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\nHost: x\r\n\r\n';

  test('from any event, and nothing is lost', () => {
    const listener = new Listener();
    const reader = new RequestReader(limits, listener);
    listener.onTold = () => reader.pause();
    reader.push(Buffer.from(two));
    assert.deepEqual(listener.told, [['head', 'POST /a']]);
    reader.end();
    for (let count = 0; count < 10; count++) reader.resume();
    assert.deepEqual(listener.told, [
      ['head', 'POST /a'],
      ['body', 'hello'],
      ['end', ''],
      ['head', 'GET /b'],
      ['end', ''],
    ]);
    assert.equal(reader.waitingBytes, 0);
  });

  test('the rest after a head belongs to who stops there', () => {
    const text = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: foo\r\n\r\nother bytes';
    const late = new Listener();
    const paused = new RequestReader(limits, late);
    late.onTold = () => paused.pause();
    paused.push(Buffer.from(text));
    paused.push(Buffer.from(' and more'));
    assert.equal(paused.stop().toString(), 'other bytes and more');
    const early = new Listener();
    const stopped = new RequestReader(limits, early);
    let rest = '';
    early.onTold = () => (rest = stopped.stop().toString());
    stopped.push(Buffer.from(text));
    assert.equal(rest, 'other bytes');
    assert.deepEqual(early.told, [['head', 'GET /']]);
  });
});
