// What CI runs: rows side by side, and the suites of a row one after the other.

/** A script of package.json. */
export interface NpmScript {
  readonly script: string;
  readonly args?: readonly string[];
}

/**
 * Both take about as long on a quiet machine. Suites that need programs in Go come late: on a fresh machine the programs are built meanwhile, those that come first here before the
 * others (scripts/install-test-programs.ts). The images come right before the clusters, whose nodes run the same ones, and not beside them: both write to one folder.
 */
export const ciRows: readonly (readonly NpmScript[])[] = [
  [{ script: 'test:long' }, { script: 'test:image' }, { script: 'test:cluster' }],
  [
    { script: 'test:browser' },
    { script: 'test' },
    { script: 'bench', args: ['--smoke'] },
    { script: 'test:compatibility' },
    { script: 'test:conformance' },
    { script: 'test:chart' },
  ],
];
