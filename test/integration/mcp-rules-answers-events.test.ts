// Event streams of MCP servers under rules over messages, from scripted upstreams through listener and forwarder.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { silentLog } from '../../src/base/log.ts';
import type { ListenerConfig, PortConfig, RuntimeConfig } from '../../src/gateway/config/runtime-config.ts';
import type { AnswerExpectation } from '../../src/gateway/mcp/answer/answer-expectation.ts';
import { createAnswerFilter } from '../../src/gateway/mcp/answer/filter-answer.ts';
import { NotificationStreams } from '../../src/gateway/mcp/streams/list-changed.ts';
import type { McpAuthorizationConfig } from '../../src/gateway/config/mcp-authorization-config.ts';
import type { MessageVerdict } from '../../src/gateway/request/judged-messages.ts';
import { HostTable } from '../../src/gateway/route/table/hostname.ts';
import { fetchAnswer, openRequest, readAll, readChunk, receiveResponse } from './forwarding-fixture.ts';
import { base, list, post, readError, rules, serve, tools } from './mcp-rules-answers-fixture.ts';
import { waitFor, waitForStandstill } from '../kit/wait-for.ts';

const options = { timeout: 180_000 };

describe('an event stream', () => {
  const events = { 'content-type': 'text/event-stream' };

  test('arrives event by event, filtered, without a length and in time', options, async (t) => {
    let stream: ServerResponse | undefined;
    const gateway = await serve(t, (_request, response) => {
      stream = response.writeHead(200, { ...events, 'content-length': '1000', etag: 'x' });
      stream.flushHeaders();
    });
    const response = await receiveResponse(openRequest(gateway, { method: 'POST' }).end());
    assert.deepEqual([response.headers['content-length'], response.headers['etag']], [undefined, undefined]);
    stream!.write('id: 1\ndata: {"method":"notifications/progress"}\n\nid: 2\ndata: ');
    assert.equal(await readChunk(response), 'id: 1\ndata: {"method":"notifications/progress"}\n\n');
    stream!.write(tools('hidden', 'a'));
    stream!.write('\n\n');
    assert.equal(await readChunk(response), `id: 2\ndata: ${tools('a')}\n\n`);
    response.destroy();
  });

  test('of a call and of a GET is filtered as well; a client that is slow holds the upstream', options, async (t) => {
    const event = `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${'x'.repeat(1_000)}"}}\n\n`;
    const total = 40_000;
    let written = 0;
    const gateway = await serve(
      t,
      (_request, response) => {
        response.writeHead(200, events);
        response.on('error', () => {});
        const pump = (): void => {
          while (written < total) {
            written += 1;
            if (!response.write(written % 100 === 0 ? `data: ${tools('hidden', 'a')}\n\n` : event)) {
              response.once('drain', pump);
              return;
            }
          }
          response.end();
        };
        pump();
      },
      { expectation: base },
    );
    const response = await receiveResponse(openRequest(gateway).end());
    // Nobody reads: the upstream comes to a halt long before its end.
    await waitForStandstill(() => written);
    assert.ok(written < total, `${written} events were taken`);
    const text = await readAll(response);
    assert.equal(text.split(tools('a')).length, 1 + total / 100);
    assert.ok(!text.includes('hidden'));
    assert.equal(text.split(event).length, 1 + total - total / 100);
  });

  const ends: [title: string, goOn: (response: ServerResponse) => void, reason: string][] = [
    ['an event that is too large', (response) => void response.write('x'.repeat(5_000)), 'upstream_protocol_error'],
    ['an upstream that breaks off', (response) => void response.destroy(), 'upstream_aborted'],
  ];
  for (const [title, goOn, reason] of ends) {
    test(`${title} ends it as an error`, options, async (t) => {
      let stream: ServerResponse | undefined;
      const gateway = await serve(
        t,
        (_request, response) => {
          response.on('error', () => {});
          stream = response.writeHead(200, events);
          stream.write('data: 1\n\ndata: 2');
        },
        { limits: { maxBodyBytes: 4_000, maxEventBytes: 4_000 } },
      );
      const response = await receiveResponse(openRequest(gateway, { method: 'POST' }).end());
      assert.equal(await readChunk(response), 'data: 1\n\n');
      goOn(stream!);
      await assert.rejects(readAll(response));
      const { context, clean } = await gateway.finished(0);
      assert.deepEqual([clean, context.reason], [false, reason]);
    });
  }

  test('compressed, it does not begin', options, async (t) => {
    const gateway = await serve(
      t,
      (_request, response) =>
        void response.writeHead(200, { ...events, 'content-encoding': 'gzip' }).end(gzipSync('data: 1\n\n')),
      {
        expectation: base,
      },
    );
    assert.equal(readError(await fetchAnswer(gateway)), '502 upstream_protocol_error');
  });

  test(
    'the end of an event that was not complete is judged too, and a problem is noted for the operator',
    options,
    async (t) => {
      const gateway = await serve(
        t,
        (_request, response) => void response.writeHead(200, events).end(`data: {"tools":\n\ndata: ${tools('hidden')}`),
      );
      const { body } = await post(gateway);
      assert.match(body, /^data: \{"jsonrpc":"2\.0","id":1,"error":\{"code":-32603,.*\n\ndata: \{.*"tools":\[\]\}\}$/);
      assert.equal(gateway.contexts[0]!.detail, 'the upstream sent a list that is not JSON');
    },
  );
});

describe('a batch of which messages were refused', () => {
  const refused = '{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"Unknown tool: x"}}';
  const batch: AnswerExpectation = { ...list, injected: [refused], isBatch: true };

  test('gets all answers in one', options, async (t) => {
    const gateway = await serve(
      t,
      (_request, response) =>
        void response.setHeader('content-type', 'application/json').end(`[${tools('hidden', 'a')}]`),
      { expectation: batch },
    );
    const answer = await post(gateway);
    assert.deepEqual([answer.status, JSON.parse(answer.body)], [200, JSON.parse(`[${tools('a')},${refused}]`)]);
    assert.equal(answer.headers['content-length'], String(answer.body.length));
  });

  test('gets them as events, ours at once', options, async (t) => {
    let stream: ServerResponse | undefined;
    const gateway = await serve(
      t,
      (_request, response) =>
        (stream = response.writeHead(200, { 'content-type': 'text/event-stream' })).flushHeaders(),
      { expectation: batch },
    );
    const response = await receiveResponse(openRequest(gateway, { method: 'POST' }).end());
    assert.equal(await readChunk(response), `event: message\ndata: ${refused}\n\n`);
    stream!.end(`data: ${tools('a')}\n\n`);
    assert.equal(await readAll(response), `data: ${tools('a')}\n\n`);
  });

  for (const status of [202, 204]) {
    test(`gets ours alone when the server has nothing to answer (${status})`, options, async (t) => {
      const gateway = await serve(
        t,
        (_request, response) => void response.writeHead(status, { 'mcp-session-id': 's' }).end(),
        { expectation: batch },
      );
      const answer = await post(gateway);
      assert.deepEqual(
        [answer.status, answer.body, answer.headers['content-type'], answer.headers['mcp-session-id']],
        [200, `[${refused}]`, 'application/json', 's'],
      );
      assert.equal(gateway.contexts[0]!.status, 200);
    });
  }
});

describe('a notification of ours', () => {
  /** A configuration in which the upstream has these rules. */
  function configure(config: McpAuthorizationConfig | undefined): RuntimeConfig {
    const route = {
      backends: { entries: [{ backend: 'default/upstream', policies: { 'backend.mcp.authorization': config } }] },
    };
    const listener = { routes: new HostTable([['', { entries: [{ route }] }]]) } as unknown as ListenerConfig;
    const port = { listeners: new HostTable([['', listener]]) } as unknown as PortConfig;
    return {
      version: 1,
      ports: new Map([['', port]]),
      backends: new Map(),
      authentications: [],
      jwtAuthentications: [],
      sealKeys: [],
      keyUsers: [],
      policyConflicts: [],
    };
  }
  const mcp = { target: 'x', path: '/', transport: 'streamable-http', sessionRouting: 'stateless' } as const;
  const judgeAgain = (now: McpAuthorizationConfig | undefined): MessageVerdict => ({
    kind: 'continue',
    responseHeaders: [],
    body: undefined,
    filterAnswer: now === undefined ? undefined : createAnswerFilter(base),
  });

  test('waits for a client that is slow, and comes between two events then', options, async (t) => {
    const streams = new NotificationStreams(silentLog);
    streams.reconcile(configure(undefined));
    const event = `data: ${'x'.repeat(1_000)}\n\n`;
    let written = 0;
    let isOver = false;
    const gateway = await serve(
      t,
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        // Chunks end in the middle of events.
        const pump = (): void => {
          if (isOver) return void response.end(event.slice(500));
          written += 1;
          const next = written === 1 ? event.slice(0, 500) : event.slice(500) + event.slice(0, 500);
          if (response.write(next)) setImmediate(pump);
          else response.once('drain', pump);
        };
        pump();
      },
      { backend: { mcp }, plan: { filterAnswer: undefined, judgeAgain }, streams },
    );
    const response = await receiveResponse(openRequest(gateway).end());
    await waitForStandstill(() => written);
    assert.equal(streams.size, 1);
    for (const now of [rules, undefined, rules]) streams.reconcile(configure(now));
    isOver = true;
    const text = await readAll(response);
    const notification = 'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n';
    const parts = text.split(notification);
    assert.equal(parts.length, 2, 'told once of three changes');
    for (const part of parts) assert.equal(part.length % event.length, 0);
    assert.equal(parts.join('').split(event).length, 1 + text.split('data: x').length - 1);
    await waitFor(() => streams.size === 0);
  });

  test('a stream is known as long as it is open, however it ends', options, async (t) => {
    const streams = new NotificationStreams(silentLog);
    streams.reconcile(configure(undefined));
    let server: ServerResponse | undefined;
    const gateway = await serve(
      t,
      (_request, response) => {
        server = response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.on('error', () => {}).flushHeaders();
      },
      { backend: { mcp }, plan: { filterAnswer: undefined, judgeAgain }, streams },
    );
    for (const end of [
      () => void server!.end(),
      () => void server!.destroy(),
      (client: { destroy(): unknown }) => void client.destroy(),
    ]) {
      const message = openRequest(gateway).end();
      const response = await receiveResponse(message);
      response.on('error', () => {}).resume();
      assert.equal(streams.size, 1);
      end(message);
      await waitFor(() => streams.size === 0);
    }
    // Neither errors nor other answers are streams.
    server = undefined;
    assert.equal(streams.size, 0);
  });

  test('what cannot be judged any more ends', options, async (t) => {
    const verdicts: (() => MessageVerdict | Promise<MessageVerdict>)[] = [
      () => ({ kind: 'deny', reason: 'rbac_denied', detail: 'no', responseHeaders: [] }),
      () => Promise.resolve({ kind: 'deny', reason: 'insufficient_scope', detail: 'no', responseHeaders: [] } as const),
      () => {
        throw new Error('oops');
      },
      () => Promise.reject(new Error('oops')),
    ];
    const reasons: unknown[] = [];
    for (const verdict of verdicts) {
      const streams = new NotificationStreams(silentLog);
      streams.reconcile(configure(undefined));
      const gateway = await serve(
        t,
        (_request, response) =>
          void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n'),
        { backend: { mcp }, plan: { filterAnswer: undefined, judgeAgain: verdict }, streams },
      );
      const response = await receiveResponse(openRequest(gateway).end());
      assert.equal(await readChunk(response), 'data: 1\n\n');
      streams.reconcile(configure(rules));
      await assert.rejects(readAll(response));
      const { context, clean } = await gateway.finished(0);
      reasons.push([context.reason, clean, streams.size]);
    }
    assert.deepEqual(reasons, [
      ['rbac_denied', false, 0],
      ['insufficient_scope', false, 0],
      ['internal_error', false, 0],
      ['internal_error', false, 0],
    ]);
  });
});
