// What an expression mentions without reading it from a variable: constants, and the fields of elements in loops.
import { parseExpression } from './parse-expression.ts';
import type { SyntaxNode } from './syntax-tree.ts';

/** The string constants, wherever they stand; each once. The text must be one that compiles. */
export function listStringConstants(source: string): readonly string[] {
  const found = new Set<string>();
  visit(parseExpression(source), (node) => {
    if (node.kind === 'literal' && typeof node.value === 'string') found.add(node.value);
  });
  return [...found];
}

/** The fields that are read of variables of macros: `path` in list.exists(e, e.path == "x"). Each once. */
export function listElementFields(source: string): readonly string[] {
  const variables = new Set<string>();
  const fields: { readonly root: string; readonly field: string }[] = [];
  visit(parseExpression(source), (node) => {
    if (node.kind === 'macro') variables.add(node.variable);
    const member = readMember(node);
    const root = member === undefined ? undefined : findRoot(member.operand);
    if (member !== undefined && root !== undefined) fields.push({ root, field: member.field });
  });
  return [...new Set(fields.filter(({ root }) => variables.has(root)).map(({ field }) => field))];
}

/** The string constants that loops compare their elements with: `force` in map.exists(key, key == "force"). Each once. */
export function listLoopConstants(source: string): readonly string[] {
  const found = new Set<string>();
  visit(parseExpression(source), (node) => {
    if (node.kind !== 'macro') return;
    visit(node.test, (part) => {
      if (part.kind === 'literal' && typeof part.value === 'string') found.add(part.value);
    });
  });
  return [...found];
}

/** `a.b`, has(a.b) and a["b"]. */
function readMember(node: SyntaxNode): { readonly operand: SyntaxNode; readonly field: string } | undefined {
  if (node.kind === 'select') return node;
  if (node.kind !== 'index' || node.key.kind !== 'literal' || typeof node.key.value !== 'string') return undefined;
  return { operand: node.operand, field: node.key.value };
}

/** The variable that a chain of members begins with. */
function findRoot(node: SyntaxNode): string | undefined {
  switch (node.kind) {
    case 'name':
      return node.name;
    case 'select':
    case 'index':
      return findRoot(node.operand);
    default:
      return undefined;
  }
}

function visit(node: SyntaxNode | undefined, look: (node: SyntaxNode) => void): void {
  if (node === undefined) return;
  look(node);
  switch (node.kind) {
    case 'select':
      return visit(node.operand, look);
    case 'call':
      return node.args.forEach((part) => visit(part, look));
    case 'index':
      visit(node.operand, look);
      return visit(node.key, look);
    case 'list':
      return node.items.forEach((part) => visit(part, look));
    case 'map':
      return node.entries.flat().forEach((part) => visit(part, look));
    case 'macro':
      visit(node.range, look);
      visit(node.test, look);
      return visit(node.transform, look);
    case 'literal':
    case 'name':
    case 'message':
      return;
  }
}
