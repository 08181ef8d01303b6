// CI runs every suite once, and no browser beside a cluster.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { ciRows } from '../scripts/test-run/ci-rows.ts';
import { checkout, findSuite, suiteNames } from '../scripts/test-run/suites.ts';

const scripts = ciRows.flat().map(({ script }) => script);
const scriptOf = (suite: string): string => (suite === 'default' ? 'test' : `test:${suite}`);

/** The suites that have a file which imports this, or a file that does. */
function listUsers(isMeant: (specifier: string) => boolean): string[] {
  const known = new Map<string, boolean>();
  const uses = (file: string): boolean => {
    const before = known.get(file);
    if (before !== undefined) return before;
    // Files that import each other end here.
    known.set(file, false);
    const text = readFileSync(join(checkout, file), 'utf8');
    const imported = [...text.matchAll(/^(?:import|export) (?!type )[^'"]*?'([^']+)';$/gm)].map(([, name]) => name!);
    const found = imported.some(
      (name) => isMeant(name) || (/^\.+\/.*\.ts$/.test(name) && uses(join(dirname(file), name))),
    );
    known.set(file, found);
    return found;
  };
  return suiteNames.filter((suite) => findSuite(suite)!.files.some(uses)).map(scriptOf);
}

describe('what CI runs', () => {
  test('every suite, once, and the benchmark', () => {
    assert.deepEqual(scripts.toSorted(), ['bench', ...suiteNames.map(scriptOf)].toSorted());
  });

  test('suites with a browser are in the row of the suites that link the network of a cluster to the machine', () => {
    const browsers = listUsers((name) => name === 'playwright-core');
    const clusters = listUsers((name) => name.endsWith('/host-link.ts'));
    // Others may come to have one; these show that the search finds something.
    for (const known of ['test:browser', 'test:compatibility']) assert.ok(browsers.includes(known), known);
    for (const known of ['test:cluster', 'test:conformance']) assert.ok(clusters.includes(known), known);
    const row = ciRows.find((each) => each.some(({ script }) => clusters.includes(script)))!;
    const inRow = new Set(row.map(({ script }) => script));
    for (const script of [...browsers, ...clusters]) assert.ok(inRow.has(script), `${script} is in another row`);
  });
});
