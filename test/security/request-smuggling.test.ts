// Request smuggling (RFC 9112, 11.2): what two servers could read in two ways is refused and ends its connection, and the
// upstream counts exactly the requests that the gateway counted.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../kit/recording-upstream.ts';
import { connectWire, readAnswers } from './wire-client.ts';

let gateway: GatewayRun;
let upstream: RecordingUpstream;

before(async () => {
  upstream = await startRecordingUpstream('upstream');
  gateway = await runGateway({
    resources: (port) => [
      gatewayResource(port),
      routeResource('all', [ruleTo('/', 'all')]),
      backendResource('all', upstream.port, '/'),
    ],
  });
});
after(async () => {
  await gateway?.stop();
  await upstream?.close();
});
beforeEach(() => upstream.forget());

const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n';
const post = (...lines: string[]): string =>
  `POST /front HTTP/1.1\r\nHost: localhost\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
const get = (...lines: string[]): string => post(...lines).replace('POST', 'GET');

/** The head itself is refused: nothing of it reaches the upstream. */
const refusedHeads: Record<string, string> = {
  'CL.TE': `${post('Content-Length: 6', 'Transfer-Encoding: chunked')}0\r\n\r\nX${smuggled}`,
  'TE.CL': `${post('Transfer-Encoding: chunked', 'Content-Length: 4')}5c\r\n${smuggled}\r\n0\r\n\r\n`,
  'CL.CL, different': `${post('Content-Length: 8', 'Content-Length: 7')}12345\r\na${smuggled}`,
  'CL.CL, equal': `${post('Content-Length: 5', 'Content-Length: 5')}12345${smuggled}`,
  'CL.CL, one spelled content-length': `${post('Content-Length: 0', 'content-length: 5')}12345${smuggled}`,
  'Content-Length with a plus': `${post('Content-Length: +5')}12345${smuggled}`,
  'Content-Length with a minus': `${post('Content-Length: -1')}${smuggled}`,
  'Content-Length with a space inside': `${post('Content-Length: 5 5')}12345${smuggled}`,
  'Content-Length as a list': `${post('Content-Length: 5, 5')}12345${smuggled}`,
  'Content-Length as a list of two': `${post('Content-Length: 5,0')}12345${smuggled}`,
  'Content-Length in hexadecimal': `${post('Content-Length: 0x5')}12345${smuggled}`,
  'Content-Length as a fraction': `${post('Content-Length: 5.0')}12345${smuggled}`,
  'Content-Length with an underline': `${post('Content-Length: 1_0')}1234567890${smuggled}`,
  'Content-Length in other digits': `${post('Content-Length: \xb2')}12${smuggled}`,
  'Content-Length that is empty': `${post('Content-Length: ')}${smuggled}`,
  'Content-Length past 64 bits': `${post('Content-Length: 18446744073709551621')}12345${smuggled}`,
  'Content-Length of exactly 64 bits': `${post('Content-Length: 18446744073709551615')}12345${smuggled}`,
  'Content-Length past what a number can count': `${post('Content-Length: 9007199254740993')}12345${smuggled}`,
  'TE.TE, twice': `${post('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')}0\r\n\r\n${smuggled}`,
  'TE.TE, a second unknown': `${post('Transfer-Encoding: chunked', 'Transfer-Encoding: x')}0\r\n\r\n${smuggled}`,
  'TE.TE, an unknown first': `${post('Transfer-Encoding: x', 'Transfer-Encoding: chunked')}0\r\n\r\n${smuggled}`,
  'TE unknown with a length': `${post('Transfer-Encoding: xchunked', 'Content-Length: 5')}0\r\n\r\n${smuggled}`,
  'TE identity': `${post('Transfer-Encoding: identity', 'Content-Length: 5')}0\r\n\r\n${smuggled}`,
  'TE as a list': `${post('Transfer-Encoding: identity, chunked')}0\r\n\r\n${smuggled}`,
  'TE with chunked twice': `${post('Transfer-Encoding: chunked, chunked')}0\r\n\r\n${smuggled}`,
  'TE with an empty element': `${post('Transfer-Encoding: ,chunked')}0\r\n\r\n${smuggled}`,
  'TE with a parameter': `${post('Transfer-Encoding: chunked;q=1')}0\r\n\r\n${smuggled}`,
  'TE in quotes': `${post('Transfer-Encoding: "chunked"')}0\r\n\r\n${smuggled}`,
  'TE with a vertical tab': `${post('Transfer-Encoding:\vchunked')}0\r\n\r\n${smuggled}`,
  'TE with a form feed': `${post('Transfer-Encoding: chunked\f')}0\r\n\r\n${smuggled}`,
  'TE with a NUL': `${post('Transfer-Encoding: chun\0ked')}0\r\n\r\n${smuggled}`,
  'TE with a no-break space': `${post('Transfer-Encoding: \xa0chunked')}0\r\n\r\n${smuggled}`,
  'TE that is empty': `${post('Transfer-Encoding: ')}0\r\n\r\n${smuggled}`,
  'TE with a space before the colon': `${post('Transfer-Encoding : chunked')}0\r\n\r\n${smuggled}`,
  'TE with a tab before the colon': `${post('Transfer-Encoding\t: chunked')}0\r\n\r\n${smuggled}`,
  'TE hidden behind a bare CR': `${post('X: y\rTransfer-Encoding: chunked', 'Content-Length: 5')}0\r\n\r\n${smuggled}`,
  'TE hidden behind a bare LF': `${post('X: y\nTransfer-Encoding: chunked', 'Content-Length: 5')}0\r\n\r\n${smuggled}`,
  'TE on a folded line': `${post('X: y', ' Transfer-Encoding: chunked', 'Content-Length: 5')}0\r\n\r\n${smuggled}`,
  'TE with its value on a folded line': `${post('Transfer-Encoding:', ' chunked')}0\r\n\r\n${smuggled}`,
  'TE with CRLF as LF CR': `${post('X: y\n\rTransfer-Encoding: chunked', 'Content-Length: 5')}0\r\n\r\n${smuggled}`,
  'TE in HTTP/1.0': `${post('Transfer-Encoding: chunked').replace('1.1', '1.0')}0\r\n\r\n${smuggled}`,
  'obs-fold': `${get('X: a', '\tb')}${smuggled}`,
  'obs-fold of Host': `GET /front HTTP/1.1\r\nHost:\r\n localhost\r\n\r\n${smuggled}`,
  'obs-fold before the first field': `GET /front HTTP/1.1\r\n X: y\r\nHost: localhost\r\n\r\n${smuggled}`,
  'bare LF after the request line': `GET /front HTTP/1.1\nHost: localhost\r\n\r\n${smuggled}`,
  'bare LF as the blank line': `GET /front HTTP/1.1\r\nHost: localhost\r\n\n${smuggled}`,
  'bare CR as the blank line': `GET /front HTTP/1.1\r\nHost: localhost\r\n\r${smuggled}`,
  'a NUL in a name': `${get('X\0Y: 1')}${smuggled}`,
  'a name with high bytes': `${get('Content-Length\xe9: 5')}${smuggled}`,
  'a colon in front of the name': `${get(':path: /other')}${smuggled}`,
  'a field without a colon': `${get('Transfer-Encoding chunked')}${smuggled}`,
  'two versions': `GET /front HTTP/1.1 HTTP/1.1\r\nHost: localhost\r\n\r\n${smuggled}`,
  'a request line in a request line': `GET /front%20HTTP/1.1\rX: y HTTP/1.1\r\nHost: localhost\r\n\r\n${smuggled}`,
  'several Host': `GET /front HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n${smuggled}`,
  'Host as a list': `GET /front HTTP/1.1\r\nHost: localhost, localhost\r\n\r\n${smuggled}`,
  'no Host': `GET /front HTTP/1.1\r\n\r\n${smuggled}`,
};

describe('heads that can be read in two ways -> 400, and the connection closes', () => {
  for (const [name, bytes] of Object.entries(refusedHeads)) {
    test(name, async (t) => {
      const client = await connectWire(t, gateway.port);
      client.send(bytes);
      const answers = readAnswers(await client.waitForClose());
      assert.equal(answers.length, 1, 'one answer and no second one');
      assert.equal(answers[0]!.status, 400);
      assert.ok(['bad_request', 'missing_host', 'bad_target'].includes(answers[0]!.error ?? ''));
      assert.ok(answers[0]!.headers.some(([field, value]) => field === 'connection' && value === 'close'));
      assert.equal(upstream.headCount, 0);
      assert.equal(upstream.bytes, '');
    });
  }
});

/** The head is fine and the body is not: the upstream may know the head, and must never take the body for complete. */
const brokenBodies: Record<string, string> = {
  'a chunk size that is no number': 'xyz\r\nabc\r\n0\r\n\r\n',
  'an empty chunk size': '\r\nabc\r\n0\r\n\r\n',
  'a chunk size with a sign': '+3\r\nabc\r\n0\r\n\r\n',
  'a negative chunk size': '-1\r\nabc\r\n0\r\n\r\n',
  'a chunk size with 0x': '0x3\r\nabc\r\n0\r\n\r\n',
  'a chunk size with an underline': '1_0\r\nabcdefghijklmnop\r\n0\r\n\r\n',
  'a chunk size past 64 bits': '10000000000000003\r\nabc\r\n0\r\n\r\n',
  'a chunk size behind a space': ' 3\r\nabc\r\n0\r\n\r\n',
  'a chunk that is longer than its size': '3\r\nabcd\r\n0\r\n\r\n',
  'a chunk that is shorter than its size': '5\r\nabc\r\n0\r\n\r\n',
  'a chunk size that ends with a bare LF': '3\nabc\r\n0\r\n\r\n',
  'a chunk size that ends with a bare CR': '3\rabc\r\n0\r\n\r\n',
  'a chunk that ends with a bare LF': '3\r\nabc\n0\r\n\r\n',
  'a chunk that ends with nothing': '3\r\nabc0\r\n\r\n',
  'a chunk extension with a bare LF': '3;a\nabc\r\n0\r\n\r\n',
  'a chunk extension with a bare CR': '3;a\rb\r\nabc\r\n0\r\n\r\n',
  'a last chunk that ends with a bare LF': '3\r\nabc\r\n0\n\r\n',
  'a trailer section with a bare LF': '3\r\nabc\r\n0\r\nX: y\nZ: y\r\n\r\n',
  'a trailer with a fold': '3\r\nabc\r\n0\r\nX: y\r\n z\r\n\r\n',
  'a trailer with a space before the colon': '3\r\nabc\r\n0\r\nX : y\r\n\r\n',
  'a trailer without a colon': '3\r\nabc\r\n0\r\nX\r\n\r\n',
  'a chunk extension without an end': `3;${'a'.repeat(70_000)}\r\nabc\r\n0\r\n\r\n`,
};

describe('bodies whose chunks are broken: the connection closes and nothing is smuggled', () => {
  for (const [name, body] of Object.entries(brokenBodies)) {
    test(name, async (t) => {
      const client = await connectWire(t, gateway.port);
      client.send(`${post('Transfer-Encoding: chunked')}${body}${smuggled}`);
      const answers = readAnswers(await client.waitForClose());
      assert.ok(answers.length <= 1, 'no second answer');
      for (const answer of answers) assert.ok(answer.status === 400 || answer.status === 431, String(answer.status));
      assert.deepEqual(upstream.requests, [], 'no complete request');
      assert.doesNotMatch(upstream.bytes, /GET \/smuggled/);
    });
  }
});

describe('a front that is read in one way only', () => {
  const body = `${smuggled}${smuggled}`;

  test('a body that looks like requests stays a body', async (t) => {
    const client = await connectWire(t, gateway.port);
    client.send(post(`Content-Length: ${body.length}`, 'Connection: close') + body);
    assert.equal(readAnswers(await client.waitForClose()).length, 1);
    assert.deepEqual(
      upstream.requests.map((request) => [request.method, request.url, request.body]),
      [['POST', '/front', body]],
    );
  });

  test('so does the body of a GET, of a HEAD and of an unknown method', async (t) => {
    for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      upstream.forget();
      const client = await connectWire(t, gateway.port);
      client.send(post(`Content-Length: ${body.length}`, 'Connection: close').replace('POST', method) + body);
      const received = await client.waitForClose();
      assert.equal(received.match(/HTTP\/1\.1 /g)?.length, 1, method);
      assert.deepEqual(
        upstream.requests.map((request) => [request.method, request.url, request.body]),
        [[method, '/front', body]],
      );
    }
  });

  test('chunk extensions do not travel, and the chunks are the same bytes', async (t) => {
    const client = await connectWire(t, gateway.port);
    client.send(
      `${post('Transfer-Encoding: Chunked', 'Connection: close')}3;a=b;c="d"\r\nabc\r\n0;x\r\n\r\n${smuggled}`,
    );
    const answers = readAnswers(await client.waitForClose());
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200],
    );
    assert.deepEqual(
      upstream.requests.map((request) => request.body),
      ['abc'],
    );
    assert.doesNotMatch(upstream.bytes, /a=b|;x|smuggled/);
  });

  test('leading zeros of a length do not change it on the way', async (t) => {
    const client = await connectWire(t, gateway.port);
    client.send(`${post('Content-Length: 0005')}12345${smuggled}`);
    await waitFor(() => upstream.requests.length === 2);
    assert.deepEqual(
      upstream.requests.map((request) => [request.url, request.all('content-length'), request.body]),
      [
        ['/front', ['5'], '12345'],
        ['/smuggled', [], ''],
      ],
      'the second is a request of its own, which the gateway counted as one',
    );
  });

  test('pipelined requests stay as many as they were, with the answers in order', async (t) => {
    const client = await connectWire(t, gateway.port);
    const paths = Array.from({ length: 20 }, (_, index) => `/pipelined-${index}`);
    client.send(
      paths
        .map((path, index) => {
          const last = index === paths.length - 1 ? 'Connection: close\r\n' : '';
          return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${last}\r\n`;
        })
        .join(''),
    );
    const answers = readAnswers(await client.waitForClose());
    assert.deepEqual(
      answers.map((answer) => answer.body),
      paths.map((path) => `upstream GET ${path}`),
    );
    assert.equal(upstream.headCount, paths.length);
  });

  test('the rest of a body that the upstream did not wait for is not read as a request', async (t) => {
    const early = await connectWire(t, gateway.port);
    // Refused by the gateway itself while the body is on its way: the rest of the body must not be read as a request.
    early.send(`POST /../%zz HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length + 5}\r\n\r\n12345`);
    await early.waitForText('bad_target');
    early.send(body);
    early.send('GET /next HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    const received = await early.waitForClose();
    assert.doesNotMatch(received, /smuggled/);
    assert.ok(upstream.requests.every((request) => request.url === '/next'));
  });

  test('an underscore in place of the hyphen is not a framing field, and does not become one', async (t) => {
    const client = await connectWire(t, gateway.port);
    client.send(`${post('Content-Length: 5', 'Transfer_Encoding: chunked', 'Connection: close')}12345`);
    await client.waitForClose();
    assert.deepEqual(
      upstream.requests.map((request) => [
        request.body,
        request.all('transfer-encoding'),
        request.all('content-length'),
      ]),
      [['12345', [], ['5']]],
    );
  });
});

describe('oversized heads -> 431, and the connection closes', () => {
  const cases: Record<string, string> = {
    'one long field': get(`X: ${'a'.repeat(70_000)}`),
    'a long target': `GET /${'a'.repeat(70_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    'many fields': get(...Array.from({ length: 200 }, (_, index) => `X-${index}: 1`)),
    'a long field name': get(`${'a'.repeat(70_000)}: 1`),
  };
  for (const [name, bytes] of Object.entries(cases)) {
    test(name, async (t) => {
      const client = await connectWire(t, gateway.port);
      client.send(bytes + smuggled);
      const answers = readAnswers(await client.waitForClose());
      assert.deepEqual(
        answers.map(({ status }) => status),
        [431],
      );
      assert.equal(upstream.headCount, 0);
    });
  }
});
