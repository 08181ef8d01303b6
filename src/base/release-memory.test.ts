import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { collectAllGarbage, createMemoryWatch, lookMs } from './release-memory.ts';

const megabyte = 1024 * 1024;

/** A process whose numbers are set by hand. `look` lets the usual time pass, of which `busyMs` are spent working. */
function createProcess() {
  const state = { now: 0, cpu: 500, total: 40, used: 20, releases: 0 };
  const watch = createMemoryWatch({
    now: () => state.now,
    cpuMs: () => state.cpu,
    heap: () => ({ total: state.total * megabyte, used: state.used * megabyte }),
    release: () => {
      state.releases += 1;
      state.cpu += 80;
    },
  });
  const look = (busyMs: number, times = 1): number => {
    for (let count = 0; count < times; count++) {
      state.now += lookMs;
      state.cpu += busyMs;
      watch();
    }
    return state.releases;
  };
  return { state, look };
}

describe('memory is given back', () => {
  test('when the start is over, and once', () => {
    const { look } = createProcess();
    assert.equal(look(300), 0);
    assert.equal(look(5), 1);
    assert.equal(look(5, 100), 1);
  });

  test('also when it was quiet from the first look on', () => {
    assert.equal(createProcess().look(1), 1);
  });

  test('after each busy time, but not more often than every minute', () => {
    const { look } = createProcess();
    assert.equal(look(1), 1);
    assert.equal(look(1_000, 5), 1);
    assert.equal(look(1, 5), 1, 'too early');
    assert.equal(look(1, 60), 2, 'a minute later, although it was busy before that');
    assert.equal(look(1_000), 2);
    assert.equal(look(1, 60), 3);
  });

  test('not in a short break', () => {
    const { look } = createProcess();
    assert.equal(look(1), 1);
    for (let round = 0; round < 10; round++) {
      look(1_000, 5);
      assert.equal(look(1, 14), 1);
    }
    assert.equal(look(1), 2, 'half a minute');
  });

  test('in the first short break when the start took long, but not when it has served since', () => {
    const slow = createProcess();
    assert.equal(slow.look(1_000, 3), 0);
    assert.equal(slow.look(1), 1);
    const busy = createProcess();
    assert.equal(busy.look(1_000, 4), 0);
    assert.equal(busy.look(1, 14), 0);
    assert.equal(busy.look(1), 1, 'half a minute');
  });

  test('never while it is busy', () => {
    assert.equal(createProcess().look(100, 1_000), 0);
  });

  test('not when there is little to give', () => {
    const { state, look } = createProcess();
    state.total = 24;
    assert.equal(look(1), 1, 'after the start nobody knows how little it is');
    look(1_000, 40);
    assert.equal(look(1, 40), 1);
    state.total = 60;
    assert.equal(look(1, 40), 1, 'it was looked at before, and nothing has happened since');
    look(1_000);
    assert.equal(look(1, 15), 2);
  });

  test('not when it would take long', () => {
    const { state, look } = createProcess();
    state.used = 200;
    state.total = 400;
    assert.equal(look(1, 10), 0);
  });
});

test('garbage is collected, and the flag is as it was', () => {
  let refs: WeakRef<object>[] = [];
  (() => {
    refs = Array.from({ length: 10 }, () => new WeakRef({ large: new Uint8Array(1_000) }));
  })();
  // A WeakRef keeps its target for the turn in which it was made.
  return new Promise<void>((resolve) => void setImmediate(resolve)).then(() => {
    collectAllGarbage();
    assert.equal(refs.filter((ref) => ref.deref() !== undefined).length, 0);
    assert.equal('gc' in globalThis, false);
  });
});
