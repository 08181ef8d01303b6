// The text of an expression -> its tree. The grammar is @bufbuild/cel's; from its tree, where macros are spelled out as loops with an accumulator,
// we take back what was written.
import { parse } from '@bufbuild/cel';
import { ExpressionError } from './expression-error.ts';
import { explainSyntax } from './explain-syntax.ts';
import type { MacroName, SyntaxNode } from './syntax-tree.ts';
import { readTokens, skipBlank } from './tokens.ts';
import { Uint, type Value } from './values.ts';

type Parsed = ReturnType<typeof parse>;
type ParsedNode = NonNullable<Parsed['expr']>;
type ParsedKind = ParsedNode['exprKind'];
type ParsedOf<C extends ParsedKind['case']> = Extract<ParsedKind, { case: C }>['value'] & object;

/** Operators in a row nest as well: a + b + c. */
const maxDepth = 100;

const macroNames: Readonly<Record<string, MacroName>> = {
  all: 'all',
  exists: 'exists',
  exists_one: 'exists_one',
  existsOne: 'exists_one',
  filter: 'filter',
  map: 'map',
};

/** Parses, or throws an ExpressionError. */
export function parseExpression(source: string): SyntaxNode {
  const tokens = readTokens(source);
  let parsed: Parsed;
  try {
    // The parser wants a line break after the last comment.
    parsed = parse(`${source}\n`);
  } catch (error) {
    explainSyntax(tokens);
    throw new ExpressionError('the expression cannot be parsed from here on', findOffset(error));
  }
  return new TreeReader(source, parsed).read(parsed.expr, 0);
}

/** Where the parser gave up, as well as it can tell. */
function findOffset(error: unknown): number {
  const { location } = error as { readonly location?: { readonly start?: { readonly offset?: number } } };
  return location?.start?.offset ?? 0;
}

class TreeReader {
  readonly #source: string;
  readonly #positions: Readonly<Record<string, number>>;
  readonly #macros: Readonly<Record<string, ParsedNode>>;

  constructor(source: string, { sourceInfo }: Parsed) {
    this.#source = source;
    this.#positions = sourceInfo!.positions;
    this.#macros = sourceInfo!.macroCalls;
  }

  read(node: ParsedNode | undefined, depth: number): SyntaxNode {
    const { exprKind, id } = node!;
    const offset = this.#positionOf(id);
    if (depth > maxDepth) throw new ExpressionError(`the expression is nested more than ${maxDepth} deep`, offset);
    const here = { start: offset, offset };
    const next = (child: ParsedNode | undefined): SyntaxNode => this.read(child, depth + 1);
    switch (exprKind.case) {
      case 'constExpr':
        return { kind: 'literal', value: readConstant(exprKind.value, offset), ...here };
      case 'identExpr':
        return { kind: 'name', name: exprKind.value.name, ...here };
      case 'selectExpr': {
        const operand = next(exprKind.value.operand);
        const { field, testOnly } = exprKind.value;
        const at = testOnly ? this.#positionOfTested(id) : offset;
        const start = testOnly ? offset : operand.start;
        return { kind: 'select', operand, field, test: testOnly, start, offset: this.#afterDot(at) };
      }
      case 'callExpr':
        return this.#readCall(exprKind.value, offset, next);
      case 'listExpr':
        return { kind: 'list', items: exprKind.value.elements.map(next), ...here };
      case 'structExpr': {
        const { messageName, entries } = exprKind.value;
        if (messageName !== '') return { kind: 'message', name: messageName, ...here };
        return {
          kind: 'map',
          entries: entries.map(({ keyKind, value }) => [next(keyKind.value as ParsedNode), next(value)]),
          ...here,
        };
      }
      case 'comprehensionExpr':
        return this.#readMacro(id, exprKind.value, offset, next);
      default:
        throw new ExpressionError('is not an expression of CEL', offset);
    }
  }

  #readCall(
    call: ParsedOf<'callExpr'>,
    offset: number,
    next: (child: ParsedNode | undefined) => SyntaxNode,
  ): SyntaxNode {
    const isMethod = call.target !== undefined;
    const args = [...(isMethod ? [next(call.target)] : []), ...call.args.map(next)];
    // Operators and methods begin with their first operand, `!a`, `-a` and f(a) with themselves.
    const isInfix = /^_\W/.test(call.function) || call.function === '@in';
    const start = isMethod || isInfix ? args[0]!.start : offset;
    if (call.function === '_[_]') return { kind: 'index', operand: args[0]!, key: args[1]!, start, offset };
    return { kind: 'call', name: call.function, isMethod, args, start, offset: this.#afterDot(offset) };
  }

  /** macroCalls remembers which macro it was; what it asks of each element is in the step that the parser made of it. */
  #readMacro(
    id: bigint,
    { iterVar, iterRange, loopStep }: ParsedOf<'comprehensionExpr'>,
    offset: number,
    next: (child: ParsedNode | undefined) => SyntaxNode,
  ): SyntaxNode {
    const written = argumentsOf(this.#macros[id.toString()]);
    const macro = macroNames[written.name]!;
    const range = next(iterRange);
    const step = argumentsOf(loopStep).args;
    const isQuestion = macro === 'all' || macro === 'exists';
    const hasTest = macro !== 'map' || written.args.length === 3;
    const test = hasTest ? next(isQuestion ? step[1] : step[0]) : undefined;
    // @result + [transform], behind the condition if there is one
    const addition = macro === 'map' ? (hasTest ? argumentsOf(step[1]).args : step)[1] : undefined;
    const transform = addition?.exprKind.case === 'listExpr' ? next(addition.exprKind.value.elements[0]) : undefined;
    return {
      kind: 'macro',
      macro,
      range,
      variable: iterVar,
      test,
      transform,
      start: range.start,
      offset: this.#afterDot(offset),
    };
  }

  /** The parser's positions of operators begin with the space before them. */
  #positionOf(id: bigint): number {
    return skipBlank(this.#source, this.#positions[id.toString()]!);
  }

  /** Of the field in has(a.field); the node itself stands at `has`. */
  #positionOfTested(id: bigint): number {
    return this.#positionOf(argumentsOf(this.#macros[id.toString()]).args[0]!.id);
  }

  /** The parser points at the dot of a field or method; people look for the name. */
  #afterDot(offset: number): number {
    return this.#source[offset] === '.' && !/^\.\d/.test(this.#source.slice(offset, offset + 2))
      ? skipBlank(this.#source, offset + 1)
      : offset;
  }
}

function argumentsOf(node: ParsedNode | undefined): { readonly name: string; readonly args: readonly ParsedNode[] } {
  if (node?.exprKind.case !== 'callExpr') throw new TypeError('a macro without a call');
  return { name: node.exprKind.value.function, args: node.exprKind.value.args };
}

const smallestInt = -(2n ** 63n);
const largestInt = 2n ** 63n - 1n;
const largestUint = 2n ** 64n - 1n;

function readConstant({ constantKind }: ParsedOf<'constExpr'>, offset: number): Value {
  switch (constantKind.case) {
    case 'int64Value':
      if (constantKind.value < smallestInt || constantKind.value > largestInt)
        throw new ExpressionError('the number does not fit into 64 bits', offset);
      return constantKind.value;
    case 'uint64Value':
      if (constantKind.value > largestUint) throw new ExpressionError('the number does not fit into 64 bits', offset);
      return new Uint(constantKind.value);
    case 'doubleValue':
      if (!Number.isFinite(constantKind.value))
        throw new ExpressionError('the number does not fit into 64 bits', offset);
      return constantKind.value;
    case 'stringValue':
    case 'boolValue':
    case 'bytesValue':
      return constantKind.value;
    case 'nullValue':
      return null;
    default:
      throw new ExpressionError('is not an expression of CEL', offset);
  }
}
