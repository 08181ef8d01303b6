import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallChannel, CallError } from './call-channel.ts';

interface Left {
  note(text: string): void;
}
interface Right {
  double(value: number): number;
  fail(nothing: undefined): Promise<void>;
  later(value: number): Promise<number>;
  note(text: string): void;
}

/** Two ends; what one sends the other receives in a later turn, as plain data. */
function connect(right: Right, left: Left = { note() {} }): CallChannel<Right, Left> {
  const ends: { left?: CallChannel<Right, Left>; right?: CallChannel<Left, Right> } = {};
  const deliver = (to: 'left' | 'right') => (message: unknown) => {
    const copy = structuredClone(message);
    queueMicrotask(() => ends[to]!.receive(copy));
  };
  ends.left = new CallChannel({ send: deliver('right') }, left);
  ends.right = new CallChannel({ send: deliver('left') }, right);
  return ends.left;
}

function answering(overrides: Partial<Right> = {}): Right {
  return {
    double: (value) => value * 2,
    fail: () => Promise.reject(new Error('no')),
    later: (value) => Promise.resolve(value),
    note() {},
    ...overrides,
  };
}

test('answers find who asked, in whatever order they come', async () => {
  const slow = Promise.withResolvers<number>();
  const channel = connect(answering({ later: () => slow.promise }));
  const late = channel.ask('later', 1);
  assert.equal(await channel.ask('double', 21), 42);
  slow.resolve(7);
  assert.equal(await late, 7);
});

test('what is told in an order is heard in it, before what is asked afterwards', async () => {
  const heard: string[] = [];
  const channel = connect(answering({ note: (text) => void heard.push(text) }));
  channel.tell('note', 'a');
  channel.tell('note', 'b');
  await channel.ask('double', 1);
  assert.deepEqual(heard, ['a', 'b']);
});

test('a failure over there is a failure here', async () => {
  await assert.rejects(connect(answering()).ask('fail', undefined), (error) => {
    assert.ok(error instanceof CallError);
    assert.match(error.message, /no/);
    return true;
  });
});

test('nobody waits for a process that is gone', async () => {
  const channel = connect(answering({ later: () => new Promise(() => {}) }));
  const waiting = assert.rejects(channel.ask('later', 1), CallError);
  channel.close();
  await waiting;
  await assert.rejects(channel.ask('double', 1), CallError);
  channel.tell('note', 'lost');
});

test('an end that cannot send any more rejects what is asked', async () => {
  const broken = new CallChannel<Right, Left>(
    {
      send() {
        throw new Error('closed');
      },
    },
    { note() {} },
  );
  await assert.rejects(broken.ask('double', 1), CallError);
});
