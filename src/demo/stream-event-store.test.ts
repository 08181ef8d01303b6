import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { rememberedEvents, StreamEventStore, UnknownEventError } from './stream-event-store.ts';

function message(number: number): JSONRPCMessage {
  return { jsonrpc: '2.0', method: 'notifications/message', params: { number } };
}

async function replay(store: StreamEventStore, after: string): Promise<{ stream: string; sent: JSONRPCMessage[] }> {
  const sent: JSONRPCMessage[] = [];
  const stream = await store.replayEventsAfter(after, {
    send: (_id, event) => {
      sent.push(event);
      return Promise.resolve();
    },
  });
  return { stream, sent };
}

describe('StreamEventStore', () => {
  test('replays what followed on the same stream, in order', async () => {
    const store = new StreamEventStore();
    const first = await store.storeEvent('a', message(1));
    await store.storeEvent('b', message(2));
    const third = await store.storeEvent('a', message(3));
    await store.storeEvent('a', message(4));
    assert.deepEqual(await replay(store, first), { stream: 'a', sent: [message(3), message(4)] });
    assert.deepEqual(await replay(store, third), { stream: 'a', sent: [message(4)] });
  });

  test('the first event of a stream, which carries no message, gives an id and is not replayed', async () => {
    const store = new StreamEventStore();
    const first = await store.storeEvent('a', {} as JSONRPCMessage);
    await store.storeEvent('a', {} as JSONRPCMessage);
    await store.storeEvent('a', message(1));
    assert.deepEqual((await replay(store, first)).sent, [message(1)]);
  });

  test('an event that is stored during a replay is part of it', async () => {
    const store = new StreamEventStore();
    const first = await store.storeEvent('a', message(1));
    await store.storeEvent('a', message(2));
    const sent: JSONRPCMessage[] = [];
    await store.replayEventsAfter(first, {
      send: async (_id, event) => {
        if (sent.length === 0) await store.storeEvent('a', message(3));
        sent.push(event);
      },
    });
    assert.deepEqual(sent, [message(2), message(3)]);
  });

  test('refuses ids that it never gave, and those that it has forgotten', async () => {
    const store = new StreamEventStore();
    const first = await store.storeEvent('a', message(0));
    for (const id of ['', 'a', 'a:7', 'b:1', `${first}0`]) await assert.rejects(replay(store, id), UnknownEventError);
    for (let number = 1; number <= rememberedEvents; number += 1) await store.storeEvent('a', message(number));
    await assert.rejects(replay(store, first), UnknownEventError);
    assert.equal((await replay(store, 'a:2')).sent.length, rememberedEvents - 1);
  });
});
