// The SQLite store on a disk that is really full, also in the middle of a login, and on one that is really read-only. Needs the right to mount a file system: root on Linux.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openSqliteStore } from '../../src/store/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { expectValue } from '../../src/store/testing/store-contract.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { assertAccepted, assertError, likeProfile, startIssuerSite } from '../integration/issuer-fixture.ts';
import { waitFor } from '../kit/wait-for.ts';

const longMs = 600_000;
const canMount = process.platform === 'linux' && process.getuid?.() === 0;
const skip = canMount ? false : 'needs root on Linux, to mount a small disk';

function mount(...args: string[]): void {
  const { status, stderr } = spawnSync('mount', args, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}

/** A disk of its own for the test. */
function mountDisk(t: TestContext, size: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-small-disk-'));
  mount('-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', folder);
  t.after(() => {
    spawnSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

async function open(t: TestContext, path: string): Promise<Store> {
  const opened = await openSqliteStore(path);
  assert.ok(opened.ok, opened.ok ? '' : opened.problem);
  t.after(() => opened.store.close());
  return opened.store;
}

test('a full disk: writes fail, reads go on, and it recovers', { skip }, async (t) => {
  const folder = mountDisk(t, '512k');
  const store = await open(t, join(folder, 'store.db'));
  expectValue(await store.put('kept', '1', longMs));
  let failure: string | undefined;
  for (let index = 0; index < 200 && failure === undefined; index += 1) {
    const put = await store.put(`${index}`, 'x'.repeat(10_000), longMs);
    if (!put.ok) failure = put.detail;
  }
  assert.match(failure ?? 'never full', /^SQLite: the disk (?:is full|reports an error)/);
  assert.equal(expectValue(await store.get('kept')), '1');
  mount('-o', 'remount,size=8m', folder);
  expectValue(await store.put('new', 'x'.repeat(10_000), longMs));
  expectValue(await store.probe());
});

test(
  'a disk that is full in the middle of a login: 503, and the same refresh token works later',
  { skip },
  async (t) => {
    const folder = mountDisk(t, '1m');
    const site = await startIssuerSite(
      { gitlab: likeProfile('GitLab') },
      { flags: ['--store', `sqlite:${join(folder, 'store.db')}`] },
    );
    t.after(() => site.close());
    const client = await site.connect('gitlab');
    const another = await site.prepare('gitlab');
    const disk = openSync(join(folder, 'ballast'), 'w');
    t.after(() => closeSync(disk));
    assert.throws(() => {
      for (;;) writeSync(disk, Buffer.alloc(4_096));
    }, /ENOSPC/);
    // Writes go on until the pages that SQLite has already are used up.
    await waitFor('refreshes are refused', async () => {
      const answer = await client.tryRefresh();
      if (answer.status === 200) client.tokens = answer.json() as unknown as typeof client.tokens;
      else assertError(answer, 503, 'temporarily_unavailable');
      return answer.status !== 200;
    });
    await waitFor('logins are, too', async () => {
      const { status } = await another.tryRedeem(await another.logIn(new BrowserAgent()));
      return status === 503;
    });
    assertAccepted(await client.post());
    ftruncateSync(disk, 0);
    await another.redeem(await another.logIn(new BrowserAgent()));
    await waitFor(
      'the turn of the refresh that failed is over',
      async () => (await client.tryRefresh()).status === 200,
    );
    assertAccepted(await another.post());
  },
);

test('a disk that is read-only: refused at the start', { skip }, async (t) => {
  const folder = mountDisk(t, '8m');
  const path = join(folder, 'store.db');
  await (await open(t, path)).close();
  mount('-o', 'remount,ro', folder);
  const again = await openSqliteStore(path);
  assert.ok(!again.ok);
  assert.match(again.problem, /^the store \S+ cannot be opened: .*read-only$/);
  const fresh = await openSqliteStore(join(folder, 'deeper', 'store.db'));
  assert.ok(!fresh.ok);
  assert.match(fresh.problem, /read-only$|the folder \S+ cannot be made$/);
});
