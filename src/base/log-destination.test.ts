import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { type LogDestination, openLogDestination } from './log-destination.ts';
import { waitFor } from '../../test/kit/wait-for.ts';

const never = 2 ** 31 - 1;

interface Opened {
  readonly destination: LogDestination;
  readonly read: () => string;
}

function open(t: TestContext, maxWaitMs: number): Opened {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-log-'));
  const path = join(folder, 'log');
  const destination = openLogDestination(path, { maxWaitMs });
  t.after(() => {
    destination.close();
    rmSync(folder, { recursive: true });
  });
  return { destination, read: () => readFileSync(path, 'utf8') };
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('lines that may wait', () => {
  test('go out with the next one that may not, in order', async (t) => {
    const { destination, read } = open(t, never);
    destination.write('a\n', true);
    destination.write('b\n', true);
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    assert.equal(read(), '');
    destination.write('c\n');
    destination.write('d\n', true);
    await waitFor(() => read() !== '');
    assert.equal(read(), 'a\nb\nc\nd\n');
  });

  test('go out by themselves after a moment, every time', async (t) => {
    const { destination, read } = open(t, 1);
    for (const expected of ['a\n', 'a\na\n', 'a\na\na\n']) {
      destination.write('a\n', true);
      await waitFor(() => read() === expected);
    }
  });

  test('go out when there are enough', async (t) => {
    const { destination, read } = open(t, never);
    const line = `${'x'.repeat(999)}\n`;
    for (let count = 0; count < 30; count += 1) destination.write(line, true);
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    assert.equal(read(), '');
    for (let count = 0; count < 10; count += 1) destination.write(line, true);
    await waitFor(() => read() !== '');
    assert.equal(read(), line.repeat(40));
  });

  test('are flushed, at once or as a promise, and closing loses none', async (t) => {
    const { destination, read } = open(t, never);
    destination.write('a\n', true);
    destination.flushSync();
    assert.equal(read(), 'a\n');
    destination.write('b\n', true);
    await destination.flush();
    assert.equal(read(), 'a\nb\n');
    await destination.flush();
    destination.write('c\n', true);
    destination.close();
    assert.equal(read(), 'a\nb\nc\n');
    destination.write('d\n', true);
    destination.flushSync();
    assert.equal(read(), 'a\nb\nc\n');
  });

  test('are whole, however many and whatever is in them', async (t) => {
    const { destination, read } = open(t, never);
    let expected = '';
    for (let round = 0; round < 6; round += 1) {
      // From less than a batch to several at once, in characters of one to four bytes.
      for (let count = 0; count < 40 * 4 ** round; count += 1) {
        const line = `${round} ${count} \u00e9\u20ac\u{1f600}${'y'.repeat(count % 90)}\n`;
        expected += line;
        destination.write(line, count % 7 !== 0);
      }
      await destination.flush();
    }
    for (const length of [60_000, 65_535, 65_536, 200_000]) {
      const line = `${'\u20ac'.repeat(length)}\n`;
      expected += line;
      destination.write(line, true);
      await destination.flush();
    }
    assert.ok(read() === expected, 'the file differs');
  });
});

test('a full disk loses lines and nothing else', { skip: process.platform !== 'linux' }, async () => {
  let dropped = 0;
  const destination = openLogDestination('/dev/full', { maxWaitMs: never, onDropped: (count) => (dropped += count) });
  const line = `${'x'.repeat(999)}\n`;
  // Several batches, none of which can be written.
  for (let count = 0; count < 500; count += 1) destination.write(line, true);
  await destination.flush();
  await destination.flush();
  assert.equal(dropped, 0, 'nothing is reported while nothing can be written');
  destination.close();
});
