// Lists that Kubernetes treats as sets or maps: no entry, or no key, twice.
import type { z } from 'zod';

/** Reports entries that stand twice in a list of strings. */
export function uniqueItems(items: readonly string[], context: z.RefinementCtx): void {
  for (const [index, item] of items.entries()) {
    if (items.indexOf(item) < index)
      context.addIssue({ code: 'custom', path: [index], message: 'must not be listed twice' });
  }
}

/** Reports entries whose `name` another entry has already. */
export function uniqueNames(items: readonly { readonly name: string }[], context: z.RefinementCtx): void {
  uniqueMembers('name')(items, context);
}

/** Reports entries whose member another entry has already. */
export function uniqueMembers<M extends string>(member: M) {
  return (items: readonly { readonly [member in M]: string }[], context: z.RefinementCtx): void => {
    const seen = new Map<string, number>();
    for (const [index, item] of items.entries()) {
      const earlier = seen.get(item[member]);
      if (earlier === undefined) seen.set(item[member], index);
      else
        context.addIssue({
          code: 'custom',
          path: [index, member],
          message: `must be unique; entry ${earlier} has the same ${member}`,
        });
    }
  };
}
