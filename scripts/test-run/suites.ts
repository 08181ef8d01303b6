// The suites of tests: which files belong to each, and how they run.
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join, sep } from 'node:path';

/** One suite: `npm test`, or `npm run test:NAME`. */
export interface Suite {
  /** Below the checkout, in the order in which they begin. */
  readonly files: readonly string[];
  /** Scripts of npm that run beside the tests. */
  readonly checks?: readonly string[];
  /** Its tests start the program. */
  readonly isBuilt: boolean;
  /** Processes at the same time. */
  readonly lanes: number;
  /** Files that run one after the other share a process; otherwise each has its own. */
  readonly isShared: (file: string) => boolean;
  /** Shows the output of tests while they run: installations take minutes. */
  readonly isLive: boolean;
  /** Tests try all that they know of, with another seed each time (test/kit/effort.ts). */
  readonly isFull?: true;
  /** It runs in a network namespace of its own, where that can be had (own-network.ts). Every suite that starts clusters does. */
  readonly hasOwnNetwork?: true;
}

export const checkout = join(import.meta.dirname, '..', '..');
const ending = '.test.ts';

/** Tests wait more than they work. */
const moreThanCores = availableParallelism() + 1;
/** The quick ones most of all. */
const manyMoreThanCores = availableParallelism() + 3;
/** Where they also start programs of their own. */
const asCores = Math.max(2, availableParallelism() - 1);

const quickFolders = ['src/**', 'test', 'test/integration', 'test/security'];
/** So many unit tests run before anything that has to be built. */
const unitsAtFirst = 40;
/** Files that count what is in the memory of their process. */
const alone = new Set(['inference-leaks', 'inference-pressure', 'loaded-at-start']);
const canShare = (file: string): boolean => !alone.has(nameFile(file));
const heavy = { isBuilt: true, isShared: () => false, isLive: true };
const suites: Readonly<Record<string, () => Suite>> = {
  default: () => ({
    files: spread(list('src/**'), list('test', 'test/integration', 'test/security')),
    // The linter tells about types, too: it reads the program anyway.
    checks: ['lint', 'format:check'],
    isBuilt: true,
    lanes: manyMoreThanCores,
    isShared: canShare,
    isLive: false,
  }),
  long: () => ({
    // Uses all inputs, of which `npm test` uses few.
    files: [...list('test/long'), ...list(...quickFolders).filter(triesLess)],
    isBuilt: true,
    lanes: moreThanCores,
    isShared: canShare,
    isLive: false,
    isFull: true,
    // The linter leaves it out.
    checks: ['types:generated'],
  }),
  browser: () => ({ ...heavy, files: list('test/browser'), lanes: 1 }),
  chart: () => ({ ...heavy, files: list('test/chart'), lanes: asCores, isBuilt: false }),
  image: () => ({ ...heavy, files: list('test/image'), lanes: 1, isBuilt: false }),
  // Files with a cluster of their own first, then those that share the one of their lane: it is started when the first of them comes.
  cluster: () => ({
    ...heavy,
    files: list('test/cluster').toSorted((left, right) => Number(sharesCluster(left)) - Number(sharesCluster(right))),
    lanes: moreThanCores,
    isShared: () => true,
    hasOwnNetwork: true,
  }),
  conformance: () => ({ ...heavy, files: list('test/conformance'), lanes: 2, hasOwnNetwork: true }),
  // Identity providers in one, servers in the other: the waits of one are the other's work.
  compatibility: () => ({ ...heavy, files: list('test/compatibility'), lanes: 2 }),
};

export const suiteNames = Object.keys(suites);

/** Undefined: there is no such suite. */
export function findSuite(name: string): Suite | undefined {
  return Object.hasOwn(suites, name) ? suites[name]!() : undefined;
}

/** How a file is called on the command line: `control-plane-login`. */
export function nameFile(file: string): string {
  return basename(file, ending);
}

function sharesCluster(file: string): boolean {
  return readFileSync(join(checkout, file), 'utf8').includes("'./shared-cluster.ts'");
}

/** It asks how hard to try, or draws its inputs. */
function triesLess(file: string): boolean {
  return /kit\/effort\.ts'|'fast-check'/.test(readFileSync(join(checkout, file), 'utf8'));
}

/** Unit tests compute, the others wait more than they compute: mixed, they leave neither processors nor lanes idle. */
function spread(units: readonly string[], others: readonly string[]): readonly string[] {
  const later = units.slice(unitsAtFirst);
  const perOther = later.length / others.length;
  return [
    ...units.slice(0, unitsAtFirst),
    ...others.flatMap((other, index) => [
      other,
      ...later.slice(Math.round(index * perOther), Math.round((index + 1) * perOther)),
    ]),
  ];
}

function list(...folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) => {
    const files = globSync(`${folder}/*${ending}`, { cwd: checkout }).map((file) => file.split(sep).join('/'));
    if (files.length === 0) throw new Error(`There is no test in ${folder}.`);
    return files.toSorted();
  });
}
