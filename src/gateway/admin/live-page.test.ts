import assert from 'node:assert/strict';
import { describe, mock, test, type TestContext } from 'node:test';
import { LiveRequests } from '../observe/live-requests.ts';
import { answerLiveEvents, answerLivePage, answerLiveScript, maxViewers } from './live-page.ts';
import type { PlainStream } from './plain-server.ts';

const batch = { requests: [], skipped: 4 };

/** A viewer that reads, or does not. */
function open(t: TestContext): {
  readonly written: string[];
  /** What the next write says. */
  reads: boolean;
  drain: () => void;
  readonly live: LiveRequests;
  isGivenUp: boolean;
  readonly stop: () => void;
} {
  mock.timers.enable({ apis: ['setInterval'] });
  t.after(() => mock.timers.reset());
  const live = new LiveRequests({ flushMs: 100, maxPerBatch: 10 });
  const stream = answerLiveEvents({ accept: 'text/event-stream' }, live, () => now) as PlainStream;
  let now = 0;
  t.after(() => viewer.stop());
  const viewer = { written: [] as string[], reads: true, drain: () => {}, live, isGivenUp: false, stop: () => {} };
  viewer.stop = stream.start({
    write(text) {
      viewer.written.push(text);
      return viewer.reads;
    },
    onDrain: (callback) => (viewer.drain = callback),
    giveUp: () => (viewer.isGivenUp = true),
  });
  advance = (ms) => {
    now += ms;
    mock.timers.tick(ms);
  };
  return viewer;
}

let advance: (ms: number) => void;

describe('the live page', () => {
  test('runs the script of this server and no other', () => {
    const { headers, body } = answerLivePage();
    const policy = headers?.['content-security-policy'] ?? '';
    assert.match(policy, /default-src 'none'.*script-src 'self'; connect-src 'self'/);
    assert.deepEqual(body.match(/<script[^>]*>/g), ['<script src="/live/script.js">']);
    assert.match(body, /<noscript>/);
    assert.doesNotMatch(answerLiveScript().body, /innerHTML|insertAdjacent|eval|document\.write/);
    assert.match(answerLiveScript().contentType, /^text\/javascript/);
  });

  test('a link to the events leads a browser to the page, and takes no place', () => {
    const live = new LiveRequests();
    const answer = answerLiveEvents({ accept: 'text/html,*/*' }, live);
    assert.ok('status' in answer && answer.status === 303 && answer.headers?.['location'] === '/live');
  });

  test('there is room for some viewers, and one that leaves makes room', () => {
    const live = new LiveRequests();
    const leave = Array.from({ length: maxViewers }, () => live.watch(() => {}));
    const answer = answerLiveEvents({ accept: '*/*' }, live);
    assert.ok('status' in answer && answer.status === 503, JSON.stringify(answer));
    assert.match(answer.body, /too_many_viewers.*Close or pause one/);
    leave[0]!();
    assert.ok('start' in answerLiveEvents({ accept: '*/*' }, live));
    for (const each of leave) each();
  });
});

describe('a viewer', () => {
  test('gets batches as events, and a sign of life now and then', (t) => {
    const viewer = open(t);
    viewer.live.take(batch);
    advance(100);
    advance(15_000);
    assert.deepEqual(viewer.written, [
      'retry: 2000\nevent: hello\ndata: {}\n\n',
      'event: requests\ndata: {"requests":[],"skipped":4}\n\n',
      ': still here\n\n',
    ]);
  });

  test('that stops reading gets nothing more until it reads, and hears then how many it missed', (t) => {
    const viewer = open(t);
    viewer.reads = false;
    viewer.live.take(batch);
    advance(100);
    const before = viewer.written.length;
    viewer.live.take(batch);
    advance(100);
    viewer.live.take(batch);
    advance(15_000);
    assert.equal(viewer.written.length, before, 'nothing is piled up');
    viewer.reads = true;
    viewer.drain();
    viewer.live.take(batch);
    advance(100);
    assert.equal(viewer.written.at(-1), 'event: requests\ndata: {"requests":[],"skipped":12}\n\n');
    assert.equal(viewer.isGivenUp, false);
  });

  test('that reads nothing for long is given up, and its place is free', (t) => {
    const viewer = open(t);
    viewer.reads = false;
    viewer.live.take(batch);
    advance(100);
    for (let beat = 0; beat < 3; beat += 1) advance(15_000);
    assert.equal(viewer.isGivenUp, true);
    viewer.stop();
    assert.equal(viewer.live.isWatched, false);
  });
});
