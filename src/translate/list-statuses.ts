// The statuses of one kind by name, in sorted order.
import { keepEqual } from './memory.ts';
import { compareText } from './order.ts';

/** Something that has a status, or none. */
export interface Described<T> {
  /** namespace/name, or the name of what has no namespace. */
  readonly name: string;
  readonly status: T | undefined;
}

/** Lists statuses. One that did not change is the one that was there, and so is the record. Of two with one name the later counts. */
export function prepareStatusList<T>(): (
  ...lists: readonly (readonly Described<T>[])[]
) => Readonly<Record<string, T>> {
  let last: readonly Described<T>[] = [];
  let record: Readonly<Record<string, T>> = {};
  return (...lists) => {
    const described = lists.flat().filter(({ status }) => status !== undefined);
    const sorted = isSorted(described)
      ? described
      : described.toSorted((left, right) => compareText(left.name, right.name));
    const isSame =
      sorted.length === last.length &&
      sorted.every(({ name, status }, at) => name === last[at]?.name && status === last[at].status);
    if (!isSame) {
      const known = record;
      record = Object.fromEntries(sorted.map(({ name, status }) => [name, keepEqual(known[name], status as T)]));
    }
    last = sorted;
    return record;
  };
}

function isSorted(described: readonly { readonly name: string }[]): boolean {
  return described.every(({ name }, at) => at === 0 || described[at - 1]!.name < name);
}
