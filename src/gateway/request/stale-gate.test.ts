import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { createContext } from '../authentication/testing/auth-fixture.ts';
import { StaleGate } from './stale-gate.ts';

/** A request whose exchange says when it is aborted. */
function createStream() {
  const { context } = createContext();
  const stream = { context, aborted: 0 };
  Object.assign(context.exchange, { abort: () => (stream.aborted += 1) });
  return stream;
}

test('an open gate lets everything through, also of a stale gateway that does not close', () => {
  const gate = new StaleGate();
  const { context, answered } = createContext();
  assert.equal(gate.refuse(context), false);
  const stream = createStream();
  gate.openStream(stream.context);
  gate.set({ detail: 'stale', closes: false });
  assert.equal(gate.refuse(context), false);
  assert.equal(stream.aborted, 0);
  assert.deepEqual([context.reason, answered.status], [undefined, 0]);
});

test('a closed gate answers 503 with its reason and Retry-After, and the operator learns why', async () => {
  await nextTurn();
  const gate = new StaleGate();
  gate.set({ detail: 'no controller was heard', closes: true });
  const { context, answered } = createContext();
  assert.equal(gate.refuse(context), true);
  assert.deepEqual(
    [context.reason, context.detail, answered.status],
    ['configuration_stale', 'no controller was heard', 503],
  );
  assert.match(answered.body, /"error":"configuration_stale"/);
  assert.doesNotMatch(answered.body, /was heard/);
  const at = answered.headers.indexOf('retry-after');
  assert.equal(answered.headers[at + 1], '5');
  gate.set(undefined);
  assert.equal(gate.refuse(createContext().context), false);
});

test('closing ends the streams that are open, and no others', () => {
  const gate = new StaleGate();
  const [open, left] = [createStream(), createStream()];
  gate.openStream(open.context);
  gate.openStream(left.context)();
  gate.set({ detail: 'stale', closes: true });
  assert.deepEqual([open.aborted, left.aborted], [1, 0]);
  assert.deepEqual([open.context.reason, open.context.detail], ['configuration_stale', 'stale']);
});

test('a stream whose request came before, and whose answer begins after, ends too', async () => {
  const gate = new StaleGate();
  gate.set({ detail: 'stale', closes: true });
  const [late, gone] = [createStream(), createStream()];
  gate.openStream(late.context);
  gate.openStream(gone.context)();
  assert.equal(late.aborted, 0, 'the head is being sent');
  await nextTurn();
  assert.deepEqual([late.aborted, gone.aborted], [1, 0]);
});
