import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { buildContext } from '../../../test/integration/admin-fixture.ts';
import type { RequestContext } from '../request/request-context.ts';
import { seeMessage } from '../request/seen-message.ts';
import { readMessage } from './glance-body.ts';
import { type LiveBatch, LiveRequests } from './live-requests.ts';

const limits = { flushMs: 100, maxPerBatch: 3 };

/** A hub with a clock of its own. */
function start(t: { after(end: () => void): void }): { live: LiveRequests; batches: LiveBatch[]; tick: () => void } {
  mock.timers.enable({ apis: ['setInterval'] });
  t.after(() => mock.timers.reset());
  return { live: new LiveRequests(limits), batches: [], tick: () => mock.timers.tick(limits.flushMs) };
}

function serve(live: LiveRequests, context: RequestContext = buildContext(), body?: string): void {
  live.start(context);
  if (body !== undefined) context.glance?.(Buffer.from(body));
  live.finish(context);
}

const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":{"text":"secret"}}}';

describe('live requests', () => {
  test('nothing is looked at while nobody watches', (t) => {
    const { live, tick } = start(t);
    const context = new Proxy(buildContext(), {
      get: (_, name) => assert.fail(`${String(name)} was read`),
      set: (_, name) => assert.fail(`${String(name)} was set`),
    });
    live.start(context);
    live.finish(context);
    live.take({ requests: [], skipped: 7 });
    tick();
    assert.deepEqual([live.isWatched, live.watchers], [false, 0]);
  });

  test('a watcher gets method, route, message, outcome and duration, and nothing else of a request', (t) => {
    const { live, batches, tick } = start(t);
    live.watch((batch) => batches.push(batch));
    const context = buildContext({ query: '?key=secret', durationMs: 12.34, status: 403, reason: 'item_hidden' });
    serve(live, context, call);
    tick();
    const [request] = batches[0]!.requests;
    assert.match(request!.time, /^\d{4}-/);
    assert.deepEqual(
      { ...request, time: '' },
      {
        id: 'request-1',
        time: '',
        milliseconds: 12.3,
        method: 'POST',
        path: '/mcp',
        route: 'default/tickets rule 0',
        message: { method: 'tools/call', kind: 'tool', item: 'find', count: 1 },
        status: 403,
        reason: 'item_hidden',
        isJudged: false,
      },
    );
    assert.doesNotMatch(JSON.stringify(batches), /secret/);
  });

  test('what rules have read is shown without another look', (t) => {
    const { live, batches, tick } = start(t);
    live.watch((batch) => batches.push(batch));
    serve(live, buildContext({ mcpMessage: seeMessage('prompts/get', { kind: 'prompt', name: 'greet' }, 2) }));
    tick();
    assert.deepEqual(batches[0]!.requests[0]!.message, {
      method: 'prompts/get',
      kind: 'prompt',
      item: 'greet',
      count: 2,
    });
  });

  test('so many per batch, the others are counted', (t) => {
    const { live, batches, tick } = start(t);
    live.watch((batch) => batches.push(batch));
    for (let number = 0; number < 10; number += 1) serve(live);
    live.take({ requests: [batches[0]?.requests[0] ?? ({} as never)], skipped: 5 });
    tick();
    tick();
    assert.deepEqual(
      batches.map(({ requests, skipped }) => [requests.length, skipped]),
      [[3, 13]],
    );
  });

  test('a watcher sees what ends from now on; the last one that leaves ends the work', (t) => {
    const { live, batches, tick } = start(t);
    const told: boolean[] = [];
    live.follow((isWatched) => told.push(isWatched));
    const other: LiveBatch[] = [];
    const leaveFirst = live.watch((batch) => batches.push(batch));
    serve(live);
    const leaveOther = live.watch((batch) => other.push(batch));
    serve(live);
    tick();
    assert.deepEqual([batches.length, other.length, other[0]!.requests.length], [2, 1, 1]);
    leaveFirst();
    leaveFirst();
    assert.equal(live.isWatched, true);
    const context = buildContext();
    live.start(context);
    assert.notEqual(context.glance, undefined);
    leaveOther();
    assert.equal(context.glance, undefined, 'bodies are no longer looked at');
    assert.deepEqual([live.isWatched, told], [false, [true, false]]);
  });
});

describe('a glance at a body', () => {
  const read = (text: string): unknown => readMessage(Buffer.from(text));

  test('finds the method and the item, of a batch the first', () => {
    assert.deepEqual(read(call), { method: 'tools/call', item: { kind: 'tool', name: 'find' }, count: 1 });
    const batch = read('[{"result":1},{"method":"resources/read","params":{"uri":"file:///a?key=1"}}]');
    assert.deepEqual(batch, {
      method: 'resources/read',
      item: { kind: 'resource', name: 'file:///a?key=1' },
      count: 2,
    });
    assert.deepEqual(read('{"method":"tools/call","params":7}'), { method: 'tools/call', item: undefined, count: 1 });
  });

  test('is taken without watchers where the log is read on a terminal', () => {
    const live = new LiveRequests();
    live.lookForLog();
    const context = buildContext();
    live.start(context);
    context.glance?.(Buffer.from(call));
    assert.deepEqual(context.glimpsed, { method: 'tools/call', item: { kind: 'tool', name: 'find' }, count: 1 });
    live.watch(() => {})();
    const open = buildContext();
    live.start(open);
    assert.notEqual(open.glance, undefined, 'a watcher who leaves changes nothing');
    live.finish(open);
    assert.equal(open.glance, undefined);
  });

  test('is never surprised', () => {
    for (const text of ['', '{', '7', 'null', '[]', '[null]', '{"method":7}', '['.repeat(16_000)])
      assert.equal(read(text), undefined, text.slice(0, 20));
  });

  test('ends with a body that is large, or comes in too many pieces, or was read', (t) => {
    const { live } = start(t);
    const leave = live.watch(() => {});
    t.after(leave);
    const begin = (): RequestContext => {
      const context = buildContext();
      live.start(context);
      return context;
    };
    const large = begin();
    large.glance?.(Buffer.alloc(20_000));
    const pieces = begin();
    for (let number = 0; number < 4; number += 1) pieces.glance?.(Buffer.from('[]]'));
    const whole = begin();
    whole.glance?.(Buffer.from(call));
    const open = begin();
    open.glance?.(Buffer.from(call.slice(0, 20)));
    assert.deepEqual(
      [large, pieces, whole, open].map(({ glance }) => glance === undefined),
      [true, true, true, false],
    );
    const get = buildContext({}, { method: 'GET', hasBody: false });
    live.start(get);
    assert.equal(get.glance, undefined);
  });
});
