// What CI runs: rows side by side, and the suites of a row one after the other.

/** A script of package.json. */
export interface NpmScript {
  readonly script: string;
  readonly args?: readonly string[];
}

/**
 * One row computes, the other one waits for browsers and clusters. A cluster links its network to the machine's, and Chromium then fails every request that waits for a connection
 * (ERR_NETWORK_CHANGED), be it to loopback: browsers and clusters are in one row, where they never meet. Suites that need programs in Go come late in it: on a fresh machine the
 * programs are built meanwhile. The image is built in the row of the clusters, whose nodes run the same one.
 */
export const ciRows: readonly (readonly NpmScript[])[] = [
  [{ script: 'test' }, { script: 'test:long' }, { script: 'bench', args: ['--smoke'] }],
  [
    { script: 'test:browser' },
    { script: 'test:image' },
    { script: 'test:chart' },
    { script: 'test:compatibility' },
    { script: 'test:conformance' },
    { script: 'test:cluster' },
  ],
];
