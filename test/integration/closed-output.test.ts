// A command whose reader goes away, as in `mcp-gatehouse schema | head -1`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';

const program = join(import.meta.dirname, '../../bin/mcp-gatehouse.mjs');

test('a reader that goes away is no error', async () => {
  const child = spawn(process.execPath, [program, 'schema'], { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  child.stdout.once('data', () => child.stdout.destroy());
  const [code] = (await once(child, 'close')) as [number | null];
  assert.deepEqual([code, errors], [0, '']);
});
