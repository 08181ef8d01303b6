// The fields of a schema for the field checks, looked up only where a value has them. Describing a whole schema (schema-description.ts) takes tens of
// milliseconds, which a starting gateway would spend on unused fields.
import * as z from 'zod';
import { fileRuleKey } from './file-rules.ts';
import { nullRemovesKey } from './free-form.ts';
import { refusalKey, type Refusal } from './not-supported-yet.ts';

/** What is known of one value: its marks, and what may stand in it. */
export interface FieldNode {
  readonly refusal: Refusal | undefined;
  readonly fileRule: string | undefined;
  /** Null is a value for fields that are not declared: it removes the field. */
  readonly nullRemoves: boolean;
  /** What items of a list are; undefined where nothing is known of them, or it is no list. */
  readonly items: FieldNode | undefined;
  /** Declared names; undefined where it is no mapping whose fields are known. */
  readonly names: readonly string[] | undefined;
  /** A declared field. */
  find(name: string): FieldNode | undefined;
  /** What fields of other names are; undefined: there are none. */
  readonly others: FieldNode | undefined;
}

/** A value that may be anything, and have anything in it. */
const anything: FieldNode = {
  refusal: undefined,
  fileRule: undefined,
  nullRemoves: false,
  items: undefined,
  names: undefined,
  find: () => undefined,
  others: undefined,
};

const known = new WeakMap<z.core.$ZodType, FieldNode>();

/** The fields that a schema takes in. The result is shared. */
export function listFields(schema: z.core.$ZodType): FieldNode {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const node = createNode(schema);
  known.set(schema, node);
  return node;
}

function createNode(schema: z.core.$ZodType): FieldNode {
  // zod keeps what a schema is made of under _zod, for tools such as this one.
  // oxlint-disable-next-line no-underscore-dangle
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const marks = z.globalRegistry.get(schema);
  // What is around a schema has its fields and its marks, but for marks of its own.
  const wrapped = findWrapped(def);
  const inner = wrapped === undefined ? undefined : listFields(wrapped);
  const shape = def.type === 'object' ? def.shape : undefined;
  const others = def.type === 'object' ? def.catchall : def.type === 'record' ? def.valueType : undefined;
  return {
    refusal: (marks?.[refusalKey] as Refusal | undefined) ?? inner?.refusal,
    fileRule: (marks?.[fileRuleKey] as string | undefined) ?? inner?.fileRule,
    nullRemoves: (marks?.[nullRemovesKey] as boolean | undefined) ?? inner?.nullRemoves ?? false,
    get items() {
      return def.type === 'array' ? listFields(def.element) : inner?.items;
    },
    names: shape === undefined ? (def.type === 'record' ? [] : inner?.names) : Object.keys(shape),
    find(name) {
      if (shape === undefined) return inner?.find(name);
      return Object.hasOwn(shape, name) ? listFields(shape[name]!) : undefined;
    },
    get others() {
      // Fields that may be there and are not kept: zod leaves them out, and has no way to say so.
      if (marks?.additionalProperties !== undefined) return anything;
      if (others === undefined) return inner?.others;
      return isNever(others) ? undefined : listFields(others);
    },
  };
}

/** What a schema wraps: the values that it takes in are those of the other, or fewer. */
function findWrapped(def: z.core.$ZodTypes['_zod']['def']): z.core.$ZodType | undefined {
  switch (def.type) {
    case 'optional':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
      return def.innerType;
    case 'lazy':
      return def.getter();
    case 'pipe':
      return def.in;
    default:
      return undefined;
  }
}

function isNever(schema: z.core.$ZodType): boolean {
  // oxlint-disable-next-line no-underscore-dangle
  return schema._zod.def.type === 'never';
}
