// Finds unknown content of a message: fields and enum values of a newer controller. Protobuf keeps or skips them silently, which is
// right for logs and wrong for policies: half of a rule is another rule.
import type { DescEnum, DescField, DescMessage, Message } from '@bufbuild/protobuf';

/** The path of the first unknown content: `jwt.providers[0] (field 9)`; undefined: everything is known. */
export function findUnknownContent(schema: DescMessage, message: Message): string | undefined {
  return findInMessage(schema, message, '');
}

type Check = (value: unknown, path: string) => string | undefined;

interface FieldCheck {
  /** The member that holds the value, or the oneof that it is in. */
  readonly member: string;
  readonly oneofCase: string | undefined;
  readonly name: string;
  readonly check: Check;
}

/** Only of fields in which something unknown can be. */
const fieldChecks = new WeakMap<DescMessage, readonly FieldCheck[]>();
const enumNumbers = new WeakMap<DescEnum, ReadonlySet<number>>();

function findInMessage(schema: DescMessage, message: Message, path: string): string | undefined {
  const [unknown] = message.$unknown ?? [];
  if (unknown !== undefined) return `${path === '' ? '' : `${path} `}(field ${unknown.no})`;
  for (const { member, oneofCase, name, check } of listFieldChecks(schema)) {
    let value: unknown = Reflect.get(message, member);
    if (oneofCase !== undefined) {
      const chosen = value as { readonly case?: string; readonly value?: unknown };
      if (chosen.case !== oneofCase) continue;
      ({ value } = chosen);
    }
    if (value === undefined) continue;
    const found = check(value, path === '' ? name : `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function listFieldChecks(schema: DescMessage): readonly FieldCheck[] {
  let checks = fieldChecks.get(schema);
  if (checks === undefined) {
    checks = schema.fields.flatMap((field) => {
      const check = createCheck(field);
      if (check === undefined) return [];
      const { localName, oneof, name } = field;
      return [{ member: oneof?.localName ?? localName, oneofCase: oneof && localName, name, check }];
    });
    fieldChecks.set(schema, checks);
  }
  return checks;
}

function createCheck(field: DescField): Check | undefined {
  const check = createValueCheck(field.message, field.enum);
  if (check === undefined) return undefined;
  switch (field.fieldKind) {
    case 'list':
      return (value, path) => findFirst((value as readonly unknown[]).entries(), path, check);
    case 'map':
      return (value, path) => findFirst(Object.entries(value as object), path, check);
    default:
      return check;
  }
}

function createValueCheck(message: DescMessage | undefined, values: DescEnum | undefined): Check | undefined {
  if (message !== undefined) return (value, path) => findInMessage(message, value as Message, path);
  if (values === undefined) return undefined;
  return (value, path) => (listNumbers(values).has(value as number) ? undefined : `${path} (value ${String(value)})`);
}

function findFirst(entries: Iterable<[number | string, unknown]>, path: string, check: Check): string | undefined {
  for (const [key, value] of entries) {
    const found = check(value, `${path}[${key}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function listNumbers(values: DescEnum): ReadonlySet<number> {
  let numbers = enumNumbers.get(values);
  if (numbers === undefined) enumNumbers.set(values, (numbers = new Set(values.values.map((value) => value.number))));
  return numbers;
}
