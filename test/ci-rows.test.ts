// CI runs every suite once, and no cluster where a browser could notice it.
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
  return suiteNames.filter((suite) => findSuite(suite)!.files.some(uses));
}

describe('what CI runs', () => {
  test('every suite, once, and the benchmark', () => {
    assert.deepEqual(scripts.toSorted(), ['bench', ...suiteNames.map(scriptOf)].toSorted());
  });

  test('suites that link clusters to a network have one of their own, which browsers of other suites do not see', () => {
    const linking = listUsers((name) => name.endsWith('/host-link.ts'));
    assert.deepEqual(linking, ['cluster', 'conformance']);
    for (const suite of linking) assert.equal(findSuite(suite)!.hasOwnNetwork, true, `${suite} has no own network`);
    // A browser beside clusters in the same network would notice them.
    const browsing = listUsers((name) => name === 'playwright-core');
    for (const known of ['browser', 'compatibility']) assert.ok(browsing.includes(known), known);
    for (const suite of browsing) assert.ok(!linking.includes(suite), `${suite} has browsers and clusters`);
  });

  test('images are made before clusters run them, and not beside', () => {
    const row = ciRows.find((each) => each.some(({ script }) => script === 'test:cluster'))!;
    const inRow = row.map(({ script }) => script);
    assert.ok(inRow.includes('test:image') && inRow.indexOf('test:image') < inRow.indexOf('test:cluster'));
  });
});
