// Maps with a limit on their entries, checked here and by the CRD (maxProperties).
import * as z from 'zod';

/** A map of at most so many entries. */
export function boundedMapSchema<K extends z.ZodType<string, string>, V extends z.ZodType>(
  key: K,
  value: V,
  max: number,
) {
  return z
    .record(key, value)
    .superRefine((map, context) => {
      const count = Object.keys(map).length;
      if (count > max) context.addIssue({ code: 'custom', message: `must have at most ${max} entries, has ${count}` });
    })
    .meta({ maxProperties: max });
}
