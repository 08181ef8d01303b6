// What CI runs: rows side by side, and the suites of a row one after the other.

/** A script of package.json. */
export interface NpmScript {
  readonly script: string;
  readonly args?: readonly string[];
}

/**
 * The first two are dealt so that they take about as long on a quiet machine. The third one works little and waits much: it fills what the others leave of the processors
 * while they have no clusters yet. Suites that need programs in Go come late, except for those that wait for them without holding up anybody: on a fresh machine the programs
 * are built meanwhile, those that come first here before the others (scripts/install-test-programs.ts). The images need none of them and come long before the clusters, whose
 * nodes run the same ones, and not beside them: both write to one folder.
 */
export const ciRows: readonly (readonly NpmScript[])[] = [
  [{ script: 'test:long' }, { script: 'test:cluster' }],
  [
    { script: 'test:browser' },
    { script: 'test' },
    { script: 'bench', args: ['--smoke'] },
    { script: 'test:compatibility' },
  ],
  [{ script: 'test:image' }, { script: 'test:chart' }, { script: 'test:conformance' }],
];
