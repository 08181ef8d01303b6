// Which outcomes an expression can have for a request without a token: its claims are empty, and everything else about it may be anything. Conservative: an
// outcome that cannot be excluded is possible.
import { checkNode } from './check-node.ts';
import { CheckScope } from './check-scope.ts';
import type { ExpressionScope, ExpressionVariables } from './expression.ts';
import { ExpressionError } from './expression-error.ts';
import { Frame, LimitError } from './frame.ts';
import { parseExpression } from './parse-expression.ts';
import type { CallNode, MacroNode, SyntaxNode } from './syntax-tree.ts';
import { Failure, type Result } from './values.ts';

/** Neither: the evaluation fails for every such request. */
export interface AnonymousOutcomes {
  readonly canBeTrue: boolean;
  readonly canBeFalse: boolean;
}

const either: AnonymousOutcomes = { canBeTrue: true, canBeFalse: true };
const neither: AnonymousOutcomes = { canBeTrue: false, canBeFalse: false };

/** Judges an expression that compiles; for any other text both are possible. */
export function findAnonymousOutcomes(source: string, scope: ExpressionScope): AnonymousOutcomes {
  try {
    return judge(parseExpression(source), { scope, unknown: unknownVariables });
  } catch (error) {
    if (error instanceof ExpressionError) return either;
    throw error;
  }
}

/** What is known around a node. */
interface Surroundings {
  readonly scope: ExpressionScope;
  /** Names whose values are not known: attributes of the request, and variables of the macros around. */
  readonly unknown: ReadonlySet<string>;
}

const unknownVariables: ReadonlySet<string> = new Set(['request', 'source', 'mcp']);

function judge(node: SyntaxNode, around: Surroundings): AnonymousOutcomes {
  if (isKnown(node, around.unknown)) {
    const value = evaluate(node, around.scope);
    return { canBeTrue: value === true, canBeFalse: value === false };
  }
  if (node.kind === 'call') return judgeCall(node, around);
  if (node.kind === 'macro') return judgeMacro(node, around);
  return alwaysErrs(node, around) ? neither : either;
}

/** A deciding operand of && and || absorbs an error of the other. */
function judgeCall(node: CallNode, around: Surroundings): AnonymousOutcomes {
  const operand = (index: number): AnonymousOutcomes => judge(node.args[index]!, around);
  switch (node.name) {
    case '_&&_':
      return {
        canBeTrue: operand(0).canBeTrue && operand(1).canBeTrue,
        canBeFalse: operand(0).canBeFalse || operand(1).canBeFalse,
      };
    case '_||_':
      return {
        canBeTrue: operand(0).canBeTrue || operand(1).canBeTrue,
        canBeFalse: operand(0).canBeFalse && operand(1).canBeFalse,
      };
    case '!_':
      return { canBeTrue: operand(0).canBeFalse, canBeFalse: operand(0).canBeTrue };
    case '_?_:_': {
      const condition = operand(0);
      const taken = [...(condition.canBeTrue ? [operand(1)] : []), ...(condition.canBeFalse ? [operand(2)] : [])];
      return {
        canBeTrue: taken.some(({ canBeTrue }) => canBeTrue),
        canBeFalse: taken.some(({ canBeFalse }) => canBeFalse),
      };
    }
    default:
      return alwaysErrs(node, around) ? neither : either;
  }
}

/** The elements are not known, nor whether there are any. */
function judgeMacro(node: MacroNode, around: Surroundings): AnonymousOutcomes {
  if (alwaysErrs(node.range, around)) return neither;
  if ((node.macro !== 'exists' && node.macro !== 'exists_one') || node.test === undefined) return either;
  return { canBeTrue: judge(node.test, enter(node, around)).canBeTrue, canBeFalse: true };
}

function enter({ variable }: MacroNode, { scope, unknown }: Surroundings): Surroundings {
  return { scope, unknown: new Set([...unknown, variable]) };
}

/** Whether the node has no value for any such request. */
function alwaysErrs(node: SyntaxNode, around: Surroundings): boolean {
  if (isKnown(node, around.unknown)) return evaluate(node, around.scope) instanceof Failure;
  const any = (nodes: readonly SyntaxNode[]): boolean => nodes.some((each) => alwaysErrs(each, around));
  switch (node.kind) {
    case 'select':
      return alwaysErrs(node.operand, around);
    case 'index':
      return any([node.operand, node.key]);
    case 'list':
      return any(node.items);
    case 'map':
      return any(node.entries.flat());
    case 'macro':
      return alwaysErrs(node.range, around);
    case 'call': {
      if (!lazyOperators.has(node.name)) return any(node.args);
      const { canBeTrue, canBeFalse } = judgeCall(node, around);
      // The branches of a condition may have other values than true and false.
      return node.name === '_?_:_' ? alwaysErrs(node.args[0]!, around) : !canBeTrue && !canBeFalse;
    }
    default:
      return false;
  }
}

/** Those that do not need all of their operands. */
const lazyOperators: ReadonlySet<string> = new Set(['_&&_', '_||_', '_?_:_']);

/** Whether the value depends on claims and constants only. */
function isKnown(node: SyntaxNode, unknown: ReadonlySet<string>): boolean {
  const all = (nodes: readonly SyntaxNode[]): boolean => nodes.every((each) => isKnown(each, unknown));
  switch (node.kind) {
    case 'literal':
      return true;
    case 'name':
      // A leading dot passes over variables of macros.
      return node.name.startsWith('.') ? !unknownVariables.has(node.name.slice(1)) : !unknown.has(node.name);
    case 'message':
      return false;
    case 'select':
      return isKnown(node.operand, unknown);
    case 'index':
      return all([node.operand, node.key]);
    case 'call':
      return all(node.args);
    case 'list':
      return all(node.items);
    case 'map':
      return all(node.entries.flat());
    case 'macro': {
      if (!isKnown(node.range, unknown)) return false;
      // Its own variable hides an unknown one of the same name.
      const inside = new Set([...unknown].filter((name) => name !== node.variable));
      return [node.test, node.transform].every((part) => part === undefined || isKnown(part, inside));
    }
  }
}

const anonymous: ExpressionVariables = {
  jwt: Object.freeze({}),
  request: { method: '', path: '', host: '', scheme: '', headers: {}, query: {}, time: 0 },
  source: { address: '' },
};

/** The value of a node that depends on claims and constants only. */
function evaluate(node: SyntaxNode, scope: ExpressionScope): Result {
  try {
    return checkNode(node, new CheckScope(scope)).run(new Frame(anonymous));
  } catch (error) {
    if (error instanceof LimitError) return new Failure(error.message);
    throw error;
  }
}
