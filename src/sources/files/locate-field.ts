// Field path -> line and column in a YAML document, so that a problem points at the place to edit.
import { isAlias, isMap, isNode, isScalar, isSeq } from 'yaml';
import type { Document, LineCounter, Node } from 'yaml';

/** A place in a text. Both count from 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** What to point at: a wrong value, or the key of a field that should not be there. */
export type FieldSide = 'key' | 'value';

/** Finds a field. One that does not exist is located at the nearest thing around it that does: its parent's key, or the list item it belongs in. */
export function locateField(
  document: Document.Parsed,
  lineCounter: LineCounter,
  path: readonly (string | number)[],
  side: FieldSide = 'value',
): TextPosition {
  let node: unknown = document.contents;
  let nearest = startOf(node) ?? 0;
  for (const [depth, step] of path.entries()) {
    const container = isAlias(node) ? node.resolve(document) : node;
    const found = findChild(container, step);
    if (found === undefined) break;
    const isLast = depth === path.length - 1;
    const keyStart = startOf(found.key);
    const valueStart = startOf(found.value);
    nearest = (isLast && side === 'value' ? (valueStart ?? keyStart) : (keyStart ?? valueStart)) ?? nearest;
    node = found.value;
  }
  const { line, col } = lineCounter.linePos(nearest);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function findChild(container: unknown, step: string | number): { key: unknown; value: unknown } | undefined {
  if (isSeq(container)) {
    const value = typeof step === 'number' ? container.items[step] : undefined;
    return value === undefined ? undefined : { key: undefined, value };
  }
  if (!isMap(container)) return undefined;
  const name = String(step);
  return container.items.find(({ key }) => isScalar(key) && String(key.value) === name);
}

/** Undefined for what has no text of its own, like the value of `spec:` with nothing after it. */
function startOf(node: unknown): number | undefined {
  const range = isNode(node) ? (node as Node).range : undefined;
  return range === undefined || range === null || range[0] === range[1] ? undefined : range[0];
}
