// A message as goldens show it: only what differs from the defaults. Messages that differ are printed differently: a field with a default of its own is shown as
// soon as it holds anything else, also the zero value or nothing. So a golden fails when translation forgets a field.
import { isDeepStrictEqual } from 'node:util';
import {
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  toJson,
} from '@bufbuild/protobuf';
import { type MessageDefaults, messageDefaults } from './message-defaults.ts';

/** The message as JSON without the fields that hold their defaults. With no `defaults` these are the zero values, as everywhere in protobuf. */
export function printMessage<D extends DescMessage>(
  schema: D,
  message: MessageShape<D>,
  defaults: MessageDefaults = messageDefaults,
): JsonObject {
  const set = toJson(schema, message) as JsonObject;
  const all = toJson(schema, message, { alwaysEmitImplicit: true }) as JsonObject;
  return printFields(schema, set, all, defaults);
}

/** `set` has no zero values, `all` has them. */
function printFields(schema: DescMessage, set: JsonObject, all: JsonObject, defaults: MessageDefaults): JsonObject {
  const ours = defaults[schema.name] ?? {};
  const shown = schema.fields.flatMap((field): [string, JsonValue][] => {
    const name = field.jsonName;
    const value = set[name] === undefined ? (all[name] ?? null) : printValue(field, set[name], all[name]!, defaults);
    const isUsual = name in ours ? isDeepStrictEqual(value, ours[name]) : set[name] === undefined;
    return isUsual ? [] : [[name, value]];
  });
  return Object.fromEntries(shown);
}

function printValue(field: DescField, set: JsonValue, all: JsonValue, defaults: MessageDefaults): JsonValue {
  const { message } = field;
  if (message === undefined) return set;
  if (field.fieldKind === 'map') throw new Error(`${field.name} is a map of messages, which no golden has shown yet`);
  if (field.fieldKind === 'list')
    return (set as JsonObject[]).map((each, index) =>
      printFields(message, each, (all as JsonObject[])[index]!, defaults),
    );
  return printFields(message, set as JsonObject, all as JsonObject, defaults);
}
