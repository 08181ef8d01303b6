// parentRefs: the Gateways (or their listeners) that a route asks to be served by.
import * as z from 'zod';
import {
  groupSchema,
  kindSchema,
  namespaceNameSchema,
  objectNameSchema,
  portNumberSchema,
  sectionNameSchema,
} from './kubernetes-names.ts';

/** One parent of a route. */
export const parentReferenceSchema = z.object({
  group: groupSchema.default('gateway.networking.k8s.io').describe("The parent's API group."),
  kind: kindSchema.default('Gateway').describe("The parent's kind."),
  namespace: namespaceNameSchema.optional().describe("The parent's namespace; the route's own when absent."),
  name: objectNameSchema.describe("The parent's name."),
  sectionName: sectionNameSchema
    .optional()
    .describe('The listener to attach to; every listener that allows it when absent.'),
  port: portNumberSchema.optional().describe('Attach only to listeners on this port.'),
});

/** A parsed parentRef. */
export type ParentReference = z.output<typeof parentReferenceSchema>;

function nameSameParent(left: ParentReference, right: ParentReference): boolean {
  return (
    left.group === right.group &&
    left.kind === right.kind &&
    left.name === right.name &&
    (left.namespace ?? '') === (right.namespace ?? '')
  );
}

/** The parents of a route: several references to one parent must name different sections of it. */
export const parentReferencesSchema = z
  .array(parentReferenceSchema)
  .max(32)
  .superRefine((references, context) => {
    for (const [index, reference] of references.entries()) {
      for (const earlier of references.slice(0, index)) {
        if (!nameSameParent(earlier, reference)) continue;
        const sections = [earlier.sectionName, reference.sectionName];
        if (sections.includes(undefined) && sections[0] !== sections[1]) {
          context.addIssue({
            code: 'custom',
            path: [index],
            message: `must name a sectionName, and so must every other reference to ${reference.kind} ${reference.name}`,
          });
          break;
        }
        if (sections[0] === sections[1]) {
          context.addIssue({
            code: 'custom',
            path: reference.sectionName === undefined ? [index] : [index, 'sectionName'],
            message: `must differ from the other references to ${reference.kind} ${reference.name}`,
          });
          break;
        }
      }
    }
  });
