// int(), string(), timestamp()... and type(). A text that is written out and cannot be converted is a mistake in the rule.
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  stringType,
  timestampType,
  typeType,
  uintType,
} from '../cel-type.ts';
import { Failure, kindOf, type Result, TypeName, type Value } from '../values.ts';
import { toInt, toUint, truncateToInt, truncateToUint } from './integers.ts';
import { type FunctionTable, type Overload, overload } from './overload.ts';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp, toDuration, toTimestamp } from './times.ts';

const second = 1_000_000_000n;
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const noInt = new Failure('the text is not a whole number');
const noDouble = new Failure('the text is not a number');
const noBool = new Failure('the text is neither true nor false');
const noText = new Failure('the bytes are not UTF-8');

export const conversions: FunctionTable = {
  int: [
    overload([intType], intType, (value) => value),
    overload([uintType], intType, ({ value }) => toInt(value)),
    overload([doubleType], intType, truncateToInt),
    fromText(intType, (text) => (/^[+-]?\d{1,30}$/.test(text) ? toInt(BigInt(text.replace('+', ''))) : noInt)),
    overload([timestampType], intType, ({ nanoseconds }) => floorSeconds(nanoseconds)),
    overload([durationType], intType, ({ nanoseconds }) => nanoseconds / second),
  ],
  uint: [
    overload([uintType], uintType, (value) => value),
    overload([intType], uintType, toUint),
    overload([doubleType], uintType, truncateToUint),
    fromText(uintType, (text) => (/^\d{1,30}$/.test(text) ? toUint(BigInt(text)) : noInt)),
  ],
  double: [
    overload([doubleType], doubleType, (value) => value),
    overload([intType], doubleType, Number),
    overload([uintType], doubleType, ({ value }) => Number(value)),
    fromText(doubleType, parseDouble),
  ],
  bool: [overload([boolType], boolType, (value) => value), fromText(boolType, parseBool)],
  bytes: [
    overload([bytesType], bytesType, (value) => value),
    overload([stringType], bytesType, (value, frame) => {
      frame.spendTextWork(value.length);
      return encoder.encode(value);
    }),
  ],
  string: [
    overload([stringType], stringType, (value) => value),
    overload([boolType], stringType, String),
    overload([intType], stringType, String),
    overload([uintType], stringType, ({ value }) => String(value)),
    overload([doubleType], stringType, String),
    overload([bytesType], stringType, (value, frame) => {
      frame.spendTextWork(value.length);
      return decode(value);
    }),
    overload([timestampType], stringType, formatTimestamp),
    overload([durationType], stringType, formatDuration),
  ],
  timestamp: [
    overload([timestampType], timestampType, (value) => value),
    fromText(timestampType, parseTimestamp),
    // Seconds, as in the claims exp and iat.
    overload([intType], timestampType, (value) => toTimestamp(value * second)),
  ],
  duration: [
    overload([durationType], durationType, (value) => value),
    fromText(durationType, parseDuration),
    overload([intType], durationType, (value) => toDuration(value * second)),
  ],
  dyn: [overload([dynType], dynType, (value) => value)],
  type: [overload([dynType], typeType, typeOf)],
};

/** The words that stand for types in expressions. */
export const typeNames: ReadonlyMap<string, TypeName> = new Map(
  [
    'bool',
    'int',
    'uint',
    'double',
    'string',
    'bytes',
    'list',
    'map',
    'null_type',
    'type',
    'google.protobuf.Timestamp',
    'google.protobuf.Duration',
  ].map((name) => [name, new TypeName(name)]),
);

function typeOf(value: Value): TypeName {
  const kind = kindOf(value);
  switch (kind) {
    case 'null':
      return typeNames.get('null_type')!;
    case 'timestamp':
      return typeNames.get('google.protobuf.Timestamp')!;
    case 'duration':
      return typeNames.get('google.protobuf.Duration')!;
    default:
      return typeNames.get(kind)!;
  }
}

function fromText(result: CelType, convert: (text: string) => Result): Overload {
  return overload([stringType], result, convert, ([literal]) => {
    if (typeof literal !== 'string') return undefined;
    const value = convert(literal);
    return value instanceof Failure ? { problem: value.message, argument: 0 } : { run: () => value };
  });
}

function floorSeconds(nanoseconds: bigint): bigint {
  const rest = nanoseconds % second;
  return (nanoseconds - rest) / second - (rest < 0n ? 1n : 0n);
}

const doubleForm = /^[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)$/;
const infinityForm = /^([+-]?)inf(?:inity)?$/i;
const longestDouble = 400;

function parseDouble(text: string): number | Failure {
  if (text.length > longestDouble) return noDouble;
  if (doubleForm.test(text)) return Number(text);
  if (text.toLowerCase() === 'nan') return Number.NaN;
  const infinity = infinityForm.exec(text);
  if (infinity === null) return noDouble;
  return infinity[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

function parseBool(text: string): boolean | Failure {
  switch (text) {
    case 'true':
    case 'True':
    case 'TRUE':
    case 't':
    case '1':
      return true;
    case 'false':
    case 'False':
    case 'FALSE':
    case 'f':
    case '0':
      return false;
    default:
      return noBool;
  }
}

function decode(bytes: Uint8Array): string | Failure {
  try {
    return decoder.decode(bytes);
  } catch {
    return noText;
  }
}
