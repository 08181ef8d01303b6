// What is known while an expression is checked: its variables, and which attributes it was seen to read.
import type { CelType } from './cel-type.ts';
import type { ExpressionScope } from './expression.ts';
import { ExpressionError } from './expression-error.ts';

interface LocalVariable {
  readonly type: CelType;
  /** Its place in the frame. */
  readonly slot: number;
}

/** Loops inside each other. */
const maxLoops = 4;

export class CheckScope {
  readonly scope: ExpressionScope;
  readonly #locals: ReadonlyMap<string, LocalVariable>;
  readonly #loops: number;
  readonly #reads: Map<string, readonly string[]>;

  constructor(
    scope: ExpressionScope,
    locals: ReadonlyMap<string, LocalVariable> = new Map(),
    loops = 0,
    reads = new Map<string, readonly string[]>(),
  ) {
    this.scope = scope;
    this.#locals = locals;
    this.#loops = loops;
    this.#reads = reads;
  }

  /** The variable of a macro around here. */
  findLocal(name: string): LocalVariable | undefined {
    return this.#locals.get(name);
  }

  localNames(): Iterable<string> {
    return this.#locals.keys();
  }

  /** The inside of a loop. */
  enterLoop(variable: string, type: CelType, offset: number): { readonly inside: CheckScope; readonly slot: number } {
    const slot = this.#loops;
    if (slot >= maxLoops) throw new ExpressionError(`loops are nested more than ${maxLoops} deep`, offset);
    const locals = new Map(this.#locals).set(variable, { type, slot });
    return { inside: new CheckScope(this.scope, locals, slot + 1, this.#reads), slot };
  }

  noteRead(path: readonly string[]): void {
    this.#reads.set(JSON.stringify(path), path);
  }

  listReads(): readonly (readonly string[])[] {
    return [...this.#reads.values()];
  }
}
