// Parts of an object that Kubernetes defines and we pass on: any fields, and null as a value that removes.
import * as z from 'zod';

/** The metadata key of mappings in which null is a value, and not a slip: it removes what stood there. */
export const nullRemovesKey = 'x-null-removes';

const marks = { 'x-kubernetes-preserve-unknown-fields': true, [nullRemovesKey]: true } as const;

/** A mapping of anything. The API server validates it when it is applied. */
export function freeFormSchema() {
  return z.record(z.string(), z.unknown()).meta(marks);
}

/** A mapping of anything in which we know some fields. */
export function openObjectSchema<S extends z.ZodRawShape>(known: S) {
  return z.looseObject(known).meta(marks);
}
