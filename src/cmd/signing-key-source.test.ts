// Signing keys of a running gateway: made when first needed, rotated and scheduled without a restart, kept when the file breaks.
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import * as files from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { createManualClock, type ManualClock } from '../../test/kit/manual-clock.ts';
import { waitFor } from '../../test/kit/wait-for.ts';
import { keepSigningKeyMs } from '../base/signing-key.ts';
import type { Log } from '../base/log.ts';
import { rotateSigningKeyFile } from './signing-key-file.ts';
import { SigningKeySource } from './signing-key-source.ts';
import { announceMs } from './signing-keys.ts';

async function startSource(t: TestContext, folder?: string, clock: ManualClock = createManualClock()) {
  const place = folder ?? (await files.mkdtemp(join(tmpdir(), 'signing-source-')));
  if (folder === undefined) t.after(() => files.rm(place, { recursive: true, force: true }));
  const path = join(place, 'signing-keys');
  const lines: string[] = [];
  const note = (_: object, text: string): void => void lines.push(text);
  const log = { info: note, warn: note, error: note } as unknown as Log;
  const source = new SigningKeySource({ path, log, clock, watchTimes: { poll: 20, settleDoubtful: 20 } });
  t.after(() => source.stop());
  const look = (): string | undefined => {
    const schedule = source.schedule.get();
    return schedule && `${schedule.active} of ${schedule.published.map(({ kid }) => kid).join(' ')}`;
  };
  return { source, path, place, clock, lines, look };
}

describe('the signing keys of a running gateway', () => {
  test('rotate: published at once, signing later, the old one gone when its tokens are', async (t) => {
    const { source, path, clock, lines, look } = await startSource(t);
    assert.equal(look(), undefined, 'nothing is made before it is needed');
    const opened = await source.open();
    assert.ok(opened.ok);
    const first = opened.schedule.active;
    const seen: (string | undefined)[] = [];
    source.schedule.subscribe(() => void seen.push(look()));

    const rotated = await rotateSigningKeyFile(path, { dropPrevious: false, now: clock.now() });
    assert.ok(rotated.ok);
    const second = rotated.keys[1]!.kid;
    await waitFor('the new key is published', () => look() === `${first} of ${first} ${second}`);
    await clock.advance(announceMs - 1);
    assert.equal(look(), `${first} of ${first} ${second}`);
    await clock.advance(1);
    assert.equal(look(), `${second} of ${first} ${second}`);
    await clock.advance(keepSigningKeyMs);
    assert.equal(look(), `${second} of ${second}`);
    assert.equal(seen.length, 3);
    assert.deepEqual(clock.pendingDelays(), []);
    assert.ok(lines.some((line) => /another key signs/.test(line)));
    assert.ok(!lines.some((line) => line.includes('PRIVATE')));
  });

  test('two gateways with one file have the same key, and a leak ends the old one in both', async (t) => {
    const one = await startSource(t);
    const other = await startSource(t, one.place);
    await Promise.all([one.source.open(), other.source.open()]);
    assert.equal(one.look(), other.look());
    const fresh = await rotateSigningKeyFile(one.path, { dropPrevious: true, now: one.clock.now() });
    assert.ok(fresh.ok);
    const { kid } = fresh.keys[0]!;
    await waitFor('both have the new one', () => one.look() === `${kid} of ${kid}` && other.look() === one.look());
  });

  test('stay in force while the file is broken or readable by others, and the log says so once', async (t) => {
    const { source, path, lines, look } = await startSource(t);
    await source.open();
    const before = look();
    const good = readFileSync(path, 'utf8');
    const count = (pattern: RegExp): number => lines.filter((line) => pattern.test(line)).length;
    writeFileSync(path, good.slice(0, 40));
    await waitFor('the log says so', () => count(/signing key file .* stay in force/) === 1);
    await source.reload();
    writeFileSync(path, good);
    await waitFor('it can be used again', () => count(/the signing key file can be used again/) === 1);
    chmodSync(path, 0o644);
    await waitFor('the mode is noticed', () => count(/mode 0644.* stay in force/) === 1);
    assert.equal(look(), before);
  });

  test('cannot be had: the message says why, and the next try may succeed', async (t) => {
    const { source, path, look } = await startSource(t);
    writeFileSync(path, '', { mode: 0o600 });
    const refused = await source.open();
    assert.ok(!refused.ok && /cut off|Restore it/.test(refused.message));
    assert.equal(look(), undefined);
    await files.rm(path);
    assert.ok((await source.open()).ok);
    const nowhere = new SigningKeySource({ path: undefined, log: {} as Log });
    const lost = await nowhere.open();
    assert.ok(!lost.ok && /no place for the signing key file.*--signing-key-file/.test(lost.message));
  });
});
