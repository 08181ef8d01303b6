// Protobuf leaves the order of map entries open, and the encoder writes them in the order in which they were put in. Replicas read the same
// resource in different orders and must still arrive at the same bytes, so maps are sorted before a message is encoded.
import type { DescField, DescMessage, Message } from '@bufbuild/protobuf';

type MessageFields = Message & Record<string, unknown>;
type Oneof = { readonly case: string | undefined; readonly value?: unknown };

/** The message itself, or a copy with sorted maps if one of its maps is out of order. Messages are shared, and never changed. */
export function sortMaps<M extends Message>(schema: DescMessage, message: M): M {
  return listSortedFields(schema) === undefined ? message : (sortFields(schema, message) as Message as M);
}

function sortFields(schema: DescMessage, message: MessageFields): MessageFields {
  let copy: MessageFields | undefined;
  for (const field of listSortedFields(schema) ?? []) {
    const before = readField(message, field);
    if (before === undefined) continue;
    const after = sortValue(field, before);
    if (after === before) continue;
    copy ??= { ...message };
    if (field.oneof === undefined) copy[field.localName] = after;
    else copy[field.oneof.localName] = { case: field.localName, value: after };
  }
  return copy ?? message;
}

function readField(message: MessageFields, field: DescField): unknown {
  if (field.oneof === undefined) return message[field.localName];
  const oneof = message[field.oneof.localName] as Oneof;
  return oneof.case === field.localName ? oneof.value : undefined;
}

function sortValue(field: DescField, value: unknown): unknown {
  const nested = field.message;
  switch (field.fieldKind) {
    case 'map':
      return sortEntries(value as Record<string, unknown>, nested);
    case 'list':
      return sortItems(value as readonly MessageFields[], nested!);
    default:
      return sortFields(nested!, value as MessageFields);
  }
}

function sortItems(items: readonly MessageFields[], nested: DescMessage): readonly MessageFields[] {
  const sorted = items.map((item) => sortFields(nested, item));
  return sorted.every((item, index) => item === items[index]) ? items : sorted;
}

function sortEntries(map: Record<string, unknown>, nested: DescMessage | undefined): Record<string, unknown> {
  const keys = Object.keys(map);
  const sorted = Object.create(null) as Record<string, unknown>;
  let isChanged = false;
  for (const [index, key] of keys.toSorted().entries()) {
    sorted[key] = nested === undefined ? map[key] : sortFields(nested, map[key] as MessageFields);
    isChanged ||= key !== keys[index] || sorted[key] !== map[key];
  }
  return isChanged ? sorted : map;
}

const sortedFields = new Map<DescMessage, readonly DescField[] | undefined>();

/** The fields that are maps or lead to maps; undefined: there are none. Kept, as it asks about the type and not about a message. */
function listSortedFields(schema: DescMessage): readonly DescField[] | undefined {
  if (!sortedFields.has(schema)) {
    const fields = schema.fields.filter((field) => leadsToMap(field, new Set()));
    sortedFields.set(schema, fields.length === 0 ? undefined : fields);
  }
  return sortedFields.get(schema);
}

function leadsToMap(field: DescField, seen: Set<DescMessage>): boolean {
  if (field.fieldKind === 'map') return true;
  const nested = field.message;
  if (nested === undefined || seen.has(nested)) return false;
  seen.add(nested);
  return nested.fields.some((inner) => leadsToMap(inner, seen));
}
