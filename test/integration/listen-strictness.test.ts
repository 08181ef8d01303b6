// Requests that two implementations could read in two ways (RFC 9112, 11.2): each is refused and ends its connection.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Exchange } from '../../src/gateway/http/exchange.ts';
import { collectBody, connectRaw, openPort, readErrorAnswer } from './listen-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';

/** Everything after the head that is broken is a second request, which must never be seen. */
const malformed: Record<string, string> = {
  'CL.TE': `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  'TE.CL': `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${smuggled}`,
  'two Content-Length that differ': `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde${smuggled}`,
  'two Content-Length that agree': `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nabcde${smuggled}`,
  'a list of Content-Length': `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\nabcde${smuggled}`,
  'a signed Content-Length': `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nabcde${smuggled}`,
  'a negative Content-Length': `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\nabcde${smuggled}`,
  'a hexadecimal Content-Length': `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x5\r\n\r\nabcde${smuggled}`,
  'an empty Content-Length': `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\nabcde${smuggled}`,
  'an overflowing Content-Length': `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551617\r\n\r\na${smuggled}`,
  'two Transfer-Encoding': `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  'Transfer-Encoding identity': `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n${smuggled}`,
  'a second coding': `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  'chunked not last': `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
  'an obfuscated coding': `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`,
  'a quoted coding': `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n${smuggled}`,
  'a coding with vertical tab': `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n${smuggled}`,
  'Transfer-Encoding in HTTP/1.0': `POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  'a space before the colon': `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  'a space before the first name': `GET / HTTP/1.1\r\n Host: x\r\n\r\n${smuggled}`,
  'an obsolete line fold': `GET / HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n 2\r\n\r\n${smuggled}`,
  'a folded Transfer-Encoding': `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  'a bare LF after the request line': `GET / HTTP/1.1\nHost: x\r\n\r\n${smuggled}`,
  'a bare LF after a header': `GET / HTTP/1.1\r\nHost: x\r\nX-A: 1\nX-B: 2\r\n\r\n${smuggled}`,
  'a bare LF at the end of the head': `GET / HTTP/1.1\r\nHost: x\r\n\n${smuggled}`,
  'a bare CR in a header': `GET / HTTP/1.1\r\nHost: x\r\nX-A: 1\rX-B: 2\r\n\r\n${smuggled}`,
  'a NUL in a header': `GET / HTTP/1.1\r\nHost: x\r\nX-A: a\0b\r\n\r\n${smuggled}`,
  'a header without a colon': `GET / HTTP/1.1\r\nHost: x\r\nX-A\r\n\r\n${smuggled}`,
  'a header without a name': `GET / HTTP/1.1\r\nHost: x\r\n: a\r\n\r\n${smuggled}`,
  'a header name with a space': `GET / HTTP/1.1\r\nHost: x\r\nX A: a\r\n\r\n${smuggled}`,
  'a space in the target': `GET /a b HTTP/1.1\r\nHost: x\r\n\r\n${smuggled}`,
  'a tab in the request line': `GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n${smuggled}`,
  'no version': `GET /\r\nHost: x\r\n\r\n${smuggled}`,
  'HTTP/0.9': `GET / HTTP/0.9\r\nHost: x\r\n\r\n${smuggled}`,
  'HTTP/1.2': `GET / HTTP/1.2\r\nHost: x\r\n\r\n${smuggled}`,
  'HTTP/2.0 spelled out': `GET / HTTP/2.0\r\nHost: x\r\n\r\n${smuggled}`,
  'a lower-case version': `GET / http/1.1\r\nHost: x\r\n\r\n${smuggled}`,
  'a method that is none': `G@T / HTTP/1.1\r\nHost: x\r\n\r\n${smuggled}`,
  'TLS on a cleartext port': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'almost the HTTP/2 preface': `PRI * HTTP/2.0\r\n\r\nSX\r\n\r\n${smuggled}`,
};

/** Framing that breaks in the body: the handler has the request already, and must not get a second one. */
const malformedBodies: Record<string, string> = {
  'a chunk size that is no number': 'z\r\nabc\r\n0\r\n\r\n',
  'a chunk size with a sign': '+3\r\nabc\r\n0\r\n\r\n',
  'a chunk size with 0x': '0x3\r\nabc\r\n0\r\n\r\n',
  'a chunk size that overflows': 'fffffffffffffffff\r\nabc\r\n0\r\n\r\n',
  'a chunk longer than it says': '2\r\nabc\r\n0\r\n\r\n',
  'a bare LF after a chunk size': '3\nabc\r\n0\r\n\r\n',
  'a bare LF after a chunk': '3\r\nabc\n0\r\n\r\n',
  'a space before a chunk size': ' 3\r\nabc\r\n0\r\n\r\n',
  'a bare LF in a trailer': '0\r\nX-A: 1\nX-B: 2\r\n\r\n',
};

describe('malformed heads', () => {
  for (const [name, wire] of Object.entries(malformed)) {
    test(name, async (t) => {
      const seen: string[] = [];
      const { port, events } = await openPort(t, (exchange) => {
        seen.push(exchange.target);
        exchange.respond(200, [], 'served');
      });
      const client = await connectRaw(t, port);
      client.send(wire);
      const answer = readErrorAnswer(await client.waitForClose());
      assert.equal(answer.status, 400);
      assert.ok(['bad_request', 'missing_host', 'bad_target'].includes(answer.error), answer.error);
      assert.match(answer.headers, /connection: close/i);
      assert.match(answer.headers, /content-type: application\/json/i);
      assert.ok(answer.requestId.length > 0);
      assert.deepEqual(seen, []);
      assert.ok(events.some((event) => event.type === 'request-refused' && event.requestId === answer.requestId));
    });
  }
});

describe('malformed bodies', () => {
  for (const [name, body] of Object.entries(malformedBodies)) {
    test(name, async (t) => {
      const seen: Exchange[] = [];
      const failures: unknown[] = [];
      const { port } = await openPort(t, (exchange) => {
        seen.push(exchange);
        collectBody(exchange).then(
          () => exchange.respond(200, [], 'served'),
          (error: unknown) => {
            failures.push(error);
            // What a handler does that knows nothing of all this.
            exchange.respond(502, [], 'failed');
          },
        );
      });
      const client = await connectRaw(t, port);
      client.send(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${body}${smuggled}`);
      const answer = readErrorAnswer(await client.waitForClose());
      assert.equal(answer.status, 400);
      assert.equal(answer.error, 'bad_request');
      assert.equal(client.received.match(/HTTP\/1\.1/g)!.length, 1);
      assert.equal(seen.length, 1);
      await waitFor(() => failures.length === 1);
    });
  }

  test('a broken body after the answer has begun cuts the connection', async (t) => {
    const { port } = await openPort(t, (exchange) => {
      exchange.readBody({ write: () => true, end: () => {}, fail: () => {} });
      exchange.sendHead(200, []);
      exchange.write(Buffer.from('begun'));
    });
    const client = await connectRaw(t, port);
    client.send('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    await client.waitForText('begun');
    client.send('zz\r\n');
    const answer = await client.waitForClose();
    assert.doesNotMatch(answer, /400|0\r\n\r\n$/);
  });
});

describe('Host', () => {
  const cases: Record<string, string> = {
    missing: 'GET / HTTP/1.1\r\nX-A: 1\r\n\r\n',
    twice: 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n',
    'twice in different spelling': 'GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n',
    'a list': 'GET / HTTP/1.1\r\nHost: a, b\r\n\r\n',
    'with user information': 'GET / HTTP/1.1\r\nHost: user@a\r\n\r\n',
    'with a path': 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n',
    'with a space': 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n',
    'with a bad port': 'GET / HTTP/1.1\r\nHost: a:b\r\n\r\n',
  };
  for (const [name, wire] of Object.entries(cases)) {
    test(name, async (t) => {
      const { port } = await openPort(t, () => assert.fail('must not be served'));
      const client = await connectRaw(t, port);
      client.send(wire);
      const answer = readErrorAnswer(await client.waitForClose());
      assert.equal(answer.status, 400);
      assert.equal(answer.error, 'missing_host');
    });
  }

  test('an absolute target with user information', async (t) => {
    const { port } = await openPort(t, () => assert.fail('must not be served'));
    const client = await connectRaw(t, port);
    client.send('GET http://good.test@evil.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n');
    assert.equal(readErrorAnswer(await client.waitForClose()).error, 'bad_target');
  });
});

describe('in the middle of a connection', () => {
  test('a malformed request behind a good one is refused after the good one is answered', async (t) => {
    let exchange: Exchange | undefined;
    const { port } = await openPort(t, (arrived) => {
      exchange = arrived;
    });
    const client = await connectRaw(t, port);
    client.send(`GET /good HTTP/1.1\r\nHost: x\r\n\r\nGET /bad\x01 HTTP/1.1\r\nHost: x\r\n\r\n${smuggled}`);
    await waitFor(() => exchange !== undefined);
    exchange!.sendHead(200, []);
    exchange!.write(Buffer.from('slow'));
    await client.waitForText('slow');
    assert.doesNotMatch(client.received, /HTTP\/1\.1 400/);
    exchange!.end();
    const answer = await client.waitForClose();
    assert.match(answer, /^HTTP\/1.1 200 OK[^]*0\r\n\r\nHTTP\/1.1 400 Bad Request\r\n/);
    assert.equal(exchange!.target, '/good');
  });

  test('a refused head behind a good request', async (t) => {
    const seen: string[] = [];
    const { port } = await openPort(t, (exchange) => {
      seen.push(exchange.target);
      setTimeout(() => exchange.respond(200, [], 'good'), 20);
    });
    const client = await connectRaw(t, port);
    client.send(`GET /good HTTP/1.1\r\nHost: x\r\n\r\nGET /bad HTTP/1.1\r\n\r\n${smuggled}`);
    const answer = await client.waitForClose();
    assert.match(answer, /^HTTP\/1.1 200 OK[^]*goodHTTP\/1.1 400 Bad Request\r\n/);
    assert.deepEqual(seen, ['/good']);
  });

  test('bytes behind Connection: close are no request', async (t) => {
    const seen: string[] = [];
    const { port } = await openPort(t, (exchange) => {
      seen.push(exchange.target);
      exchange.respond(200, [], 'good');
    });
    const client = await connectRaw(t, port);
    client.send(`GET /good HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n${smuggled}`);
    const answer = await client.waitForClose();
    assert.match(answer, /good$/);
    assert.deepEqual(seen, ['/good']);
  });
});
