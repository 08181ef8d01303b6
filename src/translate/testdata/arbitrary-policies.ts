// Arbitrary ProxyPolicies, for property tests: every field, on what exists and on what does not, some of them invalid.
import * as fc from 'fast-check';
import { backendPort } from './arbitrary-routes.ts';
import { name, namespace, optional, proxyApi, resource, section, seldom, time } from './arbitrary-values.ts';

// Of what arbitrary-way.ts has; policies on what nobody reaches say little.
const targetName = fc.constantFrom('a', 'b', 'served', 'served');

const routeRef = fc.record({
  group: fc.constant('gateway.networking.k8s.io'),
  kind: fc.constantFrom('HTTPRoute'),
  name: targetName,
  sectionName: optional(section),
});
const gatewayRef = fc.record({
  group: fc.constant('gateway.networking.k8s.io'),
  kind: fc.constantFrom('Gateway'),
  name: targetName,
  sectionName: optional(section),
});
const backendRef = fc.record({
  group: fc.constant('gateway.proxy'),
  kind: fc.constant('ProxyBackend'),
  name: targetName,
});
/** A target of any kind. */
export const targetRef = fc.oneof(routeRef, gatewayRef, backendRef);

const issuer = fc.constantFrom(
  'https://a.example.com',
  'https://b.example.com',
  'https://c.example.com',
  'http://d.example.com',
);
const mode = optional(fc.constantFrom('Strict', 'Optional', 'Permissive'));
const requiredClaims = seldom(fc.constantFrom({ a: 'b' }, { a: ['b', 1, true], __proto: 2 }));
const caCertificateRef = seldom(fc.record({ kind: fc.constantFrom('Secret', 'ConfigMap'), name }));
const keySources = [
  fc.record({ url: fc.constant('https://idp.example.com/keys'), caCertificateRef }),
  fc.record({ inline: fc.constantFrom('{"keys":[{}]}', '{"keys":[{}]}', '{"keys":[]}', '[') }),
  fc.record({
    backendRef: fc.record({ name, namespace: seldom(namespace), port: backendPort }),
    path: fc.constant('/keys'),
  }),
];

const jwtAuthentication = fc.record({
  mode,
  providers: fc.uniqueArray(
    fc.record({
      name: section,
      issuer,
      audiences: seldom(fc.constant(['a'])),
      jwks: fc.oneof(...keySources),
      requiredClaims,
      clockSkew: seldom(fc.constant('0s')),
    }),
    { minLength: 1, maxLength: 3, selector: (provider) => provider.name },
  ),
  location: seldom(
    fc.constantFrom<object>(
      { header: {} },
      { header: { name: 'X-Token' } },
      { header: { name: 'x-token', prefix: 'JWT ' } },
      { header: { name: 'cookie' } },
      { cookie: { name: 'token' } },
      { queryParameter: { name: 'token' } },
    ),
  ),
  forwardToken: optional(fc.boolean()),
  claimsToHeaders: seldom(fc.constantFrom([{ claim: 'sub', header: 'X-User' }], [{ claim: 'sub', header: 'x-token' }])),
});

const action = optional(fc.constantFrom('Allow', 'Deny', 'Require'));
const rules = fc.constantFrom(
  { matchExpressions: ['true'] },
  { matchExpressions: ['jwt.sub == "a"', '"b" in jwt.groups'] },
  { matchExpressions: ['request.method == "GET"'] },
  { matchExpressions: ['has(jwt.sub) || request.path == "/a"'] },
  { matchExpressions: [] },
);
const authorization = fc.record({ action, policy: rules });
const cors = fc.constant({ allowOrigins: ['*'] });
const traffic = fc.oneof(
  { weight: 3, arbitrary: fc.record({ cors }) },
  { weight: 4, arbitrary: fc.record({ jwtAuthentication }) },
  { weight: 3, arbitrary: fc.record({ authorization }) },
  { weight: 3, arbitrary: fc.record({ jwtAuthentication, authorization, cors: seldom(cors) }) },
  { weight: 2, arbitrary: fc.record({ publicAccess: fc.constant(true), authorization: seldom(authorization) }) },
  { weight: 1, arbitrary: fc.constant({ cros: {} }) },
);

// Names of their own for each: a source gives each name once, and these are not to push the others out.
function named(...names: string[]) {
  return fc.record({ name: fc.constantFrom(...names), namespace, creationTimestamp: time });
}

const selectors = fc.constant([{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', matchLabels: { app: 'x' } }]);

/** A policy with fields of `traffic`, now and then on a target that cannot have them. */
export const trafficPolicy = resource(
  proxyApi,
  'ProxyPolicy',
  {
    spec: fc.record({
      targetRefs: fc.oneof(
        { weight: 3, arbitrary: fc.array(routeRef, { minLength: 1, maxLength: 2 }) },
        { weight: 3, arbitrary: fc.array(gatewayRef, { minLength: 1, maxLength: 2 }) },
        { weight: 1, arbitrary: fc.array(targetRef, { minLength: 1, maxLength: 2 }) },
        { weight: 1, arbitrary: fc.constant(undefined) },
      ),
      targetSelectors: seldom(selectors),
      traffic,
    }),
  },
  named('a', 'b', 'f', 'g', 'h'),
);

const entry = fc.record({
  name: fc.constantFrom('a', 'served', 'served'),
  key: fc.constantFrom('token', 'token', 'token', 'nothing'),
});
const usualAuthentication = fc.record({
  issuer,
  mode,
  jwks: seldom(
    fc.oneof(
      ...keySources,
      fc.record({ caCertificateRef: fc.record({ kind: fc.constantFrom('Secret', 'ConfigMap'), name }) }),
    ),
  ),
  registration: optional(
    fc.oneof(
      fc.record({ mode: fc.constant('Shared'), clientId: fc.constant('a'), clientSecretRef: optional(entry) }),
      fc.record({ initialAccessTokenRef: entry }),
      fc.record({
        initialAccessTokenFrom: fc.record({
          clientCredentials: fc.record({ clientId: fc.constant('a'), clientSecretRef: entry }),
        }),
      }),
    ),
  ),
  requiredClaims,
  resourceMetadata: optional(
    fc.record({
      resource: optional(fc.constant('https://mcp.example.com/mcp')),
      resourceName: optional(fc.constant('A')),
      resource_name: seldom(fc.constant('B')),
      other: seldom(fc.jsonValue()),
    }),
  ),
});
// With a client for all that has no secret the gateway issues the tokens: nothing more is drawn for it, so that what else there is stays as likely.
const authentication = usualAuthentication.map((value) => {
  const { registration, requiredClaims: required } = value;
  if (registration === undefined || !('mode' in registration) || registration.clientSecretRef !== undefined)
    return value;
  return required === undefined
    ? { ...value, flow: 'Issuer', tokens: { claims: ['groups'], scopes: [{ scopes: ['a'], when: 'jwt.groups' }] } }
    : { ...value, issuer: undefined, provider: 'GitHub', identity: { allow: { domains: ['Example.com'] } } };
});
const mcpAuthorization = fc.record({
  policy: fc.constantFrom({ matchExpressions: ['mcp.tool.name == "a"'] }, { matchExpressions: ['jwt.sub != ""'] }),
  action,
  scopes: optional(
    fc.constantFrom<object[]>(
      [{ scopes: ['a'] }],
      [{ tools: ['b*'], scopes: ['b'] }],
      [{ methods: ['tools/list'], tools: ['c'], scopes: ['c'] }],
    ),
  ),
});

/** A policy with fields of `backend.mcp`. */
export const backendPolicy = resource(
  proxyApi,
  'ProxyPolicy',
  {
    spec: fc.record({
      targetRefs: fc.oneof(
        { weight: 6, arbitrary: fc.uniqueArray(backendRef, { minLength: 1, maxLength: 2, selector: (t) => t.name }) },
        { weight: 1, arbitrary: fc.array(targetRef, { minLength: 1, maxLength: 2 }) },
      ),
      backend: fc.record({
        mcp: fc.oneof(
          { weight: 6, arbitrary: fc.record({ authentication }) },
          { weight: 2, arbitrary: fc.record({ authorization: mcpAuthorization }) },
          { weight: 2, arbitrary: fc.record({ authentication, authorization: mcpAuthorization }) },
          { weight: 1, arbitrary: fc.constant({ authorization: {} }) },
        ),
      }),
    }),
  },
  named('c', 'd', 'e'),
);
