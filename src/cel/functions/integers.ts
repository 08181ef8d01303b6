// Integers of 64 bits: what goes beyond is a failure, never another number.
import { Failure, Uint } from '../values.ts';

const smallestInt = -(2n ** 63n);
const largestInt = 2n ** 63n - 1n;
const largestUint = 2n ** 64n - 1n;

const intOverflow = new Failure('the number does not fit into an int');
const uintOverflow = new Failure('the number does not fit into a uint');

/** The number, if it fits. */
export function toInt(value: bigint): bigint | Failure {
  return value >= smallestInt && value <= largestInt ? value : intOverflow;
}

/** The number, if it fits. */
export function toUint(value: bigint): Uint | Failure {
  return value >= 0n && value <= largestUint ? new Uint(value) : uintOverflow;
}

/** Without its fraction. Doubles at the very edge stand for numbers beyond it. */
export function truncateToInt(value: number): bigint | Failure {
  return value > -(2 ** 63) && value < 2 ** 63 ? BigInt(Math.trunc(value)) : intOverflow;
}

/** Without its fraction. */
export function truncateToUint(value: number): Uint | Failure {
  return value >= 0 && value < 2 ** 64 ? new Uint(BigInt(Math.trunc(value))) : uintOverflow;
}
