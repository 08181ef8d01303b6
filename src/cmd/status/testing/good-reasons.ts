// Which reasons of conditions need no advice, for tests that go through all of them.

/** Reasons of conditions that are as they should be: nothing to advise. */
export const goodReasons: ReadonlySet<string> = new Set([
  'Accepted',
  'Programmed',
  'ResolvedRefs',
  'Attached',
  'NoConflicts',
  'SupportedVersion',
  'RollingOut',
  'AllUp',
  'NotAskedYet',
]);
