import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { SilenceWatch, type Watched } from './silence-watch.ts';

interface Counted extends Watched {
  heard: number;
}

function createWatched(onSilence: (this: Counted) => void = () => {}): Counted {
  return {
    place: -1,
    silentLooks: 0,
    heard: 0,
    onSilence() {
      this.heard += 1;
      onSilence.call(this);
    },
  };
}

function createWatch(t: TestContext, timeoutMs: number): SilenceWatch {
  t.mock.timers.enable({ apis: ['setInterval'] });
  return new SilenceWatch(timeoutMs);
}

test('tells when the time is over, not before it, and a little later at most', (t) => {
  const watch = createWatch(t, 8_000);
  const first = createWatched();
  watch.begin(first);
  t.mock.timers.tick(500);
  const second = createWatched();
  watch.begin(second);
  t.mock.timers.tick(7_500);
  assert.deepEqual([first.heard, second.heard], [0, 0]);
  t.mock.timers.tick(1_000);
  assert.deepEqual([first.heard, second.heard], [1, 1]);
});

test('whatever is heard begins the time anew', (t) => {
  const watch = createWatch(t, 80);
  const watched = createWatched();
  watch.begin(watched);
  for (let round = 0; round < 50; round++) {
    t.mock.timers.tick(70);
    watched.silentLooks = 0;
  }
  assert.equal(watched.heard, 0);
  t.mock.timers.tick(90);
  assert.equal(watched.heard, 1);
});

test('says nothing after the end, also when others end it', (t) => {
  const watch = createWatch(t, 80);
  const second = createWatched();
  const first = createWatched(() => watch.end(second));
  watch.begin(first);
  watch.begin(second);
  t.mock.timers.tick(90);
  assert.deepEqual([first.heard, second.heard], [1, 0]);
  watch.end(first);
  t.mock.timers.tick(1_000);
  assert.deepEqual([first.heard, second.heard], [1, 0]);
});

test('rests while there is nothing to watch, and begins again', (t) => {
  const watch = createWatch(t, 8);
  for (let round = 1; round < 4; round++) {
    const watched = createWatched();
    watch.begin(watched);
    t.mock.timers.tick(9);
    assert.equal(watched.heard, 1);
    watch.end(watched);
    t.mock.timers.tick(50);
    assert.equal(watched.heard, 1);
  }
});
