// Mirrors get copies and change nothing.
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { BackendConfig } from '../../src/gateway/config/runtime-config.ts';
import type { ForwardPlan } from '../../src/gateway/forward/forward-plan.ts';
import {
  backendOn,
  fetchAnswer,
  findClosedPort,
  openRequest,
  readAll,
  receiveResponse,
  startForwardingGateway,
  startUpstream,
  withBody,
} from './forwarding-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };

function mirrorTo(...backends: BackendConfig[]): () => Partial<ForwardPlan> {
  return () => ({
    mirrors: backends.map((backend) => ({
      backend,
      target: '/shadow?x=1',
      host: 'mirror.example',
      withoutToken: false,
    })),
  });
}

test('a mirror gets the whole request, and its answer is dropped', options, async (t) => {
  const main = await startUpstream(
    t,
    (request, response) => void withBody(request, (body) => response.end(`main ${body}`)),
  );
  const copies: { url: string; host: string; header: string; method: string; body: string }[] = [];
  const mirror = await startUpstream(t, (request, response) => {
    void withBody(request, (body) => {
      copies.push({
        url: request.url!,
        host: request.headers.host!,
        header: String(request.headers['x-test']),
        method: request.method!,
        body,
      });
      response.writeHead(500).end('mirror');
    });
  });
  const shadow = backendOn([mirror.port], { key: 'default/mirror' });
  const gateway = await startForwardingGateway(t, {
    backend: backendOn([main.port]),
    others: [shadow],
    plan: mirrorTo(shadow),
  });
  const answer = await fetchAnswer(gateway, { method: 'POST', headers: { 'x-test': '1' } }, 'the body');
  assert.deepEqual([answer.status, answer.body], [200, 'main the body']);
  assert.equal((await fetchAnswer(gateway)).body, 'main ');
  await waitFor(() => copies.length === 2);
  assert.deepEqual(copies[0], {
    url: '/shadow?x=1',
    host: 'mirror.example',
    header: '1',
    method: 'POST',
    body: 'the body',
  });
  assert.equal(copies[1]!.method, 'GET');
});

test('a dead mirror, or one that is not there, costs nothing', options, async (t) => {
  const main = await startUpstream(t, (request, response) => void withBody(request, (body) => response.end(body)));
  const dead = backendOn([await findClosedPort()], { key: 'default/dead' });
  const gateway = await startForwardingGateway(t, {
    backend: backendOn([main.port]),
    others: [dead],
    plan: mirrorTo(dead, backendOn([], { key: 'default/unknown' })),
  });
  assert.equal((await fetchAnswer(gateway, { method: 'POST' }, 'x')).body, 'x');
  assert.equal((await gateway.finished(0)).context.reason, undefined);
});

test('a slow mirror is given up and never holds the request up', options, async (t) => {
  const total = 32 * 1024 * 1024;
  const main = await startUpstream(t, (request, response) => {
    let received = 0;
    request.on('data', (chunk: Buffer) => (received += chunk.length));
    request.on('end', () => response.end(String(received)));
  });
  let copy: IncomingMessage | undefined;
  let closed = false;
  const mirror = await startUpstream(t, (request) => {
    copy = request.pause();
    request.on('error', () => {});
    request.once('close', () => (closed = true));
  });
  const shadow = backendOn([mirror.port], { key: 'default/mirror' });
  const gateway = await startForwardingGateway(t, {
    backend: backendOn([main.port]),
    others: [shadow],
    plan: mirrorTo(shadow),
    limits: { mirrorBufferBytes: 65_536 },
  });
  const message = openRequest(gateway, { method: 'POST', headers: { 'content-length': String(total) } });
  const chunk = Buffer.alloc(65_536, 'x');
  for (let sent = 0; sent < total; sent += chunk.length) {
    if (!message.write(chunk)) await new Promise((resolve) => message.once('drain', resolve));
  }
  message.end();
  assert.equal(await readAll(await receiveResponse(message)), String(total));
  await waitFor(() => gateway.upstreams.get(shadow.key)!.endpoints[0]!.outstanding === 0);
  // A server that reads nothing does not notice either that the connection is gone.
  copy!.resume();
  await waitFor(() => closed);
  assert.equal(copy!.complete, false);
});

test('a request that breaks off does not reach the mirror as a complete one', options, async (t) => {
  const main = await startUpstream(t, (request) => void request.resume().on('error', () => {}));
  const seen: boolean[] = [];
  let begun = false;
  const mirror = await startUpstream(t, (request) => {
    begun = true;
    request.resume().on('error', () => {});
    request.once('close', () => seen.push(request.complete));
  });
  const shadow = backendOn([mirror.port], { key: 'default/mirror' });
  const gateway = await startForwardingGateway(t, {
    backend: backendOn([main.port]),
    others: [shadow],
    plan: mirrorTo(shadow),
  });
  const message = openRequest(gateway, { method: 'POST', headers: { 'content-length': '100' } });
  message.write('a part');
  await waitFor(() => begun);
  message.destroy();
  await waitFor(() => seen.length === 1);
  assert.deepEqual(seen, [false]);
});

test('the endless answer of a mirror is closed after a while', options, async (t) => {
  const main = await startUpstream(t, (_request, response) => response.end('main'));
  let begun = 0;
  let closed = 0;
  const mirror = await startUpstream(t, (_request, response) => {
    begun += 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    response.once('close', () => (closed += 1));
  });
  const shadow = backendOn([mirror.port], { key: 'default/mirror' });
  // On a busy machine the copy may not even be there when its time is over: then with more time.
  for (let mirrorTimeoutMs = 50; ; mirrorTimeoutMs *= 2) {
    const gateway = await startForwardingGateway(t, {
      backend: backendOn([main.port]),
      others: [shadow],
      plan: mirrorTo(shadow),
      limits: { mirrorTimeoutMs },
    });
    assert.equal((await fetchAnswer(gateway)).body, 'main');
    await waitFor(() => gateway.upstreams.get(shadow.key)!.endpoints[0]!.outstanding === 0);
    if (begun > 0) break;
  }
  await waitFor(() => closed === begun);
});
