// Where a request carries its token: a header, a cookie or a query parameter (RFC 6750 section 2, RFC 6265 section 4.1.1).
import * as z from 'zod';
import { oneOf, withRules } from './cel-rules.ts';
import { foldHeaderName, foldHeaderNameInCel, headerNameSchema, reservedHeaders } from './header-name.ts';

// The header is taken out before the request goes on.
const otherHeaders = reservedHeaders.filter((name) => name !== 'authorization');

const tokenHeaderSchema = withRules(
  z.object({
    name: headerNameSchema.default('authorization').describe('The header.'),
    prefix: z
      .string()
      .max(64)
      .regex(/^$|^[!-~][ -~]*$/, 'must be printable ASCII and not begin with a space')
      .optional()
      .describe('The prefix of the token. When absent: `Bearer ` for the header `authorization`, nothing for others.'),
  }),
  [
    {
      cel: `!(${foldHeaderNameInCel('self.name')} in ['${otherHeaders.join("', '")}'])`,
      message:
        'must be authorization or a header of your own, such as x-access-token; this one already has a meaning (for a cookie use location.cookie)',
      path: ['name'],
      holds: ({ name }) => !otherHeaders.includes(foldHeaderName(name)),
    },
    {
      cel: "self.name.lowerAscii() != 'authorization' || !has(self.prefix) || self.prefix == '' || self.prefix.matches(r'^[^ ]+ $')",
      message: 'must be a scheme and one space, such as "Bearer ", in the header authorization',
      path: ['prefix'],
      holds: ({ name, prefix = '' }) =>
        name.toLowerCase() !== 'authorization' || prefix === '' || /^[^ ]+ $/.test(prefix),
    },
  ],
);

const tokenCookieSchema = z.object({
  name: z
    .string()
    .min(1)
    .max(256)
    .regex(/^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$/, "must be a cookie name: letters, digits and !#$%&'*+-.^_`|~ only")
    .describe('The name of the cookie.'),
});

const tokenParameterSchema = z.object({
  // Only characters that have one spelling: every reader of the query must find the same parameter.
  name: z
    .string()
    .min(1)
    .max(256)
    .regex(/^[A-Za-z0-9._~-]+$/, 'must be the name of a query parameter: letters, digits and -._~ only')
    .describe('The name of the parameter.'),
});

/** Exactly one place. */
export const tokenLocationSchema = withRules(
  z.object({
    header: tokenHeaderSchema.optional().describe('A request header.'),
    cookie: tokenCookieSchema.optional().describe('A cookie.'),
    queryParameter: tokenParameterSchema
      .optional()
      .describe('A query parameter. It ends up in logs of clients and proxies; prefer a header.'),
  }),
  [oneOf(['header', 'cookie', 'queryParameter'])],
);
