// docs/multi-tenancy.md as printed: the platform's policy is the one of the example, and the team that tries to open its route is told what the page says.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkCommand } from '../src/cmd/check.ts';
import { executeCommand } from '../src/cmd/command.ts';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const page = read('docs/multi-tenancy.md');
const example = read('examples/multi-tenancy.yaml');
const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, , text]) => text!);

test('the policy of the platform is the one of the example', () => {
  assert.ok(example.includes(blocks[0]!));
});

test('check tells the team what the page says', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-multi-tenancy-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'gateway.yaml');
  const [, attempt, told] = blocks;
  writeFileSync(file, `${example}---\n${attempt}`);
  let said = '';
  const code = await executeCommand(checkCommand, ['-f', file], {
    stdout: () => {},
    stderr: (text: string) => (said += text),
    color: false,
    env: {},
  });
  assert.equal(code, 1);
  assert.ok(said.includes(told!.trim()), said);
});
