import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SessionTable } from './session-table.ts';
import { type WishLimits, WishTable } from './session-wishes.ts';

function create(limits: Partial<WishLimits> = {}) {
  const ended = new Set<string>();
  const time = { ms: 0 };
  const table = new WishTable({ isEnded: (session) => ended.has(session), limits, clock: () => time.ms });
  return { table, ended, time };
}

const follows = (): Promise<boolean> => Promise.resolve(true);

describe('wishes of sessions', () => {
  test('are of one session, and of one target', () => {
    const { table } = create();
    table.setLevel('ann', 'info');
    assert.ok(table.subscribe('ann', 'a', 'x:1').ok);
    assert.ok(table.subscribe('ann', 'b', 'x:2').ok);
    assert.deepEqual([table.findLevel('ann'), table.findLevel('bob')], ['info', undefined]);
    assert.deepEqual([...table.listUris('ann', 'a')], ['x:1']);
    assert.deepEqual([...table.listUris('ann', 'b')], ['x:2']);
    assert.deepEqual([...table.listUris('bob', 'a')], []);
    assert.equal(table.unsubscribe('bob', 'a', 'x:1'), false);
    assert.equal(table.unsubscribe('ann', 'b', 'x:1'), false);
    assert.equal(table.unsubscribe('ann', 'a', 'x:1'), true);
    assert.equal(table.unsubscribe('ann', 'a', 'x:1'), false);
    assert.deepEqual([...table.listUris('ann', 'a')], []);
  });

  test('end with the session, and do not come back', () => {
    const { table, ended } = create();
    table.setLevel('ann', 'info');
    table.subscribe('ann', 'a', 'x:1');
    ended.add('ann');
    table.forget('ann');
    assert.equal(table.size, 0);
    table.setLevel('ann', 'debug');
    assert.deepEqual(table.subscribe('ann', 'a', 'x:1'), { ok: false, obstacle: 'ended' });
    assert.equal(table.size, 0);
    assert.equal(table.findLevel('ann'), undefined);
  });

  test('a session that its client ends frees them', () => {
    const sessions = new SessionTable();
    sessions.wishes.setLevel('ann', 'info');
    sessions.wishes.subscribe('ann', 'a', 'x:1');
    sessions.end('ann');
    assert.equal(sessions.wishes.size, 0);
    sessions.wishes.setLevel('ann', 'info');
    assert.equal(sessions.wishes.size, 0);
  });

  test('URIs are limited in number and length; what is kept already is no new one', () => {
    const { table } = create({ uris: 2, uriLength: 4 });
    assert.deepEqual(table.subscribe('ann', 'a', 'x:123'), { ok: false, obstacle: 'too-long' });
    assert.ok(table.subscribe('ann', 'a', 'x:1').ok);
    assert.ok(table.subscribe('ann', 'a', 'x:2').ok);
    assert.deepEqual(table.subscribe('ann', 'a', 'x:3'), { ok: false, obstacle: 'too-many' });
    assert.ok(table.subscribe('ann', 'a', 'x:2').ok);
    assert.ok(table.subscribe('ann', 'b', 'x:3').ok);
    assert.ok(table.subscribe('bob', 'a', 'x:3').ok);
    table.unsubscribe('ann', 'a', 'x:1');
    assert.ok(table.subscribe('ann', 'a', 'x:3').ok);
  });

  test('of too many sessions the longest unused goes, unless it has a stream', () => {
    const { table } = create({ sessions: 2 });
    const stop = table.watch('ann', 'a', follows);
    for (const session of ['ann', 'bob', 'cid']) table.setLevel(session, 'info');
    assert.deepEqual(
      ['ann', 'bob', 'cid'].map((session) => table.findLevel(session)),
      ['info', undefined, 'info'],
    );
    stop();
    table.findLevel('cid');
    table.setLevel('dan', 'info');
    assert.equal(table.size, 2);
    assert.equal(table.findLevel('ann'), undefined);
  });

  test('of too many characters the longest unused session goes; where all have streams, nothing more is kept', () => {
    const { table } = create({ characters: 6 });
    table.setLevel('eve', 'info');
    const stops = ['ann', 'bob'].map((session) => {
      assert.ok(table.subscribe(session, 'a', 'x:1').ok);
      return table.watch(session, 'a', follows);
    });
    assert.deepEqual(table.subscribe('cid', 'a', 'x:2'), { ok: false, obstacle: 'full' });
    stops[0]!();
    assert.ok(table.subscribe('cid', 'a', 'x:2').ok);
    assert.deepEqual([...table.listUris('ann', 'a')], []);
    assert.deepEqual([...table.listUris('bob', 'a')], ['x:1']);
    // One without URIs takes none of the room.
    assert.equal(table.findLevel('eve'), 'info');
    table.forget('cid');
    assert.ok(table.subscribe('dan', 'a', 'x:4').ok);
    assert.deepEqual([...table.listUris('bob', 'a')], ['x:1']);
  });

  test('a session without requests and streams is forgotten after a while', () => {
    const { table, time } = create({ idleMs: 100 });
    table.subscribe('ann', 'a', 'x:1');
    table.subscribe('bob', 'a', 'x:1');
    const stop = table.watch('bob', 'a', follows);
    time.ms = 99;
    assert.equal(table.listUris('ann', 'a').size, 1);
    time.ms = 199;
    assert.equal(table.listUris('ann', 'a').size, 0);
    assert.equal(table.listUris('bob', 'a').size, 1);
    time.ms = 1_000;
    stop();
    time.ms = 1_099;
    assert.equal(table.listUris('bob', 'a').size, 1);
    time.ms = 1_199;
    table.setLevel('cid', 'info');
    assert.equal(table.size, 1);
  });

  test('no caller takes the room of the others', () => {
    const { table } = create({ characters: 20, ownCharacters: 8 });
    const full = { ok: false, obstacle: 'full' };
    const subscribe = (session: string, uri: string, owner?: string) => table.subscribe(session, 'a', uri, owner);
    assert.ok(subscribe('ann-1', 'x:01', 'ann').ok);
    assert.ok(subscribe('ann-2', 'x:02', 'ann').ok);
    assert.deepEqual(subscribe('ann-3', 'x:03', 'ann'), full);
    assert.ok(subscribe('bob-1', 'x:04', 'bob').ok);
    // What is taken back, or ended, is room again.
    table.unsubscribe('ann-1', 'a', 'x:01');
    assert.ok(subscribe('ann-3', 'x:05', 'ann').ok);
    table.forget('ann-2');
    assert.ok(subscribe('ann-3', 'x:06', 'ann').ok);
    assert.deepEqual(subscribe('ann-3', 'x:07', 'ann'), full);
    // Nobody knows whose these are: all of them have the limit of the process.
    assert.ok(subscribe('any-1', 'x:08').ok && subscribe('any-2', 'x:09').ok);
  });

  test('a subscription that a stream cannot take on says so', async () => {
    const { table } = create();
    table.watch('ann', 'a', follows);
    table.watch('ann', 'a', () => Promise.resolve(false));
    const subscribed = table.subscribe('ann', 'a', 'x:1');
    assert.ok(subscribed.ok);
    assert.equal(await subscribed.followed, false);
  });

  test('a subscription is complete when every stream of the session at this target has followed', async () => {
    const { table } = create();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    let asked = 0;
    const others: (() => void)[] = [
      table.watch('ann', 'a', () => ((asked += 1), promise)),
      table.watch('ann', 'b', () => assert.fail('another target')),
      table.watch('bob', 'a', () => assert.fail('another session')),
    ];
    const subscribed = table.subscribe('ann', 'a', 'x:1');
    assert.ok(subscribed.ok);
    let isComplete = false;
    const completed = subscribed.followed.then(() => (isComplete = true));
    await new Promise((done) => setImmediate(done));
    assert.equal(isComplete, false);
    resolve(true);
    await completed;
    assert.equal(asked, 1);
    for (const stop of others) stop();
    table.unsubscribe('ann', 'a', 'x:1');
    assert.equal(asked, 1);
  });
});
