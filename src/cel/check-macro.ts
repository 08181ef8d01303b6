// Loops over lists and the keys of maps: all, exists, exists_one, filter, map.
import { boolType, type CelType, describeType, isOpen, listOf } from './cel-type.ts';
import { nameStep } from './check-member.ts';
import { ExpressionError } from './expression-error.ts';
import type { Frame, Run } from './frame.ts';
import type { MacroNode } from './syntax-tree.ts';
import { computed, type TypedStep } from './typed-step.ts';
import { Failure, describeKind, kindOf, ListValue, MadeList, MapValue, type Result, type Value } from './values.ts';

/** The parts of a loop after they were checked. */
interface LoopParts {
  readonly range: TypedStep;
  readonly test: TypedStep | undefined;
  readonly transform: TypedStep | undefined;
  /** The place of the variable in the frame. */
  readonly slot: number;
}

/** The type of the elements. */
export function typeOfElements(range: TypedStep, { macro, offset }: MacroNode): CelType {
  const { type } = range;
  if (type.kind === 'list') return type.element;
  if (type.kind === 'map') return type.key;
  if (isOpen(type)) return type;
  throw new ExpressionError(`${macro}() needs a list or a map, ${nameStep(range)} is ${describeType(type)}`, offset);
}

/** Checks a loop whose parts were checked. */
export function checkMacro(node: MacroNode, element: CelType, { range, test, transform, slot }: LoopParts): TypedStep {
  if (test !== undefined && test.type.kind !== 'bool' && !isOpen(test.type))
    throw new ExpressionError(
      `${node.macro}() asks for true or false, found ${describeType(test.type)}`,
      node.test!.start,
    );
  switch (node.macro) {
    case 'all':
      return computed(boolType, quantify(range, test!.run, slot, false));
    case 'exists':
      return computed(boolType, quantify(range, test!.run, slot, true));
    case 'exists_one':
      return computed(boolType, countOne(range, test!.run, slot));
    case 'filter':
      return computed(listOf(element), collect(range, test!.run, undefined, slot));
    default:
      return computed(listOf(transform!.type), collect(range, test?.run, transform!.run, slot));
  }
}

/** Like && and ||: a deciding element absorbs errors of others. */
function quantify(range: TypedStep, test: Run, slot: number, decisive: boolean): Run {
  return (frame) => {
    const elements = openRange(range, frame);
    if (elements instanceof Failure) return elements;
    let failure: Failure | undefined;
    for (let index = 0; index < elements.size; index += 1) {
      const answer = ask(elements, index, test, slot, frame);
      if (answer === decisive) return decisive;
      if (answer instanceof Failure) failure ??= answer;
    }
    return failure ?? !decisive;
  };
}

function countOne(range: TypedStep, test: Run, slot: number): Run {
  return (frame) => {
    const elements = openRange(range, frame);
    if (elements instanceof Failure) return elements;
    let count = 0;
    for (let index = 0; index < elements.size; index += 1) {
      const answer = ask(elements, index, test, slot, frame);
      if (answer instanceof Failure) return answer;
      if (answer) count += 1;
    }
    return count === 1;
  };
}

function collect(range: TypedStep, test: Run | undefined, transform: Run | undefined, slot: number): Run {
  return (frame) => {
    const elements = openRange(range, frame);
    if (elements instanceof Failure) return elements;
    const items: Value[] = [];
    for (let index = 0; index < elements.size; index += 1) {
      const answer = ask(elements, index, test, slot, frame);
      if (answer instanceof Failure) return answer;
      if (!answer) continue;
      const item = transform === undefined ? frame.locals[slot]! : transform(frame);
      if (item instanceof Failure) return item;
      items.push(item);
    }
    return new MadeList(items);
  };
}

/** Puts the element into its place, and asks about it. */
function ask(elements: ListValue, index: number, test: Run | undefined, slot: number, frame: Frame): boolean | Failure {
  frame.spendIterations(1);
  const element = elements.get(index);
  if (element instanceof Failure) return element;
  frame.locals[slot] = element;
  if (test === undefined) return true;
  const answer = test(frame);
  if (typeof answer === 'boolean' || answer instanceof Failure) return answer;
  return new Failure(`a loop asks for true or false, found ${describeKind(kindOf(answer))}`);
}

function openRange(range: TypedStep, frame: Frame): ListValue | Failure {
  const value: Result = range.run(frame);
  if (value instanceof ListValue || value instanceof Failure) return value;
  if (value instanceof MapValue) {
    const keys = value.keys();
    frame.spendKeys(keys.length);
    return new MadeList(keys);
  }
  return new Failure(`a loop needs a list or a map, ${nameStep(range)} is ${describeKind(kindOf(value))}`);
}
