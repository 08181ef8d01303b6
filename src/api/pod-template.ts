// The settings of a Gateway's pods: scheduling, security context, labels and annotations (core PodTemplateSpec).
import * as z from 'zod';
import { boundedMapSchema } from './bounded-map.ts';
import { withRules } from './cel-rules.ts';
import { freeFormSchema } from './free-form.ts';
import { labelKeySchema, labelValueSchema, subdomainNameSchema } from './kubernetes-names.ts';
import { uniqueNames } from './list-rules.ts';

/** Labels by which the controller and Services find deployed objects. Only the controller sets them. */
export const reservedLabels: readonly string[] = [
  'gateway.networking.k8s.io/gateway-name',
  'gateway.networking.k8s.io/gateway-class-name',
  'app.kubernetes.io/managed-by',
];

/** Annotations, as long as they may be. */
export const annotationsSchema = boundedMapSchema(labelKeySchema, z.string().max(16_384), 64);

const podLabelsSchema = withRules(boundedMapSchema(labelKeySchema, labelValueSchema, 64), [
  {
    cel: `!self.exists(key, key in ['${reservedLabels.join("', '")}'])`,
    message: `must not have ${reservedLabels.slice(0, -1).join(', ')} or ${reservedLabels.at(-1)}, which the controller sets`,
    holds: (labels) => !reservedLabels.some((label) => Object.hasOwn(labels, label)),
  },
]);

const tolerationSchema = withRules(
  z.object({
    key: labelKeySchema.optional().describe('The key of the taint; every key when absent.'),
    operator: z
      .enum(['Exists', 'Equal'])
      .optional()
      .describe('Exists: any value of the taint. Equal (the default): the value must be `value`.'),
    value: labelValueSchema.optional().describe('The value of the taint.'),
    effect: z
      .enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
      .optional()
      .describe('The effect of the taint; every effect when absent.'),
    tolerationSeconds: z
      .int()
      .meta({ format: 'int64' })
      .optional()
      .describe('With NoExecute: how long pods may stay; forever when absent.'),
  }),
  [
    {
      cel: "has(self.key) || (has(self.operator) && self.operator == 'Exists')",
      message: 'must have a key, or the operator Exists',
      holds: ({ key, operator }) => key !== undefined || operator === 'Exists',
    },
    {
      cel: "!(has(self.value) && has(self.operator) && self.operator == 'Exists')",
      message: 'must have no value with the operator Exists',
      path: ['value'],
      holds: ({ value, operator }) => value === undefined || operator !== 'Exists',
    },
    {
      cel: "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
      message: 'has a meaning only with the effect NoExecute',
      path: ['tolerationSeconds'],
      holds: ({ tolerationSeconds, effect }) => tolerationSeconds === undefined || effect === 'NoExecute',
    },
  ],
);

const affinitySchema = z.object({
  nodeAffinity: freeFormSchema().optional().describe('Which nodes; as in a pod.'),
  podAffinity: freeFormSchema().optional().describe('Pods to run near to; as in a pod.'),
  podAntiAffinity: freeFormSchema().optional().describe('Pods to run away from; as in a pod.'),
});

/** The pods of a Gateway. */
export const podTemplateSchema = z.object({
  annotations: annotationsSchema.optional().describe('Annotations of the pods.'),
  labels: podLabelsSchema.optional().describe('Labels of the pods.'),
  nodeSelector: boundedMapSchema(labelKeySchema, labelValueSchema, 64)
    .optional()
    .describe('Labels that nodes must have.'),
  tolerations: z
    .array(tolerationSchema)
    .max(64)
    .meta({ 'x-kubernetes-list-type': 'atomic' })
    .optional()
    .describe('Taints of nodes that the pods tolerate.'),
  affinity: affinitySchema
    .optional()
    .describe('Scheduling constraints: which nodes, and near or away from which pods.'),
  securityContext: freeFormSchema()
    .optional()
    .describe(
      "The pods' security context. It is merged over the hardened one, field by field; null removes a field. Only parameters of the GatewayClass may weaken it. Set that of the container in overlays.deployment.",
    ),
  imagePullSecrets: z
    .array(z.object({ name: subdomainNameSchema.describe("A Secret in the Gateway's namespace.") }))
    .max(16)
    .superRefine(uniqueNames)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .optional()
    .describe("Credentials for the image's registry; those of the installation when absent."),
});
