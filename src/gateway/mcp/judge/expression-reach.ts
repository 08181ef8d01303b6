// Which parts of a message an expression reads. This decides which messages the expression applies to.
import type { Expression } from '../../../cel/expression.ts';
import type { ItemKind } from '../read/read-item.ts';

interface ExpressionReach {
  readonly tool: boolean;
  readonly prompt: boolean;
  readonly resource: boolean;
  /** The URI of a resource, as clients or as the server know it. */
  readonly uri: boolean;
  /** `mcp.target`: whose item it is. */
  readonly target: boolean;
  /** `mcp.method`: a request without a message has none. */
  readonly method: boolean;
  /** `mcp.tool.arguments`, which are not known before a call. */
  readonly arguments: boolean;
  /** Any of tool, prompt and resource. */
  readonly item: boolean;
}

const known = new WeakMap<Expression, ExpressionReach>();

/** The reach of an expression; computed once. */
export function readReach(expression: Expression): ExpressionReach {
  let reach = known.get(expression);
  if (reach === undefined) {
    reach = findReach(expression.reads);
    known.set(expression, reach);
  }
  return reach;
}

function findReach(reads: Expression['reads']): ExpressionReach {
  const reaches = (name: string): boolean =>
    // `mcp` alone is all of it.
    reads.some(([root, first]) => root === 'mcp' && (first === undefined || first === name));
  const reachesOfTarget = (member: string): boolean =>
    reads.some(([root, first, second]) => root === 'mcp' && first === 'target' && second === member);
  const isTool = reaches('tool') || reachesOfTarget('tool');
  const isPrompt = reaches('prompt') || reachesOfTarget('prompt');
  const isResource = reaches('resource') || reachesOfTarget('uri');
  // Items of all kinds have a target: what reads nothing more of them is about all.
  const isAny = reaches('target') && !isTool && !isPrompt && !isResource;
  const [tool, prompt, resource] = [isTool || isAny, isPrompt || isAny, isResource || isAny];
  return {
    tool,
    prompt,
    resource,
    uri: isResource,
    target: reaches('target'),
    method: reaches('method'),
    arguments:
      tool &&
      reads.some(
        ([root, first, second]) =>
          root === 'mcp' &&
          (first === undefined || first === 'tool') &&
          (second === undefined || second === 'arguments'),
      ),
    item: tool || prompt || resource,
  };
}

/** Whether the expression applies to a message that uses an item of this kind: not when it reads only other kinds. */
export function concernsItem(expression: Expression, kind: ItemKind): boolean {
  const reach = readReach(expression);
  return !reach.item || reach[kind];
}

/** Whether it applies to a message that uses no item. */
export function concernsPlainMessage(expression: Expression): boolean {
  return !readReach(expression).item;
}

/** Whether it applies to a request without a message of the client's own: GET, DELETE, an answer to the server. */
export function concernsBareRequest(expression: Expression): boolean {
  const reach = readReach(expression);
  return !reach.item && !reach.method;
}
