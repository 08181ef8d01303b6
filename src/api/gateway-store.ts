// spec.store of GatewayParameters: where the gateways of a class keep logins that several of them have to know of.
import * as z from 'zod';
import { withRules } from './cel-rules.ts';
import { objectNameSchema } from './kubernetes-names.ts';

const passwordReferenceSchema = z.object({
  name: objectNameSchema.describe("The name of the Secret, in the Gateway's namespace."),
  key: z
    .string()
    .min(1)
    .max(253)
    .regex(/^[-._a-zA-Z0-9]+$/, 'must be letters, digits, "-", "_" and "."')
    .describe('The entry in its data.'),
});

const caReferenceSchema = z.object({
  kind: z.enum(['ConfigMap', 'Secret']).optional().describe('ConfigMap or Secret; ConfigMap when absent.'),
  name: objectNameSchema.describe(
    "The name of the object, in the Gateway's namespace. Its entry `ca.crt` holds the certificates as PEM.",
  ),
});

const redisSchema = withRules(
  z.object({
    url: z
      .string()
      .min(1)
      .max(512)
      .regex(
        /^rediss?:\/\/([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(\/[0-9]{0,5})?$/,
        'must be redis://host:port/db or rediss://host:port/db, without user and password',
      )
      .describe('Where the server is: redis://host:port/db, or rediss:// with TLS.'),
    username: z
      .string()
      .min(1)
      .max(253)
      .regex(/^\S+$/, 'must not have spaces')
      .optional()
      .describe('The user at the server; its default user when absent.'),
    passwordRef: passwordReferenceSchema
      .optional()
      .describe(
        'The Secret with the password, in the namespace of each Gateway. A change of it is used for the next connection.',
      ),
    caCertificateRef: caReferenceSchema
      .optional()
      .describe("The CA that signed the server's certificate, with rediss; public CAs when absent."),
  }),
  [
    {
      cel: '!has(self.username) || has(self.passwordRef)',
      message: 'has a meaning only with passwordRef',
      path: ['username'],
      holds: ({ username, passwordRef }) => username === undefined || passwordRef !== undefined,
    },
    {
      cel: "!has(self.caCertificateRef) || self.url.startsWith('rediss:')",
      message: 'has a meaning only with a url that begins with rediss, which is TLS',
      path: ['caCertificateRef'],
      holds: ({ url, caCertificateRef }) => caCertificateRef === undefined || url.startsWith('rediss:'),
    },
  ],
);

/** A store. */
export const gatewayStoreSchema = z.object({
  redis: redisSchema.describe('A Valkey server, or a Redis server of version 6.2 or newer.'),
});

/** A parsed store. */
export type GatewayStore = z.output<typeof gatewayStoreSchema>;
