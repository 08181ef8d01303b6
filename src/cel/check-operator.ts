// The operators that are no plain functions: && || ?: do not need all of their operands, == != in take every type.
import { areCompatible, boolType, describeMany, describeType, isOpen, joinTypes, type CelType } from './cel-type.ts';
import { extendPath, nameStep } from './check-member.ts';
import { areEqual } from './compare-values.ts';
import { ExpressionError } from './expression-error.ts';
import type { Run } from './frame.ts';
import { computed, type TypedStep } from './typed-step.ts';
import { Failure, indexKey, describeKind, kindOf, ListValue, MapValue, type Result } from './values.ts';

/** An operand, and where it is written. */
export interface Operand {
  readonly step: TypedStep;
  readonly start: number;
}

/** `a && b`, `a || b`: a deciding operand absorbs an error of the other, on either side. */
export function checkLogic(symbol: '&&' | '||', operands: readonly [Operand, Operand]): TypedStep {
  for (const operand of operands) requireBool(symbol, operand);
  const [{ step: left }, { step: right }] = operands;
  return computed(boolType, combine(symbol, left.run, right.run, symbol === '||'));
}

function combine(symbol: string, left: Run, right: Run, decisive: boolean): Run {
  return (frame) => {
    const first = left(frame);
    if (first === decisive) return decisive;
    const second = right(frame);
    if (second === decisive) return decisive;
    if (typeof first !== 'boolean') return refuseOperand(symbol, first);
    return typeof second === 'boolean' ? second : refuseOperand(symbol, second);
  };
}

/** `condition ? a : b` */
export function checkCondition(condition: Operand, [yes, no]: readonly [Operand, Operand]): TypedStep {
  requireBool('?:', condition);
  if (!areCompatible(yes.step.type, no.step.type))
    throw new ExpressionError(
      `both values of a condition must be of one type, found ${describeType(yes.step.type)} and ${describeType(no.step.type)}`,
      no.start,
    );
  const { run } = condition.step;
  const { run: runYes } = yes.step;
  const { run: runNo } = no.step;
  return computed(joinTypes(yes.step.type, no.step.type), (frame) => {
    const holds = run(frame);
    if (typeof holds !== 'boolean') return refuseOperand('?:', holds);
    return holds ? runYes(frame) : runNo(frame);
  });
}

function requireBool(symbol: string, { step, start }: Operand): void {
  if (step.type.kind !== 'bool' && !isOpen(step.type))
    throw new ExpressionError(`${symbol} needs true or false, ${nameStep(step)} is ${describeType(step.type)}`, start);
}

function refuseOperand(symbol: string, result: Result): Failure {
  return result instanceof Failure
    ? result
    : new Failure(`${symbol} needs true or false, found ${describeKind(kindOf(result))}`);
}

/** `a == b`, `a != b` */
export function checkEquality(symbol: '==' | '!=', left: TypedStep, right: TypedStep, offset: number): TypedStep {
  if (!areCompatible(left.type, right.type))
    throw new ExpressionError(
      `${symbol} compares ${describeType(left.type)} with ${describeType(right.type)}${explainInequality(left.type, right.type)}`,
      offset,
    );
  const { run: runLeft } = left;
  const { run: runRight } = right;
  const wanted = symbol === '==';
  return computed(boolType, (frame) => {
    const first = runLeft(frame);
    if (first instanceof Failure) return first;
    const second = runRight(frame);
    if (second instanceof Failure) return second;
    const same = areEqual(first, second, frame);
    return typeof same === 'boolean' ? same === wanted : same;
  });
}

const numbers = new Set(['int', 'uint', 'double']);

function explainInequality(left: CelType, right: CelType): string {
  return numbers.has(left.kind) && numbers.has(right.kind)
    ? `; make them one type with ${left.kind}() or ${right.kind}()`
    : ', which are never equal';
}

/** `a in b`: elements of a list, keys of a map. */
export function checkMembership(needle: Operand, container: TypedStep, offset: number): TypedStep {
  const { type } = container;
  const wanted: CelType | undefined =
    type.kind === 'list' ? type.element : type.kind === 'map' ? type.key : isOpen(type) ? type : undefined;
  if (wanted === undefined) {
    const advice = type.kind === 'string' ? '; for a part of a text write a.contains(b)' : '';
    throw new ExpressionError(
      `in needs a list or a map, ${nameStep(container)} is ${describeType(type)}${advice}`,
      offset,
    );
  }
  if (!areCompatible(wanted, needle.step.type))
    throw new ExpressionError(
      `in looks for ${describeType(needle.step.type)} among ${describeMany(wanted)}${explainInequality(wanted, needle.step.type)}`,
      offset,
    );
  const { run: runNeedle, literal } = needle.step;
  const { run: runContainer } = container;
  // "team" in jwt asks about the attribute jwt.team.
  const path =
    typeof literal === 'string' && type.kind === 'map' ? extendPath(container, literal, needle.start) : undefined;
  return {
    ...computed(boolType, (frame) => {
      const value = runNeedle(frame);
      if (value instanceof Failure) return value;
      const among = runContainer(frame);
      if (among instanceof ListValue) {
        let unreadable: Failure | undefined;
        for (let index = 0; index < among.size; index += 1) {
          frame.spendIterations(1);
          const element = among.get(index);
          const same = element instanceof Failure ? element : areEqual(element, value, frame);
          if (same === true) return true;
          if (same !== false) unreadable = same;
        }
        return unreadable ?? false;
      }
      if (among instanceof MapValue) {
        if (indexKey(value) === undefined && typeof value !== 'number')
          return new Failure(`a map has no keys of ${describeKind(kindOf(value))}`);
        return among.has(value);
      }
      return among instanceof Failure
        ? among
        : new Failure(`in needs a list or a map, ${nameStep(container)} is ${describeKind(kindOf(among))}`);
    }),
    path,
  };
}
