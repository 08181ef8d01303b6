// When a connection to an HTTP/1.1 upstream carries another request, and when it must not.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { send, startEndpoint, type TestEndpoint } from './http1-upstream-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };
const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** A whole exchange on the n-th connection. */
async function exchange({ pool, peer }: TestEndpoint, index: number, answer = ok): Promise<void> {
  const sent = send(pool);
  const upstream = await peer(index);
  await upstream.expect('\r\n\r\n');
  upstream.socket.write(answer);
  await sent.complete();
}

/** Resolves in the next check phase: what is asked for there takes a connection one poll later. */
const nextCheck = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a free connection is taken as soon as the input of the turn was read', options, async (t) => {
  const endpoint = await startEndpoint(t);
  await exchange(endpoint, 0);
  assert.equal(endpoint.pool.idleConnections, 1);
  await nextCheck();
  const sent = send(endpoint.pool);
  assert.deepEqual(sent.events, []);
  assert.equal(endpoint.pool.outstanding, 1);
  await nextCheck();
  assert.deepEqual(sent.events, ['start']);
  assert.equal(endpoint.pool.idleConnections, 0);
  assert.equal(endpoint.peers.length, 1);
});

test('bytes that lie in the kernel when a request comes do not become its answer', options, async (t) => {
  const endpoint = await startEndpoint(t);
  await exchange(endpoint, 0);
  const upstream = await endpoint.peer(0);
  await nextCheck();
  upstream.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged');
  const sent = send(endpoint.pool);
  const other = await endpoint.peer(1);
  await other.expect('\r\n\r\n');
  other.socket.write(ok);
  await sent.complete();
  assert.equal(sent.events.includes('error'), false);
});

test('a request from inside of the end of another one gets its connection', options, async (t) => {
  const endpoint = await startEndpoint(t);
  const first = send(endpoint.pool);
  let second: ReturnType<typeof send> | undefined;
  first.during = (event) => {
    if (event === 'end') second = send(endpoint.pool);
  };
  const upstream = await endpoint.peer(0);
  await upstream.expect('\r\n\r\n');
  upstream.socket.write(ok);
  await first.complete();
  await nextCheck();
  assert.deepEqual(second!.events, ['start']);
  await upstream.expect('\r\n\r\n');
  upstream.socket.write(ok);
  await second!.complete();
  assert.equal(endpoint.peers.length, 1);
});

test('the one used last is used next', options, async (t) => {
  const endpoint = await startEndpoint(t);
  const first = send(endpoint.pool);
  const one = await endpoint.peer(0);
  const second = send(endpoint.pool);
  const two = await endpoint.peer(1);
  two.socket.write(ok);
  await second.complete();
  one.socket.write(ok);
  await first.complete();
  await one.expect('\r\n\r\n');
  await two.expect('\r\n\r\n');
  send(endpoint.pool, { target: '/next' });
  await one.expect('/next');
  assert.equal(endpoint.pool.idleConnections, 1);
});

test('a connection whose last bytes were not wanted at once reads on', options, async (t) => {
  const endpoint = await startEndpoint(t);
  const sent = send(endpoint.pool);
  sent.takesMore = false;
  const upstream = await endpoint.peer(0);
  await upstream.expect('\r\n\r\n');
  upstream.socket.write(ok);
  await sent.complete();
  await exchange(endpoint, 0);
});

describe('not used again', () => {
  for (const [what, answer] of [
    ['an answer that says so', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'],
    ['an HTTP/1.0 answer', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok'],
    ['another answer right behind', `${ok}${ok}`],
    ['a byte right behind', `${ok}x`],
    ['a line end right behind', `${ok}\r\n`],
    ['bytes behind the last chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nx'],
    ['a body where there is none', 'HTTP/1.1 204 OK\r\n\r\nok'],
    ['a time that is over at once', 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok'],
  ] as const) {
    test(what, options, async (t) => {
      const endpoint = await startEndpoint(t);
      await exchange(endpoint, 0, answer);
      await endpoint.peers[0]!.gone();
      assert.equal(endpoint.pool.idleConnections, 0);
      await exchange(endpoint, 1);
    });
  }

  test('an HTTP/1.0 server that keeps the connection may keep it', options, async (t) => {
    const endpoint = await startEndpoint(t);
    const answer = 'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok';
    for (let i = 0; i < 3; i++) await exchange(endpoint, 0, answer);
    assert.equal(endpoint.peers.length, 1);
  });

  for (const [what, act] of [
    ['bytes while it is idle', (socket) => socket.write(ok)],
    ['an end while it is idle', (socket) => socket.end()],
    ['a reset while it is idle', (socket) => socket.resetAndDestroy()],
  ] as [string, (socket: TestEndpoint['peers'][0]['socket']) => void][]) {
    test(what, options, async (t) => {
      const endpoint = await startEndpoint(t);
      await exchange(endpoint, 0);
      act(endpoint.peers[0]!.socket);
      await waitFor(() => endpoint.pool.idleConnections === 0);
      await exchange(endpoint, 1);
    });
  }

  test('a connection of which the answer came before the end of the request', options, async (t) => {
    const endpoint = await startEndpoint(t);
    const sent = send(endpoint.pool, { method: 'POST', hasBody: true, contentLength: 10 });
    await sent.saw('start');
    sent.call.writeBody(Buffer.from('a part'));
    const upstream = await endpoint.peer(0);
    await upstream.expect('a part');
    upstream.socket.write(ok);
    await sent.complete();
    assert.deepEqual(sent.events, ['start', 'head', 'data', 'refused', 'end']);
    // The rest may still come, and goes nowhere.
    assert.equal(sent.call.writeBody(Buffer.from('rest')), true);
    sent.call.endBody([]);
    await upstream.gone();
    assert.equal(upstream.received, '');
    assert.equal(endpoint.pool.outstanding, 0);
    await exchange(endpoint, 1);
  });

  test('a connection of a request that was given up', options, async (t) => {
    const endpoint = await startEndpoint(t);
    const sent = send(endpoint.pool);
    const upstream = await endpoint.peer(0);
    await upstream.expect('\r\n\r\n');
    sent.call.abort();
    sent.call.abort();
    await upstream.gone();
    assert.equal(endpoint.pool.outstanding, 0);
    await exchange(endpoint, 1);
    assert.deepEqual(sent.events, ['start']);
  });

  test('a call that is over does nothing to the next one on its connection', options, async (t) => {
    const endpoint = await startEndpoint(t);
    const first = send(endpoint.pool);
    const upstream = await endpoint.peer(0);
    await upstream.expect('\r\n\r\n');
    upstream.socket.write(ok);
    await first.complete();
    const second = send(endpoint.pool, { method: 'POST', hasBody: true, contentLength: 2 });
    await second.saw('start');
    first.call.writeBody(Buffer.from('stray'));
    first.call.endBody([]);
    first.call.resume();
    first.call.abort();
    second.call.writeBody(Buffer.from('hi'));
    second.call.endBody([]);
    assert.ok((await upstream.expect('\r\n\r\nhi')).endsWith('\r\n\r\nhi'));
    upstream.socket.write(ok);
    await second.complete();
    assert.equal(endpoint.peers.length, 1);
  });
});

describe('how long a free connection is kept', () => {
  async function keep(
    t: Parameters<typeof startEndpoint>[0],
    field: string,
  ): Promise<{ endpoint: TestEndpoint; pass: (milliseconds: number) => void }> {
    let now = 0;
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const endpoint = await startEndpointWithRealTimers(t, () => now);
    const sent = send(endpoint.pool);
    const answered = Promise.withResolvers<void>();
    sent.during = (event) => {
      if (event === 'end') answered.resolve();
    };
    const socket = await endpoint.accepted;
    socket.write(`HTTP/1.1 200 OK\r\n${field}content-length: 2\r\n\r\nok`);
    await answered.promise;
    return {
      endpoint,
      pass(milliseconds) {
        now += milliseconds;
        t.mock.timers.tick(milliseconds);
      },
    };
  }

  async function startEndpointWithRealTimers(
    t: Parameters<typeof startEndpoint>[0],
    now: () => number,
  ): Promise<TestEndpoint & { accepted: Promise<TestEndpoint['peers'][0]['socket']> }> {
    const endpoint = await startEndpoint(t, {
      now,
      limits: { keepAliveTimeoutMs: 4_000, keepAliveMaxTimeoutMs: 10_000 },
    });
    const accepted = (async () => {
      await waitFor(() => endpoint.peers.length > 0);
      return endpoint.peers[0]!.socket;
    })();
    return { ...endpoint, accepted };
  }

  for (const [what, field, time] of [
    ['the server says nothing', '', 4_000],
    ['the server says how long, less a second', 'keep-alive: timeout=7, max=100\r\n', 6_000],
    ['the server says more than is believed', 'keep-alive: timeout=60\r\n', 10_000],
    ['the server says something else', 'keep-alive: max=100\r\n', 4_000],
  ] as const) {
    test(what, options, async (t) => {
      const { endpoint, pass } = await keep(t, field);
      pass(time - 1);
      assert.equal(endpoint.pool.idleConnections, 1);
      pass(1);
      assert.equal(endpoint.pool.idleConnections, 0);
    });
  }

  test(
    'one that was used in between is kept from then on, and no timer is left when there is none',
    options,
    async (t) => {
      const { endpoint, pass } = await keep(t, '');
      pass(3_000);
      const sent = send(endpoint.pool);
      // Not by waiting: the clock stands still.
      await nextCheck();
      assert.deepEqual(sent.events, ['start']);
      // Longer than any free connection is kept: this one is in use.
      pass(20_000);
      assert.ok(!sent.isOver);
      const done = Promise.withResolvers<void>();
      sent.during = (event) => {
        if (event === 'end') done.resolve();
      };
      endpoint.peers[0]!.socket.write(ok);
      await done.promise;
      pass(3_999);
      assert.equal(endpoint.pool.idleConnections, 1);
      pass(1);
      assert.equal(endpoint.pool.idleConnections, 0);
    },
  );

  test('one that is too old is not used, even when its timer is late', options, async (t) => {
    let now = 0;
    const endpoint = await startEndpoint(t, { now: () => now });
    await exchange(endpoint, 0);
    now = 4_000;
    const sent = send(endpoint.pool);
    assert.deepEqual(sent.events, []);
    await endpoint.peers[0]!.gone();
    const upstream = await endpoint.peer(1);
    upstream.socket.write(ok);
    await sent.complete();
  });
});

test('close lets go of free connections at once, and of the others when their requests end', options, async (t) => {
  const endpoint = await startEndpoint(t);
  const busy = send(endpoint.pool);
  const one = await endpoint.peer(0);
  await one.expect('\r\n\r\n');
  await exchange(endpoint, 1);
  let isClosed = false;
  const closing = endpoint.pool.close().then(() => (isClosed = true));
  await endpoint.peers[1]!.gone();
  assert.equal(isClosed, false);
  one.socket.write(ok);
  await busy.complete();
  await closing;
  await one.gone();
  assert.equal(endpoint.pool.idleConnections, 0);
});
