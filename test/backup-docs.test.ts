// docs/backup.md: its commands for a gateway from files, as they stand there. Those for Kubernetes run in test/cluster/backup.test.ts.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readOrCreateSealKeyFile, readSealKeyFile } from '../src/cmd/seal-key-file.ts';

const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'backup.md'), 'utf8');

test('seal keys from files are backed up and restored, and the gateway takes them', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-backup-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const section = page.split(/^## /m).find((text) => text.startsWith('From files\n')) ?? '';
  const [backUp, restore] = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands]) => commands!);
  const run = (commands: string | undefined): void => {
    execFileSync('bash', ['-euo', 'pipefail', '-c', commands ?? 'false'], {
      env: { HOME: home, PATH: process.env['PATH'] },
    });
  };
  const state = join(home, '.local/state/mcp-gatehouse');
  const file = join(state, 'seal-keys');
  const before = await readOrCreateSealKeyFile(file);
  assert.ok(before.ok, JSON.stringify(before));
  run(backUp);
  rmSync(state, { recursive: true });
  run(restore);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(await readSealKeyFile(file), { ...before, created: false });
});
