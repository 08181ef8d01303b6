// traffic.jwtAuthentication and traffic.authorization: defaults, constraints, and the rules that span fields.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { celRulesKey } from './cel-rules.ts';
import { jwtAuthenticationSchema } from './jwt-authentication.ts';
import { parseResource } from './parse-resource.ts';
import { describeSchema } from './schema-description.ts';
import { fillTemplate, listProblems } from './testing/expect-problems.ts';

type Cases = readonly (readonly [yaml: string, ...expected: string[]])[];

const policy =
  '{apiVersion: gateway.proxy/v1alpha1, kind: ProxyPolicy, metadata: {name: a}, spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: g}], traffic: {HERE}}}';

/** Paths are given from `at` on. */
function run(template: string, at: string, cases: Cases): void {
  for (const [yaml, ...expected] of cases)
    test(expected.length === 0 ? `good: ${yaml.slice(0, 100)}` : expected.join('; '), () =>
      assert.deepEqual(
        listProblems(fillTemplate(template, yaml)),
        expected.map((problem) => `${at}${problem}`),
      ),
    );
}

const provider = '{name: a, issuer: "https://idp.example.com", jwks: {url: "https://idp.example.com/keys"}}';

describe('jwtAuthentication', () => {
  test('defaults', () => {
    const result = parseResource(fillTemplate(policy, `jwtAuthentication: {providers: [${provider}]}`), {
      origin: 'file',
    });
    assert.ok(result.ok && result.kind === 'ProxyPolicy');
    assert.deepEqual(result.resource.spec.traffic?.jwtAuthentication, {
      mode: 'Strict',
      providers: [
        {
          name: 'a',
          issuer: 'https://idp.example.com',
          jwks: { url: 'https://idp.example.com/keys', cacheDuration: '5m', allowInsecureHttp: false },
          clockSkew: '60s',
        },
      ],
      location: { header: { name: 'authorization' } },
      forwardToken: false,
    });
  });

  const numbered = (count: number): string =>
    Array.from({ length: count }, (_, i) => `{name: p${i}, issuer: i${i}, jwks: {inline: "{}"}}`).join(', ');
  run(policy.replace('HERE', 'jwtAuthentication: {HERE}'), 'spec.traffic.jwtAuthentication.', [
    ['', 'providers: required: a list'],
    ['providers: []', 'providers: must have at least 1 entry, has 0'],
    [`providers: [${numbered(64)}]`],
    [`providers: [${numbered(65)}]`, 'providers: must have at most 64 entries, has 65'],
    [
      `mode: strict, providers: [${provider}]`,
      'mode: must be one of Strict, Optional or Permissive; did you mean Strict?',
    ],
    [`mode: Permissive, providers: [${provider}]`],
    [`providers: [${provider}], forwardToken: "yes"`, 'forwardToken: must be true or false, without quotes'],
    [
      'providers: [{name: a, issuer: a, jwks: {inline: "{}"}}, {name: a, issuer: b, jwks: {inline: "{}"}}]',
      'providers[1].name: must be unique; entry 0 has the same name',
    ],
    [
      'providers: [{name: a, issuer: a, jwks: {inline: "{}"}}, {name: b, issuer: b, jwks: {inline: "{}"}}, {name: c, issuer: a, jwks: {inline: "{}"}}]',
      'providers[2].issuer: must be unique; entry 0 has the same issuer',
    ],
    // Issuers are compared exactly: these are two.
    ['providers: [{name: a, issuer: a, jwks: {inline: "{}"}}, {name: b, issuer: a/, jwks: {inline: "{}"}}]'],
  ]);

  test('the CRD has the same rule over issuers', () => {
    const rules = describeSchema(jwtAuthenticationSchema).properties?.['providers']?.[celRulesKey] ?? [];
    assert.deepEqual(
      rules.map(({ rule }) => rule),
      ['self.all(a, self.exists_one(b, a.issuer == b.issuer))'],
    );
  });
});

describe('jwtAuthentication.providers', () => {
  const template = policy.replace('HERE', 'jwtAuthentication: {providers: [{HERE}]}');
  const insecure =
    'must be https; http is allowed for loopback and *.svc.cluster.local, and elsewhere with allowInsecureHttp';
  run(template, 'spec.traffic.jwtAuthentication.providers[0].', [
    ['issuer: a, jwks: {inline: "{}"}', 'name: required: a string'],
    [
      'name: A b, issuer: a, jwks: {inline: "{}"}',
      'name: must be lower-case letters, digits, "-" and ".", and begin and end with a letter or digit',
    ],
    ['name: a, jwks: {inline: "{}"}', 'issuer: required: a string'],
    ['name: a, issuer: "", jwks: {inline: "{}"}', 'issuer: must not be empty'],
    ['name: a, issuer: "a b", jwks: {inline: "{}"}', 'issuer: must be the `iss` of the tokens, which has no spaces'],
    ['name: a, issuer: joe, jwks: {inline: "{}"}'],
    ['name: a, issuer: a', 'jwks: required: the source of the keys, one of url, inline, file or backendRef'],
    ['name: a, issuer: a, jwks: {}', 'jwks: must have exactly one of url, inline, file and backendRef'],
    [
      'name: a, issuer: a, jwks: {url: "https://a/k", inline: "{}"}',
      'jwks: must have exactly one of url, inline, file and backendRef',
    ],
    ['name: a, issuer: a, jwks: {file: ../keys.json}'],
    [
      'name: a, issuer: a, jwks: {url: "https://a/k", file: keys.json}',
      'jwks: must have exactly one of url, inline, file and backendRef',
    ],
    ['name: a, issuer: a, jwks: {file: ""}', 'jwks.file: must not be empty'],
    ['name: a, issuer: a, jwks: {file: "a\\tb"}', 'jwks.file: must be a path without tabs and line breaks'],
    ['name: a, issuer: a, jwks: {url: "http://a/k"}', `jwks.url: ${insecure}`],
    ['name: a, issuer: a, jwks: {url: "http://a/k", allowInsecureHttp: true}'],
    ['name: a, issuer: a, jwks: {url: "http://127.0.0.1:9000/k"}'],
    [
      'name: a, issuer: a, jwks: {backendRef: {name: idp, port: 80}}',
      'jwks: path and backendRef belong together; set both or neither',
    ],
    ['name: a, issuer: a, jwks: {backendRef: {name: idp, namespace: auth, port: 80}, path: /keys}'],
    ['name: a, issuer: a, jwks: {inline: "{}", cacheDuration: 25h}', 'jwks.cacheDuration: must be between 1s and 24h'],
    ['name: a, issuer: a, jwks: {inline: "{}"}, audiences: []', 'audiences: must have at least 1 entry, has 0'],
    ['name: a, issuer: a, jwks: {inline: "{}"}, audiences: [a, "https://b/c"]'],
    ['name: a, issuer: a, jwks: {inline: "{}"}, clockSkew: 11m', 'clockSkew: must be between 0s and 10m'],
    ['name: a, issuer: a, jwks: {inline: "{}"}, clockSkew: 0s'],
    [
      'name: a, issuer: a, jwks: {inline: "{}"}, requiredClaims: {team: {a: b}}',
      'requiredClaims.team: must be a value or a list of values',
    ],
    ['name: a, issuer: a, jwks: {inline: "{}"}, requiredClaims: {team: [a, 1, true], "realm.role": x}'],
    [
      'name: a, issuer: a, jwksUri: x',
      'jwksUri: unknown field; valid here: name, issuer, audiences, jwks, requiredClaims, clockSkew',
      'jwks: required: the source of the keys, one of url, inline, file or backendRef',
    ],
  ]);
});

describe('jwtAuthentication.location', () => {
  const template = policy.replace('HERE', `jwtAuthentication: {providers: [${provider}], location: {HERE}}`);
  const ownHeader =
    'header.name: must be authorization or a header of your own, such as x-access-token; this one already has a meaning (for a cookie use location.cookie)';
  const scheme = 'header.prefix: must be a scheme and one space, such as "Bearer ", in the header authorization';
  const cookie = "cookie.name: must be a cookie name: letters, digits and !#$%&'*+-.^_`|~ only";
  const parameter = 'queryParameter.name: must be the name of a query parameter: letters, digits and -._~ only';
  run(template, 'spec.traffic.jwtAuthentication.location.', [
    ['header: {}'],
    ['header: {name: x-token}'],
    ['header: {name: X-Token, prefix: ""}'],
    ['header: {name: x-token, prefix: "token:"}'],
    ['header: {name: Authorization, prefix: "JWT "}'],
    ['header: {name: authorization, prefix: ""}'],
    ['header: {prefix: Bearer}', scheme],
    ['header: {prefix: "Bearer  "}', scheme],
    ['header: {name: x-token, prefix: " a"}', 'header.prefix: must be printable ASCII and not begin with a space'],
    ['header: {name: x-token, prefix: "a\\n"}', 'header.prefix: must be printable ASCII and not begin with a space'],
    ['header: {name: "x token"}', "header.name: must be a header name: letters, digits and !#$%&'*+-.^_`|~ only"],
    ['header: {name: Cookie}', ownHeader],
    ['header: {name: host}', ownHeader],
    ['header: {name: MCP_Session_Id}', ownHeader],
    ['cookie: {name: __Host-token}'],
    ['cookie: {}', 'cookie.name: required: a string'],
    ['cookie: {name: "a=b"}', cookie],
    ['cookie: {name: "a;b"}', cookie],
    ['cookie: {name: "a b"}', cookie],
    ['queryParameter: {name: access_token}'],
    ['queryParameter: {name: "a&b"}', parameter],
    ['queryParameter: {name: "a%20b"}', parameter],
    ['queryParameter: {name: "token[]"}', parameter],
    ['cookie: {name: a, prefix: "Bearer "}', 'cookie.prefix: unknown field; valid here: name'],
  ]);
  run(template, 'spec.traffic.jwtAuthentication.', [
    ['', 'location: must have exactly one of header, cookie and queryParameter'],
    ['header: {}, cookie: {name: a}', 'location: must have exactly one of header, cookie and queryParameter'],
  ]);
});

describe('jwtAuthentication.claimsToHeaders', () => {
  const template = policy.replace('HERE', `jwtAuthentication: {providers: [${provider}], HERE}`);
  const same = 'claimsToHeaders: must not name the header that the token is in';
  run(template, 'spec.traffic.jwtAuthentication.', [
    ['claimsToHeaders: [{claim: sub, header: x-user}, {claim: realm.roles, header: x-roles}]'],
    ['location: {header: {name: x-token}}, claimsToHeaders: [{claim: sub, header: x-token}]', same],
    [
      'location: {header: {name: x-token}}, claimsToHeaders: [{claim: a, header: x-a}, {claim: sub, header: X_Token}]',
      same,
    ],
    ['location: {cookie: {name: x-token}}, claimsToHeaders: [{claim: sub, header: x-token}]'],
    [
      'claimsToHeaders: [{claim: sub, header: authorization}]',
      same,
      'claimsToHeaders[0].header: must be a header of your own, such as x-auth-subject; this one already has a meaning',
    ],
    [
      'claimsToHeaders: [{claim: "", header: x-a}, {claim: a}]',
      'claimsToHeaders[0].claim: must not be empty',
      'claimsToHeaders[1].header: required: a string',
    ],
  ]);
});

describe('authorization', () => {
  const template = policy.replace('HERE', 'authorization: {HERE}');
  test('allows unless told otherwise', () => {
    const result = parseResource(fillTemplate(template, 'policy: {matchExpressions: ["true"]}'), { origin: 'file' });
    assert.ok(result.ok && result.kind === 'ProxyPolicy');
    assert.deepEqual(result.resource.spec.traffic?.authorization, {
      action: 'Allow',
      policy: { matchExpressions: ['true'] },
    });
  });
  const many = (count: number): string => Array.from({ length: count }, () => '"true"').join(', ');
  run(template, 'spec.traffic.authorization.', [
    ['action: Deny', 'policy: required: a mapping'],
    ['action: Permit, policy: {matchExpressions: ["true"]}', 'action: must be one of Allow, Deny or Require'],
    ['policy: {}', 'policy.matchExpressions: required: a list'],
    ['policy: {matchExpressions: []}', 'policy.matchExpressions: must have at least 1 entry, has 0'],
    [`policy: {matchExpressions: [${many(64)}]}`],
    [`policy: {matchExpressions: [${many(65)}]}`, 'policy.matchExpressions: must have at most 64 entries, has 65'],
    [
      `policy: {matchExpressions: ["'${'a'.repeat(4096)}' == ''"]}`,
      'policy.matchExpressions[0]: must have at most 4096 characters, has 4104',
    ],
  ]);
});

test('keys in a file are refused in Kubernetes', () => {
  const keys = 'jwtAuthentication: {providers: [{name: a, issuer: a, jwks: {file: keys.json}}]}';
  assert.deepEqual(listProblems(fillTemplate(policy, keys), 'file'), []);
  assert.deepEqual(listProblems(fillTemplate(policy, keys), 'kubernetes'), [
    'spec.traffic.jwtAuthentication.providers[0].jwks.file: is only for a gateway that reads files; use url, inline or backendRef',
  ]);
});
