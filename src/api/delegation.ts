// What parameters of a GatewayClass let the authors of Gateways ask for in addition.
import * as z from 'zod';
import { uniqueItems } from './list-rules.ts';

const list = (schema: z.ZodString) =>
  z.array(schema).max(64).superRefine(uniqueItems).meta({ 'x-kubernetes-list-type': 'set' }).optional();

export const delegationSchema = z.object({
  pods: z
    .boolean()
    .optional()
    .describe(
      'Authors of Gateways may have what somebody who may create pods has: their own images, containers, programs, mounts, and any label and annotation of pods. Rights of the node, of other service accounts, and Secrets stay out of reach. Without it they can only configure the gateway.',
    ),
  images: list(
    z
      .string()
      .min(3)
      .max(507)
      .regex(
        /^[^\s/:@]+(:[0-9]{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)+$/,
        'must be a registry, "/" and a repository, without a tag',
      ),
  ).describe(
    'Images that parameters of a Gateway may choose with `image.registry` and `image.repository`, such as registry.example.com/team/gateway. Without an entry they can only choose the tag or the digest.',
  ),
  podMetadata: list(
    z
      .string()
      .min(3)
      .max(317)
      .regex(
        /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/,
        'must be a domain and "/", such as sidecar.istio.io/, or the whole key',
      ),
  ).describe(
    'Labels and annotations that Gateways and their parameters may set on pods and their ServiceAccount: keys, or domains that end with "/" for all of their keys. Keys without a domain, and those of prometheus.io and app.kubernetes.io, are always allowed.',
  ),
});

/** Parsed delegation. */
export type Delegation = z.output<typeof delegationSchema>;
