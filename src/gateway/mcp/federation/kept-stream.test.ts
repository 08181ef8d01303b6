import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptStream } from './kept-stream.ts';
import type { MessageEvents, MessageRequest } from './message-source.ts';
import type { TargetParts } from './target-parts.ts';

test('a silent stream that was open for long is opened again soon, however often; one that breaks off at once is not', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  const opened: MessageEvents[] = [];
  const channel = {
    id: '1',
    path: '/',
    tag: undefined,
    open(_request: MessageRequest, events: MessageEvents) {
      opened.push(events);
      return { start() {}, resume() {}, abort() {}, resumption: undefined };
    },
  };
  const request: MessageRequest = {
    method: 'GET',
    path: '/',
    host: '',
    headers: [],
    body: undefined,
    tag: undefined,
    channel,
  };
  const stream = new KeptStream({ clock: () => now, random: () => 1 } as unknown as TargetParts, {
    prepare: () => ({ ok: true, request }),
    isLost: () => false,
    onOpen() {},
    onMessage: () => true,
    onNone: () => assert.fail(),
    onRefused: () => assert.fail(),
  });
  /** Milliseconds until it is opened again after it was open for `lastedMs`. */
  const breakOff = (lastedMs: number): number => {
    const { length } = opened;
    const events = opened.at(-1)!;
    events.onHead?.(200, [], undefined as never);
    now += lastedMs;
    events.onEnd();
    let waitedMs = 0;
    for (; opened.length === length; waitedMs += 250) t.mock.timers.tick(250);
    return waitedMs;
  };
  stream.open();
  const quick = [0, 0, 0, 0].map(breakOff);
  assert.deepEqual(quick, [250, 500, 1_000, 2_000]);
  assert.deepEqual([60_000, 60_000, 60_000].map(breakOff), [250, 250, 250]);
  assert.equal(breakOff(9_999), 500);
  // News show that the stream is a good one; an answer, which ends it, does not, nor does an acknowledgement.
  const say = (kind: 'response' | 'notification', method?: string): void =>
    void opened
      .at(-1)!
      .onMessage({ text: '{}', head: { kind, id: undefined, method, isError: false }, eventId: undefined });
  say('response');
  say('notification', 'notifications/subscriptions/acknowledged');
  assert.equal(breakOff(0), 1_000);
  say('notification', 'notifications/tools/list_changed');
  assert.equal(breakOff(0), 250);
  stream.close();
});
