// An expression as it is written. Offsets count UTF-16 units from the beginning of the text.
import type { Value } from './values.ts';

interface Placed {
  /** Where it begins. */
  readonly start: number;
  /** What a message about it points at: the operator of a sum, the name of a field. */
  readonly offset: number;
}

export type SyntaxNode =
  | LiteralNode
  | NameNode
  | SelectNode
  | CallNode
  | (Placed & { readonly kind: 'index'; readonly operand: SyntaxNode; readonly key: SyntaxNode })
  | (Placed & { readonly kind: 'list'; readonly items: readonly SyntaxNode[] })
  | (Placed & { readonly kind: 'map'; readonly entries: readonly (readonly [key: SyntaxNode, value: SyntaxNode])[] })
  | (Placed & { readonly kind: 'message'; readonly name: string })
  | MacroNode;

type LiteralNode = Placed & { readonly kind: 'literal'; readonly value: Value };

/** A variable. A leading dot (`.jwt`) passes over variables of macros. */
export type NameNode = Placed & { readonly kind: 'name'; readonly name: string };

/** `operand.field`, or with `test` has(operand.field). */
export type SelectNode = Placed & {
  readonly kind: 'select';
  readonly operand: SyntaxNode;
  readonly field: string;
  readonly test: boolean;
};

/** Operators are calls as well, under the names that CEL gives them: `_==_`, `_&&_`. The target of a method is the first argument. */
export type CallNode = Placed & {
  readonly kind: 'call';
  readonly name: string;
  readonly isMethod: boolean;
  readonly args: readonly SyntaxNode[];
};

/** A loop over a list or the keys of a map. */
export type MacroNode = Placed & {
  readonly kind: 'macro';
  readonly macro: MacroName;
  readonly range: SyntaxNode;
  readonly variable: string;
  /** What is asked about each element; for `map` only with three arguments. */
  readonly test: SyntaxNode | undefined;
  /** What `map` makes of an element. */
  readonly transform: SyntaxNode | undefined;
};

export type MacroName = 'all' | 'exists' | 'exists_one' | 'filter' | 'map';
