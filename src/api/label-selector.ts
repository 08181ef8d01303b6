// Label selectors: matchLabels and matchExpressions, all of which must hold.
import * as z from 'zod';
import { labelKeySchema, labelValueSchema } from './kubernetes-names.ts';

const requirementSchema = z
  .object({
    key: labelKeySchema.describe('The label key.'),
    operator: z
      .enum(['In', 'NotIn', 'Exists', 'DoesNotExist'])
      .describe('How the label relates to `values`: In, NotIn, Exists or DoesNotExist.'),
    values: z
      .array(labelValueSchema)
      .optional()
      .describe('The values; at least one for In and NotIn, none for Exists and DoesNotExist.'),
  })
  .superRefine((requirement, context) => {
    const count = requirement.values?.length ?? 0;
    const needsValues = requirement.operator === 'In' || requirement.operator === 'NotIn';
    if (needsValues && count === 0)
      context.addIssue({
        code: 'custom',
        path: ['values'],
        message: `must list at least one value for operator ${requirement.operator}`,
      });
    if (!needsValues && count > 0)
      context.addIssue({
        code: 'custom',
        path: ['values'],
        message: `must be empty for operator ${requirement.operator}`,
      });
  });

/** Selects objects by their labels. An empty selector selects everything. */
export const labelSelectorSchema = z.object({
  matchLabels: z
    .record(labelKeySchema, labelValueSchema)
    .optional()
    .describe('Labels that must all be there with these values.'),
  matchExpressions: z.array(requirementSchema).optional().describe('Requirements that must all hold.'),
});

/** A parsed label selector. */
export type LabelSelector = z.output<typeof labelSelectorSchema>;

/** Whether labels satisfy a selector. */
export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  }
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const present = Object.hasOwn(labels, key);
    const listed = present && values.includes(labels[key]!);
    if (operator === 'In' && !listed) return false;
    if (operator === 'NotIn' && listed) return false;
    if (operator === 'Exists' && !present) return false;
    if (operator === 'DoesNotExist' && present) return false;
  }
  return true;
}
