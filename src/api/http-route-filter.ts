// Filters of HTTPRoute rules and backendRefs: what happens to a request or response on its way.
import * as z from 'zod';
import { corsSchema } from './cors.ts';
import { headerNameSchema } from './header-name.ts';
import { preciseHostnameSchema } from './hostname.ts';
import { portNumberSchema } from './kubernetes-names.ts';
import { uniqueItems, uniqueNames } from './list-rules.ts';
import { notSupportedYet } from './not-supported-yet.ts';
import { backendObjectReferenceSchema, localObjectReferenceSchema } from './object-reference.ts';

const headersSchema = z
  .array(
    z.object({
      name: headerNameSchema.describe('The header name; case does not matter.'),
      value: z.string().min(1).max(4096).describe('The header value.'),
    }),
  )
  .max(16)
  .superRefine(uniqueNames);

const headerModifierSchema = z.object({
  set: headersSchema.optional().describe('Headers to set; existing values are replaced.'),
  add: headersSchema.optional().describe('Headers to add; existing values are kept.'),
  remove: z.array(z.string()).max(16).superRefine(uniqueItems).optional().describe('Names of headers to remove.'),
});

const pathModifierSchema = z
  .object({
    type: z
      .enum(['ReplaceFullPath', 'ReplacePrefixMatch'])
      .describe('What is replaced: the whole path or the matched prefix.'),
    replaceFullPath: z.string().max(1024).optional().describe('The new path, with type ReplaceFullPath.'),
    replacePrefixMatch: z
      .string()
      .max(1024)
      .optional()
      .describe('What replaces the matched prefix, with type ReplacePrefixMatch.'),
  })
  .superRefine((path, context) => {
    const members = [
      ['ReplaceFullPath', 'replaceFullPath'],
      ['ReplacePrefixMatch', 'replacePrefixMatch'],
    ] as const;
    for (const [type, member] of members) {
      const present = path[member] !== undefined;
      if (path.type === type && !present)
        context.addIssue({
          code: 'custom',
          path: [member],
          message: `required with type ${type}`,
          params: { code: 'required' },
        });
      if (path.type !== type && present)
        context.addIssue({ code: 'custom', path: [member], message: `must be absent with type ${path.type}` });
    }
  });

const requestRedirectSchema = z.object({
  scheme: z.enum(['http', 'https']).optional().describe("The scheme of the Location; the request's when absent."),
  hostname: preciseHostnameSchema.optional().describe("The host of the Location; the request's when absent."),
  path: pathModifierSchema.optional().describe("The path of the Location; the request's when absent."),
  port: portNumberSchema
    .optional()
    .describe("The port of the Location; when absent the scheme's well-known port, else the listener's."),
  statusCode: z.literal([301, 302, 303, 307, 308]).default(302).describe('The status of the answer.'),
});

const urlRewriteSchema = z.object({
  hostname: preciseHostnameSchema.optional().describe('The Host that the backend sees.'),
  path: pathModifierSchema.optional().describe('The path that the backend sees.'),
});

const requestMirrorSchema = z
  .object({
    backendRef: backendObjectReferenceSchema.describe('Where copies of requests go; their answers are ignored.'),
    percent: z
      .int()
      .min(0)
      .max(100)
      .meta({ format: 'int32' })
      .optional()
      .describe('The share of requests, in percent; all when absent.'),
    fraction: z
      .object({
        numerator: z.int().min(0).max(2_147_483_647).meta({ format: 'int32' }).describe('The share of requests.'),
        denominator: z
          .int()
          .min(1)
          .max(2_147_483_647)
          .meta({ format: 'int32' })
          .default(100)
          .describe('Out of how many.'),
      })
      .superRefine((fraction, context) => {
        if (fraction.numerator > fraction.denominator)
          context.addIssue({ code: 'custom', path: ['numerator'], message: 'must not be greater than denominator' });
      })
      .optional()
      .describe('The share of requests as a fraction, in place of percent.'),
  })
  .superRefine((mirror, context) => {
    if (mirror.percent !== undefined && mirror.fraction !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['fraction'],
        message: 'must be absent with percent; keep one of the two',
      });
  });

const filterMembers = {
  RequestHeaderModifier: 'requestHeaderModifier',
  ResponseHeaderModifier: 'responseHeaderModifier',
  RequestMirror: 'requestMirror',
  RequestRedirect: 'requestRedirect',
  URLRewrite: 'urlRewrite',
  ExtensionRef: 'extensionRef',
  CORS: 'cors',
} as const;

const filterTypes = Object.keys(filterMembers) as (keyof typeof filterMembers)[];

/** One filter: a type, and the member of that type. */
const httpRouteFilterSchema = z
  .object({
    type: notSupportedYet(z.enum(filterTypes), { values: ['ExternalAuth'] }).describe(
      'The kind of filter; the member of the same name holds its settings.',
    ),
    requestHeaderModifier: headerModifierSchema.optional().describe('Changes request headers.'),
    responseHeaderModifier: headerModifierSchema.optional().describe('Changes response headers.'),
    requestMirror: requestMirrorSchema.optional().describe('Sends a copy of requests elsewhere.'),
    requestRedirect: requestRedirectSchema.optional().describe('Answers with a redirect.'),
    urlRewrite: urlRewriteSchema.optional().describe('Changes host and path on the way to the backend.'),
    cors: corsSchema.optional().describe('Answers preflights and marks answers for other origins.'),
    externalAuth: notSupportedYet(z.unknown().optional(), { instead: 'use a ProxyPolicy' }).describe(
      'Experimental: asks another service.',
    ),
    extensionRef: localObjectReferenceSchema
      .optional()
      .describe('A filter of another vendor. None is supported, so the rule answers 500, as the Gateway API requires.'),
  })
  .superRefine((filter, context) => {
    for (const type of filterTypes) {
      const member = filterMembers[type];
      const present = filter[member] !== undefined;
      if (filter.type === type && !present)
        context.addIssue({
          code: 'custom',
          path: [member],
          message: `required with type ${type}`,
          params: { code: 'required' },
        });
      if (filter.type !== type && present)
        context.addIssue({ code: 'custom', path: [member], message: `must be absent with type ${filter.type}` });
    }
  });

/** A parsed filter. */
export type HttpRouteFilter = z.output<typeof httpRouteFilterSchema>;

/** A list of filters: most types at most once, and a redirect excludes a rewrite. */
export const httpRouteFiltersSchema = z
  .array(httpRouteFilterSchema)
  .max(16)
  .superRefine((filters, context) => {
    const first = new Map<string, number>();
    for (const [index, { type }] of filters.entries()) {
      const earlier = first.get(type);
      if (earlier === undefined) first.set(type, index);
      else if (type !== 'RequestMirror' && type !== 'ExtensionRef')
        context.addIssue({
          code: 'custom',
          path: [index, 'type'],
          message: `must not repeat ${type}; entry ${earlier} has it already`,
        });
    }
    const [redirect, rewrite] = [first.get('RequestRedirect'), first.get('URLRewrite')];
    if (redirect !== undefined && rewrite !== undefined)
      context.addIssue({
        code: 'custom',
        path: [Math.max(redirect, rewrite), 'type'],
        message: 'RequestRedirect and URLRewrite exclude each other; keep one of the two',
      });
  });

/** A parsed header modifier. */
export type HeaderModifier = z.output<typeof headerModifierSchema>;
/** A parsed path modifier of a redirect or rewrite. */
export type PathModifier = z.output<typeof pathModifierSchema>;
/** A parsed mirror. */
export type RequestMirror = z.output<typeof requestMirrorSchema>;
