// A checked part of an expression: its type, and the function that evaluates it.
import type { CelType } from './cel-type.ts';
import type { Run } from './frame.ts';
import type { StructDeclaration } from './variables.ts';
import type { Value } from './values.ts';

export interface TypedStep {
  readonly kind: 'value';
  readonly type: CelType;
  readonly run: Run;
  /** The value, where it is written out. */
  readonly literal: Value | undefined;
  /** Which attribute it is: jwt.groups is ['jwt', 'groups']. Undefined for what is computed, and for variables of macros. */
  readonly path: readonly string[] | undefined;
  /** How it is called in messages: "jwt.groups". Undefined for what has no name. */
  readonly label: string | undefined;
}

/** Something with fields that is no value: request, mcp.tool. */
export interface StructStep {
  readonly kind: 'struct';
  readonly declaration: StructDeclaration;
  readonly path: readonly string[];
}

/** A step without a name. */
export function computed(type: CelType, run: Run): TypedStep {
  return { kind: 'value', type, run, literal: undefined, path: undefined, label: undefined };
}

/** A step that is written out. */
export function literal(type: CelType, value: Value): TypedStep {
  return { kind: 'value', type, run: () => value, literal: value, path: undefined, label: undefined };
}

/** The name of a member as people write it: jwt.team, jwt["https://example.com/team"]. */
export function labelMember(label: string, name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `${label}.${name}` : `${label}[${JSON.stringify(name)}]`;
}
