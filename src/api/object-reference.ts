// References to other objects: Secrets with certificates, backends, extension objects.
import * as z from 'zod';
import {
  groupSchema,
  kindSchema,
  namespaceNameSchema,
  objectNameSchema,
  portNumberSchema,
} from './kubernetes-names.ts';

/** A reference to a Secret unless it says otherwise. Another namespace needs a ReferenceGrant there. */
export const secretObjectReferenceSchema = z.object({
  group: groupSchema.default('').describe("The object's API group; empty is the core group."),
  kind: kindSchema.default('Secret').describe("The object's kind."),
  name: objectNameSchema.describe("The object's name."),
  namespace: namespaceNameSchema
    .optional()
    .describe("The object's namespace; another one than the referrer's needs a ReferenceGrant."),
});

/** A reference to an object of the same namespace. */
export const localObjectReferenceSchema = z.object({
  group: groupSchema.describe("The object's API group."),
  kind: kindSchema.describe("The object's kind."),
  name: objectNameSchema.describe("The object's name."),
});

/** A reference to any object, group and kind spelled out. */
export const objectReferenceSchema = z.object({
  group: groupSchema.describe("The object's API group; empty is the core group."),
  kind: kindSchema.describe("The object's kind."),
  name: objectNameSchema.describe("The object's name."),
  namespace: namespaceNameSchema.optional().describe("The object's namespace."),
});

/** The fields of a reference to a backend: a Service unless it says otherwise. */
export const backendObjectReferenceFields = {
  group: groupSchema
    .default('')
    .describe(
      "The backend's API group; empty is the core group, gateway.proxy for a ProxyBackend, inference.networking.k8s.io for an InferencePool.",
    ),
  kind: kindSchema
    .default('Service')
    .describe("The backend's kind: Service or ProxyBackend; with the Inference Extension also InferencePool."),
  name: objectNameSchema.describe("The backend's name."),
  namespace: namespaceNameSchema
    .optional()
    .describe("The backend's namespace; another one than the route's needs a ReferenceGrant there."),
  port: portNumberSchema.optional().describe("The Service's port. Required for a Service; no effect for other kinds."),
};

interface PortedReference {
  readonly group: string;
  readonly kind: string;
  readonly port?: number | undefined;
}

/** A Service is referenced by port; nothing says which one when it is missing. */
export function requireServicePort(reference: PortedReference, context: z.RefinementCtx): void {
  if (reference.group !== '' || reference.kind !== 'Service' || reference.port !== undefined) return;
  context.addIssue({
    code: 'custom',
    path: ['port'],
    message: 'required: the port of the Service',
    params: { code: 'required' },
  });
}

/** A reference to a backend. */
export const backendObjectReferenceSchema = z.object(backendObjectReferenceFields).superRefine(requireServicePort);

/** A parsed reference to a Secret. */
export type SecretObjectReference = z.output<typeof secretObjectReferenceSchema>;
/** A parsed reference to a backend. */
export type BackendObjectReference = z.output<typeof backendObjectReferenceSchema>;
