// The smuggling corpus: against the reader of src/http1, and through a gateway in front of an upstream that records every byte.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { readByOwnReader } from '../fuzz/http1-own-reader.ts';
import type { StreamKind } from '../fuzz/http1-reading.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { brokenChunks, refusedAnswers, refusedHeads, refusedLater, smuggled } from './http1-smuggling-corpus.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../kit/recording-upstream.ts';
import { connectWire, readAnswers } from './wire-client.ts';

const chunkedHead = 'POST /front HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n';

/** Read at once, and byte by byte. */
function assertRefused(kind: StreamKind, bytes: string, hasHead: boolean): void {
  for (const delivery of ['whole', 'byte by byte'] as const) {
    const reading = readByOwnReader({ kind, bytes, methods: [] }, { kind: delivery });
    assert.equal(reading.outcome, 'refused', delivery);
    assert.deepEqual(reading.messages, [], delivery);
    if (!hasHead) assert.equal(reading.unfinished, undefined, delivery);
  }
}

describe('the reader', () => {
  for (const [name, bytes] of Object.entries({ ...refusedHeads, ...refusedLater }))
    test(name, () => assertRefused('request', bytes, false));
  for (const [name, body] of Object.entries(brokenChunks))
    test(name, () => assertRefused('request', chunkedHead + body + smuggled, true));
});

describe('the reader of answers', () => {
  for (const [name, bytes] of Object.entries(refusedAnswers)) test(name, () => assertRefused('response', bytes, false));
  for (const [name, body] of Object.entries(brokenChunks)) {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    test(name, () => assertRefused('response', `${head}${body}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`, true));
  }
});

describe('through a gateway', () => {
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

  for (const [name, bytes] of Object.entries({ ...refusedHeads, ...refusedLater })) {
    test(`${name} -> 400, and the connection closes`, async (t) => {
      const client = await connectWire(t, gateway.port);
      client.send(bytes);
      const answers = readAnswers(await client.waitForClose());
      assert.deepEqual(
        answers.map(({ status }) => status),
        [400],
      );
      assert.ok(['bad_request', 'missing_host', 'bad_target'].includes(answers[0]!.error ?? ''));
      assert.ok(answers[0]!.headers.some(([field, value]) => field === 'connection' && value === 'close'));
      assert.equal(upstream.bytes, '');
    });
  }

  for (const [name, body] of Object.entries(brokenChunks)) {
    test(`${name} -> no complete request`, async (t) => {
      const client = await connectWire(t, gateway.port);
      client.send(chunkedHead + body + smuggled);
      const answers = readAnswers(await client.waitForClose());
      assert.ok(answers.length <= 1, 'no second answer');
      for (const { status } of answers) assert.equal(status, 400);
      assert.deepEqual(upstream.requests, []);
      assert.doesNotMatch(upstream.bytes, /GET \/smuggled/);
    });
  }

  test('a refused head behind a good request: that one is answered first, and nothing after it', async (t) => {
    const client = await connectWire(t, gateway.port);
    const bad = refusedHeads['TE chunked, identity']!;
    client.send(`GET /good HTTP/1.1\r\nHost: localhost\r\n\r\n${bad}`);
    const answers = readAnswers(await client.waitForClose());
    assert.deepEqual(
      answers.map(({ status, body }) => [status, status === 200 ? body : '']),
      [
        [200, 'upstream GET /good'],
        [400, ''],
      ],
    );
    assert.deepEqual(
      upstream.requests.map(({ url }) => url),
      ['/good'],
    );
  });

  test('the preface of HTTP/2 behind a request is no request', async (t) => {
    const client = await connectWire(t, gateway.port);
    client.send(`GET /good HTTP/1.1\r\nHost: localhost\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${smuggled}`);
    const answers = readAnswers(await client.waitForClose());
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 400],
    );
    assert.deepEqual(
      upstream.requests.map(({ url }) => url),
      ['/good'],
    );
  });

  test('one empty line before a request is overlooked (RFC 9112, 2.2)', async (t) => {
    const client = await connectWire(t, gateway.port);
    client.send('\r\nGET /front HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    assert.deepEqual(
      readAnswers(await client.waitForClose()).map(({ status }) => status),
      [200],
    );
  });

  test('an absolute target overrules Host, and the upstream hears one name', async (t) => {
    const client = await connectWire(t, gateway.port);
    client.send('GET http://127.0.0.1/front HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    await client.waitForClose();
    assert.deepEqual(
      upstream.requests.map(({ method, url }) => [method, url]),
      [['GET', '/front']],
    );
    assert.equal(upstream.requests[0]!.all('host').length, 1);
  });

  test('trailers that name a host or a user are not forwarded', async (t) => {
    const client = await connectWire(t, gateway.port);
    const trailers = 'Host: other\r\nAuthorization: Bearer x\r\nConnection: close\r\nX-Kept: y\r\n';
    const head = chunkedHead.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
    client.send(`${head}3\r\nabc\r\n0\r\n${trailers}\r\n`);
    assert.deepEqual(
      readAnswers(await client.waitForClose()).map(({ status }) => status),
      [200],
    );
    assert.deepEqual(
      upstream.requests.map(({ body, trailers: arrived }) => [body, arrived]),
      [['abc', ['X-Kept', 'y']]],
    );
    assert.doesNotMatch(upstream.bytes, /other|Bearer/);
  });

  test('an unknown expectation reaches the upstream unchanged, and the body follows once', async (t) => {
    const client = await connectWire(t, gateway.port);
    client.send(
      `POST /front HTTP/1.1\r\nHost: localhost\r\nExpect: 200-ok\r\nConnection: close\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    );
    const answers = readAnswers(await client.waitForClose());
    assert.equal(answers.length, 1);
    assert.ok([200, 417].includes(answers[0]!.status), String(answers[0]!.status));
    assert.ok(upstream.requests.every(({ url, body }) => url === '/front' && body === smuggled));
  });

  test('after all of this the gateway serves', async (t) => {
    const client = await connectWire(t, gateway.port);
    client.send('GET /end HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    assert.match(await client.waitForClose(), /upstream GET \/end$/);
    assert.equal(gateway.exitCode(), undefined);
  });
});
