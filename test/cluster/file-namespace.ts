// The namespace of the file of tests that runs. Files that share a cluster run one after another in a process, each in a namespace of its own: what names
// no namespace is meant to be there.

const usual = 'default';
let current = usual;

/** Begins to use a namespace, until `releaseNamespace`. Called at the beginning of a file, before anything is named. */
export function claimNamespace(name: string): string {
  current = name;
  return name;
}

/** The next file has its own, or a cluster of its own and the usual one. */
export function releaseNamespace(): void {
  current = usual;
}

/** Where that is which names no namespace. */
export function readNamespace(): string {
  return current;
}
