// Checks an expression and makes it ready to run, node by node: types, names, and for each node the function that evaluates it.
import { findNearestName, listAlternatives } from '../base/nearest-name.ts';
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  emptyList,
  emptyMap,
  describeType,
  intType,
  joinTypes,
  listOf,
  mapOf,
  nullType,
  stringType,
  typeType,
  uintType,
} from './cel-type.ts';
import { checkCall, findFunction } from './check-call.ts';
import { checkMacro, typeOfElements } from './check-macro.ts';
import { indexMember, readDeclared, selectMember, testMember } from './check-member.ts';
import { checkCondition, checkEquality, checkLogic, checkMembership, type Operand } from './check-operator.ts';
import type { CheckScope } from './check-scope.ts';
import { ExpressionError } from './expression-error.ts';
import type { Run } from './frame.ts';
import { typeNames } from './functions/conversions.ts';
import type { CallNode, MacroNode, NameNode, SelectNode, SyntaxNode } from './syntax-tree.ts';
import { computed, literal, type StructStep, type TypedStep } from './typed-step.ts';
import { listVariables } from './variables.ts';
import { Failure, indexKey, describeKind, kindOf, MadeList, MadeMap, type Value } from './values.ts';

/** Checks a node that stands for a value. Throws an ExpressionError at what is wrong. */
export function checkNode(node: SyntaxNode, scope: CheckScope): TypedStep {
  const step = resolveNode(node, scope);
  if (step.kind === 'struct') {
    const name = step.path.join('.');
    const [field] = step.declaration.fields.keys();
    throw new ExpressionError(
      `${name} is not a value by itself; ask for a field of it, such as ${name}.${field}`,
      node.start,
    );
  }
  if (step.path !== undefined) scope.noteRead(step.path);
  return step;
}

/** The same for a node that a field may follow: in `jwt.groups` only `jwt.groups` is read, not `jwt`. */
function resolveNode(node: SyntaxNode, scope: CheckScope): TypedStep | StructStep {
  switch (node.kind) {
    case 'literal':
      return literal(typeOfLiteral(node.value), node.value);
    case 'name':
      return resolveName(node, scope);
    case 'select':
      return resolveSelect(node, scope);
    case 'index':
      return resolveIndex(node, scope);
    case 'call':
      return resolveCall(node, scope);
    case 'macro':
      return resolveMacro(node, scope);
    case 'list':
      return resolveList(node.items.map((item) => checkNode(item, scope)));
    case 'map':
      return resolveMap(node, scope);
    default:
      throw new ExpressionError(
        `rules cannot make messages such as ${node.name}; write a map: {"name": value}`,
        node.start,
      );
  }
}

const literalTypes: Readonly<Record<string, CelType>> = {
  bool: boolType,
  int: intType,
  uint: uintType,
  double: doubleType,
  string: stringType,
  bytes: bytesType,
  null: nullType,
};

function typeOfLiteral(value: Value): CelType {
  return literalTypes[kindOf(value)]!;
}

function resolveName({ name, offset }: NameNode, scope: CheckScope): TypedStep | StructStep {
  const local = scope.findLocal(name);
  if (local !== undefined) {
    const { slot, type } = local;
    return { ...computed(type, ({ locals }) => locals[slot]!), label: name };
  }
  const global = name.startsWith('.') ? name.slice(1) : name;
  const variables = listVariables(scope.scope);
  const declaration = variables.get(global);
  if (declaration !== undefined) return readDeclared(declaration, [global]);
  const type = typeNames.get(global);
  if (type !== undefined) return literal(typeType, type);
  if (global === 'mcp')
    throw new ExpressionError('mcp is only available in rules over MCP messages (backend.mcp.authorization)', offset);
  const names = [...scope.localNames(), ...variables.keys()];
  const nearest = findNearestName(global, names);
  const advice =
    nearest === undefined
      ? `there ${names.length === 1 ? 'is only' : 'are'} ${listAlternatives(names).replace(' or ', ' and ')}`
      : `did you mean ${nearest}?`;
  throw new ExpressionError(`there is no variable "${global}"; ${advice}`, offset);
}

function resolveSelect(node: SelectNode, scope: CheckScope): TypedStep | StructStep {
  const type = typeNames.get(spellName(node) ?? '');
  if (type !== undefined) return literal(typeType, type);
  const operand = resolveNode(node.operand, scope);
  if (node.test) {
    const step = testMember(operand, node.field, node.offset);
    if (operand.kind === 'struct') scope.noteRead([...operand.path, node.field]);
    return step;
  }
  const step = selectMember(operand, node.field, node.offset);
  // The path ends where a value is computed.
  if (step.kind === 'value' && step.path === undefined && operand.path !== undefined) scope.noteRead(operand.path);
  return step;
}

/** a.b.c as it is written, for names of types. */
function spellName(node: SyntaxNode): string | undefined {
  if (node.kind === 'name') return node.name;
  if (node.kind !== 'select' || node.test) return undefined;
  const operand = spellName(node.operand);
  return operand === undefined ? undefined : `${operand}.${node.field}`;
}

function resolveIndex(node: Extract<SyntaxNode, { kind: 'index' }>, scope: CheckScope): TypedStep {
  const operand = resolveNode(node.operand, scope);
  if (operand.kind === 'struct') {
    const name = operand.path.join('.');
    throw new ExpressionError(
      `${name} has fields, not keys; write ${name}.${[...operand.declaration.fields.keys()][0]}`,
      node.offset,
    );
  }
  const key = checkNode(node.key, scope);
  const step = indexMember(operand, key, node.offset, node.key.start);
  if (step.path === undefined && operand.path !== undefined) scope.noteRead(operand.path);
  return step;
}

function resolveCall(node: CallNode, scope: CheckScope): TypedStep {
  const { name, offset } = node;
  const operand = (index: number): Operand => {
    const written = node.args[index]!;
    return { step: checkNode(written, scope), start: written.start };
  };
  switch (name) {
    case '_&&_':
    case '_||_':
      return checkLogic(name === '_&&_' ? '&&' : '||', [operand(0), operand(1)]);
    case '_?_:_':
      return checkCondition(operand(0), [operand(1), operand(2)]);
    case '_==_':
    case '_!=_':
      return checkEquality(name === '_==_' ? '==' : '!=', operand(0).step, operand(1).step, offset);
    case '@in':
      return resolveMembership(node, operand(0), scope);
    default: {
      if (name === '_-_') explainHyphen(node, scope);
      const overloads = findFunction(node);
      const args = node.args.map((argument) => checkNode(argument, scope));
      return checkCall(node, overloads, args);
    }
  }
}

/** CEL parses request.headers.x-team as a subtraction. */
function explainHyphen({ args: [left, right] }: CallNode, scope: CheckScope): void {
  if (left?.kind !== 'select' || right?.kind !== 'name' || isName(right.name, scope)) return;
  const operand = spellName(left.operand);
  if (operand === undefined) return;
  throw new ExpressionError(
    `there is no variable "${right.name}"; a name with a hyphen is written ${operand}["${left.field}-${right.name}"]`,
    right.start,
  );
}

function isName(name: string, scope: CheckScope): boolean {
  return scope.findLocal(name) !== undefined || listVariables(scope.scope).has(name) || typeNames.has(name);
}

function resolveMembership(node: CallNode, needle: Operand, scope: CheckScope): TypedStep {
  const written = node.args[1]!;
  const container = resolveNode(written, scope);
  // For the message about structs.
  if (container.kind === 'struct') return checkNode(written, scope);
  const step = checkMembership(needle, container, node.offset);
  if (step.path === undefined && container.path !== undefined) scope.noteRead(container.path);
  return step;
}

function resolveMacro(node: MacroNode, scope: CheckScope): TypedStep {
  const range = checkNode(node.range, scope);
  const element = typeOfElements(range, node);
  const { inside, slot } = scope.enterLoop(node.variable, element, node.offset);
  const test = node.test === undefined ? undefined : checkNode(node.test, inside);
  const transform = node.transform === undefined ? undefined : checkNode(node.transform, inside);
  return checkMacro(node, element, { range, test, transform, slot });
}

function resolveList(items: readonly TypedStep[]): TypedStep {
  const type = items.length === 0 ? emptyList : listOf(items.map((item) => item.type).reduce(joinTypes));
  const written = items.flatMap((item) => (item.literal === undefined ? [] : [item.literal]));
  if (written.length === items.length) {
    const list = new MadeList(written);
    return computed(type, () => list);
  }
  const runs = items.map(({ run }) => run);
  return computed(type, (frame) => {
    const values: Value[] = [];
    for (const run of runs) {
      const value = run(frame);
      if (value instanceof Failure) return value;
      values.push(value);
    }
    return new MadeList(values);
  });
}

const keyKinds = new Set(['dyn', 'none', 'string', 'int', 'uint', 'bool']);

function resolveMap({ entries }: Extract<SyntaxNode, { kind: 'map' }>, scope: CheckScope): TypedStep {
  const steps = entries.map(([keyNode, valueNode]) => {
    const key = checkNode(keyNode, scope);
    if (!keyKinds.has(key.type.kind))
      throw new ExpressionError(
        `a key of a map is a string, int, uint or bool, found ${describeType(key.type)}`,
        keyNode.start,
      );
    return { key, value: checkNode(valueNode, scope) };
  });
  if (steps.length === 0) return computed(emptyMap, () => new MadeMap(new Map()));
  return computed(
    mapOf(steps.map(({ key }) => key.type).reduce(joinTypes), steps.map(({ value }) => value.type).reduce(joinTypes)),
    makeMap(steps.map(({ key, value }) => [key.run, value.run])),
  );
}

function makeMap(runs: readonly (readonly [key: Run, value: Run])[]): Run {
  return (frame) => {
    const entries = new Map<boolean | bigint | string, readonly [Value, Value]>();
    for (const [runKey, runValue] of runs) {
      const key = runKey(frame);
      if (key instanceof Failure) return key;
      const value = runValue(frame);
      if (value instanceof Failure) return value;
      const index = typeof key === 'number' ? undefined : indexKey(key);
      if (index === undefined)
        return new Failure(`a key of a map is a string, int, uint or bool, found ${describeKind(kindOf(key))}`);
      if (entries.has(index)) return new Failure('a map has the same key twice');
      entries.set(index, [key, value]);
    }
    return new MadeMap(entries);
  };
}
