// HTTPRoute (gateway.networking.k8s.io): which requests go where.
import * as z from 'zod';
import { durationSchema, parseDuration } from './duration.ts';
import { withFileRule } from './file-rules.ts';
import { hostnameSchema } from './hostname.ts';
import { httpRouteFiltersSchema, type HttpRouteFilter } from './http-route-filter.ts';
import { type HttpRouteMatch, httpRouteMatchSchema } from './http-route-match.ts';
import { sectionNameSchema, subdomainNameSchema } from './kubernetes-names.ts';
import { isMapping } from './mapping.ts';
import { notSupportedYet } from './not-supported-yet.ts';
import { namespacedMetadataSchema, statusSchema } from './object-metadata.ts';
import { backendObjectReferenceFields, requireServicePort } from './object-reference.ts';
import type { Problem } from './problem.ts';
import { parentReferencesSchema } from './parent-reference.ts';

const backendRefSchema = z
  .object({
    ...backendObjectReferenceFields,
    weight: z
      .int()
      .min(0)
      .max(1_000_000)
      .meta({ format: 'int32' })
      .default(1)
      .describe("The backend's share of the rule's requests, relative to the sum of all weights. 0 sends none."),
    filters: httpRouteFiltersSchema.optional().describe('Filters for requests that go to this backend.'),
  })
  .superRefine(requireServicePort);

const timeoutsSchema = z
  .object({
    request: durationSchema.optional().describe('From the request to the end of the response; 0s means none.'),
    backendRequest: durationSchema
      .optional()
      .describe('For one attempt at a backend; at most `request`. 0s means none.'),
  })
  .superRefine(({ request, backendRequest }, context) => {
    if (request === undefined || backendRequest === undefined) return;
    if (!durationSchema.safeParse(request).success || !durationSchema.safeParse(backendRequest).success) return;
    const limit = parseDuration(request);
    if (limit > 0 && parseDuration(backendRequest) > limit)
      context.addIssue({
        code: 'custom',
        path: ['backendRequest'],
        message: `must not be longer than request (${request})`,
      });
  });

/** The matches of a rule that has none. */
export const everyPath: HttpRouteMatch[] = [{ path: { type: 'PathPrefix', value: '/' } }];

const ruleSchema = z
  .object({
    name: sectionNameSchema.optional().describe('Unique within the route; policies name it as sectionName.'),
    matches: z
      .array(httpRouteMatchSchema)
      .max(64)
      .default(everyPath)
      .describe('The rule applies when any of these matches; every request when absent.'),
    filters: httpRouteFiltersSchema.optional().describe('Filters for every request of the rule, in this order.'),
    backendRefs: z
      .array(backendRefSchema)
      .max(16)
      .optional()
      .describe('Where requests go. Without backends, and without a redirect, the rule answers 500.'),
    timeouts: timeoutsSchema.optional().describe('Time limits; none when absent.'),
    retry: notSupportedYet(z.unknown().optional()).describe('Experimental: retries.'),
    sessionPersistence: notSupportedYet(z.unknown().optional(), {
      instead: 'a ProxyBackend keeps MCP sessions on their endpoint',
    }).describe('Experimental: keeps a session on its backend.'),
  })
  .superRefine((rule, context) => {
    const hasBackends = (rule.backendRefs?.length ?? 0) > 0;
    const redirect = rule.filters?.findIndex((filter) => filter.requestRedirect !== undefined) ?? -1;
    if (hasBackends && redirect >= 0)
      context.addIssue({
        code: 'custom',
        path: ['filters', redirect],
        message: 'RequestRedirect and backendRefs exclude each other; remove one of the two',
      });
    const onePrefix = rule.matches.length === 1 && rule.matches[0]?.path.type === 'PathPrefix';
    if (onePrefix) return;
    for (const [path, filters] of listFilterPlaces(rule)) {
      for (const [index, filter] of filters.entries()) {
        const member = replacesPrefix(filter);
        if (member === undefined) continue;
        context.addIssue({
          code: 'custom',
          path: [...path, index, member, 'path', 'replacePrefixMatch'],
          message: 'needs a rule with exactly one match, of type PathPrefix',
        });
      }
    }
  });

type Place = readonly [path: readonly (string | number)[], filters: readonly HttpRouteFilter[]];

function listFilterPlaces(rule: {
  readonly filters?: readonly HttpRouteFilter[] | undefined;
  readonly backendRefs?: readonly { readonly filters?: readonly HttpRouteFilter[] | undefined }[] | undefined;
}): readonly Place[] {
  const ofBackends = (rule.backendRefs ?? []).map(({ filters }, index): Place => [
    ['backendRefs', index, 'filters'],
    filters ?? [],
  ]);
  return [[['filters'], rule.filters ?? []], ...ofBackends];
}

function replacesPrefix(filter: HttpRouteFilter): 'requestRedirect' | 'urlRewrite' | undefined {
  for (const member of ['requestRedirect', 'urlRewrite'] as const) {
    const path = filter[member]?.path;
    if (path?.type === 'ReplacePrefixMatch' && path.replacePrefixMatch !== undefined) return member;
  }
  return undefined;
}

const maxMatches = 128;

/** The Gateway API asks for unique names, its CRD does not check them. */
function checkRuleNames(rules: unknown): readonly Problem[] {
  if (!Array.isArray(rules)) return [];
  const problems: Problem[] = [];
  const names = new Map<string, number>();
  for (const [index, rule] of (rules as readonly unknown[]).entries()) {
    const name = isMapping(rule) ? rule['name'] : undefined;
    if (typeof name !== 'string') continue;
    const earlier = names.get(name);
    if (earlier === undefined) names.set(name, index);
    else
      problems.push({
        path: [index, 'name'],
        code: 'invalid',
        message: `must be unique; rules[${earlier}] has the same name`,
      });
  }
  return problems;
}

const rulesSchema = withFileRule(
  z
    .array(ruleSchema)
    .min(1)
    .max(16)
    .superRefine((rules, context) => {
      const total = rules.reduce((sum, rule) => sum + rule.matches.length, 0);
      if (total > maxMatches)
        context.addIssue({
          code: 'custom',
          path: [],
          message: `must have at most ${maxMatches} matches in all rules together, has ${total}`,
        });
    }),
  'rule-names',
  checkRuleNames,
);

/** An HTTPRoute. */
export const httpRouteSchema = z.object({
  apiVersion: z.enum(['gateway.networking.k8s.io/v1', 'gateway.networking.k8s.io/v1beta1']),
  kind: z.literal('HTTPRoute'),
  metadata: namespacedMetadataSchema(subdomainNameSchema),
  spec: z.object({
    parentRefs: parentReferencesSchema.optional().describe('The Gateways to be served by.'),
    useDefaultGateways: notSupportedYet(z.enum(['All', 'None']).optional(), {
      instead: 'name the Gateway in parentRefs',
    }).describe('Experimental: attach to default Gateways.'),
    hostnames: z
      .array(hostnameSchema)
      .max(16)
      .optional()
      .describe("The hosts to serve, within those of the listener; the listener's when absent."),
    rules: rulesSchema
      .default([{ matches: everyPath }])
      .describe('What to do with which requests. The most specific match wins.'),
  }),
  status: statusSchema,
});

/** A parsed HTTPRoute. */
export type HttpRoute = z.output<typeof httpRouteSchema>;
/** A parsed rule. */
export type HttpRouteRule = z.output<typeof ruleSchema>;
/** A parsed backendRef of a rule. */
export type HttpRouteBackendRef = z.output<typeof backendRefSchema>;
