// Values of the conformance suite as they are written in an expression.
import type { Value as SuiteValue } from '@bufbuild/cel-spec/cel/expr/value_pb.js';
import { fromBinary } from '@bufbuild/protobuf';
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';

/** The text of an expression that gives the value; undefined for messages, which rules do not have. */
export function spellValue({ kind }: SuiteValue): string | undefined {
  switch (kind.case) {
    case 'nullValue':
      return 'null';
    case 'boolValue':
    case 'int64Value':
      return String(kind.value);
    case 'uint64Value':
      return `${kind.value}u`;
    case 'doubleValue':
      return spellDouble(kind.value);
    case 'stringValue':
      return `"${Array.from(kind.value, (character) => `\\U${hexadecimal(character.codePointAt(0)!, 8)}`).join('')}"`;
    case 'bytesValue':
      return `b"${Array.from(kind.value, (byte) => `\\x${hexadecimal(byte, 2)}`).join('')}"`;
    case 'typeValue':
      return kind.value;
    case 'listValue':
      return spellAll(kind.value.values, (items) => `[${items.join(', ')}]`);
    case 'mapValue':
      return spellAll(
        kind.value.entries.flatMap(({ key, value }) => [key!, value!]),
        (items) => `{${items.map((item, index) => (index % 2 === 0 ? `${item}: ` : `${item}, `)).join('')}}`,
      );
    case 'objectValue': {
      const { typeUrl, value } = kind.value;
      if (typeUrl.endsWith('/google.protobuf.Timestamp')) {
        const { seconds, nanos } = fromBinary(TimestampSchema, value);
        return `(timestamp(${seconds}) + duration("${nanos}ns"))`;
      }
      if (!typeUrl.endsWith('/google.protobuf.Duration')) return undefined;
      const { seconds, nanos } = fromBinary(DurationSchema, value);
      return `duration("${seconds * 1_000_000_000n + BigInt(nanos)}ns")`;
    }
    default:
      return undefined;
  }
}

function spellAll(values: readonly SuiteValue[], combine: (items: readonly string[]) => string): string | undefined {
  const items = values.map(spellValue);
  return items.every((item) => item !== undefined) ? combine(items) : undefined;
}

function spellDouble(value: number): string {
  if (Number.isNaN(value)) return 'double("nan")';
  if (!Number.isFinite(value)) return value > 0 ? 'double("inf")' : 'double("-inf")';
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function hexadecimal(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
