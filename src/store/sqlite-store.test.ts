import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { openSqliteStore } from './sqlite-store.ts';
import type { Store } from './store.ts';
import { expectValue, testStore } from './testing/store-contract.ts';

let folder = '';
let nowMs = Date.UTC(2026, 0, 1);
const now = (): number => nowMs;
const opened: Store[] = [];

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-store-'));
});
after(async () => {
  for (const store of opened) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(
  name: string,
  options: { readonly maxPages?: number; readonly patienceMs?: number } = {},
): Promise<Store> {
  const result = await openSqliteStore(join(folder, name), { now, ...options });
  assert.ok(result.ok, result.ok ? '' : result.problem);
  opened.push(result.store);
  return result.store;
}

/** Why it cannot be opened, with the folder left out. */
async function refuse(name: string): Promise<string> {
  const result = await openSqliteStore(join(folder, name), { now });
  if (result.ok) await result.store.close();
  assert.ok(!result.ok);
  return result.problem.replaceAll(folder, '');
}

let shared: Promise<Store> | undefined;

testStore({
  name: 'sqlite',
  open: () => (shared ??= open('contract.db')),
  pass: async (ms) => void (nowMs += ms),
});

describe('the SQLite store', () => {
  test('is of this machine: another process sees it, and a restart finds it again', async () => {
    const one = await open('shared.db');
    const two = await open('shared.db');
    assert.deepEqual([one.kind, one.reach], ['sqlite', 'machine']);
    expectValue(await one.put('a', '1', 60_000));
    expectValue(await one.addMember('s', 'm', 60_000));
    assert.equal(expectValue(await two.count('c', 60_000)), 1);
    assert.equal(expectValue(await one.count('c', 60_000)), 2);
    assert.equal(expectValue(await two.get('a')), '1');
    await one.close();
    await two.close();
    const three = await open('shared.db');
    assert.equal(expectValue(await three.take('a')), '1');
    assert.deepEqual(expectValue(await three.listMembers('s', 10)), ['m']);
    assert.equal(expectValue(await three.count('c', 60_000)), 3);
  });

  test('makes its folder and its files for this user alone', async () => {
    const store = await open('new/deeper/store.db');
    expectValue(await store.put('a', '1', 60_000));
    const mode = (path: string): number => statSync(join(folder, path)).mode & 0o777;
    assert.deepEqual(
      ['new/deeper', 'new/deeper/store.db', 'new/deeper/store.db-wal', 'new/deeper/store.db-shm'].map(mode),
      [0o700, 0o600, 0o600, 0o600],
    );
  });

  test('refuses a file and a folder that others can use', async () => {
    mkdirSync(join(folder, 'open'));
    chmodSync(join(folder, 'open'), 0o750);
    assert.equal(
      await refuse('open/store.db'),
      'the folder /open has mode 0750, and others can use it. Run: chmod 700 /open',
    );
    await (await open('readable.db')).close();
    chmodSync(join(folder, 'readable.db'), 0o640);
    assert.equal(
      await refuse('readable.db'),
      'the store /readable.db has mode 0640, and others can use it. Run: chmod 600 /readable.db',
    );
    mkdirSync(join(folder, 'folder'), { mode: 0o700 });
    assert.equal(await refuse('folder'), 'the store /folder is not a regular file');
    writeFileSync(join(folder, 'file'), '', { mode: 0o600 });
    assert.equal(
      await refuse('file/store.db'),
      'the store /file/store.db cannot be opened: a part of /file is not a folder',
    );
  });

  test('refuses what it has not written', async () => {
    writeFileSync(join(folder, 'text.db'), 'not a database, but long enough to have a head of 100 bytes'.repeat(4), {
      mode: 0o600,
    });
    assert.equal(await refuse('text.db'), 'the store /text.db cannot be opened: the file is not a SQLite database');
    const other = new DatabaseSync(join(folder, 'other.db'));
    other.exec('CREATE TABLE mine (a)');
    other.close();
    chmodSync(join(folder, 'other.db'), 0o600);
    assert.equal(
      await refuse('other.db'),
      '/other.db is a database of another program; choose another file for the store',
    );
    await (await open('newer.db')).close();
    const newer = new DatabaseSync(join(folder, 'newer.db'));
    newer.exec('PRAGMA user_version = 7');
    newer.close();
    assert.equal(
      await refuse('newer.db'),
      'the store /newer.db was written by another version of mcp-gatehouse (format 7, this one has 1); choose another file, or delete it: everybody logs in again then',
    );
  });

  test('says when this Node has no SQLite', async () => {
    const result = await openSqliteStore(join(folder, 'none.db'), { loadSqlite: () => undefined });
    assert.ok(!result.ok);
    assert.match(result.problem, /needs a Node with SQLite inside \(22\.13 or newer\), and this is Node \d+\./);
  });

  test('reports a damaged file, and never throws', async () => {
    const store = await open('damaged.db');
    for (let index = 0; index < 200; index += 1) expectValue(await store.put(`${index}`, 'x'.repeat(500), 60_000));
    await store.close();
    const path = join(folder, 'damaged.db');
    const bytes = readFileSync(path);
    bytes.fill(0xff, 4096);
    writeFileSync(path, bytes);
    const result = await openSqliteStore(path, { now });
    // Its first page is intact: only a look at the others shows it.
    assert.ok(result.ok);
    opened.push(result.store);
    const damaged = {
      ok: false,
      detail:
        'SQLite: the file is damaged. Restore it, or delete it with the files beside it (-wal, -shm): everybody logs in again then',
    };
    assert.deepEqual(await result.store.get('5'), damaged);
    assert.deepEqual(await result.store.put('5', 'a', 60_000), damaged);
    assert.deepEqual(await result.store.compareAndSet('5', undefined, 'a', 60_000), damaged);
  });

  test('reports a full disk, reads on, and recovers', async () => {
    const store = await open('full.db', { maxPages: 40 });
    expectValue(await store.put('kept', 'a', 600_000));
    const full = { ok: false, detail: 'SQLite: the disk is full, or the file has reached its limit' };
    let last: unknown;
    for (let index = 0; index < 100 && last === undefined; index += 1) {
      const put = await store.put(`${index}`, 'x'.repeat(3_000), 1_000);
      if (!put.ok) last = put;
    }
    assert.deepEqual(last, full);
    assert.deepEqual(await store.addMember('set', 'x'.repeat(30_000), 1_000), full);
    assert.equal(expectValue(await store.get('kept')), 'a');
    nowMs += 61_000;
    // What has expired makes room.
    expectValue(await store.take('kept'));
    expectValue(await store.put('new', 'x'.repeat(3_000), 1_000));
    expectValue(await store.probe());
  });

  test('reports that it may not write any more', async () => {
    const path = join(folder, 'read-only.db');
    const store = await open('read-only.db', { patienceMs: 50 });
    expectValue(await store.put('a', '1', 60_000));
    const locker = new DatabaseSync(path);
    try {
      locker.exec('BEGIN IMMEDIATE');
      assert.deepEqual(await store.put('a', '2', 60_000), {
        ok: false,
        detail: 'SQLite: the file is locked by another process',
      });
      assert.equal((await store.probe()).ok, false);
      assert.equal(expectValue(await store.get('a')), '1');
      locker.exec('ROLLBACK');
      expectValue(await store.probe());
    } finally {
      locker.close();
    }
    await store.close();
    assert.deepEqual(await store.get('a'), { ok: false, detail: 'SQLite: it is closed' });
  });

  test('waits for another process that writes, and blocks nobody meanwhile', async () => {
    const store = await open('waiting.db', { patienceMs: 60_000 });
    const locker = new DatabaseSync(join(folder, 'waiting.db'));
    try {
      locker.exec('BEGIN IMMEDIATE');
      let settled = 0;
      const calls = Promise.all(
        [store.put('a', '1', 60_000), store.addMember('s', 'm', 60_000), store.count('c', 60_000), store.probe()].map(
          (call) => call.finally(() => (settled += 1)),
        ),
      );
      for (let turn = 0; turn < 3; turn += 1) await delay(20);
      assert.equal(settled, 0);
      locker.exec('ROLLBACK');
      for (const result of await calls) assert.equal(result.ok, true);
    } finally {
      locker.close();
    }
    assert.equal(expectValue(await store.get('a')), '1');
    assert.deepEqual(expectValue(await store.listMembers('s', 10)), ['m']);
    assert.equal(expectValue(await store.count('c', 60_000)), 2);
  });

  test('a call that waits ends when the store is closed', async () => {
    const store = await open('closed.db', { patienceMs: 60_000 });
    const locker = new DatabaseSync(join(folder, 'closed.db'));
    try {
      locker.exec('BEGIN IMMEDIATE');
      const put = store.put('a', '1', 60_000);
      await store.close();
      assert.deepEqual(await put, { ok: false, detail: 'SQLite: it is closed' });
    } finally {
      locker.close();
    }
  });

  test('removes what has expired', async () => {
    const store = await open('swept.db');
    for (let index = 0; index < 5; index += 1) {
      expectValue(await store.put(`${index}`, 'a', 1_000));
      expectValue(await store.count(`${index}`, 1_000));
      expectValue(await store.addMember(`${index}`, 'm', 1_000));
    }
    const reader = new DatabaseSync(join(folder, 'swept.db'));
    const count = (): unknown[] =>
      ['entry', 'counter', 'member_set', 'member'].map(
        (table) => reader.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'],
      );
    try {
      assert.deepEqual(count(), [5, 5, 5, 5]);
      nowMs += 61_000;
      expectValue(await store.probe());
      assert.deepEqual(count(), [0, 0, 0, 0]);
    } finally {
      reader.close();
    }
  });
});
