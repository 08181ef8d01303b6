// Connections and streams outlive configuration changes that do not concern them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { describe, test } from 'node:test';
import { createCertificate } from '../self-signed-certificate.ts';
import {
  backendOn,
  fetchAnswer,
  openRequest,
  readAll,
  readChunk,
  receiveResponse,
  startForwardingGateway,
  startUpstream,
} from './forwarding-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };

async function startCounting(
  t: Parameters<typeof startUpstream>[0],
): Promise<{ port: number; connections: () => number; open: () => number; held: ServerResponse[] }> {
  let connections = 0;
  let open = 0;
  const held: ServerResponse[] = [];
  const { port, server } = await startUpstream(t, (request, response) => {
    if (request.url === '/stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      held.push(response);
    } else {
      response.end('ok');
    }
  });
  server.on('connection', (socket) => {
    connections += 1;
    open += 1;
    socket.once('close', () => (open -= 1));
  });
  return { port, connections: () => connections, open: () => open, held };
}

describe('reconcile', () => {
  test('nothing changed: the same connections', options, async (t) => {
    const upstream = await startCounting(t);
    const backend = backendOn([upstream.port]);
    const gateway = await startForwardingGateway(t, { backend });
    const before = gateway.upstreams.get(backend.key);
    for (let i = 0; i < 10; i++) {
      assert.equal((await fetchAnswer(gateway)).body, 'ok');
      gateway.reconcile({ ...backend });
    }
    assert.equal(gateway.upstreams.get(backend.key), before);
    assert.equal(upstream.connections(), 1);
  });

  test('endpoints come and go: the others keep their connections and all streams go on', options, async (t) => {
    const [kept, removed, added] = [await startCounting(t), await startCounting(t), await startCounting(t)];
    const gateway = await startForwardingGateway(t, { backend: backendOn([kept.port]) });
    const open = async (): Promise<Awaited<ReturnType<typeof receiveResponse>>> => {
      const message = openRequest(gateway, { path: '/stream' });
      message.end();
      return receiveResponse(message);
    };
    const first = await open();
    const pool = gateway.upstreams.get('default/upstream')!.endpoints[0]!.pool;
    gateway.reconcile(backendOn([removed.port]));
    const second = await open();
    gateway.reconcile(backendOn([kept.port, removed.port]));
    // `kept` was gone in between: its stream went on, its connections are new ones.
    assert.notEqual(gateway.upstreams.get('default/upstream')!.endpoints[0]!.pool, pool);
    const keptPool = gateway.upstreams.get('default/upstream')!.endpoints[0]!.pool;
    gateway.reconcile(backendOn([added.port, kept.port]));
    assert.equal(gateway.upstreams.get('default/upstream')!.endpoints[1]!.pool, keptPool);

    for (const [response, upstream] of [
      [first, kept],
      [second, removed],
    ] as const) {
      upstream.held[0]!.write('data: still here\n\n');
      assert.equal(await readChunk(response), 'data: still here\n\n');
      upstream.held[0]!.end('data: bye\n\n');
      assert.equal(await readAll(response), 'data: bye\n\n');
    }
    // The last stream of a removed endpoint takes its connection along.
    await waitFor(() => removed.open() === 0);
  });

  test('only what connections depend on makes new ones', options, async (t) => {
    const upstream = await startCounting(t);
    const backend = backendOn([upstream.port]);
    const gateway = await startForwardingGateway(t, { backend });
    const poolNow = (): unknown => gateway.upstreams.get(backend.key)!.endpoints[0]!.pool;
    const pool = poolNow();
    gateway.reconcile({ ...backend, fingerprint: 'other time-outs', idleTimeoutMs: 7_000, requestTimeoutMs: 9_000 });
    assert.equal(poolNow(), pool);
    assert.equal(gateway.upstreams.get(backend.key)!.config.idleTimeoutMs, 7_000);
    gateway.reconcile({ ...backend, fingerprint: 'other connect time-out', connectTimeoutMs: 1 });
    assert.notEqual(poolNow(), pool);
    gateway.reconcile({
      ...backend,
      fingerprint: 'tls',
      tls: { serverName: '', ca: undefined, insecureSkipVerify: false },
    });
    assert.notEqual(poolNow(), pool);
  });

  test('under load with a change at every request: no request fails', options, async (t) => {
    const upstreams = [await startCounting(t), await startCounting(t), await startCounting(t)];
    const ports = upstreams.map(({ port }) => port);
    const gateway = await startForwardingGateway(t, { backend: backendOn(ports) });
    let next = 0;
    const load = async (): Promise<void> => {
      while (next < 300) {
        next += 1;
        gateway.reconcile(backendOn(ports.filter((_, i) => i !== next % 3)));
        assert.equal((await fetchAnswer(gateway)).status, 200);
      }
    };
    await Promise.all([load(), load(), load(), load()]);
    assert.ok(gateway.contexts.every(({ reason }) => reason === undefined));
  });

  test('close waits for streams, destroy ends them as errors', options, async (t) => {
    const upstream = await startCounting(t);
    const gateway = await startForwardingGateway(t, { backend: backendOn([upstream.port]) });
    const message = openRequest(gateway, { path: '/stream' });
    message.end();
    const response = await receiveResponse(message);
    let closed = false;
    const closing = gateway.upstreams.close().then(() => (closed = true));
    upstream.held[0]!.write('data: 1\n\n');
    assert.equal(await readChunk(response), 'data: 1\n\n');
    assert.equal(closed, false);
    gateway.upstreams.destroy();
    await assert.rejects(readAll(response), { code: 'ECONNRESET' });
    await closing;
    assert.equal((await gateway.finished(0)).context.reason, 'upstream_aborted');
  });
});

test('connections are used again, and as many opened as requests run at once', options, async (t) => {
  const upstream = await startCounting(t);
  const gateway = await startForwardingGateway(t, { backend: backendOn([upstream.port]) });
  const streams = [];
  for (let i = 0; i < 5; i++) {
    const message = openRequest(gateway, { path: '/stream' });
    message.end();
    streams.push(await receiveResponse(message));
  }
  assert.equal(upstream.connections(), 5);
  for (const held of upstream.held) held.end();
  await Promise.all(streams.map((stream) => readAll(stream)));
  for (let i = 0; i < 10; i++) await fetchAnswer(gateway);
  assert.equal(upstream.connections(), 5);
});

test('idle connections are closed after a while', options, async (t) => {
  const upstream = await startCounting(t);
  const gateway = await startForwardingGateway(t, {
    backend: backendOn([upstream.port]),
    limits: { keepAliveTimeoutMs: 20, keepAliveMaxTimeoutMs: 20 },
  });
  await fetchAnswer(gateway);
  await waitFor(() => upstream.open() === 0);
  assert.equal(gateway.upstreams.get('default/upstream')!.endpoints[0]!.pool.idleConnections, 0);
  assert.equal((await fetchAnswer(gateway)).body, 'ok');
});

test('requests spread over the endpoints by what is outstanding', options, async (t) => {
  const upstreams = [await startCounting(t), await startCounting(t)];
  const gateway = await startForwardingGateway(t, { backend: backendOn(upstreams.map(({ port }) => port)) });
  for (let i = 0; i < 10; i++) {
    const message = openRequest(gateway, { path: '/stream' });
    message.end();
    await receiveResponse(message);
  }
  assert.deepEqual(
    upstreams.map(({ held }) => held.length),
    [5, 5],
  );
});

describe('TLS', () => {
  const certificate = createCertificate({ names: ['mcp.internal'] });

  async function startTls(t: Parameters<typeof startUpstream>[0]): Promise<number> {
    const server = createHttpsServer({ key: certificate.key, cert: certificate.cert }, (request, response) => {
      response.end(
        JSON.stringify({ serverName: (request.socket as TLSSocket).servername, host: request.headers.host }),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    return (server.address() as AddressInfo).port;
  }

  test('the configured name is asked for and checked, whatever the Host', options, async (t) => {
    const port = await startTls(t);
    const backend = backendOn([port], {
      tls: { serverName: 'mcp.internal', ca: certificate.cert, insecureSkipVerify: false },
    });
    const gateway = await startForwardingGateway(t, { backend, plan: () => ({ host: 'public.example' }) });
    for (let i = 0; i < 3; i++)
      assert.deepEqual(JSON.parse((await fetchAnswer(gateway)).body), {
        serverName: 'mcp.internal',
        host: 'public.example',
      });
  });

  test('an unknown authority or a wrong name is unreachable; unless checking is off', options, async (t) => {
    const port = await startTls(t);
    const strange = await startForwardingGateway(t, {
      backend: backendOn([port], { tls: { serverName: 'mcp.internal', ca: undefined, insecureSkipVerify: false } }),
    });
    const refused = await fetchAnswer(strange);
    assert.equal(refused.status, 502);
    assert.equal(JSON.parse(refused.body).error, 'upstream_unreachable');
    assert.match(strange.contexts[0]!.detail!, /SELF_SIGNED|self-signed/i);
    const misnamed = await startForwardingGateway(t, {
      backend: backendOn([port], {
        tls: { serverName: 'other.internal', ca: certificate.cert, insecureSkipVerify: false },
      }),
    });
    assert.equal((await fetchAnswer(misnamed)).status, 502);
    const byAddress = await startForwardingGateway(t, {
      backend: backendOn([port], { tls: { serverName: '', ca: certificate.cert, insecureSkipVerify: false } }),
    });
    assert.equal((await fetchAnswer(byAddress)).status, 502);
    const unchecked = await startForwardingGateway(t, {
      backend: backendOn([port], { tls: { serverName: '', ca: undefined, insecureSkipVerify: true } }),
    });
    assert.equal((await fetchAnswer(unchecked)).status, 200);
  });
});
