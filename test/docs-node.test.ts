// Commands in documentation work with any Node from 20 on: what runs TypeScript is started by npm, or by `npx node`, which is the Node of the checkout.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');
const pages = globSync(['*.md', 'docs/**/*.md', 'test/**/README.md', 'charts/*/README.md', 'examples/**/*.md'], {
  cwd: root,
});
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** Texts that are meant to be typed: in backticks, and lines of blocks for a shell. */
function listCommands(text: string): readonly string[] {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block]) => block!.split('\n'));
  const inline = [...text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!);
  return [...blocks, ...inline];
}

test('there are pages', () => assert.ok(pages.length > 40, `${pages.length} found`));

for (const page of pages) {
  const commands = listCommands(readFileSync(join(root, page), 'utf8'));
  test(page, () => {
    for (const command of commands) {
      // A table of times names a program; it does not ask to run it.
      const isMeasured = page === 'docs/adr/0021-start-and-rest.md';
      const started = /(?<before>\S+ )?\bnode (?:--\S+ )*(?<file>\S+\.ts)\b/.exec(command)?.groups;
      if (started !== undefined && !isMeasured) {
        assert.equal(started['before'], 'npx ', `npx node ${started['file']}, not: ${command}`);
        if (!/[A-Z*]/.test(started['file']!)) assert.ok(existsSync(join(root, started['file']!)), command);
      }
      const script = /\bnpm run (?<name>[\w:-]+)/.exec(command)?.groups?.['name'];
      if (script !== undefined && !/[A-Z]/.test(script))
        assert.ok(Object.hasOwn(scripts, script), `npm run ${script} does not exist`);
    }
  });
}
