// What goes over a connection to an HTTP/1.1 upstream, byte for byte, and what is made of its answers.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { classifyUpstreamError } from '../../src/gateway/forward/upstream/upstream-error.ts';
import { send, startEndpoint, type RecordedCall } from './http1-upstream-fixture.ts';
import { waitFor, waitForStandstill } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };
const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

describe('requests', () => {
  test('Host first, then the fields as they are, nothing else', options, async (t) => {
    const { pool, peer } = await startEndpoint(t);
    send(pool, { target: '/a?b=c', headers: ['X-Case', 'a', 'accept', '*/*', 'X-Case', '\xe9'] });
    assert.equal(
      await (await peer(0)).expect('\r\n\r\n'),
      'GET /a?b=c HTTP/1.1\r\nhost: upstream.example\r\nX-Case: a\r\naccept: */*\r\nX-Case: \xe9\r\n\r\n',
    );
  });

  test('a body with a length, an empty one, and none', options, async (t) => {
    const { pool, peer } = await startEndpoint(t);
    const exchange = async (hasBody: boolean, contentLength: number | undefined, body: string): Promise<string> => {
      const sent = send(pool, { method: 'POST', hasBody, contentLength });
      await sent.saw('start');
      if (hasBody) {
        for (const character of body) sent.call.writeBody(Buffer.from(character));
        sent.call.endBody([]);
      }
      const upstream = await peer(0);
      const received = await upstream.expect(`\r\n\r\n${body}`);
      upstream.socket.write(ok);
      await sent.complete();
      return received.slice(received.indexOf('example\r\n') + 9);
    };
    assert.equal(await exchange(true, 3, 'abc'), 'content-length: 3\r\n\r\nabc');
    assert.equal(await exchange(true, 0, ''), 'content-length: 0\r\n\r\n');
    assert.equal(await exchange(false, undefined, ''), 'content-length: 0\r\n\r\n');
    // With its head it would be complete.
    const held = send(pool, { method: 'POST', hasBody: true, contentLength: 0 });
    await held.saw('start');
    assert.equal(held.call.writeBody(Buffer.from('more')), true);
    await held.failed();
    assert.equal((await peer(0)).received, '');
    const get = send(pool);
    assert.ok(!(await (await peer(1)).expect('\r\n\r\n')).includes('content-length'));
    get.call.abort();
  });

  test(
    'a body of unknown length is chunked, with its trailers, and its connection is used again',
    options,
    async (t) => {
      const { pool, peer, peers } = await startEndpoint(t);
      for (const wantsTrailers of [false, true]) {
        const sent = send(pool, {
          method: 'POST',
          hasBody: true,
          contentLength: wantsTrailers ? 9 : undefined,
          wantsTrailers,
        });
        await sent.saw('start');
        const upstream = await peer(0);
        // The head does not wait for the body.
        assert.match(await upstream.expect('\r\n\r\n'), /\r\ntransfer-encoding: chunked\r\n\r\n$/);
        sent.call.writeBody(Buffer.from('one'));
        sent.call.writeBody(Buffer.alloc(0));
        sent.call.writeBody(Buffer.alloc(20, 'x'));
        sent.call.endBody(wantsTrailers ? ['x-sum', '1', 'x-other', '2'] : []);
        const end = wantsTrailers ? '0\r\nx-sum: 1\r\nx-other: 2\r\n\r\n' : '0\r\n\r\n';
        assert.equal(await upstream.expect('0\r\n'), `3\r\none\r\n14\r\n${'x'.repeat(20)}\r\n${end}`);
        upstream.socket.write(ok);
        await sent.complete();
      }
      assert.equal(peers.length, 1);
    },
  );

  test('head and body that are there together leave in one segment', options, async (t) => {
    const { pool, peer } = await startEndpoint(t);
    const segments: string[] = [];
    const first = send(pool);
    const upstream = await peer(0);
    await upstream.expect('\r\n\r\n');
    upstream.socket.write(ok);
    await first.complete();
    upstream.socket.on('data', (chunk: Buffer) => segments.push(chunk.toString()));
    const second = send(pool, { method: 'POST', hasBody: true, contentLength: 4 });
    second.during = (event) => {
      if (event !== 'start') return;
      second.call.writeBody(Buffer.from('body'));
      second.call.endBody([]);
    };
    await upstream.expect('body');
    assert.equal(segments.length, 1);
  });

  test('a body that is not as long as it says never looks complete', options, async (t) => {
    const { pool, peer } = await startEndpoint(t);
    for (const [index, body] of ['abcd', 'ab'].entries()) {
      const sent = send(pool, { method: 'POST', hasBody: true, contentLength: 3 });
      await sent.saw('start');
      sent.call.writeBody(Buffer.from(body));
      sent.call.endBody([]);
      assert.match((await sent.failed()).message, /Content-Length/);
      const upstream = await peer(index);
      await upstream.gone();
      assert.ok(!upstream.received.includes('abc'));
    }
  });

  test('a head that cannot be written is an error of the gateway, and not a byte of it is sent', options, async (t) => {
    const { pool, peers } = await startEndpoint(t);
    for (const request of [
      { target: '/a b' },
      { target: '/\r\nx: y' },
      { method: 'GE T' },
      { host: 'a\r\nx: y' },
      { headers: ['x', 'a\r\ny: z'] },
      { headers: ['a b', 'c'] },
      { upgrade: 'x\r\ny: z' },
    ]) {
      const sent = send(pool, request);
      assert.equal(classifyUpstreamError(await sent.failed(), 'connecting'), 'internal_error');
      assert.deepEqual(sent.events, ['error']);
    }
    assert.equal(pool.outstanding, 0);
    await waitFor(() => peers.every(({ isEnded, isClosed }) => isEnded || isClosed));
    assert.ok(peers.every(({ received }) => received === ''));
  });

  test('a slow upstream says when it takes more', options, async (t) => {
    const { pool, peer } = await startEndpoint(t);
    const sent = send(pool, { method: 'POST', hasBody: true });
    await sent.saw('start');
    const { socket } = await peer(0);
    socket.pause();
    const chunk = Buffer.alloc(65_536, 'x');
    let written = 0;
    const pump = (): void => {
      do written += chunk.length;
      while (sent.call.writeBody(chunk));
    };
    sent.during = (event) => {
      if (event === 'drain') pump();
    };
    pump();
    await waitForStandstill(() => written);
    const before = written;
    assert.ok(before < 64 * 1024 * 1024, String(before));
    socket.resume();
    await waitFor(() => written > before * 2);
    sent.call.abort();
  });
});

describe('answers', () => {
  async function answer(t: Parameters<typeof startEndpoint>[0], text: string, isEnd = false): Promise<RecordedCall> {
    const { pool, peer } = await startEndpoint(t);
    const sent = send(pool);
    const { socket } = await peer(0);
    if (isEnd) socket.end(text, 'latin1');
    else socket.write(text, 'latin1');
    return sent;
  }

  test('with a length, in chunks with trailers, until the end', options, async (t) => {
    const sized = await (await answer(t, 'HTTP/1.1 201 Made\r\nX-A: 1\r\nContent-Length: 3\r\n\r\nabc')).complete();
    assert.deepEqual([sized.status, sized.headers, sized.body], [201, ['X-A', '1', 'Content-Length', '3'], 'abc']);
    const chunked = await (
      await answer(
        t,
        'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nx-sum: 1\r\n\r\n',
      )
    ).complete();
    assert.deepEqual([chunked.body, chunked.trailers], ['abcde', ['x-sum', '1']]);
    const open = await (await answer(t, 'HTTP/1.0 200 OK\r\n\r\nall of it', true)).complete();
    assert.equal(open.body, 'all of it');
    for (const { events } of [sized, chunked, open]) assert.deepEqual(events, ['start', 'head', 'data', 'end']);
  });

  test('the same, byte by byte', options, async (t) => {
    const { pool, peer, peers } = await startEndpoint(t);
    const text =
      'HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n' +
      '2;a="b"\r\nab\r\n3\r\ncde\r\n0\r\nx-sum: 1\r\n\r\n';
    for (let i = 0; i < 2; i++) {
      const sent = send(pool);
      const upstream = await peer(0);
      await upstream.expect('\r\n\r\n');
      for (const character of text) {
        upstream.socket.write(character);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await sent.complete();
      assert.deepEqual([sent.status, sent.body, sent.trailers], [200, 'abcde', ['x-sum', '1']]);
      assert.deepEqual(sent.informational, [[103, ['link', '<a>']]]);
      assert.deepEqual(sent.events, ['start', 'informational', 'head', 'data', 'end']);
    }
    assert.equal(peers.length, 1);
  });

  test('HEAD, 204 and 304 have no body, whatever they say', options, async (t) => {
    const { pool, peer, peers } = await startEndpoint(t);
    for (const [method, status, field] of [
      ['HEAD', 200, 'content-length: 42'],
      ['HEAD', 200, 'transfer-encoding: chunked'],
      ['GET', 204, 'x: y'],
      ['GET', 304, 'content-length: 42'],
      ['GET', 200, 'content-length: 0'],
    ] as const) {
      const sent = send(pool, { method });
      const upstream = await peer(0);
      await upstream.expect('\r\n\r\n');
      upstream.socket.write(`HTTP/1.1 ${status} X\r\n${field}\r\n\r\n`);
      await sent.complete();
      assert.deepEqual(sent.events, ['start', 'head', 'end']);
    }
    assert.equal(peers.length, 1);
  });

  test('informational ones, 100 among them, come before the answer', options, async (t) => {
    const sent = await answer(t, `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 X\r\na: b\r\n\r\n${ok}`);
    await sent.complete();
    assert.deepEqual(sent.informational, [
      [100, []],
      [102, ['a', 'b']],
    ]);
    assert.equal(sent.body, 'ok');
  });

  const head = 'HTTP/1.1 200 OK\r\n';
  const chunked = `${head}transfer-encoding: chunked\r\n\r\n`;
  for (const [what, text, reason] of [
    ['no HTTP', 'SSH-2.0-x\r\n\r\n', 'upstream_protocol_error'],
    ['HTTP/2', 'HTTP/2 200 OK\r\n\r\n', 'upstream_protocol_error'],
    ['an empty line first', `\r\n${ok}`, 'upstream_protocol_error'],
    ['a bare line feed', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n', 'upstream_protocol_error'],
    ['a folded field', `${head}a: b\r\n c\r\n\r\n`, 'upstream_protocol_error'],
    ['a space before a colon', `${head}content-length : 2\r\n\r\nok`, 'upstream_protocol_error'],
    ['two lengths', `${head}content-length: 2\r\ncontent-length: 2\r\n\r\nok`, 'upstream_protocol_error'],
    ['no number as its length', `${head}content-length: +2\r\n\r\nok`, 'upstream_protocol_error'],
    ['length and chunks', `${head}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n`, 'upstream_protocol_error'],
    ['another coding', `${head}transfer-encoding: gzip, chunked\r\n\r\n`, 'upstream_protocol_error'],
    ['a long head', `${head}x: ${'y'.repeat(70_000)}\r\n\r\n`, 'upstream_protocol_error'],
    ['a head without an end', `${head}x: ${'y'.repeat(70_000)}`, 'upstream_protocol_error'],
    ['many fields', `${head}${'a: b\r\n'.repeat(1_001)}\r\n`, 'upstream_protocol_error'],
    ['a 101 that nobody asked for', 'HTTP/1.1 101 X\r\nupgrade: x\r\n\r\n', 'upstream_protocol_error'],
    ['a chunk without a size', `${chunked}\r\n`, 'upstream_aborted'],
    ['a chunk that is longer than it says', `${chunked}1\r\nab\r\n`, 'upstream_aborted'],
    ['trailers that are none', `${chunked}0\r\n:\r\n\r\n`, 'upstream_aborted'],
  ] as const) {
    test(`${what}: ${reason}`, options, async (t) => {
      const sent = await answer(t, text);
      const error = await sent.failed();
      const phase = sent.events.includes('head') ? 'answering' : 'sent';
      assert.equal(classifyUpstreamError(error, phase), reason);
      assert.equal(sent.events.at(-1), 'error');
    });
  }

  for (const [what, text, reason] of [
    ['before the head', '', 'upstream_reset'],
    ['after an informational one', 'HTTP/1.1 100 Continue\r\n\r\n', 'upstream_reset'],
    ['in the head', `${head}a: b\r\n`, 'upstream_reset'],
    ['in a body with a length', `${head}content-length: 3\r\n\r\nab`, 'upstream_aborted'],
    ['in a chunk', `${chunked}3\r\nab`, 'upstream_aborted'],
    ['before the last chunk', `${chunked}2\r\nab\r\n`, 'upstream_aborted'],
    ['in the trailers', `${chunked}0\r\na: b\r\n`, 'upstream_aborted'],
  ] as const) {
    for (const isReset of [false, true]) {
      test(`${isReset ? 'a reset' : 'an end'} ${what}: ${reason}`, options, async (t) => {
        const { pool, peer } = await startEndpoint(t);
        const sent = send(pool);
        const { socket, ...upstream } = await peer(0);
        assert.equal(upstream.isEnded, false);
        if (text !== '') {
          socket.write(text);
          if (text.includes('100 Continue')) await sent.saw('informational');
          else if (reason === 'upstream_aborted') await sent.saw('head');
        }
        if (isReset) socket.resetAndDestroy();
        else socket.end();
        const error = await sent.failed();
        assert.equal(classifyUpstreamError(error, sent.events.includes('head') ? 'answering' : 'sent'), reason);
        assert.equal(pool.outstanding, 0);
      });
    }
  }

  test('a reset is not the end of an answer that has none', options, async (t) => {
    const { pool, peer } = await startEndpoint(t);
    const sent = send(pool);
    const { socket } = await peer(0);
    socket.write(`${head}\r\npart`);
    await sent.saw('data');
    socket.resetAndDestroy();
    await sent.failed();
    assert.deepEqual(sent.events, ['start', 'head', 'data', 'error']);
  });

  test('a slow reader pauses the upstream', options, async (t) => {
    const { pool, peer } = await startEndpoint(t);
    const total = 64 * 1024 * 1024;
    const sent = send(pool);
    sent.takesMore = false;
    const upstream = await peer(0);
    await upstream.expect('\r\n\r\n');
    upstream.socket.write(`${head}content-length: ${total}\r\n\r\n`);
    const chunk = Buffer.alloc(65_536, 'x');
    let written = 0;
    const pump = (): void => {
      while (written < total) {
        written += chunk.length;
        if (!upstream.socket.write(chunk)) return void upstream.socket.once('drain', pump);
      }
    };
    pump();
    await waitForStandstill(() => written);
    assert.ok(written < total / 2, String(written));
    assert.equal(sent.chunks.length, 1);
    // Says no to every chunk, and wants more while it is handed over: nothing stands still.
    sent.during = () => sent.call.resume();
    sent.call.resume();
    await sent.complete();
    assert.equal(sent.body.length, total);
  });

  test('chunks wait one by one, the end and the trailers behind them', options, async (t) => {
    const { pool, peer } = await startEndpoint(t);
    const sent = send(pool);
    sent.takesMore = false;
    const { socket } = await peer(0);
    socket.end(`${chunked}1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\nx: y\r\n\r\n`);
    for (const body of ['a', 'ab', 'abc']) {
      await waitFor(() => sent.body === body);
      assert.ok(!sent.isOver);
      sent.call.resume();
    }
    await sent.complete();
    assert.deepEqual(sent.trailers, ['x', 'y']);
  });

  test('an end that comes while nothing is taken is told afterwards', options, async (t) => {
    for (const [text, last] of [
      [`${head}\r\nab`, 'end'],
      [`${chunked}1\r\na\r\n1\r\nb\r\n`, 'error'],
    ] as const) {
      const { pool, peer } = await startEndpoint(t);
      const sent = send(pool);
      sent.takesMore = false;
      const { socket } = await peer(0);
      socket.end(text);
      await sent.saw('data');
      assert.equal(sent.events.at(-1), 'data');
      sent.during = () => sent.call.resume();
      sent.call.resume();
      await waitFor(() => sent.isOver);
      assert.equal(sent.events.at(-1), last);
      assert.equal(sent.body, 'ab');
    }
  });

  test('a mistake in an event costs the call and not the process', options, async (t) => {
    for (const event of ['head', 'data', 'informational']) {
      const { pool, peer } = await startEndpoint(t);
      const sent = send(pool);
      sent.during = (now) => {
        if (now === event) throw new Error('ours');
      };
      const upstream = await peer(0);
      upstream.socket.write(`HTTP/1.1 103 X\r\n\r\n${ok}`);
      assert.equal((await sent.failed()).message, 'ours');
      await upstream.gone();
      assert.equal(pool.outstanding, 0);
    }
  });

  test('after an abort in an event nothing more is told', options, async (t) => {
    for (const event of ['start', 'informational', 'head', 'data']) {
      const { pool, peer } = await startEndpoint(t);
      const sent = send(pool);
      sent.during = (now) => {
        if (now === event) sent.call.abort();
      };
      const upstream = await peer(0);
      upstream.socket.write(`HTTP/1.1 103 X\r\n\r\n${ok}`);
      await upstream.gone();
      assert.equal(sent.events.at(-1), event);
      assert.equal(pool.outstanding, 0);
    }
  });
});

describe('upgrades', () => {
  test(
    'the stream begins with the bytes after the head, and its place is taken until it closes',
    options,
    async (t) => {
      const { pool, peer } = await startEndpoint(t);
      const sent = send(pool, { upgrade: 'websocket', headers: ['sec-websocket-key', 'x'] });
      const upstream = await peer(0);
      assert.equal(
        await upstream.expect('\r\n\r\n'),
        'GET / HTTP/1.1\r\nhost: upstream.example\r\nsec-websocket-key: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
      );
      upstream.socket.write('HTTP/1.1 100 X\r\n\r\nHTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\nHTTP/1.1 early');
      await sent.saw('upgrade');
      assert.deepEqual(sent.events, ['start', 'informational', 'upgrade']);
      assert.deepEqual([sent.status, sent.headers], [101, ['Upgrade', 'websocket']]);
      let received = '';
      sent.stream!.on('data', (chunk: Buffer) => (received += chunk.toString())).resume();
      await waitFor(() => received === 'HTTP/1.1 early');
      sent.stream!.write('hello');
      await upstream.expect('hello');
      upstream.socket.write(' late');
      await waitFor(() => received === 'HTTP/1.1 early late');
      assert.equal(pool.outstanding, 1);
      // One direction at a time.
      sent.stream!.end();
      await waitFor(() => upstream.isEnded);
      upstream.socket.end(' bye');
      await waitFor(() => pool.outstanding === 0);
      assert.equal(received, 'HTTP/1.1 early late bye');
      assert.deepEqual(sent.events, ['start', 'informational', 'upgrade']);
    },
  );

  test('an answer other than 101 is one like any other, and the connection is used again', options, async (t) => {
    const { pool, peer, peers } = await startEndpoint(t);
    for (const upgrade of ['websocket', undefined, undefined]) {
      const sent = send(pool, { upgrade });
      const upstream = await peer(0);
      await upstream.expect('\r\n\r\n');
      upstream.socket.write(ok);
      assert.equal((await sent.complete()).body, 'ok');
    }
    assert.equal(peers.length, 1);
  });
});
