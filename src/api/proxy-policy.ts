// ProxyPolicy (gateway.proxy): authentication, authorization and CORS for what it targets (GEP-713).
import * as z from 'zod';
import { authorizationSchema } from './authorization.ts';
import { boundedMapSchema } from './bounded-map.ts';
import { oneOf, someOf, withRules, type CelRule } from './cel-rules.ts';
import { corsSchema } from './cors.ts';
import { findPublicAccount, saysWhoGetsIn } from './identity-providers.ts';
import { jwtAuthenticationSchema } from './jwt-authentication.ts';
import {
  labelKeySchema,
  labelValueSchema,
  objectNameSchema,
  sectionNameSchema,
  subdomainNameSchema,
} from './kubernetes-names.ts';
import { mcpAuthenticationSchema } from './mcp-authentication.ts';
import { mcpAuthorizationSchema } from './mcp-authorization.ts';
import { namespacedMetadataSchema, statusSchema } from './object-metadata.ts';
import { proxyApiVersion } from './proxy-backend.ts';
import { publicAccessSchema } from './public-access.ts';

const targetFields = {
  group: z
    .enum(['gateway.networking.k8s.io', 'gateway.proxy'])
    .describe('gateway.networking.k8s.io, or gateway.proxy for a ProxyBackend.'),
  kind: z.enum(['Gateway', 'HTTPRoute', 'ProxyBackend']).describe('Gateway, HTTPRoute or ProxyBackend.'),
};

interface Target {
  readonly group: string;
  readonly kind: string;
}

const groupOfKind: CelRule<Target> = {
  cel: "(self.kind == 'ProxyBackend') == (self.group == 'gateway.proxy')",
  message: 'must be gateway.proxy for kind ProxyBackend, and gateway.networking.k8s.io for Gateway and HTTPRoute',
  path: ['group'],
  holds: ({ group, kind }) => (kind === 'ProxyBackend') === (group === 'gateway.proxy'),
};

const oneKind: CelRule<readonly Target[]> = {
  cel: 'self.all(t, t.kind == self[0].kind)',
  message: 'must all be of one kind; write one policy for each kind',
  holds: (targets) => targets.every((target) => target.kind === targets[0]?.kind),
};

const targetRefSchema = withRules(
  z.object({
    ...targetFields,
    name: objectNameSchema.describe('The name of the target, in the namespace of the policy.'),
    sectionName: sectionNameSchema
      .optional()
      .describe('A listener of the Gateway or a rule of the HTTPRoute; all of it when absent.'),
  }),
  [
    groupOfKind,
    {
      cel: "self.kind != 'ProxyBackend' || !has(self.sectionName)",
      message: 'must be absent for kind ProxyBackend, which has no sections',
      path: ['sectionName'],
      holds: ({ kind, sectionName }) => kind !== 'ProxyBackend' || sectionName === undefined,
    },
  ],
);

const targetRefsSchema = withRules(z.array(targetRefSchema).min(1).max(16), [
  oneKind,
  {
    cel: "self.all(a, self.exists_one(b, a.name == b.name && a.kind == b.kind && (has(a.sectionName) ? a.sectionName : '') == (has(b.sectionName) ? b.sectionName : '')))",
    message: 'must not name a target twice',
    holds: (targets) =>
      new Set(targets.map(({ kind, name, sectionName }) => JSON.stringify([kind, name, sectionName ?? '']))).size ===
      targets.length,
  },
]);

const targetSelectorsSchema = withRules(
  z
    .array(
      withRules(
        z.object({
          ...targetFields,
          matchLabels: boundedMapSchema(labelKeySchema, labelValueSchema, 16).describe(
            'Labels that the target must have, in the namespace of the policy.',
          ),
        }),
        [
          groupOfKind,
          {
            cel: 'self.matchLabels.size() > 0',
            message: 'must have at least one label',
            path: ['matchLabels'],
            holds: ({ matchLabels }) => Object.keys(matchLabels).length > 0,
          },
        ],
      ),
    )
    .min(1)
    .max(16),
  [oneKind],
);

// Each of these fields is a kind of policy; src/ir/policy-kinds.ts has a row for each, and a test that none is missing.
const mcpFieldsSchema = z.object({
  authentication: mcpAuthenticationSchema.optional().describe('OAuth 2.0 for MCP clients.'),
  authorization: mcpAuthorizationSchema.optional().describe('Rules over MCP messages.'),
});

/** An identity provider where anybody gets an account is no protection by itself. Not a CEL rule: those cannot see requiredClaims, whose values have several types. */
function checkWhoGetsIn(
  { authentication, authorization }: z.output<typeof mcpFieldsSchema>,
  context: z.RefinementCtx,
): void {
  if (authentication === undefined) return;
  const account = findPublicAccount(authentication);
  if (account === undefined || saysWhoGetsIn(authentication)) return;
  // Rules of other policies do not count: they can go away. A Deny rule names some of the many who get in.
  if (authorization?.policy !== undefined && authorization.action !== 'Deny') return;
  context.addIssue({
    code: 'custom',
    path: ['authentication'],
    message: `anybody with ${account} would get in: set identity.allow, requiredClaims or an Allow rule in this policy`,
  });
}

const backendSchema = z.object({
  mcp: withRules(mcpFieldsSchema.superRefine(checkWhoGetsIn), [someOf(mcpFieldsSchema.keyof().options)]).describe(
    'For MCP servers.',
  ),
});

const trafficFieldsSchema = z.object({
  jwtAuthentication: jwtAuthenticationSchema.optional().describe('Requests need a valid JWT.'),
  authorization: authorizationSchema.optional().describe('Rules over requests and claims.'),
  publicAccess: publicAccessSchema
    .optional()
    .describe(
      'Opens the HTTPRoute, or the rule, to everybody on purpose: it is served where unprotectedRoutes is Deny, and authentication of the Gateway does not apply to it, unless that is an Override.',
    ),
  cors: corsSchema.optional().describe('Cross-origin requests. A CORS filter of an HTTPRoute rule takes precedence.'),
});

const trafficSchema = withRules(trafficFieldsSchema, [
  someOf(trafficFieldsSchema.keyof().options),
  {
    cel: '!has(self.publicAccess) || !has(self.jwtAuthentication)',
    message: 'must be absent beside jwtAuthentication: a route is public or asks for a token',
    path: ['publicAccess'],
    holds: ({ publicAccess, jwtAuthentication }) => publicAccess === undefined || jwtAuthentication === undefined,
  },
]);

const kindsOf = (spec: {
  targetRefs?: readonly Target[] | undefined;
  targetSelectors?: readonly Target[] | undefined;
}) => [...(spec.targetRefs ?? []), ...(spec.targetSelectors ?? [])].map(({ kind }) => kind);

/** A ProxyPolicy. */
export const proxyPolicySchema = z.object({
  apiVersion: z.literal(proxyApiVersion),
  kind: z.literal('ProxyPolicy'),
  metadata: namespacedMetadataSchema(subdomainNameSchema),
  spec: withRules(
    z.object({
      targetRefs: targetRefsSchema.optional().describe('The targets of the policy, by name.'),
      targetSelectors: targetSelectorsSchema.optional().describe('The targets of the policy, by labels.'),
      enforcement: z
        .enum(['Default', 'Override'])
        .default('Default')
        .describe(
          'Default: more specific policies replace the settings of this one. Override, for Gateways only: they cannot replace or weaken them.',
        ),
      backend: backendSchema.optional().describe('For requests to a backend. Targets ProxyBackend.'),
      traffic: trafficSchema.optional().describe('For incoming requests. Targets Gateway or HTTPRoute.'),
    }),
    [
      oneOf(['targetRefs', 'targetSelectors']),
      someOf(['backend', 'traffic']),
      {
        cel: "!has(self.backend) || ((!has(self.targetRefs) || self.targetRefs.all(t, t.kind == 'ProxyBackend')) && (!has(self.targetSelectors) || self.targetSelectors.all(t, t.kind == 'ProxyBackend')))",
        message: 'can only target ProxyBackend',
        path: ['backend'],
        holds: (spec) => spec.backend === undefined || kindsOf(spec).every((kind) => kind === 'ProxyBackend'),
      },
      {
        cel: "!has(self.traffic) || ((!has(self.targetRefs) || self.targetRefs.all(t, t.kind != 'ProxyBackend')) && (!has(self.targetSelectors) || self.targetSelectors.all(t, t.kind != 'ProxyBackend')))",
        message: 'can only target Gateway or HTTPRoute',
        path: ['traffic'],
        holds: (spec) => spec.traffic === undefined || kindsOf(spec).every((kind) => kind !== 'ProxyBackend'),
      },
      {
        cel: "!has(self.traffic) || !has(self.traffic.publicAccess) || ((!has(self.targetRefs) || self.targetRefs.all(t, t.kind == 'HTTPRoute')) && (!has(self.targetSelectors) || self.targetSelectors.all(t, t.kind == 'HTTPRoute')))",
        message: 'can only target HTTPRoute: routes are opened one by one',
        path: ['traffic', 'publicAccess'],
        holds: (spec) =>
          spec.traffic?.publicAccess === undefined || kindsOf(spec).every((kind) => kind === 'HTTPRoute'),
      },
      {
        cel: "!has(self.enforcement) || self.enforcement != 'Override' || ((!has(self.targetRefs) || self.targetRefs.all(t, t.kind == 'Gateway')) && (!has(self.targetSelectors) || self.targetSelectors.all(t, t.kind == 'Gateway')))",
        message: 'can be Override only when the targets are Gateways',
        path: ['enforcement'],
        holds: (spec) => spec.enforcement !== 'Override' || kindsOf(spec).every((kind) => kind === 'Gateway'),
      },
      {
        cel: "!has(self.enforcement) || self.enforcement != 'Override' || !has(self.traffic) || !has(self.traffic.jwtAuthentication) || !has(self.traffic.jwtAuthentication.mode) || self.traffic.jwtAuthentication.mode == 'Strict'",
        message: 'must be Strict in an Override, which would otherwise replace stricter policies',
        path: ['traffic', 'jwtAuthentication', 'mode'],
        holds: (spec) =>
          spec.enforcement !== 'Override' || (spec.traffic?.jwtAuthentication?.mode ?? 'Strict') === 'Strict',
      },
    ],
  ).describe('The rules of the policy and its targets.'),
  status: statusSchema,
});

/** A parsed ProxyPolicy. */
export type ProxyPolicy = z.output<typeof proxyPolicySchema>;
