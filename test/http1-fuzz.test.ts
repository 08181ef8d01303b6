// A short run of `npm run fuzz`, streams that it once found, and proof that its judge sees what it looks for.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeFailure, minimise } from './fuzz/http1-failure.ts';
import { createCounts, drawStream, findProblem, fuzzOne } from './fuzz/http1-fuzz.ts';
import { findAcceptedDifference, findRefusal, findSplitDifference } from './fuzz/http1-judge.ts';
import { readByOwnReader } from './fuzz/http1-own-reader.ts';
import { escapeBytes, type Reading, type WireStream } from './fuzz/http1-reading.ts';
import { Referee } from './fuzz/http1-referee.ts';
import { effort, seed as drawnSeed } from './kit/effort.ts';

function runStreams(seed: number, count: number): void {
  const counts = createCounts();
  for (let index = 0; index < count; index += 1) {
    const failure = fuzzOne(seed, index, counts);
    if (failure !== undefined) assert.fail(describeFailure(failure));
  }
  assert.equal(counts.valid, Math.ceil(count / 4), 'every valid stream was accepted');
  assert.ok(counts.messages > count / 2, `only ${counts.messages} messages were read`);
  assert.ok(counts.refusedByBoth > count / 4, `only ${counts.refusedByBoth} streams were refused`);
}

describe('whatever the reader accepts, the referee reads as the same messages', () => {
  const known = effort(20_000, 2_000);
  test(`${known.toLocaleString('en')} streams that are always the same`, () => runStreams(9112, known));

  const drawn = effort(5_000, 500);
  test(`${drawn.toLocaleString('en')} streams of the seed`, () => runStreams(drawnSeed, drawn));
});

describe('streams that were found', () => {
  const found: Record<string, WireStream> = {};
  const requests: Record<string, string> = {
    'CONNECT has no body': 'CONNECT a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde',
    'CONNECT has no chunks': 'CONNECT a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'a tab behind chunked': 'GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n',
    'a length in a trailer':
      'GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n',
    'a coding in a trailer':
      'GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nTransfer-Encoding:\r\n\r\n',
    'a no-break space before an option': 'GET / HTTP/1.1\r\nHost: a\r\nConnection: \xa0upgrade\r\nUpgrade: b\r\n\r\n',
    'a fragment behind the authority': 'GET http://a#b HTTP/1.1\r\nHost: a\r\n\r\n',
  };
  const answers: Record<string, string> = {
    'a length in an informational answer': 'HTTP/1.1 199 Odd\r\nContent-Length: 5\r\n\r\nabcde',
    'chunks in an informational answer': 'HTTP/1.1 104 Odd\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'a tab behind chunked in an answer': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n',
  };
  for (const [name, bytes] of Object.entries(requests)) found[name] = { kind: 'request', bytes, methods: [] };
  for (const [name, bytes] of Object.entries(answers)) found[name] = { kind: 'response', bytes, methods: [] };
  for (const [name, stream] of Object.entries(found))
    test(name, () => {
      for (let seed = 0; seed < 32; seed += 1) assert.equal(findProblem(stream, false, seed), undefined);
    });
});

describe('the judge', () => {
  const bytes = 'POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n';
  const stream: WireStream = { kind: 'request', bytes: `${bytes}${bytes}`, methods: [] };
  const own = readByOwnReader(stream, { kind: 'byte by byte' });
  const referee = new Referee().read(stream, true);
  const changes: Record<string, (reading: Reading) => Reading> = {
    'a message that is missing': (reading) => ({ ...reading, messages: reading.messages.slice(1) }),
    'another method': change({ startLine: 'PUT /a 1.1' }),
    'another target': change({ startLine: 'POST /b 1.1' }),
    'another version': change({ startLine: 'POST /a 1.0' }),
    'another header': change({ headers: ['Host', 'a', 'Transfer-Encoding', 'gzip'] }),
    'a header more': change({ headers: ['Host', 'a', 'Transfer-Encoding', 'chunked', 'X', ''] }),
    'another body': change({ body: 'abd' }),
    'a longer body': change({ body: 'abcd' }),
    'other trailers': change({ trailers: [] }),
    'another end': change({ end: 1 }),
    'an end of the connection': change({ closes: true }),
  };

  function change(changed: object): (reading: Reading) => Reading {
    return (reading) => ({ ...reading, messages: reading.messages.map((message) => ({ ...message, ...changed })) });
  }

  test('sees no difference where there is none', () => {
    assert.equal(own.messages.length, 2);
    assert.equal(findAcceptedDifference('request', own, referee), undefined);
    assert.equal(findRefusal(own, referee), undefined);
    assert.equal(findSplitDifference(own, readByOwnReader(stream, { kind: 'whole' })), undefined);
  });

  for (const [name, alter] of Object.entries(changes)) {
    test(`sees ${name}`, () => {
      assert.notEqual(findAcceptedDifference('request', own, alter(referee)), undefined);
    });
  }

  test('sees a valid stream that is refused, and a reader that depends on how the bytes arrive', () => {
    const refused = { ...own, outcome: 'refused', error: 'x', code: 'x' } as const;
    assert.match(findRefusal(refused, referee) ?? '', /a valid stream is refused/);
    assert.notEqual(findSplitDifference(own, refused), undefined);
    assert.notEqual(findSplitDifference(own, { ...own, messages: own.messages.slice(1) }), undefined);
  });
});

test('the referee reads what every implementation must', () => {
  const read = (kind: 'request' | 'response', bytes: string, methods: readonly string[] = []): unknown => {
    const { messages, outcome } = new Referee().read({ kind, bytes, methods }, true);
    return [outcome, ...messages.map(({ startLine, body, end }) => [startLine, body, end])];
  };
  assert.deepEqual(read('request', 'QUERY / HTTP/1.1\r\nContent-Length: 2\r\n\r\nabGET / HTTP/1.1\r\n\r\n'), [
    'complete',
    ['QUERY / 1.1', 'ab', 41],
    ['GET / 1.1', '', 59],
  ]);
  // Behind the end of a connection, and behind a switch of protocols.
  assert.deepEqual(
    read(
      'request',
      'GET / HTTP/1.0\r\n\r\nGET /b HTTP/1.1\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\nGET /c HTTP/1.1\r\n\r\n',
    ),
    ['complete', ['GET / 1.0', '', 18], ['GET /b 1.1', '', 70], ['GET /c 1.1', '', 89]],
  );
  assert.deepEqual(
    read('response', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHTTP/1.1 200 OK\r\n\r\nab', ['HEAD', 'GET']),
    ['complete', ['1.1 200 OK', '', 38], ['1.1 200 OK', 'ab', 59]],
  );
  assert.deepEqual(read('request', 'GET / HTTP/1.1\nHost: a\r\n\r\n'), ['refused']);
  assert.deepEqual(read('request', 'GET / HTTP/1.1\r\nContent-Length: 2\r\n\r\na'), ['truncated']);
});

test('a stream is the same whenever it is drawn, and its neighbour is another', () => {
  assert.deepEqual(drawStream(1, 5), drawStream(1, 5));
  assert.notDeepEqual(drawStream(1, 5), drawStream(1, 6));
  assert.notDeepEqual(drawStream(1, 5), drawStream(2, 5));
});

test('what is left of a stream after minimising has the same problem', () => {
  const find = ({ bytes }: WireStream): string | undefined => (bytes.includes('\0') ? 'a NUL' : undefined);
  assert.equal(minimise({ kind: 'request', bytes: 'abc\0def\0', methods: [] }, find), '\0');
});

test('bytes are told as a string that has them', () => {
  assert.equal(escapeBytes('a\r\n\0\x7f\xff\'"\\'), String.raw`'a\r\n\x00\x7f\xff\'"\\'`);
});
