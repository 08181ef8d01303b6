// Where a container's image comes from, in the parts that people change one by one.
import * as z from 'zod';

/** An image; absent fields come from earlier parameters, then from the installation. */
export const containerImageSchema = z.object({
  registry: z
    .string()
    .min(1)
    .max(253)
    .regex(
      /^[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/,
      'must be a host with an optional port and path, such as registry.example.com:5000/team',
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
    .describe("The tag; the installation's when absent. It replaces a digest from earlier parameters."),
  digest: z
    .string()
    .max(71)
    .regex(/^sha256:[a-f0-9]{64}$/, 'must be sha256: and 64 hexadecimal digits')
    .optional()
    .describe('The digest, which takes precedence over the tag. It replaces a tag from earlier parameters.'),
  pullPolicy: z
    .enum(['Always', 'IfNotPresent', 'Never'])
    .optional()
    .describe('When nodes pull the image; the policy of the installation when absent.'),
});
