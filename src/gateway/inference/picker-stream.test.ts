import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpstreamBackend } from '../forward/upstream/upstreams.ts';
import { PickerStream } from './picker-stream.ts';

function receive(...bytes: number[]): string[] {
  const lost: string[] = [];
  const picker = { config: { key: 'picker' } } as unknown as UpstreamBackend;
  const stream = new PickerStream(picker, 0, {
    onOpen() {},
    onAnswer: () => true,
    onDrain() {},
    onLost: (detail) => lost.push(detail),
  });
  stream.onData(Uint8Array.from(bytes));
  return lost;
}

test('an answer that is compressed, or larger than allowed, is refused before it is there', () => {
  assert.match(String(receive(1, 0, 0, 0, 0)), /^picker: its answer cannot be read: a message is compressed/);
  assert.match(String(receive(0, 0, 0x40, 0, 1)), /4194305 bytes is larger than 4194304/);
  assert.match(String(receive(0, 255, 255, 255, 255)), /4294967295/);
  assert.deepEqual(receive(0, 0, 0x40, 0, 0), []);
});
