// How functions are declared: for which types, and what they do.
import type { CelType } from '../cel-type.ts';
import type { Frame } from '../frame.ts';
import type { Result, Value } from '../values.ts';

/** The work of a function. */
export type Implementation = (...args: never[]) => Result;

/** One form of a function. Its name is in the table that holds it. */
export interface Overload {
  readonly params: readonly CelType[];
  readonly result: CelType;
  /** Called with values of `params` and the frame. */
  readonly run: Implementation;
  /** a.f(b) rather than f(a, b). */
  readonly isMethod: boolean;
  /** Checks literal arguments when the policy is loaded, and does their work once. */
  readonly prepare: Prepare | undefined;
}

/** Undefined for arguments that are only known later. */
export type Prepare = (literals: readonly (Value | undefined)[]) => Preparation | undefined;

export type Preparation =
  /** In place of `run`. */
  | { readonly run: Implementation }
  /** The message is about this argument. */
  | { readonly problem: string; readonly argument: number };

type ValuesOf<P extends readonly CelType[]> = { -readonly [I in keyof P]: P[I] extends CelType<infer V> ? V : never };

type Work<P extends readonly CelType[]> = (...args: [...ValuesOf<P>, Frame]) => Result;

/** A function f(a, b). */
export function overload<const P extends readonly CelType[]>(
  params: P,
  result: CelType,
  run: Work<P>,
  prepare?: Prepare,
): Overload {
  return { params, result, run: run as unknown as Implementation, isMethod: false, prepare };
}

/** A method a.f(b); the first parameter is what it is called on. */
export function method<const P extends readonly CelType[]>(
  params: P,
  result: CelType,
  run: Work<P>,
  prepare?: Prepare,
): Overload {
  return { params, result, run: run as unknown as Implementation, isMethod: true, prepare };
}

/** Functions by name. */
export type FunctionTable = Readonly<Record<string, readonly Overload[]>>;
