import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { silentLog, type Log } from '../../base/log.ts';
import { waitFor } from '../../../test/kit/wait-for.ts';
import { FileWatch, type FileLook, type WatchTimes } from './watch-files.ts';

/** A disk in memory: its state is a number, and every look and load is counted. */
class FakeDisk {
  state = 0;
  young = false;
  isDoubtful = false;
  looks = 0;
  loads = 0;
  readonly applied: number[] = [];
  onLoad: () => void = () => {};

  readonly look = async (): Promise<FileLook> => {
    this.looks++;
    return this.describe();
  };

  readonly load = async () => {
    this.loads++;
    const look = this.describe();
    const { state } = this;
    this.onLoad();
    const apply = (): void => void this.applied.push(state);
    return { look, isDoubtful: this.isDoubtful, apply };
  };

  describe(): FileLook {
    const takenAt = Date.now();
    return { takenAt, fingerprint: String(this.state), youngest: this.young ? takenAt : 0, folders: [] };
  }
}

function startWatch(t: TestContext, disk: FakeDisk, times: Partial<WatchTimes> = {}, log: Log = silentLog): FileWatch {
  const watch = new FileWatch(
    {
      look: disk.look,
      load: disk.load,
      log,
      times: { settle: 1, settleDoubtful: 1, patience: 1000, poll: 1, ...times },
    },
    disk.describe(),
  );
  t.after(() => watch.stop());
  return watch;
}

describe('FileWatch', () => {
  test('reads nothing while nothing changes, and the newest state when it does', async (t) => {
    const disk = new FakeDisk();
    startWatch(t, disk);
    await waitFor(() => disk.looks > 5);
    assert.equal(disk.loads, 0);
    disk.state = 1;
    await waitFor(() => disk.applied.length === 1);
    assert.deepEqual(disk.applied, [1]);
  });

  test('a state that changed while it was read is not applied', async (t) => {
    const disk = new FakeDisk();
    disk.onLoad = () => {
      if (disk.loads < 4) disk.state++;
    };
    disk.state = 0;
    startWatch(t, disk);
    disk.state = 1;
    await waitFor(() => disk.applied.length === 1);
    assert.deepEqual(disk.applied, [4]);
  });

  test('a state that never settles is applied when patience runs out, and the last one in the end', async (t) => {
    const disk = new FakeDisk();
    disk.onLoad = () => {
      if (disk.applied.length < 2) disk.state++;
    };
    startWatch(t, disk, { patience: 10 });
    disk.state = 1;
    await waitFor(() => disk.applied.at(-1) === disk.state && disk.applied.length >= 3);
  });

  test('a file that was written a moment ago is read again: it may have changed without looking different', async (t) => {
    const disk = new FakeDisk();
    disk.young = true;
    startWatch(t, disk);
    await waitFor(() => disk.applied.length >= 2);
    disk.young = false;
    const loads = disk.loads;
    await waitFor(() => disk.looks > loads * 10 + 100);
    assert.ok(disk.loads <= loads + 2);
  });

  test('what is doubtful waits longer, and is forgotten at once when the files change again', async (t) => {
    const disk = new FakeDisk();
    disk.isDoubtful = true;
    startWatch(t, disk, { settleDoubtful: 3_600_000, patience: 7_200_000 });
    disk.state = 1;
    await waitFor(() => disk.loads === 1);
    const { looks } = disk;
    await waitFor(() => disk.looks > looks + 5);
    assert.deepEqual(disk.applied, []);
    disk.state = 2;
    disk.isDoubtful = false;
    await waitFor(() => disk.applied.length === 1);
    assert.deepEqual(disk.applied, [2]);
  });

  test('what is doubtful and lasts is applied', async (t) => {
    const disk = new FakeDisk();
    disk.isDoubtful = true;
    startWatch(t, disk, { settleDoubtful: 10 });
    disk.state = 1;
    await waitFor(() => disk.applied.length === 1);
  });

  test('a fault while reading is logged and does not end the watching', async (t) => {
    const disk = new FakeDisk();
    const errors: string[] = [];
    const log: Log = { ...silentLog, error: (_fields, message) => errors.push(message) };
    disk.onLoad = () => {
      if (disk.loads === 1) throw new Error('disk on fire');
    };
    startWatch(t, disk, {}, log);
    disk.state = 1;
    await waitFor(() => disk.applied.length === 1);
    assert.deepEqual(errors, ['reading the files failed; trying again']);
  });

  test('stop ends it, also in the middle of waiting', async (t) => {
    const disk = new FakeDisk();
    const watch = startWatch(t, disk, { settle: 3_600_000 });
    disk.state = 1;
    await waitFor(() => disk.looks > 0);
    await watch.stop();
    assert.equal(disk.loads, 0);
  });
});
