// Where a container's image comes from, in the parts that people change one by one.
import * as z from 'zod';

/** An image; what is absent comes from the parameters before, and in the end from the installation. */
export const containerImageSchema = z.object({
  registry: z
    .string()
    .min(1)
    .max(253)
    .regex(
      /^[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/,
      'must be a host, with a port or a path behind it if need be, such as registry.example.com:5000/team',
    )
    .optional()
    .describe("The registry, such as registry.example.com; the installation's when absent."),
  repository: z
    .string()
    .min(1)
    .max(253)
    .regex(
      /^[a-z0-9]+([._-]+[a-z0-9]+)*(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/,
      'must be lower-case letters, digits, ".", "_", "-" and "/"',
    )
    .optional()
    .describe("The repository within the registry; the installation's when absent."),
  tag: z
    .string()
    .min(1)
    .max(128)
    .regex(/^[a-zA-Z0-9_][-a-zA-Z0-9_.]*$/, 'must be letters, digits, "_", "." and "-"')
    .optional()
    .describe("The tag; the installation's when absent. A digest from parameters before this one is forgotten."),
  digest: z
    .string()
    .max(71)
    .regex(/^sha256:[a-f0-9]{64}$/, 'must be sha256: and 64 hexadecimal digits')
    .optional()
    .describe('The digest, which wins over the tag. A tag from parameters before this one is forgotten.'),
  pullPolicy: z
    .enum(['Always', 'IfNotPresent', 'Never'])
    .optional()
    .describe('When nodes pull the image; as the installation says when absent.'),
});

/** A parsed image. */
export type ContainerImage = z.output<typeof containerImageSchema>;
