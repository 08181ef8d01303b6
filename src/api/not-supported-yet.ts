// Fields and values that the schemas know and the gateway refuses: no field is ever accepted and ignored.
// The mark lies in the schema's metadata, so the CRDs, the editor schema and the reference still document the field.
import type { z } from 'zod';
import type { Origin } from './origin.ts';
import type { ProblemCode } from './problem.ts';

/** When and why a field of a valid shape is refused. */
export interface Refusal {
  readonly code: Extract<ProblemCode, 'not_supported_yet' | 'invalid'>;
  readonly message: string;
  /** Only refused when read from there; everywhere when absent. */
  readonly origin?: Origin;
  /** Only these values are refused; any value when absent. */
  readonly values?: readonly string[];
  /** An empty object or list says nothing and is let through. */
  readonly unlessEmpty?: boolean;
}

/** The metadata key that carries a Refusal through `.meta()` into the described schema. */
export const refusalKey = 'x-refusal';

/** Narrows a refusal, and says what to do instead. */
interface RefusalOptions {
  /** A sentence on what to do instead. */
  readonly instead?: string;
  readonly origin?: Origin;
  readonly values?: readonly string[];
  readonly unlessEmpty?: boolean;
}

/** Marks a known field (or some of its values) whose behaviour is not built yet. */
export function notSupportedYet<S extends z.ZodType>(schema: S, options: RefusalOptions = {}): S {
  const { instead, ...when } = options;
  const message = instead === undefined ? 'not supported yet' : `not supported yet: ${instead}`;
  return schema.meta({ [refusalKey]: { code: 'not_supported_yet', message, ...when } satisfies Refusal });
}

/** Marks a field that can never have an effect where it stands, with the reason. */
export function refuse<S extends z.ZodType>(
  schema: S,
  message: string,
  options: Omit<RefusalOptions, 'instead'> = {},
): S {
  return schema.meta({ [refusalKey]: { code: 'invalid', message, ...options } satisfies Refusal });
}
