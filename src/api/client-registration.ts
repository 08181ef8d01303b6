// How MCP clients are registered at the identity provider (RFC 7591).
import * as z from 'zod';
import { oneOf, withRules } from './cel-rules.ts';
import { objectNameSchema } from './kubernetes-names.ts';
import { allowInsecureHttpSchema, httpUrlSchema, secureUrl } from './secure-url.ts';
import { dataKeySchema } from './secret.ts';

const secretEntrySchema = z.object({
  name: objectNameSchema.describe('The Secret, in the same namespace.'),
  key: dataKeySchema.describe('The entry of the Secret.'),
});

const clientIdSchema = z.string().min(1).max(1024);

const redirectUriSchema = z
  .string()
  .min(1)
  .max(2048)
  .regex(/^[A-Za-z][A-Za-z0-9+.-]*:[^\s#]+$/, 'must be an absolute URI without a fragment');

/** Client registration. */
export const clientRegistrationSchema = withRules(
  z.object({
    mode: z
      .enum(['Forward', 'Shared'])
      .default('Forward')
      .describe(
        'Forward: every client is registered at the identity provider. Shared: all clients use one client that is already registered.',
      ),
    endpoint: httpUrlSchema.optional().describe('The registration endpoint; the discovered one when absent.'),
    initialAccessTokenRef: secretEntrySchema
      .optional()
      .describe('An initial access token, sent to the identity provider and never to a client.'),
    initialAccessTokenFrom: z
      .object({
        clientCredentials: z
          .object({
            clientId: clientIdSchema.describe('The client that may register others.'),
            clientSecretRef: secretEntrySchema.describe('Its secret.'),
            scope: z.string().min(1).max(1024).optional().describe('The scope to ask for.'),
          })
          .describe('Get it with the client credentials grant.'),
      })
      .optional()
      .describe('Where a fresh initial access token comes from, for each registration.'),
    clientId: clientIdSchema.optional().describe('With Shared: the ID of the client.'),
    clientSecretRef: secretEntrySchema.optional().describe('With Shared: its secret; none for a public client.'),
    allowedRedirectUris: z
      .array(redirectUriSchema)
      .min(1)
      .max(64)
      .optional()
      .describe(
        'The redirect URIs that clients may register, compared exactly except for the port of a loopback address. When absent: https anywhere, http on loopback.',
      ),
    trustedRedirectUris: z
      .array(redirectUriSchema)
      .min(1)
      .max(64)
      .optional()
      .describe(
        'Exact redirect URIs of your own applications: logins that end there skip the consent page of the gateway. They are allowed even if allowedRedirectUris does not list them. For the flows Broker and Issuer.',
      ),
    limits: z
      .object({
        perMinute: z
          .int()
          .min(1)
          .max(100_000)
          .meta({ format: 'int32' })
          .default(60)
          .describe(
            'Registrations per minute and client address. Token requests have a separate limit that is ten times as high.',
          ),
        maxBodyBytes: z
          .int()
          .min(1024)
          .max(1_048_576)
          .meta({ format: 'int32' })
          .default(65536)
          .describe('The largest registration request.'),
      })
      .prefault({})
      .describe('Limits of the registration endpoint.'),
    allowInsecureHttp: allowInsecureHttpSchema,
  }),
  [
    secureUrl('endpoint'),
    { ...oneOf(['initialAccessTokenRef', 'initialAccessTokenFrom'], { optional: true }) },
    {
      cel: "self.mode != 'Shared' || has(self.clientId)",
      message: 'required with mode Shared: the client that all clients use',
      path: ['clientId'],
      required: true,
      holds: (registration) => registration.mode !== 'Shared' || registration.clientId !== undefined,
    },
    {
      cel: "self.mode == 'Shared' || (!has(self.clientId) && !has(self.clientSecretRef))",
      message: 'clientId and clientSecretRef have no effect without mode: Shared',
      holds: ({ mode, clientId, clientSecretRef }) =>
        mode === 'Shared' || (clientId === undefined && clientSecretRef === undefined),
    },
    {
      cel: "self.mode == 'Forward' || (!has(self.endpoint) && !has(self.initialAccessTokenRef) && !has(self.initialAccessTokenFrom))",
      message: 'endpoint and initialAccessToken* have no effect without mode: Forward',
      holds: ({ mode, endpoint, initialAccessTokenRef, initialAccessTokenFrom }) =>
        mode === 'Forward' ||
        (endpoint === undefined && initialAccessTokenRef === undefined && initialAccessTokenFrom === undefined),
    },
  ],
);
