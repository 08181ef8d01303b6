// Reports which tests were added, moved or removed: `node scripts/compare-tests.ts BEFORE... -- AFTER...` compares lists of `run-tests.ts SUITE -- --names FILE`. A test is
// found again by its name and the names of what it is in, in its file or in another one; numbers in names do not count, because effort changes them.
import { readFileSync } from 'node:fs';
import type { TestEnd } from './test-run/lane-messages.ts';

const split = process.argv.indexOf('--');
const [before, after] = [process.argv.slice(2, split), process.argv.slice(split + 1)];
if (split === -1 || before.length === 0 || after.length === 0) {
  console.error('Usage: node scripts/compare-tests.ts BEFORE... -- AFTER...');
  process.exit(2);
}

type Place = Pick<TestEnd, 'file' | 'path'>;

function readTests(files: readonly string[]): Place[] {
  return files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as TestEnd)
      .filter(({ isSuite }) => !isSuite),
  );
}

const spell = ({ path }: Place): string => path.join(' > ').replaceAll(/\d[\d,.]*/g, 'N');

function groupByName(tests: readonly Place[]): Map<string, Place[]> {
  return Map.groupBy(tests, spell);
}

const [old, now] = [readTests(before), readTests(after)];
const known = groupByName(now);
const moved = new Map<string, number>();
const missing: Place[] = [];
let stayed = 0;
for (const [name, places] of groupByName(old)) {
  const left = [...(known.get(name) ?? [])];
  for (const place of places) {
    const same = left.findIndex(({ file }) => file === place.file);
    const found = left.splice(same === -1 ? 0 : same, 1)[0];
    if (found === undefined) missing.push(place);
    else if (found.file === place.file) stayed += 1;
    else moved.set(`${place.file} -> ${found.file}`, (moved.get(`${place.file} -> ${found.file}`) ?? 0) + 1);
  }
}
const earlier = groupByName(old);
const added = [...known].flatMap(([name, places]) => places.slice((earlier.get(name) ?? []).length));

console.log(`${old.length} tests before, ${now.length} after: ${stayed} where they were`);
for (const [way, count] of [...moved].toSorted(([left], [right]) => left.localeCompare(right)))
  console.log(`moved: ${count} ${way}`);
for (const { file, path } of missing) console.log(`gone: ${file}: ${path.join(' > ')}`);
for (const { file, path } of added) console.log(`new: ${file}: ${path.join(' > ')}`);
process.exitCode = missing.length > 0 ? 1 : 0;
