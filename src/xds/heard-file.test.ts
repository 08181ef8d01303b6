import assert from 'node:assert/strict';
import * as files from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { type Log, silentLog } from '../base/log.ts';
import { findHeardFile, type HeardMoment, HeardWriter, measureSilence, readHeardFile } from './heard-file.ts';

const at = (wallMs: number, uptimeMs = wallMs): HeardMoment => ({ wallMs, uptimeMs });

describe('the silence between two moments', () => {
  const cases: readonly (readonly [what: string, heard: HeardMoment | undefined, now: HeardMoment, silence: number])[] =
    [
      ['usually both clocks agree', at(1_000_000, 5_000), at(1_060_000, 65_000), 60_000],
      ['it is not known when', undefined, at(1_060_000), Infinity],
      ['the machine was restarted', at(1_000_000, 86_400_000), at(1_060_000, 30_000), 60_000],
      ['the machine was restarted, and runs longer now', at(1_000_000, 5_000), at(9_000_000, 6_000_000), 8_000_000],
      ['the clock was set forward: too long is the safe side', at(1_000_000, 5_000), at(4_600_000, 65_000), 3_600_000],
      ['the clock was set back by less than passed', at(4_000_000, 5_000), at(4_100_000, 605_000), 600_000],
      ['the clock was set back by more', at(4_000_000, 5_000), at(1_000_000, 605_000), Infinity],
      ['the clock was corrected a little', at(1_000_400, 5_000), at(1_000_000, 5_100), 100],
      ['the clock was corrected, on a machine that was restarted', at(1_000_400, 5_000), at(1_000_000, 10), 0],
    ];
  for (const [what, heard, now, silence] of cases) test(what, () => assert.equal(measureSilence(heard, now), silence));
});

async function makePath(t: TestContext): Promise<string> {
  const folder = await files.mkdtemp(join(tmpdir(), 'heard-'));
  t.after(() => files.rm(folder, { recursive: true, force: true }));
  return findHeardFile(join(folder, 'snapshot'));
}

interface Given {
  everyMs?: number;
  latest?: HeardMoment;
  log?: Log;
}

async function start(t: TestContext, { everyMs = 1_000, latest, log = silentLog }: Given = {}) {
  const path = await makePath(t);
  const snapshot: { checksum: string | undefined } = { checksum: 'abc' };
  const readChecksum = (): string | undefined => snapshot.checksum;
  const writer = new HeardWriter({ path, gateway: 'n/g', log, everyMs, readChecksum }, latest);
  const read = (checksum = 'abc', gateway = 'n/g') => readHeardFile(path, gateway, checksum);
  return { path, snapshot, writer, read };
}

describe('the file', () => {
  test('says when, can be read by its owner only, and leaves nothing beside it', async (t) => {
    const { path, writer, read } = await start(t);
    writer.heard(at(1_767_225_600_000.4, 86_400_000.6));
    await writer.close();
    assert.deepEqual(await read(), at(1_767_225_600_000, 86_400_001));
    assert.equal((await files.stat(path)).mode & 0o777, 0o600);
    assert.deepEqual(await files.readdir(join(path, '..')), ['snapshot.heard']);
  });

  test('of another snapshot or another Gateway, damaged or missing, says nothing', async (t) => {
    const { path, writer, read } = await start(t);
    assert.equal(await read(), undefined);
    writer.heard(at(1_000));
    await writer.close();
    assert.equal(await read('other'), undefined);
    assert.equal(await read('abc', 'n/other'), undefined);
    const good = await files.readFile(path, 'utf8');
    for (const bad of [
      '',
      good.slice(0, -1),
      `${good}x`,
      good.replace('1000 1000', '1000 -1'),
      good.replace(' 1 ', ' 2 '),
    ]) {
      await files.writeFile(path, bad);
      assert.equal(await read(), undefined, bad);
    }
  });

  test('is written now and then, and in the end', async (t) => {
    const { writer, read } = await start(t, { everyMs: 1_000 });
    writer.heard(at(1_000));
    await writer.close();
    writer.heard(at(1_999));
    assert.deepEqual(await read(), at(1_000));
    await writer.close();
    assert.deepEqual(await read(), at(1_999));
  });

  test('never goes with a snapshot that is not in force', async (t) => {
    const { writer, read, snapshot } = await start(t);
    writer.heard(at(1_000));
    await writer.close();
    // Another configuration is in force and not saved yet.
    snapshot.checksum = undefined;
    writer.heard(at(50_000));
    await writer.close();
    assert.deepEqual(await read(), at(1_000));
    snapshot.checksum = 'def';
    writer.write();
    await writer.close();
    assert.deepEqual([await read('abc'), await read('def')], [undefined, at(50_000)]);
  });

  test('keeps the time from before a restart until a controller is heard', async (t) => {
    const { writer, read, snapshot } = await start(t, { latest: at(7) });
    snapshot.checksum = 'saved again';
    writer.write();
    await writer.close();
    assert.deepEqual(await read('saved again'), at(7));
  });

  test('that cannot be written is said once', async (t) => {
    const lines: string[] = [];
    const log: Log = { ...silentLog, warn: (_, message) => void lines.push(message) };
    const { path, writer, read } = await start(t, { everyMs: 0, log });
    await files.mkdir(path);
    for (let ms = 0; ms < 3; ms += 1) {
      writer.heard(at(ms));
      await writer.close();
    }
    assert.equal(lines.length, 1);
    assert.equal(await read(), undefined);
    await files.rmdir(path);
    writer.heard(at(9));
    await writer.close();
    assert.deepEqual(await read(), at(9));
  });
});
