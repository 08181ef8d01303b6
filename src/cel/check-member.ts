// Fields, keys and elements: a.b, has(a.b), a["b"], a[0].
import { findNearestName, listAlternatives } from '../base/nearest-name.ts';
import { areCompatible, boolType, type CelType, describeMany, describeType, isOpen } from './cel-type.ts';
import { ExpressionError } from './expression-error.ts';
import type { Run } from './frame.ts';
import { computed, labelMember, type StructStep, type TypedStep } from './typed-step.ts';
import type { Declaration } from './variables.ts';
import { Failure, describeKind, kindOf, ListValue, MapValue, type Result, Uint, type Value } from './values.ts';

/** A declared variable or field. */
export function readDeclared(declaration: Declaration, path: readonly string[]): TypedStep | StructStep {
  if (declaration.kind === 'struct') return { kind: 'struct', declaration, path };
  const { read, type } = declaration;
  return {
    kind: 'value',
    type,
    run: ({ variables }) => read(variables),
    literal: undefined,
    path,
    label: path.join('.'),
  };
}

/** operand.field */
export function selectMember(operand: TypedStep | StructStep, field: string, offset: number): TypedStep | StructStep {
  if (operand.kind === 'struct') return readDeclared(findField(operand, field, offset), [...operand.path, field]);
  const label = operand.label === undefined ? undefined : labelMember(operand.label, field);
  const path = extendPath(operand, field, offset);
  const run = readMember(operand, field, new Failure(describeAbsent(label, field)));
  return { kind: 'value', type: typeOfMember(operand, offset), run, literal: undefined, path, label };
}

/** has(operand.field) */
export function testMember(operand: TypedStep | StructStep, field: string, offset: number): TypedStep {
  if (operand.kind === 'struct') {
    const { isPresent } = findField(operand, field, offset);
    const { isPresent: isOperandPresent } = operand.declaration;
    const absent = new Failure(`${operand.path.join('.')} is absent`);
    return computed(boolType, ({ variables }) =>
      isOperandPresent(variables) === true ? isPresent(variables) : absent,
    );
  }
  typeOfMember(operand, offset);
  const path = extendPath(operand, field, offset);
  const { run } = operand;
  return {
    ...computed(boolType, (frame) => {
      const map = run(frame);
      if (map instanceof Failure) return map;
      return map instanceof MapValue ? map.has(field) : describeNoMap(operand, map);
    }),
    path,
  };
}

/** The attribute that a key of a map stands for; undefined for what is no attribute. */
export function extendPath({ path, type }: TypedStep, key: string, offset: number): readonly string[] | undefined {
  if (path === undefined || (type.kind !== 'map' && !isOpen(type))) return undefined;
  if (path.length === 2 && path[0] === 'request' && path[1] === 'headers' && /[A-Z]/.test(key))
    throw new ExpressionError(`names of headers are in lower case here: write "${key.toLowerCase()}"`, offset);
  return [...path, key];
}

/** operand[key] */
export function indexMember(operand: TypedStep, key: TypedStep, offset: number, keyOffset: number): TypedStep {
  const { type } = operand;
  if (type.kind === 'list' && !areCompatible({ kind: 'int' }, key.type))
    throw new ExpressionError(`a list is indexed by an int, found ${describeType(key.type)}`, keyOffset);
  if (type.kind === 'map' && !areCompatible(type.key, key.type))
    throw new ExpressionError(
      `the keys of the map are ${describeMany(type.key)}, found ${describeType(key.type)}`,
      keyOffset,
    );
  if (type.kind !== 'list' && type.kind !== 'map' && !isOpen(type))
    throw new ExpressionError(
      `${nameStep(operand)} is ${describeType(type)}, and only lists and maps have elements`,
      offset,
    );
  const element = type.kind === 'list' ? type.element : type.kind === 'map' ? type.value : type;
  if (typeof key.literal === 'string' && type.kind !== 'list') {
    const label = operand.label === undefined ? undefined : labelMember(operand.label, key.literal);
    const path = extendPath(operand, key.literal, keyOffset);
    const run = readMember(operand, key.literal, new Failure(describeAbsent(label, key.literal)));
    return { kind: 'value', type: element, run, literal: undefined, path, label };
  }
  const { run: readOperand } = operand;
  const { run: readKey } = key;
  return computed(element, (frame) => {
    const container = readOperand(frame);
    if (container instanceof Failure) return container;
    const at = readKey(frame);
    return at instanceof Failure ? at : readElement(operand, container, at);
  });
}

/** For messages: its name, or "the value". */
export function nameStep({ label }: TypedStep): string {
  return label ?? 'the value';
}

function findField({ declaration: { fields }, path }: StructStep, field: string, offset: number): Declaration {
  const declaration = fields.get(field);
  if (declaration !== undefined) return declaration;
  const nearest = findNearestName(field, fields.keys());
  const advice =
    nearest === undefined
      ? `it has ${listAlternatives([...fields.keys()]).replace(' or ', ' and ')}`
      : `did you mean ${nearest}?`;
  throw new ExpressionError(`${path.join('.')} has no field "${field}"; ${advice}`, offset);
}

function typeOfMember(operand: TypedStep, offset: number): CelType {
  const { type } = operand;
  if (isOpen(type)) return type;
  if (type.kind === 'map' && areCompatible(type.key, { kind: 'string' })) return type.value;
  throw new ExpressionError(`${nameStep(operand)} is ${describeType(type)}, and has no fields`, offset);
}

function readMember(operand: TypedStep, key: string, absent: Failure): Run {
  const { run } = operand;
  return (frame) => {
    const container = run(frame);
    if (container instanceof MapValue) {
      const member = container.get(key);
      return member === undefined ? absent : member;
    }
    return container instanceof Failure ? container : describeNoMap(operand, container);
  };
}

function describeAbsent(label: string | undefined, key: string): string {
  return label === undefined ? `there is no "${key}"` : `${label} is absent`;
}

function describeNoMap(operand: TypedStep, value: Value): Failure {
  return new Failure(`${nameStep(operand)} is ${describeKind(kindOf(value))}, and has no fields`);
}

const outOfRange = new Failure('the index is outside of the list');
const noKey = new Failure('there is no such key');

function readElement(operand: TypedStep, container: Value, at: Value): Result {
  if (container instanceof MapValue) {
    const member = container.get(at);
    return member === undefined ? noKey : member;
  }
  if (!(container instanceof ListValue))
    return new Failure(
      `${nameStep(operand)} is ${describeKind(kindOf(container))}, and only lists and maps have elements`,
    );
  const index = at instanceof Uint ? at.value : at;
  if (typeof index !== 'bigint' && !(typeof index === 'number' && Number.isInteger(index)))
    return new Failure(`a list is indexed by an int, found ${describeKind(kindOf(at))}`);
  return index >= 0 && index < container.size ? container.get(Number(index)) : outOfRange;
}
