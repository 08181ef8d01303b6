// Equality and order of values (https://github.com/google/cel-spec/blob/master/doc/langdef.md#equality).
import type { Frame } from './frame.ts';
import {
  Duration,
  Failure,
  ListValue,
  MapValue,
  Timestamp,
  TypeName,
  Uint,
  type Result,
  type Value,
} from './values.ts';

/** Numbers are equal across their types; values of different kinds are not. A failure when an element cannot be read. */
export function areEqual(left: Value, right: Value, frame: Frame): boolean | Failure {
  if (typeof left === 'string' && typeof right === 'string') {
    // Texts of different lengths are told apart at once.
    if (left.length !== right.length) return false;
    frame.spendComparison(left, right);
    return left === right;
  }
  if (left === right) return true;
  if (typeof left === 'string' || typeof left === 'boolean' || left === null) return false;
  if (isNumeric(left)) return isNumeric(right) && isSameNumber(left, right);
  if (left instanceof ListValue) return right instanceof ListValue && haveEqualElements(left, right, frame);
  if (left instanceof MapValue) return right instanceof MapValue && haveEqualEntries(left, right, frame);
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanoseconds === right.nanoseconds;
  if (left instanceof Duration) return right instanceof Duration && left.nanoseconds === right.nanoseconds;
  if (left instanceof TypeName) return right instanceof TypeName && left.name === right.name;
  return right instanceof Uint8Array && compareBytes(left, right) === 0;
}

function haveEqualElements(left: ListValue, right: ListValue, frame: Frame): boolean | Failure {
  if (left.size !== right.size) return false;
  for (let index = 0; index < left.size; index += 1) {
    const same = areEqualResults(left.get(index), right.get(index), frame);
    if (same !== true) return same;
  }
  return true;
}

function haveEqualEntries(left: MapValue, right: MapValue, frame: Frame): boolean | Failure {
  const keys = left.keys();
  frame.spendKeys(keys.length * 2);
  if (keys.length !== right.size) return false;
  for (const key of keys) {
    const other = right.get(key);
    if (other === undefined) return false;
    const same = areEqualResults(left.get(key)!, other, frame);
    if (same !== true) return same;
  }
  return true;
}

function areEqualResults(left: Result, right: Result, frame: Frame): boolean | Failure {
  frame.spendIterations(1);
  if (left instanceof Failure) return left;
  return right instanceof Failure ? right : areEqual(left, right, frame);
}

type Numeric = bigint | number | Uint;

function isNumeric(value: Value): value is Numeric {
  return typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint;
}

/** Exactly: JavaScript compares bigint and number without rounding. */
function isSameNumber(left: Numeric, right: Numeric): boolean {
  return plainNumber(left) == plainNumber(right);
}

/** Negative, zero or positive; NaN when a NaN takes part: then nothing holds. An integer beside a double is rounded to a double, says the conformance suite. */
export function compareNumbers(left: Numeric, right: Numeric): number {
  const a = plainNumber(left);
  const b = plainNumber(right);
  if (typeof a === 'bigint' && typeof b === 'bigint') return a < b ? -1 : a > b ? 1 : 0;
  const difference = Number(a) - Number(b);
  return Number.isNaN(difference) && a === b ? 0 : difference;
}

function plainNumber(value: Numeric): bigint | number {
  return value instanceof Uint ? value.value : value;
}

/** By code points: JavaScript's own order puts what lies beyond U+FFFF before U+E000. */
export function compareStrings(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a === b) continue;
    const isHalf = isSurrogate(a);
    // Half of a character beyond U+FFFF is above everything that is not.
    if (isHalf !== isSurrogate(b)) return isHalf ? 1 : -1;
    return a - b;
  }
  return left.length - right.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** Byte by byte. */
export function compareBytes(left: Uint8Array, right: Uint8Array): number {
  return Buffer.compare(left, right);
}
