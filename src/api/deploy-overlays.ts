// Overlays: strategic merge patches over the objects that are deployed for a Gateway. They can change everything except what ties an object to its Gateway.
import * as z from 'zod';
import { freeFormSchema, openObjectSchema } from './free-form.ts';
import { isMapping } from './mapping.ts';
import { refuse } from './not-supported-yet.ts';
import { reservedLabels } from './pod-template.ts';

const textSchema = z.string().max(253).optional();

const identityFields = {
  name: refuse(textSchema, 'remove it: an overlay cannot rename what is deployed').describe('Always absent.'),
  generateName: refuse(textSchema, 'remove it: an overlay cannot rename what is deployed').describe('Always absent.'),
  namespace: refuse(textSchema, "remove it: everything is deployed in the Gateway's namespace").describe(
    'Always absent.',
  ),
  uid: refuse(textSchema, 'remove it: Kubernetes sets it').describe('Always absent.'),
  resourceVersion: refuse(textSchema, 'remove it: Kubernetes sets it').describe('Always absent.'),
  ownerReferences: refuse(
    z.array(freeFormSchema()).max(16).optional(),
    'remove it: what is deployed belongs to the Gateway',
  ).describe('Always absent.'),
  managedFields: refuse(z.array(freeFormSchema()).max(16).optional(), 'remove it: Kubernetes sets it').describe(
    'Always absent.',
  ),
};

/** What of `spec` ties an object to the pods of the Gateway. */
type Tie = 'selector' | 'scaleTargetRef';

interface OverlayOptions {
  readonly tie?: Tie;
  /** The object exists only when there is an overlay; a later one may take it away again. */
  readonly optional?: boolean;
}

function overlaySchema(kind: string, { tie, optional = false }: OverlayOptions) {
  return openObjectSchema({
    apiVersion: refuse(textSchema, `remove it: the overlay is for the ${kind}`).describe('Always absent.'),
    kind: refuse(textSchema, `remove it: the overlay is for the ${kind}`).describe('Always absent.'),
    metadata: openObjectSchema(identityFields).optional().describe('Labels and annotations.'),
    ...(tie !== undefined && {
      spec: openObjectSchema({
        [tie]: refuse(freeFormSchema().optional(), "remove it: it selects the Gateway's own pods").describe(
          'Always absent.',
        ),
      })
        .optional()
        .describe(`What to change in the spec of the ${kind}.`),
    }),
    status: refuse(freeFormSchema().optional(), 'remove it: Kubernetes sets it').describe('Always absent.'),
  }).superRefine((overlay, context) => checkOverlay(overlay, optional, context));
}

type Path = readonly (string | number)[];

function checkOverlay(overlay: Readonly<Record<string, unknown>>, optional: boolean, context: z.RefinementCtx): void {
  const report = (path: Path, message: string): void => context.addIssue({ code: 'custom', path: [...path], message });
  const whole = overlay['$patch'];
  if (whole !== undefined && !(optional && whole === 'delete'))
    report(['$patch'], optional ? 'must be delete here' : 'must be absent here: the object cannot be deleted');
  checkLabels(overlay['metadata'], ['metadata'], report);
  const { template } = isMapping(overlay['spec']) ? overlay['spec'] : {};
  if (isMapping(template)) checkLabels(template['metadata'], ['spec', 'template', 'metadata'], report);
  checkDirectives(overlay, [], report);
}

function checkLabels(metadata: unknown, path: Path, report: (path: Path, message: string) => void): void {
  const labels = isMapping(metadata) ? metadata['labels'] : undefined;
  if (!isMapping(labels)) return;
  for (const label of reservedLabels)
    if (Object.hasOwn(labels, label)) report([...path, 'labels', label], 'remove it: the controller sets it');
}

const directives: ReadonlySet<unknown> = new Set(['replace', 'delete', 'merge']);

/** Keys that begin with `$` are merge directives; one that is not supported must not be ignored. */
function checkDirectives(value: unknown, path: Path, report: (path: Path, message: string) => void): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkDirectives(item, [...path, index], report);
    return;
  }
  if (!isMapping(value)) return;
  for (const [key, inner] of Object.entries(value)) {
    if (key === '$patch') {
      if (!directives.has(inner)) report([...path, key], 'must be one of replace, delete or merge');
    } else if (key.startsWith('$')) report([...path, key], 'is not supported; $patch is the only directive');
    else checkDirectives(inner, [...path, key], report);
  }
}

/** Overlays, by what they change. */
export const deployOverlaysSchema = z.object({
  deployment: overlaySchema('Deployment', { tie: 'selector' })
    .optional()
    .describe('Over the Deployment. The container is called `gateway`.'),
  service: overlaySchema('Service', { tie: 'selector' }).optional().describe('Over the Service.'),
  serviceAccount: overlaySchema('ServiceAccount', {}).optional().describe('Over the ServiceAccount.'),
  podDisruptionBudget: overlaySchema('PodDisruptionBudget', { tie: 'selector', optional: true })
    .optional()
    .describe(
      'Over a PodDisruptionBudget, which exists only when this is set: with `{}` at most one pod is evicted at a time.',
    ),
  horizontalPodAutoscaler: overlaySchema('HorizontalPodAutoscaler', { tie: 'scaleTargetRef', optional: true })
    .optional()
    .describe(
      'Over a HorizontalPodAutoscaler, which exists only when this is set: with `{}` it scales from `replicas` to 10 pods by CPU. It then controls the number of pods.',
    ),
});

/** Parsed overlays. */
export type DeployOverlays = z.output<typeof deployOverlaysSchema>;
