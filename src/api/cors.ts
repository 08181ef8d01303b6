// Cross-origin resource sharing, as the Gateway API's CORS filter has it and ProxyPolicy takes it over (Fetch standard).
import * as z from 'zod';
import { headerNameSchema } from './header-name.ts';
import { uniqueItems } from './list-rules.ts';

/** The methods that a route can match and that CORS can allow. */
export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'] as const;

const wildcardAloneRule = {
  rule: "!('*' in self && self.size() > 1)",
  message: "'*' must be the only entry",
};

function wildcardAlone(values: readonly string[], context: z.RefinementCtx): void {
  if (values.includes('*') && values.length > 1)
    context.addIssue({
      code: 'custom',
      path: [values.indexOf('*')],
      message: 'must be the only entry; remove the others or "*"',
    });
}

const setOf = { 'x-kubernetes-list-type': 'set' };
const setWithWildcard = { ...setOf, 'x-kubernetes-validations': [wildcardAloneRule] };

/** Which other origins' pages may call, and how. */
export const corsSchema = z.object({
  allowOrigins: z
    .array(
      z
        .string()
        .min(1)
        .max(253)
        .regex(
          /(^\*$)|(^(http(s)?):\/\/(((\*\.)?([a-zA-Z0-9-]+\.)*[a-zA-Z0-9-]+|\*)(:([0-9]{1,5}))?)$)/,
          'must be "*" or an origin such as https://app.example.com, https://*.example.com or http://localhost:6274',
        ),
    )
    .max(64)
    .superRefine(uniqueItems)
    .superRefine(wildcardAlone)
    .meta(setWithWildcard)
    .optional()
    .describe('Origins that may call: `*`, `https://app.example.com`, or with a wildcard `https://*.example.com`.'),
  allowMethods: z
    .array(z.enum([...httpMethods, '*']))
    .max(9)
    .superRefine(uniqueItems)
    .superRefine(wildcardAlone)
    .meta(setWithWildcard)
    .optional()
    .describe('Methods beyond the safelisted GET, HEAD and POST, or `*`.'),
  allowHeaders: z
    .array(headerNameSchema)
    .max(64)
    .superRefine(uniqueItems)
    .superRefine(wildcardAlone)
    .meta(setWithWildcard)
    .optional()
    .describe('Request headers that scripts may send, or `*`.'),
  exposeHeaders: z
    .array(headerNameSchema)
    .max(64)
    .superRefine(uniqueItems)
    .meta(setOf)
    .optional()
    .describe('Response headers that scripts may read, or `*`.'),
  allowCredentials: z.boolean().optional().describe('Whether scripts may send cookies and credentials.'),
  maxAge: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .meta({ format: 'int32' })
    .default(5)
    .describe('Seconds for which a browser may cache the answer to a preflight.'),
});

/** A parsed CORS configuration. */
export type Cors = z.output<typeof corsSchema>;
