// The links between the pages: every file and every anchor exists, and docs/README.md leads to every page.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, test } from 'node:test';
import { listAnchors } from './page-anchors.ts';

const root = join(import.meta.dirname, '..');
const pages = globSync(['*.md', 'docs/**/*.md', 'charts/*/README.md', 'test/**/README.md'], { cwd: root }).toSorted();

interface Link {
  /** A path from the root of the repository. */
  readonly path: string;
  readonly anchor: string | undefined;
}

/** The links of a page that lead to files here. */
function listLinks(page: string): readonly Link[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target!)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file = '', anchor] = target.split('#');
      return { path: file === '' ? page : normalize(join(dirname(page), file)), anchor };
    });
}

/** Why a link leads nowhere; undefined for a good one. */
function findFault({ path, anchor }: Link): string | undefined {
  const file = join(root, path);
  if (!existsSync(file)) return `${path} does not exist`;
  if (anchor === undefined) return undefined;
  if (statSync(file).isDirectory()) return `${path} is a folder and has no #${anchor}`;
  return listAnchors(readFileSync(file, 'utf8')).includes(anchor) ? undefined : `${path} has no #${anchor}`;
}

describe('links lead somewhere', () => {
  for (const page of pages)
    test(page, () =>
      assert.deepEqual(
        listLinks(page).flatMap((link) => findFault(link) ?? []),
        [],
      ),
    );
});

test('docs/README.md names every page in docs', () => {
  const named = new Set(listLinks('docs/README.md').map(({ path }) => path));
  const missing = globSync(['docs/*.md', 'docs/*/README.md'], { cwd: root }).filter(
    (page) => page !== 'docs/README.md' && !named.has(page),
  );
  assert.deepEqual(missing, []);
});
