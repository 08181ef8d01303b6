// InferencePool (inference.networking.k8s.io, the Gateway API's Inference Extension): pods that serve a model, and the endpoint picker that
// chooses among them for every request.
import * as z from 'zod';
import {
  groupSchema,
  kindSchema,
  labelKeySchema,
  labelValueSchema,
  objectNameSchema,
  portNumberSchema,
  subdomainNameSchema,
} from './kubernetes-names.ts';
import { namespacedMetadataSchema, statusSchema } from './object-metadata.ts';

/** The API group of InferencePools. */
export const inferenceGroup = 'inference.networking.k8s.io';

/** Annotations that begin so are ours; those that we do not know are refused, never ignored. */
export const pickerAnnotationPrefix = 'gateway.proxy/endpoint-picker-';

/** What the annotations of a pool say about its endpoint picker. */
export const pickerAnnotations = {
  /** A ConfigMap of the pool's namespace with the authorities that the picker's certificate is verified with. */
  ca: `${pickerAnnotationPrefix}ca`,
  /** The name to ask for and to verify in the picker's certificate. */
  serverName: `${pickerAnnotationPrefix}server-name`,
  /** The longest wait for an answer of the picker. */
  timeout: `${pickerAnnotationPrefix}timeout`,
} as const;

const mostLabels = 64;

const matchLabelsSchema = z
  .record(labelKeySchema, labelValueSchema)
  .superRefine((labels, context) => {
    const count = Object.keys(labels).length;
    if (count === 0) context.addIssue({ code: 'custom', message: 'must have at least one label' });
    if (count > mostLabels)
      context.addIssue({ code: 'custom', message: `must have at most ${mostLabels} entries, has ${count}` });
  })
  .meta({ minProperties: 1, maxProperties: mostLabels });

const portSchema = z.object({ number: portNumberSchema.describe('The port number.') });

const targetPortsSchema = z
  .array(portSchema)
  .min(1)
  .max(8)
  .superRefine((ports, context) => {
    const seen = new Set<number>();
    for (const [index, { number }] of ports.entries()) {
      if (seen.has(number)) context.addIssue({ code: 'custom', path: [index, 'number'], message: 'must be unique' });
      seen.add(number);
    }
  });

const endpointPickerRefSchema = z
  .object({
    group: groupSchema
      .default('')
      .describe('The API group of the picker; empty is the core group, where Service lives.'),
    kind: kindSchema.default('Service').describe('Service.'),
    name: objectNameSchema.describe('The name of the Service, in the namespace of the pool.'),
    port: portSchema.optional().describe('The port of the Service. Required for a Service.'),
    failureMode: z
      .enum(['FailOpen', 'FailClose'])
      .default('FailClose')
      .describe(
        'What happens when the picker does not answer. FailClose: the request is answered with 503. FailOpen: any endpoint is used.',
      ),
  })
  .superRefine(({ kind, port }, context) => {
    if (kind !== 'Service' || port !== undefined) return;
    context.addIssue({
      code: 'custom',
      path: ['port'],
      message: 'required: the port of the Service',
      params: { code: 'required' },
    });
  });

/** An InferencePool. */
export const inferencePoolSchema = z.object({
  apiVersion: z.literal(`${inferenceGroup}/v1`),
  kind: z.literal('InferencePool'),
  metadata: namespacedMetadataSchema(subdomainNameSchema),
  spec: z.object({
    selector: z
      .object({ matchLabels: matchLabelsSchema.describe('Labels that a Pod must all have, with these values.') })
      .describe('The Pods of the pool, among those of its namespace.'),
    targetPorts: targetPortsSchema.describe('The ports of each Pod; every Pod and port is an endpoint of its own.'),
    appProtocol: z
      .enum(['http', 'kubernetes.io/h2c'])
      .default('http')
      .describe('What the endpoints speak. http: HTTP/1.1. kubernetes.io/h2c: HTTP/2 without TLS.'),
    endpointPickerRef: endpointPickerRefSchema
      .optional()
      .describe(
        'The endpoint picker, which chooses the endpoint of each request. The pool cannot be used without one.',
      ),
  }),
  status: statusSchema,
});

/** A parsed InferencePool. */
export type InferencePool = z.output<typeof inferencePoolSchema>;
/** A parsed reference to an endpoint picker. */
export type EndpointPickerRef = z.output<typeof endpointPickerRefSchema>;
