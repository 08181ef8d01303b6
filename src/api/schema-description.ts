// A schema as data: what the field checks, the CRDs, the editor schema and the reference read. The only place that asks zod for it.
import * as z from 'zod';
import { celRulesKey } from './cel-rules.ts';
import { fileRuleKey } from './file-rules.ts';
import { nullRemovesKey } from './free-form.ts';
import { refusalKey, type Refusal } from './not-supported-yet.ts';

/** A CEL rule as a CRD spells it. */
export interface CelRuleNode {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

/** A type of JSON Schema. */
type SchemaType = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';

/** One node of a described schema: JSON Schema, with the marks that the schemas carry as metadata. */
export interface SchemaNode {
  /** Several types where a schema takes alternatives that differ in nothing else. */
  readonly type?: SchemaType | readonly SchemaType[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly items?: SchemaNode;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly propertyNames?: SchemaNode;
  readonly additionalProperties?: SchemaNode | false;
  readonly anyOf?: readonly SchemaNode[];
  /** What `pattern` asks for, in words. */
  readonly 'x-pattern-rule'?: string;
  readonly [fileRuleKey]?: string;
  readonly [nullRemovesKey]?: boolean;
  readonly [refusalKey]?: Refusal;
  readonly [celRulesKey]?: readonly CelRuleNode[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

const described = new WeakMap<z.ZodType, SchemaNode>();

/** Describes what a schema takes in: fields with a default are not required. The result is shared; do not change it. */
export function describeSchema(schema: z.ZodType): SchemaNode {
  const known = described.get(schema);
  if (known !== undefined) return known;
  const { $schema: _, ...node } = z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    reused: 'inline',
    override({ zodSchema, jsonSchema }) {
      const rule = readPatternRule(zodSchema);
      if (rule !== undefined) jsonSchema['x-pattern-rule'] = rule;
      // zod bounds every integer by what a double can hold, and spells RFC 3339 out as a pattern beside the format.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
    },
  });
  described.set(schema, node as SchemaNode);
  return node as SchemaNode;
}

/** The sentence that a schema gives for its pattern. */
function readPatternRule(schema: z.core.$ZodTypes): string | undefined {
  // zod keeps what a schema is made of under _zod, for tools such as this one.
  // oxlint-disable-next-line no-underscore-dangle
  for (const { _zod } of schema._zod.def.checks ?? []) {
    const { def } = _zod;
    if (def.check !== 'string_format' || def.error === undefined) continue;
    const explain = def.error as (issue: object) => string | { readonly message: string } | null | undefined;
    const answer = explain({ code: 'invalid_format', format: 'regex', input: '', path: [] });
    return typeof answer === 'string' ? answer : answer?.message;
  }
  return undefined;
}
