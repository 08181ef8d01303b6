import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type DescField, type DescMessage, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { PolicySchema } from '../ir/gen/config_pb.ts';
import { resourceTypes } from './resource-types.ts';
import { findUnknownContent } from './unknown-content.ts';

/** A message in which nothing is set but the way to one place, and what is there. */
interface Case {
  readonly path: string;
  readonly message: Message;
}

const foreign = 77_777;

/** One case for each place in which something unknown can be, whatever the way to it. */
function* listCases(schema: DescMessage, before: ReadonlySet<DescMessage> = new Set()): Generator<Case> {
  const unknown = { no: foreign, wireType: WireType.Varint, data: new Uint8Array([1]) };
  const message = create(schema);
  message.$unknown = [unknown];
  yield { path: `(field ${foreign})`, message };
  if (before.has(schema)) return;
  for (const field of schema.fields) {
    const { name } = field;
    const place = field.fieldKind === 'list' ? `${name}[0]` : field.fieldKind === 'map' ? `${name}[k]` : name;
    if (field.enum !== undefined)
      yield { path: `${place} (value ${foreign})`, message: wrap(schema, field, foreign as unknown as Message) };
    if (field.message === undefined) continue;
    for (const inner of listCases(field.message, new Set([...before, schema]))) {
      const joint = inner.path.startsWith('(') ? ' ' : '.';
      yield { path: `${place}${joint}${inner.path}`, message: wrap(schema, field, inner.message) };
    }
  }
}

function wrap(schema: DescMessage, field: DescField, value: Message): Message {
  const held = field.fieldKind === 'list' ? [value] : field.fieldKind === 'map' ? { k: value } : value;
  const { oneof, localName } = field;
  return create(
    schema,
    oneof === undefined ? { [localName]: held } : { [oneof.localName]: { case: localName, value: held } },
  );
}

for (const { schema } of resourceTypes as readonly { readonly schema: DescMessage }[]) {
  test(`${schema.name}: what is not known is found, wherever it is`, () => {
    const cases = [...listCases(schema)];
    assert.ok(cases.length > 2);
    for (const { path, message } of cases) {
      const received = fromBinary(schema, toBinary(schema, message));
      assert.equal(findUnknownContent(schema, received), path);
    }
  });

  test(`${schema.name}: what is known is no problem`, () => {
    for (const { message } of listCases(schema)) {
      const bytes = toBinary(schema, message, { writeUnknownFields: false });
      const found = findUnknownContent(schema, fromBinary(schema, bytes));
      assert.ok(found === undefined || found.endsWith(`(value ${foreign})`), String(found));
    }
  });
}

test('many places are looked at', () => {
  assert.ok([...listCases(PolicySchema)].length > 20);
});
