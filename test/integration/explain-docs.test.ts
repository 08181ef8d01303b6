// The commands of docs/explain.md, run as they stand there: with its files, and with its outputs. UPDATE_GOLDENS=1 writes the outputs anew.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { allPolicyKinds, authenticationKinds } from '../../src/ir/policy-kinds.ts';
import { createTicketIssuer, type Run, runExplain, runToken, writeFolder } from './explain-fixture.ts';

const root = join(import.meta.dirname, '../..');
const page = join(root, 'docs/explain.md');
const named = /^`([\w-]+\.\w+)`:\n\n```\w+\n([\s\S]*?)^```$/gm;
const shown = /^```sh\n(mcp-gatehouse .*)\n```\n\n```\n([\s\S]*?)^```$/gm;

/** Words of a command as a shell would split them; the files of the page are in `folder`. */
function splitWords(command: string, folder: string, files: readonly string[]): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)]
    .map(([, quoted, word]) => quoted ?? word!)
    .map((word) => (files.includes(word) ? join(folder, word) : word));
}

/** Ids are new every time, and so are the times of a token. */
function settle(text: string): string {
  return text.replaceAll(
    /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g,
    '5f0c7f1e-5d2b-4c39-9f43-0c9c1a8a2f6b',
  );
}

/** A token of Alice: good for the policies when it is explained, and for a clock that stands still when it is inspected. */
async function run(words: readonly string[]): Promise<Run> {
  const [, command, ...rest] = words;
  const redirected = rest.indexOf('<');
  const args = redirected === -1 ? rest : rest.slice(0, redirected);
  const now = Date.UTC(2026, 0, 31, 12);
  const claims = { aud: 'tickets', team: 'support', scope: 'tickets:read' };
  if (command === 'token') {
    const times = { iat: now / 1_000 - 7_200, exp: now / 1_000 - 3_600, aud: ['billing'] };
    return runToken(args, { stdin: await createTicketIssuer().sign({ ...claims, ...times }), now: () => now });
  }
  return runExplain(args, { stdin: await createTicketIssuer().sign(claims) });
}

describe('docs/explain.md', () => {
  test('its commands print what it shows', async (t) => {
    const text = await readFile(page, 'utf8');
    const files = Object.fromEntries([...text.matchAll(named)].map(([, name, content]) => [name!, content!]));
    assert.deepEqual(Object.keys(files), ['gateway.yaml', 'alice.json', 'dave.json', 'tools.json']);
    const folder = await writeFolder(t, files);
    const examples = [...text.matchAll(shown)].map(([, command, output]) => ({ command: command!, output: output! }));
    assert.equal(examples.length, 6);
    let written = text;
    for (const { command, output } of examples) {
      const { out, err } = await run(splitWords(command, folder, Object.keys(files)));
      assert.equal(err, '', command);
      const settled = settle(out);
      if (process.env['UPDATE_GOLDENS'] === '1')
        written = written.replace(
          `${command}\n\`\`\`\n\n\`\`\`\n${output}`,
          () => `${command}\n\`\`\`\n\n\`\`\`\n${settled}`,
        );
      else assert.equal(settled, output, command);
    }
    if (written !== text) await writeFile(page, written);
  });

  test('the types of --json are those of the code', async () => {
    const text = await readFile(page, 'utf8');
    const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
    const sources = await Promise.all(
      ['src/cmd/explain/explain-report.ts', 'src/cmd/token/token-report.ts'].map(async (file) => {
        const source = await readFile(join(root, file), 'utf8');
        // The page spells the names of policy kinds out; they are those of the table.
        return source
          .slice(source.indexOf('\n\n') + 2)
          .replace(
            ": PolicyKind | 'closed';",
            `:${[...allPolicyKinds, 'closed'].map((kind) => `\n    | '${kind}'`).join('')};`,
          )
          .replace(': AuthenticationKind;', `: ${authenticationKinds.map((kind) => `'${kind}'`).join(' | ')};`);
      }),
    );
    assert.deepEqual(blocks, sources);
  });
});
