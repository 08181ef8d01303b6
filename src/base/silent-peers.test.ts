import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { watchForSilentPeer } from './silent-peers.ts';

test('peers are asked every quarter of a minute, and not all at the same time', () => {
  const calls: unknown[][] = [];
  for (let count = 0; count < 200; count++) {
    const socket = new Socket();
    socket.setKeepAlive = (...args: unknown[]) => {
      calls.push(args);
      return socket;
    };
    watchForSilentPeer(socket);
  }
  for (const [enable, initialDelay, interval, questions] of calls) {
    assert.deepEqual([enable, interval, questions], [true, 15_000, 8]);
    assert.ok((initialDelay as number) >= 45_000 && (initialDelay as number) < 75_000);
  }
  assert.ok(new Set(calls.map(([, initialDelay]) => Math.floor((initialDelay as number) / 1_000))).size > 10);
});
