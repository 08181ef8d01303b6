// The flow Issuer: what a policy must and must not say, and who would get in.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findIssuer, findPublicAccount, identityProviders, issuesTokens } from './identity-providers.ts';
import { fillTemplate, listProblems } from './testing/expect-problems.ts';

type Cases = readonly (readonly [yaml: string, ...expected: string[]])[];

const policy =
  '{apiVersion: gateway.proxy/v1alpha1, kind: ProxyPolicy, metadata: {name: a}, spec: {targetRefs: [{group: gateway.proxy, kind: ProxyBackend, name: a}], backend: {mcp: {HERE}}}}';
const prefix = 'spec.backend.mcp.';
const shared = 'registration: {mode: Shared, clientId: a}';
const endpoints = 'endpoints: {authorization: "https://a/a", token: "https://a/t", userinfo: "https://a/u"}';
const registered =
  'must not have iss, sub, aud, exp, nbf, iat, jti, client_id, scope, scp, idp, typ, azp, cnf, act, may_act, authorization_details, nonce, at_hash, c_hash, s_hash, sid or events: their meaning is fixed';

function run(template: string, at: string, cases: Cases): void {
  for (const [yaml, ...expected] of cases)
    test(expected.length === 0 ? `good: ${yaml}` : `${yaml} -> ${expected.join('; ')}`, () =>
      assert.deepEqual(
        listProblems(fillTemplate(policy.replace('HERE', template), yaml)).map((problem) =>
          problem.startsWith(`${prefix}${at}`) ? problem.slice(`${prefix}${at}`.length) : problem,
        ),
        expected,
      ),
    );
}

describe('flow Issuer', () => {
  const noEffect = 'has no effect without flow: Issuer (Auto chooses it for provider Google, GitHub or GitLab)';
  const insecure =
    'must be https; http is allowed for loopback and *.svc.cluster.local, and elsewhere with allowInsecureHttp';
  const mode =
    'registration.mode: must be Shared, with a clientId, in the flow Issuer (Auto chooses it for Google, GitHub or GitLab): the gateway itself is the client of the identity provider';
  run('authentication: {issuer: "https://a", HERE}', 'authentication.', [
    [`flow: Issuer, ${shared}`],
    ['flow: Issuer', mode],
    ['provider: GitLab', mode],
    [
      'flow: Issuer, registration: {mode: Shared}',
      'registration.clientId: required with mode Shared: the client that all clients use',
    ],
    [
      `flow: Issuer, ${shared}, audiences: [a]`,
      "audiences: must be absent in the flow Issuer: the `aud` of issued tokens is the server's own URL",
    ],
    [endpoints, `endpoints: ${noEffect}`],
    ['identity: {subject: id}', `identity: ${noEffect}`],
    [`tokens: {}, ${shared}, flow: Broker`, `tokens: ${noEffect}`],
    [`tokens: {}, provider: Entra, ${shared}`, `tokens: ${noEffect}`],
    [`flow: Issuer, ${shared}, ${endpoints}`],
    [`flow: Issuer, ${shared}, forwardToken: true`],
    [
      `flow: Issuer, ${shared}, metadataUrl: "https://a/m", ${endpoints}`,
      'metadataUrl: must be absent beside endpoints, which stand for metadata',
    ],
    [
      `flow: Issuer, ${shared}, endpoints: {authorization: "http://a.test/a", token: "http://a.test/t", userinfo: "http://a.test/u"}`,
      `endpoints.authorization: ${insecure}`,
      `endpoints.token: ${insecure}`,
      `endpoints.userinfo: ${insecure}`,
    ],
    [
      `flow: Issuer, ${shared}, allowInsecureHttp: true, endpoints: {authorization: "http://a.test/a", token: "http://a.test/t", userinfo: "http://a.test/u"}`,
    ],
    [
      `flow: Issuer, ${shared}, endpoints: {authorization: "https://a/a", token: "https://a/t"}`,
      'endpoints.userinfo: required without keys in jwks: without OpenID Connect nothing else tells who has logged in',
    ],
    [
      `flow: Issuer, ${shared}, endpoints: {authorization: "https://a/a", token: "https://a/t"}, jwks: {url: "https://a/k"}`,
    ],
    [`flow: Issuer, ${shared}, endpoints: {authorization: "https://a/a"}`, 'endpoints.token: required: a string'],
    [
      `provider: GitHub, ${shared}`,
      'issuer: must be https://github.com with provider GitHub; another one needs endpoints, because there is no metadata',
    ],
    [`provider: GitHub, ${shared}, ${endpoints}`],
    [`provider: GitLab, ${shared}`],
  ]);

  const anyFlow =
    'flow: must be Auto or Issuer with provider Google, GitHub or GitLab: nobody else can check their access tokens';
  run('authentication: {requiredClaims: {a: b}, HERE}', 'authentication.', [
    [`provider: Google, ${shared}`],
    [`provider: GitHub, ${shared}, flow: Issuer`],
    [`provider: GitLab, ${shared}`],
    [
      `provider: Okta, ${shared}`,
      'issuer: required: the URL of the identity provider; only those of Google, GitHub and GitLab are known',
    ],
    [
      `flow: Issuer, ${shared}, ${endpoints}`,
      'issuer: required: the URL of the identity provider; only those of Google, GitHub and GitLab are known',
    ],
    [
      `provider: GitHub, ${shared}, ${endpoints}`,
      'issuer: required with endpoints: it names the identity provider in tokens',
    ],
    [`provider: Google, ${shared}, flow: Broker`, anyFlow],
    ['provider: GitLab, flow: Direct', anyFlow],
    [
      `provider: GitHub, ${shared}, metadataUrl: "https://a/m"`,
      'metadataUrl: must be absent with provider GitHub, which has no metadata; use endpoints',
    ],
    [
      `provider: GitHub, ${shared}, jwks: {url: "https://a/k"}`,
      'jwks: must have no keys with provider GitHub, which signs no tokens',
    ],
    [`provider: GitHub, ${shared}, jwks: {caCertificateRef: {name: ca}}`],
  ]);
});

describe('identity', () => {
  const nobody =
    'allow: must list somebody in domains, organizations, emails or subjects; without `allow` everybody with an account gets in';
  const changeable =
    'subject: must be a member that never changes, such as sub or id: a name or an address can pass to another person';
  run(`authentication: {issuer: "https://a", flow: Issuer, ${shared}, identity: {HERE}}`, 'authentication.identity.', [
    ['claims: {preferred_username: login, groups: teams}'],
    ['claims: {sub: login}', `claims: ${registered}`],
    ['claims: {scp: roles}', `claims: ${registered}`],
    ['claims: {email: ""}', 'claims.email: must not be empty'],
    ['subject: id'],
    ['subject: email', changeable],
    ['subject: login', changeable],
    ['allow: {}', nobody],
    ['allow: {domains: [], emails: []}', nobody],
    ['allow: {domains: [Example.com, a.b-c.example]}'],
    [
      'allow: {domains: ["@example.com", "*.example.com", example, ""]}',
      'allow.domains[0]: must be a domain such as example.com, without @ or *',
      'allow.domains[1]: must be a domain such as example.com, without @ or *',
      'allow.domains[2]: must be a domain such as example.com, without @ or *',
      'allow.domains[3]: must not be empty',
    ],
    ['allow: {emails: [Ada+x@Example.com]}'],
    [
      'allow: {emails: [ada, "@example.com", "a b@example.com"]}',
      'allow.emails[0]: must be an email address such as ada@example.com',
      'allow.emails[1]: must be an email address such as ada@example.com',
      'allow.emails[2]: must be an email address such as ada@example.com',
    ],
    ['allow: {organizations: [acme/team], subjects: ["42"]}'],
    ['allow: {organization: [acme]}', nobody, 'allow.organization: unknown field; did you mean `organizations`?'],
  ]);
});

describe('tokens', () => {
  const shorter = 'refreshLifetime: must be 0s, for no refresh tokens, or at least as long as lifetime';
  run(`authentication: {issuer: "https://a", flow: Issuer, ${shared}, tokens: {HERE}}`, 'authentication.tokens.', [
    ['lifetime: 1m, refreshLifetime: 8760h'],
    ['lifetime: 59s', 'lifetime: must be between 1m and 24h'],
    ['lifetime: 25h', 'lifetime: must be between 1m and 24h'],
    ['refreshLifetime: 0s'],
    ['refreshLifetime: 8761h', 'refreshLifetime: must be between 0s and 8760h'],
    ['refreshLifetime: 14m', shorter],
    ['lifetime: 1h, refreshLifetime: 1h'],
    ['lifetime: 1h, refreshLifetime: 59m', shorter],
    ['lifetime: soon', 'lifetime: must be a duration such as 500ms, 10s or 1h30m'],
    ['claims: [email, groups]'],
    ['claims: [email, email]', 'claims[1]: must not be listed twice'],
    ['claims: [email, aud]', `claims: ${registered}`],
    ['claims: [cnf]', `claims: ${registered}`],
    ['scopes: [{scopes: [a]}, {scopes: [b, c], when: "jwt.email == \'a\'"}]'],
    ['scopes: []', 'scopes: must have at least 1 entry, has 0'],
    ['scopes: [{scopes: []}]', 'scopes[0].scopes: must have at least 1 entry, has 0'],
    [
      'scopes: [{scopes: [a], when: "jwt.email =="}]',
      'scopes[0].when: line 1, column 13: expected a value, found the end',
    ],
    [
      'scopes: [{scopes: [a], when: "request.path == \'/\'"}]',
      'scopes[0].when: line 1, column 1: there is no variable "request"; there is only jwt',
    ],
    [
      'scopes: [{scopes: [a], when: "mcp.method == \'\'"}]',
      'scopes[0].when: line 1, column 1: mcp is only available in rules over MCP messages (backend.mcp.authorization)',
    ],
  ]);
});

describe('who gets in where anybody has an account', () => {
  const google =
    'anybody with a Google account would get in: set identity.allow, requiredClaims or an Allow rule in this policy';
  const rule = (action: string) => `authorization: {action: ${action}, policy: {matchExpressions: ["jwt.sub == 'a'"]}}`;
  run(`HERE`, 'authentication: ', [
    [`authentication: {provider: Google, ${shared}}`, google],
    [`authentication: {provider: Google, ${shared}, requiredClaims: {}}`, google],
    [`authentication: {provider: Google, ${shared}, requiredClaims: {hd: example.com}}`],
    [`authentication: {provider: Google, ${shared}, requiredClaims: {idp: https://accounts.google.com}}`, google],
    [`authentication: {provider: Google, ${shared}, requiredClaims: {iss: a, aud: b, sub: c}}`],
    [`authentication: {provider: Google, ${shared}, identity: {allow: {domains: [example.com]}}}`],
    [`authentication: {provider: Google, ${shared}}, ${rule('Allow')}`],
    [`authentication: {provider: Google, ${shared}}, ${rule('Require')}`],
    [`authentication: {provider: Google, ${shared}}, ${rule('Deny')}`, google],
    [`authentication: {provider: Google, ${shared}}, authorization: {scopes: [{scopes: [a]}]}`, google],
  ]);

  const cases: readonly (readonly [Parameters<typeof findPublicAccount>[0], string | undefined])[] = [
    [{ provider: 'GitHub' }, 'a GitHub account'],
    [{ provider: 'GitLab' }, 'a GitLab account'],
    [{ provider: 'GitLab', issuer: 'https://gitlab.example.com' }, undefined],
    [{ provider: 'GitHub', issuer: 'https://github.example.com' }, undefined],
    [{ provider: 'Google', issuer: 'https://proxy.example.com' }, 'a Google account'],
    [{ issuer: 'https://accounts.google.com/' }, 'a Google account'],
    [{ issuer: 'https://GitHub.com:443/x' }, 'a GitHub account'],
    [{ issuer: 'https://github.com.' }, 'a GitHub account'],
    [{ issuer: 'https://github.com.example.com' }, undefined],
    [
      { issuer: 'https://id.example.com', endpoints: { authorization: 'https://github.com/login/oauth/authorize' } },
      'a GitHub account',
    ],
    [{ provider: 'Entra', issuer: 'https://login.microsoftonline.com/common/v2.0' }, 'a Microsoft account'],
    [{ provider: 'Entra', issuer: 'https://login.microsoftonline.com/Organizations/v2.0' }, 'a Microsoft account'],
    [{ issuer: 'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0' }, 'a Microsoft account'],
    [{ provider: 'Entra', issuer: 'https://sts.windows.net/common/' }, 'a Microsoft account'],
    [{ provider: 'Entra', issuer: 'https://login.microsoftonline.us/organizations/v2.0' }, 'a Microsoft account'],
    [{ issuer: 'https://login.windows.net//c%6fmmon/v2.0' }, 'a Microsoft account'],
    [{ issuer: 'https://login.microsoftonline.com/%ff/v2.0' }, undefined],
    [{ issuer: 'https://www.github.com' }, 'a GitHub account'],
    [
      { provider: 'Entra', issuer: 'https://login.microsoftonline.com/f8cdef31-a31e-4b4a-93e4-5f571e91255a' },
      undefined,
    ],
    [{ provider: 'Keycloak', issuer: 'https://idp.example.com' }, undefined],
  ];
  for (const [login, expected] of cases)
    test(`${JSON.stringify(login)}: ${expected ?? 'only some'}`, () =>
      assert.equal(findPublicAccount(login), expected));
});

test('Auto means Issuer for those whose tokens nobody else can check', () => {
  assert.deepEqual(
    identityProviders.filter((provider) => issuesTokens({ flow: 'Auto', provider })),
    ['Google', 'GitHub', 'GitLab'],
  );
  assert.equal(issuesTokens({ flow: 'Issuer' }), true);
  assert.equal(issuesTokens({ flow: 'Broker', provider: 'Google' }), false);
  assert.equal(findIssuer({ provider: 'GitHub' }), 'https://github.com');
  assert.equal(findIssuer({ provider: 'GitLab', issuer: 'https://git.example.com' }), 'https://git.example.com');
  assert.equal(findIssuer({ provider: 'Okta' }), '');
});
