// Answers of MCP servers under rules over messages, from scripted upstreams through listener and forwarder: what was read is sent on, what
// is hidden does not arrive, and what cannot be read becomes an error that the client can tell from an answer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { describe, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { createAnswerFilter } from '../../src/gateway/mcp/answer/filter-answer.ts';
import {
  backendOn,
  fetchAnswer,
  findClosedPort,
  openRequest,
  readAll,
  readChunk,
  receiveResponse,
  startForwardingGateway,
  startRawUpstream,
  startUpstream,
  withBody,
} from './forwarding-fixture.ts';
import { call, list, post, readError, serve, startHttp2, tools } from './mcp-rules-answers-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };

describe('a body that was read', () => {
  test('is sent with its length, whatever the length was before', options, async (t) => {
    const seen: unknown[] = [];
    const gateway = await serve(
      t,
      (request, response) =>
        void withBody(request, (body) => {
          seen.push([
            request.headers['content-length'],
            request.headers['transfer-encoding'],
            request.headers['trailer'],
            body,
          ]);
          response.setHeader('content-type', 'application/json').end(tools('a'));
        }),
      { body: '[{"shortened":true}]' },
    );
    await post(gateway);
    const chunked = openRequest(gateway, {
      method: 'POST',
      headers: { trailer: 'x-sum', 'transfer-encoding': 'chunked' },
    });
    chunked.end();
    assert.equal((await receiveResponse(chunked)).statusCode, 200);
    assert.deepEqual(
      seen,
      Array.from({ length: 2 }, () => ['20', undefined, undefined, '[{"shortened":true}]']),
    );
  });

  test('an empty one stays one', options, async (t) => {
    const gateway = await serve(
      t,
      (request, response) =>
        void withBody(request, (body) =>
          response.setHeader('x-seen', `${request.headers['content-length']} ${body.length}`).end(),
        ),
      { body: '' },
    );
    assert.equal((await post(gateway)).headers['x-seen'], '0 0');
  });

  test('a large one goes through whole, also to an HTTP/2 upstream and to mirrors', options, async (t) => {
    const body = 'x'.repeat(4 * 1024 * 1024);
    const copies: number[] = [];
    const mirror = await startUpstream(
      t,
      (request, response) =>
        void withBody(request, (text) => {
          copies.push(text.length);
          response.end();
        }),
    );
    const shadow = backendOn([mirror.port], { key: 'default/mirror' });
    const mirrors = [{ backend: shadow, target: '/', host: 'mirror', withoutToken: false }];
    const gateway = await serve(
      t,
      (request, response) => void withBody(request, (text) => response.setHeader('x-length', text.length).end()),
      { body, others: [shadow], plan: { mirrors } },
    );
    assert.equal((await post(gateway)).headers['x-length'], String(body.length));
    await waitFor(() => copies.length === 1);
    assert.deepEqual(copies, [body.length]);

    const port = await startHttp2(
      t,
      (stream, headers) =>
        void withBody(stream, (text) => {
          stream.respond({ ':status': 200, 'x-length': `${String(headers['content-length'])} ${text.length}` });
          stream.end();
        }),
    );
    const second = await startForwardingGateway(t, {
      backend: backendOn([port], { protocol: 'h2c' }),
      plan: () => ({ body: Buffer.from(body), filterAnswer: createAnswerFilter(list) }),
    });
    assert.equal((await post(second)).headers['x-length'], `${body.length} ${body.length}`);
  });

  test('is sent again to another endpoint while not a byte of it was sent', options, async (t) => {
    const closed = await findClosedPort();
    const gateway = await serve(
      t,
      (request, response) => void withBody(request, (body) => response.setHeader('x-body', body).end()),
      { body: 'once more', ports: [closed] },
    );
    await waitFor('the closed endpoint is tried first', async () => {
      assert.equal((await post(gateway)).headers['x-body'], 'once more');
      return gateway.contexts.at(-1)!.retries > 0;
    });
  });

  test('a server that answers before it has read everything is heard', options, async (t) => {
    const port = await startRawUpstream(t, (socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'));
    });
    const gateway = await startForwardingGateway(t, {
      backend: backendOn([port]),
      plan: () => ({ body: Buffer.alloc(8 * 1024 * 1024, 'x'), filterAnswer: createAnswerFilter(call) }),
    });
    const answer = await post(gateway);
    assert.ok(answer.status === 413 || readError(answer) === '502 upstream_reset', answer.body);
  });
});

describe('a JSON answer', () => {
  test(
    'to a list request arrives filtered, with a right length and without what was true of the old body',
    options,
    async (t) => {
      const asked: unknown[] = [];
      const gateway = await serve(t, (request, response) => {
        asked.push(request.headers['accept-encoding']);
        const body = tools('a', 'hidden', 'b');
        response.writeHead(200, {
          'content-type': 'application/json; charset=utf-8',
          'content-length': body.length,
          etag: '"1"',
          'content-digest': 'sha-256=:x:',
          'repr-digest': 'sha-256=:x:',
          digest: 'x',
          'content-md5': 'x',
          'x-kept': 'y',
        });
        // In pieces.
        response.write(body.slice(0, 30));
        setImmediate(() => response.end(body.slice(30)));
      });
      const answer = await post(gateway, { 'accept-encoding': 'gzip, br' });
      assert.deepEqual([answer.status, answer.body], [200, tools('a', 'b')]);
      assert.equal(answer.headers['content-length'], String(tools('a', 'b').length));
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
      assert.equal(answer.headers['x-kept'], 'y');
      assert.equal(answer.headers['x-request-id'], gateway.contexts[0]!.requestId);
      for (const gone of ['etag', 'content-digest', 'repr-digest', 'digest', 'content-md5', 'transfer-encoding'])
        assert.equal(answer.headers[gone], undefined, gone);
      assert.deepEqual(asked, ['identity']);
    },
  );

  test('with nothing hidden stays as it is, trailers included', options, async (t) => {
    const gateway = await serve(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', etag: '"1"', trailer: 'x-sum' });
      response.write(tools('a'));
      response.addTrailers({ 'x-sum': '7' });
      response.end();
    });
    const answer = await post(gateway);
    assert.deepEqual([answer.body, answer.headers.etag, answer.trailers['x-sum']], [tools('a'), '"1"', '7']);
  });

  test('that changed loses its trailers', options, async (t) => {
    const gateway = await serve(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', trailer: 'x-sum' });
      response.write(tools('hidden'));
      response.addTrailers({ 'x-sum': '7' });
      response.end();
    });
    const answer = await post(gateway);
    assert.deepEqual([answer.body, answer.trailers], [tools(), {}]);
  });

  test('over HTTP/2 on both sides', options, async (t) => {
    const port = await startHttp2(t, (stream, headers) => {
      stream.respond({
        ':status': 200,
        'content-type': 'application/json',
        'x-asked': String(headers['accept-encoding']),
      });
      stream.end(tools('hidden', 'a'));
    });
    const gateway = await startForwardingGateway(t, {
      backend: backendOn([port], { protocol: 'h2c' }),
      plan: () => ({ body: Buffer.from('{}'), filterAnswer: createAnswerFilter(list) }),
    });
    const session = connectHttp2(`http://127.0.0.1:${gateway.port}`);
    t.after(() => session.destroy());
    const stream = session.request({ ':method': 'POST', ':path': '/' }, { endStream: true });
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    assert.deepEqual(
      [headers[':status'], headers['content-length'], headers['x-asked'], await readAll(stream)],
      [200, String(tools('a').length), 'identity', tools('a')],
    );
  });

  test('to a call is not looked at: it streams, compressed or broken or endless', options, async (t) => {
    const compressed = brotliCompressSync(tools('hidden'));
    const gateway = await serve(
      t,
      (request, response) => {
        response.setHeader('content-type', 'application/json');
        if (request.url === '/br') return void response.setHeader('content-encoding', 'br').end(compressed);
        response.write(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"hidden"}`);
        if (request.url === '/broken') response.end();
      },
      { expectation: call, limits: { maxBodyBytes: 10, maxEventBytes: 10 } },
    );
    const open = openRequest(gateway, { method: 'POST', path: '/open' }).end();
    const response = await receiveResponse(open);
    assert.match(await readChunk(response), /"hidden"\}$/);
    open.destroy();
    assert.match((await fetchAnswer(gateway, { method: 'POST', path: '/broken' })).body, /"hidden"\}$/);
    const answer = await fetchAnswer(gateway, { method: 'POST', path: '/br' });
    assert.equal(answer.headers['content-encoding'], 'br');
  });

  const broken: [title: string, answer: (response: ServerResponse) => void, error: string][] = [
    [
      'compressed',
      (response) => void response.setHeader('content-encoding', 'gzip').end(gzipSync(tools('a'))),
      '502 upstream_protocol_error',
    ],
    [
      'compressed and of an announced length',
      (response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'br', 'content-length': 3 })
          .end('abc'),
      '502 upstream_protocol_error',
    ],
    ['half of it', (response) => void response.end(tools('a').slice(0, 40)), '502 upstream_protocol_error'],
    [
      'with a key twice',
      (response) => void response.end('{"id":1,"result":{"tools":[],"tools":[]}}'),
      '502 upstream_protocol_error',
    ],
    [
      'a page',
      (response) => void response.setHeader('content-type', 'text/html').end('<p>'),
      '502 upstream_protocol_error',
    ],
    [
      'announced too large',
      (response) => void response.setHeader('content-length', 5_000).end('x'.repeat(5_000)),
      '502 upstream_protocol_error',
    ],
    ['too large', (response) => void response.write('x'.repeat(5_000)), '502 upstream_protocol_error'],
    [
      'endless',
      (response) => void setInterval(() => response.write('x'.repeat(100)), 1).unref(),
      '502 upstream_protocol_error',
    ],
    [
      'broken off',
      (response) => void response.write(tools('a').slice(0, 40), () => response.destroy()),
      '502 upstream_aborted',
    ],
  ];
  for (const [title, answer, error] of broken) {
    test(`${title}: nothing of it arrives`, options, async (t) => {
      const gateway = await serve(
        t,
        (_request, response) => {
          response.setHeader('content-type', 'application/json');
          response.on('error', () => {});
          answer(response);
        },
        { limits: { maxBodyBytes: 4_000, maxEventBytes: 4_000 } },
      );
      const received = await post(gateway);
      assert.equal(readError(received), error);
      const { context, clean } = await gateway.finished(0);
      assert.deepEqual([context.status, clean], [502, true]);
      assert.ok((context.detail ?? '').length > 0);
    });
  }

  test('an upstream that goes silent in the middle of a list is not waited for forever', options, async (t) => {
    const gateway = await serve(
      t,
      (_request, response) => void response.setHeader('content-type', 'application/json').write('{"id":1,'),
      { backend: { idleTimeoutMs: 200 } },
    );
    assert.equal(readError(await post(gateway)), '504 upstream_idle_timeout');
  });

  test('a mistake in judging closes the answer', options, async (t) => {
    const throwing = (): never => {
      throw new Error('oops');
    };
    const gateway = await serve(
      t,
      (_request, response) => void response.setHeader('content-type', 'application/json').end(tools('a')),
      {
        expectation: { ...list, judge: throwing },
      },
    );
    assert.equal(readError(await post(gateway)), '500 internal_error');
  });

  test('errors of the server and what has no body arrive as they are', options, async (t) => {
    const gateway = await serve(t, (request, response) => {
      const status = Number(request.url!.slice(1));
      if (status === 404) response.writeHead(404, { 'content-type': 'text/html' }).end('<p>tools</p>');
      else if (status === 400)
        response
          .writeHead(400, { 'content-type': 'application/json' })
          .end('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no \\"tools\\""}}');
      else response.writeHead(status, status === 304 ? { etag: '"1"' } : {}).end();
    });
    for (const [status, body] of [
      [404, '<p>tools</p>'],
      [400, '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no \\"tools\\""}}'],
      [204, ''],
      [304, ''],
      [202, ''],
      [307, ''],
    ] as const) {
      const answer = await fetchAnswer(gateway, { method: 'POST', path: `/${status}` });
      assert.deepEqual([answer.status, answer.body], [status, body]);
    }
    const head = await fetchAnswer(gateway, { method: 'HEAD', path: '/200' });
    assert.equal(head.status, 200);
  });
});
