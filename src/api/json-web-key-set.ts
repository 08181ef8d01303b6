// jwks: where the keys come from that tokens are verified with (RFC 7517).
import * as z from 'zod';
import { oneOf, withRules, type CelRule } from './cel-rules.ts';
import { caCertificateReferenceSchema } from './certificate-reference.ts';
import { boundedDurationSchema } from './duration.ts';
import { namespaceNameSchema, portNumberSchema, serviceNameSchema } from './kubernetes-names.ts';
import { refuse } from './not-supported-yet.ts';
import { allowInsecureHttpSchema, httpUrlSchema, secureUrl } from './secure-url.ts';

/** The most characters of a key set in a policy, and bytes of one in a file. */
export const maxKeySetLength = 65536;

/** Why a gateway that a controller configures has no use for `file`. */
export const fileIsForFiles = 'is only for a gateway that reads files; use url, inline or backendRef';

const jwksObject = z.object(
  {
    url: httpUrlSchema.optional().describe('The URL of the key set.'),
    inline: z.string().min(2).max(maxKeySetLength).optional().describe('The key set itself, as JSON.'),
    file: refuse(
      z
        .string()
        .min(1)
        .max(4096)
        .regex(/^[^\t\r\n]+$/, 'must be a path without tabs and line breaks')
        .optional(),
      fileIsForFiles,
      { origin: 'kubernetes' },
    ).describe(
      'The path of a file with the key set, as JSON; a relative one starts at the folder of the file that names it. The gateway follows its changes.',
    ),
    backendRef: z
      .object({
        group: z.enum(['']).default('').describe('The core group, where Service lives.'),
        kind: z.enum(['Service']).default('Service').describe('Service.'),
        name: serviceNameSchema.describe("The Service's name."),
        namespace: namespaceNameSchema
          .optional()
          .describe("The Service's namespace; another one needs a ReferenceGrant there."),
        port: portNumberSchema.describe("The Service's port."),
      })
      .optional()
      .describe('A Service that serves the key set, at `path`.'),
    path: z
      .string()
      .min(1)
      .max(1024)
      .regex(/^\/[^\s#]*$/, 'must begin with "/"')
      .optional()
      .describe('The path of the key set, with backendRef.'),
    cacheDuration: boundedDurationSchema({ min: '1s', max: '24h' })
      .default('5m')
      .describe('How long keys are used before they are fetched again.'),
    caCertificateRef: caCertificateReferenceSchema
      .optional()
      .describe(
        'The certificate authorities to trust in every call to this identity provider; those of the system when absent.',
      ),
    allowInsecureHttp: allowInsecureHttpSchema,
  },
  {
    error: ({ input }) =>
      input === undefined ? 'required: the source of the keys, one of url, inline, file or backendRef' : undefined,
  },
);

type JwksObject = z.output<typeof jwksObject>;

const rules: readonly CelRule<JwksObject>[] = [
  secureUrl('url'),
  {
    cel: 'has(self.path) == has(self.backendRef)',
    message: 'path and backendRef belong together; set both or neither',
    holds: (jwks) => (jwks.path === undefined) === (jwks.backendRef === undefined),
  },
];

const sources = ['url', 'inline', 'file', 'backendRef'] as const;

// A source that reads files puts the text of `file` into `inline`, and refuses what has both.
const readInline = (jwks: JwksObject): JwksObject => (jwks.file === undefined ? jwks : { ...jwks, inline: undefined });

function countSources(options: { readonly optional?: boolean }): CelRule<JwksObject> {
  const rule = oneOf<JwksObject>(sources, options);
  return { ...rule, holds: (jwks) => rule.holds(readInline(jwks)) };
}

/** Keys from exactly one source. */
export const jwksSchema = withRules(jwksObject, [countSources({}), ...rules]);

/** Keys from one source, or from where the metadata of the identity provider says. */
export const discoverableJwksSchema = withRules(jwksObject, [countSources({ optional: true }), ...rules]);

/** A parsed jwks. */
export type Jwks = JwksObject;

/** The jwks of a policy that has none: keys from where the metadata of the identity provider says. */
export const discoveredJwks: Jwks = discoverableJwksSchema.parse({});
