// The order that Gateway API requires: by age, then by name. It depends neither on the locale nor on the input.

/** What the orders look at; every resource has it. */
export interface Named {
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly name: string;
    readonly creationTimestamp?: string | undefined;
  };
}

/** By code units, the same on every machine. */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** namespace/name; a cluster-scoped resource has only its name. */
export function formatName(resource: Named): string {
  const { namespace, name } = resource.metadata;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

/** Seconds since 1970, 0 when unknown (files have no creation time). */
export function readCreatedAt(resource: Named): number {
  const { creationTimestamp } = resource.metadata;
  if (creationTimestamp === undefined) return 0;
  const seconds = Math.floor(Date.parse(creationTimestamp) / 1000);
  return Number.isFinite(seconds) && seconds > 0 && seconds <= 0xff_ff_ff_ff ? seconds : 0;
}

/** The older first, the unknown age last, then by namespace/name. */
export function sortByAge<T extends Named>(resources: readonly T[]): readonly T[] {
  const aged = resources.map((resource) => ({
    resource,
    age: readCreatedAt(resource) || Infinity,
    name: formatName(resource),
  }));
  return aged
    .toSorted((left, right) => (left.age === right.age ? compareText(left.name, right.name) : left.age - right.age))
    .map(({ resource }) => resource);
}

/** The entries of a record by key: the order in which they were written has no meaning and must not change the message. */
export function sortEntries<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).toSorted(([left], [right]) => compareText(left, right)));
}
