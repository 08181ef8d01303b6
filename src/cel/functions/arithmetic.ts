// The operators + - * / % and the unary minus.
import {
  bytesType,
  doubleType,
  durationType,
  intType,
  listOf,
  dynType,
  stringType,
  timestampType,
  uintType,
} from '../cel-type.ts';
import type { Frame } from '../frame.ts';
import { Failure, type ListValue, MadeList, type Result, type Value } from '../values.ts';
import { toInt, toUint } from './integers.ts';
import { type FunctionTable, overload } from './overload.ts';
import { toDuration, toTimestamp } from './times.ts';

const dividedByZero = new Failure('division by zero');
const anyList = listOf(dynType);

export const arithmetic: FunctionTable = {
  '_+_': [
    overload([stringType, stringType], stringType, joinStrings),
    overload([intType, intType], intType, (a, b) => toInt(a + b)),
    overload([uintType, uintType], uintType, (a, b) => toUint(a.value + b.value)),
    overload([doubleType, doubleType], doubleType, (a, b) => a + b),
    overload([timestampType, durationType], timestampType, (a, b) => toTimestamp(a.nanoseconds + b.nanoseconds)),
    overload([durationType, timestampType], timestampType, (a, b) => toTimestamp(a.nanoseconds + b.nanoseconds)),
    overload([durationType, durationType], durationType, (a, b) => toDuration(a.nanoseconds + b.nanoseconds)),
    overload([bytesType, bytesType], bytesType, joinBytes),
    overload([anyList, anyList], anyList, joinLists),
  ],
  '_-_': [
    overload([intType, intType], intType, (a, b) => toInt(a - b)),
    overload([uintType, uintType], uintType, (a, b) => toUint(a.value - b.value)),
    overload([doubleType, doubleType], doubleType, (a, b) => a - b),
    overload([timestampType, timestampType], durationType, (a, b) => toDuration(a.nanoseconds - b.nanoseconds)),
    overload([timestampType, durationType], timestampType, (a, b) => toTimestamp(a.nanoseconds - b.nanoseconds)),
    overload([durationType, durationType], durationType, (a, b) => toDuration(a.nanoseconds - b.nanoseconds)),
  ],
  '_*_': [
    overload([intType, intType], intType, (a, b) => toInt(a * b)),
    overload([uintType, uintType], uintType, (a, b) => toUint(a.value * b.value)),
    overload([doubleType, doubleType], doubleType, (a, b) => a * b),
  ],
  '_/_': [
    overload([intType, intType], intType, (a, b) => (b === 0n ? dividedByZero : toInt(a / b))),
    overload([uintType, uintType], uintType, (a, b) => (b.value === 0n ? dividedByZero : toUint(a.value / b.value))),
    overload([doubleType, doubleType], doubleType, (a, b) => a / b),
  ],
  '_%_': [
    overload([intType, intType], intType, (a, b) => (b === 0n ? dividedByZero : a % b)),
    overload([uintType, uintType], uintType, (a, b) => (b.value === 0n ? dividedByZero : toUint(a.value % b.value))),
  ],
  '-_': [overload([intType], intType, (a) => toInt(-a)), overload([doubleType], doubleType, (a) => -a)],
};

function joinStrings(left: string, right: string, frame: Frame): Result {
  frame.spendTextWork(left.length + right.length);
  return left + right;
}

function joinBytes(left: Uint8Array, right: Uint8Array, frame: Frame): Result {
  frame.spendTextWork(left.length + right.length);
  const joined = new Uint8Array(left.length + right.length);
  joined.set(left);
  joined.set(right, left.length);
  return joined;
}

function joinLists(left: ListValue, right: ListValue, frame: Frame): Result {
  frame.spendIterations(left.size + right.size);
  const items: Value[] = [];
  for (const list of [left, right]) {
    for (let index = 0; index < list.size; index += 1) {
      const item = list.get(index);
      if (item instanceof Failure) return item;
      items.push(item);
    }
  }
  return new MadeList(items);
}
