// The operators < <= > >=.
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  stringType,
  timestampType,
  uintType,
} from '../cel-type.ts';
import { compareBytes, compareNumbers, compareStrings } from '../compare-values.ts';
import { type FunctionTable, type Overload, overload } from './overload.ts';

export const ordering: FunctionTable = {
  '_<_': orderBy((order) => order < 0),
  '_<=_': orderBy((order) => order <= 0),
  '_>_': orderBy((order) => order > 0),
  '_>=_': orderBy((order) => order >= 0),
};

/** Numbers are ordered across their types, everything else within its type. */
function orderBy(holds: (order: number) => boolean): readonly Overload[] {
  const numbers = [intType, uintType, doubleType].flatMap((left) =>
    [intType, uintType, doubleType].map((right) =>
      overload([left, right], boolType, (a, b) => holds(compareNumbers(a, b))),
    ),
  );
  return [
    ...numbers,
    overload([stringType, stringType], boolType, (a, b, frame) => {
      frame.spendTextWork(Math.min(a.length, b.length) / 2);
      return holds(compareStrings(a, b));
    }),
    overload([timestampType, timestampType], boolType, (a, b) => holds(compareNumbers(a.nanoseconds, b.nanoseconds))),
    overload([durationType, durationType], boolType, (a, b) => holds(compareNumbers(a.nanoseconds, b.nanoseconds))),
    overload([boolType, boolType], boolType, (a, b) => holds(Number(a) - Number(b))),
    overload([bytesType, bytesType], boolType, (a, b) => holds(compareBytes(a, b))),
  ];
}
