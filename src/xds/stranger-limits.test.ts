import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test, type TestContext } from 'node:test';
import { silentLog } from '../base/log.ts';
import { StrangerDoor } from './stranger-limits.ts';

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  readonly remotePort: number;
  isDestroyed = false;
  static #ports = 1_000;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = FakeSocket.#ports += 1;
  }

  destroy(): void {
    this.isDestroyed = true;
    this.emit('close');
  }
}

function start(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lines: object[] = [];
  const log = { ...silentLog, warn: (fields: object) => void lines.push(fields) };
  const door = new StrangerDoor({ authorizeMs: 1_000, maxPerAddress: 2, maxTotal: 5 }, log);
  const connect = (address = '10.0.0.1'): FakeSocket => {
    const socket = new FakeSocket(address);
    door.admit(socket);
    return socket;
  };
  return { door, lines, connect };
}

test('an address has a few strangers, whoever is known does not count', (t) => {
  const { door, connect, lines } = start(t);
  const [first, second, third] = [connect(), connect(), connect()];
  assert.deepEqual(
    [first, second, third].map((socket) => socket.isDestroyed),
    [false, false, true],
  );
  assert.deepEqual(lines, [{ dropped: 1, peerAddress: '10.0.0.1' }]);
  assert.equal(connect('10.0.0.2').isDestroyed, false, 'others are not in it');
  door.trust(first);
  assert.equal(connect().isDestroyed, false);
  second.destroy();
  assert.equal(connect().isDestroyed, false);
  assert.equal(connect().isDestroyed, true);
});

test('all strangers together have so many places', (t) => {
  const { connect } = start(t);
  const sockets = [1, 2, 3].flatMap((last) => [connect(`10.0.0.${last}`), connect(`10.0.0.${last}`)]);
  assert.deepEqual(
    sockets.map((socket) => socket.isDestroyed),
    [false, false, false, false, false, true],
  );
});

test('a stranger has to become known in time', (t) => {
  const { door, connect } = start(t);
  const [known, stranger] = [connect(), connect()];
  t.mock.timers.tick(999);
  door.trust(known);
  door.trust(known);
  t.mock.timers.tick(1);
  assert.deepEqual([known.isDestroyed, stranger.isDestroyed], [false, true]);
  assert.deepEqual(
    [connect(), connect()].map((socket) => socket.isDestroyed),
    [false, false],
    'its place is free',
  );
  known.destroy();
  assert.equal(connect().isDestroyed, true, 'who was known has no place to leave');
});

test('the log has one line a minute at most, with how many there were', (t) => {
  const { door, lines } = start(t);
  for (let drop = 0; drop < 100; drop += 1) door.noteDrop('10.0.0.9');
  assert.deepEqual(lines, [{ dropped: 1, peerAddress: '10.0.0.9' }]);
  t.mock.timers.tick(60_000);
  assert.deepEqual(lines[1], { dropped: 99 });
  t.mock.timers.tick(60_000);
  door.noteDrop('10.0.0.8');
  assert.deepEqual(lines.slice(2), [{ dropped: 1, peerAddress: '10.0.0.8' }]);
});
