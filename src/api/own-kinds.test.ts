// ProxyBackend and ProxyPolicy: defaults, constraints, and the rules that span fields.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeIssue } from './describe-issue.ts';
import { parseResource } from './parse-resource.ts';
import { formatFieldPath } from './problem.ts';
import { proxyBackendSchema } from './proxy-backend.ts';
import { proxyPolicySchema } from './proxy-policy.ts';
import { describeSchema } from './schema-description.ts';
import { isSecureUrl } from './secure-url.ts';
import { fillTemplate, listProblems } from './testing/expect-problems.ts';

type Cases = readonly (readonly [yaml: string, ...expected: string[]])[];

function run(template: string, cases: Cases): void {
  for (const [yaml, ...expected] of cases)
    test(`${yaml.slice(0, 200)} -> ${expected.length === 0 ? 'good' : expected.join('; ')}`, () =>
      assert.deepEqual(listProblems(fillTemplate(template, yaml)), expected));
}

describe('ProxyBackend', () => {
  const backend = '{apiVersion: gateway.proxy/v1alpha1, kind: ProxyBackend, metadata: {name: a}, spec: {mcp: {HERE}}}';
  const target = backend.replace('HERE', 'targets: [{name: a, HERE}]');
  const one = 'targets: [{name: a, static: {host: 127.0.0.1, port: 3001}}]';
  const host =
    'spec.mcp.targets[0].static.host: must be a lower-case host name or an IP address, without a scheme, port or brackets';
  test('defaults', () => {
    const result = parseResource(fillTemplate(backend, one), { origin: 'file' });
    assert.ok(result.ok && result.kind === 'ProxyBackend');
    assert.deepEqual(result.resource.spec, {
      mcp: {
        targets: [{ name: 'a', static: { host: '127.0.0.1', port: 3001, path: '/mcp', protocol: 'StreamableHTTP' } }],
        mode: 'Auto',
        sessionRouting: 'Stateful',
        timeouts: { connect: '10s', request: '0s', idle: '5m' },
      },
    });
  });
  test('defaults of a reference', () => {
    const result = parseResource(
      fillTemplate(target, 'backendRef: {name: s, port: 80}, tls: {caCertificateRef: {name: c}}'),
      { origin: 'file' },
    );
    assert.ok(result.ok && result.kind === 'ProxyBackend');
    assert.deepEqual(result.resource.spec.mcp.targets, [
      {
        name: 'a',
        backendRef: { group: '', kind: 'Service', name: 's', port: 80, path: '/mcp', protocol: 'StreamableHTTP' },
        tls: { caCertificateRef: { kind: 'ConfigMap', name: 'c' }, insecureSkipVerify: false },
      },
    ]);
  });

  run('{apiVersion: gateway.proxy/v1alpha1, kind: ProxyBackend, metadata: {name: a}, HERE}', [
    ['spec: {}', 'spec.mcp: required: a mapping'],
    [
      'data: {}',
      'data: unknown field; valid here: apiVersion, kind, metadata, spec, status',
      'spec: required: a mapping',
    ],
  ]);
  run(backend, [
    ['', 'spec.mcp.targets: required: a list'],
    ['targets: []', 'spec.mcp.targets: must have at least 1 entry, has 0'],
    [`${one}, failureMode: Fail`, 'spec.mcp.failureMode: must be one of FailOpen or FailClosed'],
    [`${one}, sessionRouting: Sticky`, 'spec.mcp.sessionRouting: must be one of Stateful or Stateless'],
    [`${one}, timeouts: {connect: 0s}`, 'spec.mcp.timeouts.connect: must be between 1ms and 10m'],
    [`${one}, timeouts: {request: 25h}`, 'spec.mcp.timeouts.request: must be between 0s and 24h'],
    [`${one}, timeouts: {idle: never}`, 'spec.mcp.timeouts.idle: must be a duration such as 500ms, 10s or 1h30m'],
    [`${one}, timeouts: {read: 1s}`, 'spec.mcp.timeouts.read: unknown field; valid here: connect, request, idle'],
  ]);
  run(target, [
    ['tls: {}', 'spec.mcp.targets[0]: must have exactly one of static and backendRef'],
    [
      'static: {host: h, port: 1}, backendRef: {name: s, port: 1}',
      'spec.mcp.targets[0]: must have exactly one of static and backendRef',
    ],
    ['static: {host: "http://h", port: 1}', host],
    ['static: {host: "h:80", port: 1}', host],
    ['static: {host: "[::1]", port: 1}', host],
    ['static: {host: 256.0.0.1, port: 1}', host],
    ['static: {host: "::g", port: 1}', host],
    ['static: {host: "::1", port: 1}'],
    ['static: {host: fe80::1, port: 1}'],
    ['static: {host: localhost, port: 1}'],
    ['static: {host: h}', 'spec.mcp.targets[0].static.port: required: a whole number'],
    [
      'static: {host: h, port: 1, path: mcp}',
      'spec.mcp.targets[0].static.path: must be a URL path that begins with "/", without a query or fragment',
    ],
    [
      'static: {host: h, port: 1, path: "/mcp?a"}',
      'spec.mcp.targets[0].static.path: must be a URL path that begins with "/", without a query or fragment',
    ],
    [
      'static: {host: h, port: 1, protocol: HTTP}',
      'spec.mcp.targets[0].static.protocol: must be one of StreamableHTTP or SSE',
    ],
    [
      'static: {host: h, port: 1, protocol: streamablehttp}',
      'spec.mcp.targets[0].static.protocol: must be one of StreamableHTTP or SSE; did you mean StreamableHTTP?',
    ],
    ['backendRef: {name: s}', 'spec.mcp.targets[0].backendRef.port: required: a whole number'],
    ['backendRef: {name: s, port: 1, kind: Pod}', 'spec.mcp.targets[0].backendRef.kind: must be Service'],
    ['backendRef: {name: s, port: 1, group: apps}', 'spec.mcp.targets[0].backendRef.group: must be empty ("")'],
    [
      'static: {host: h, port: 1}, tls: {sni: "*.a"}',
      'spec.mcp.targets[0].tls.sni: must be a lower-case host name without a port or wildcard, such as mcp.example.com',
    ],
    [
      'static: {host: h, port: 1}, tls: {caCertificateRef: {kind: File, name: a}}',
      'spec.mcp.targets[0].tls.caCertificateRef.kind: must be one of ConfigMap or Secret',
    ],
    [
      'static: {host: h, port: 1}, tls: {insecureSkipVerify: true, caCertificateRef: {name: a}}',
      'spec.mcp.targets[0].tls: caCertificateRef has no effect with insecureSkipVerify; remove one of the two',
    ],
  ]);
});

describe('a federation', () => {
  const backend = '{apiVersion: gateway.proxy/v1alpha1, kind: ProxyBackend, metadata: {name: a}, spec: {mcp: {HERE}}}';
  const address = 'static: {host: h, port: 1}';
  const one = `targets: [{name: a, ${address}}]`;
  const two = `targets: [{name: a, ${address}}, {name: b, ${address}}]`;
  const transparent = backend.replace('HERE', `targets: [{name: a, ${address}, HERE}]`);
  const second = backend.replace('HERE', `targets: [{name: a, ${address}}, {${address}, HERE}]`);
  const many = (count: number) =>
    `targets: [${Array.from({ length: count }, (_, index) => `{name: a${index}, ${address}}`).join(', ')}]`;
  const letters = 'must be lower-case letters, digits and "-", and begin with a letter';
  const unfit = (name: string) =>
    `required: the name ${name} is no prefix, which has at most 20 lower-case letters, digits and "-", and begins with a letter`;
  const noEffect = 'has no effect with one transparent target; set mode: Federated, or remove it';

  test('128 targets are taken, 129 are not', () => {
    assert.deepEqual(listProblems(fillTemplate(backend, many(128))), []);
    assert.deepEqual(listProblems(fillTemplate(backend, many(129))), [
      'spec.mcp.targets: must have at most 128 entries, has 129',
    ]);
  });
  test('of 128 targets, the last may not have the prefix of the first', () => {
    const clash = many(128).replace('name: a127', 'name: a127, prefix: a0');
    assert.deepEqual(listProblems(fillTemplate(backend, clash)), [
      'spec.mcp.targets[127].prefix: must be unique; entry 0 has the same prefix a0',
    ]);
  });
  run(backend, [
    [two],
    [`${two}, mode: Federated, failureMode: FailOpen, names: {prefix: Always}, serverInfo: {version: "1"}`],
    [`${two}, failureMode: FailClosed`],
    [`${two}, names: {prefix: Never}`],
    [`${one}, mode: Federated, failureMode: FailOpen, names: {}, serverInfo: {}`],
    [`${one}, mode: Transparent, failureMode: FailClosed`],
    [`${two}, mode: Transparent`, 'spec.mcp.mode: must be Auto or Federated with several targets'],
    [
      `${two}, mode: federated`,
      'spec.mcp.mode: must be one of Auto, Transparent or Federated; did you mean Federated?',
    ],
    [
      `${one}, failureMode: FailOpen`,
      'spec.mcp.failureMode: must be FailClosed with one transparent target: there is no other to serve; set mode: Federated, or remove it',
    ],
    [`${one}, names: {prefix: Always}`, `spec.mcp.names: ${noEffect}`],
    [`${one}, mode: Transparent, serverInfo: {name: a}`, `spec.mcp.serverInfo: ${noEffect}`],
    [`${two}, names: {prefix: Sometimes}`, 'spec.mcp.names.prefix: must be one of Always or Never'],
    [`${two}, names: {prefix: ""}`, 'spec.mcp.names.prefix: must be one of Always or Never'],
    [`${two}, names: {prefix: Never}, failureMode: FailClosed, serverInfo: {name: a, title: b, instructions: c}`],
    [`${two}, serverInfo: {name: ${'n'.repeat(128)}, instructions: ${'i'.repeat(16_384)}}`],
    [
      `${two}, serverInfo: {name: ${'n'.repeat(129)}}`,
      'spec.mcp.serverInfo.name: must have at most 128 characters, has 129',
    ],
    [
      `${two}, serverInfo: {instructions: ${'i'.repeat(16_385)}}`,
      'spec.mcp.serverInfo.instructions: must have at most 16384 characters, has 16385',
    ],
    [
      `${two}, serverInfo: {title: "", version: ""}`,
      ...['title', 'version'].map((field) => `spec.mcp.serverInfo.${field}: must not be empty`),
    ],
    [`${two}, failureMode: ""`, 'spec.mcp.failureMode: must be one of FailOpen or FailClosed'],
    [
      `targets: [{name: a, ${address}}, {name: a, ${address}}]`,
      'spec.mcp.targets[1].name: must be unique; entry 0 has the same name',
    ],
    [
      `targets: [{name: a, prefix: b, ${address}}, {name: a, prefix: c, ${address}}]`,
      'spec.mcp.targets[1].name: must be unique; entry 0 has the same name',
    ],
    [
      `targets: [{name: a, prefix: b, ${address}}, {name: b, ${address}}]`,
      'spec.mcp.targets[1].prefix: must be unique; entry 0 has the same prefix b',
    ],
    [
      `targets: [{name: a, prefix: x, ${address}}, {name: b, prefix: x, ${address}}, {name: c, prefix: x, ${address}}]`,
      ...[1, 2].map((index) => `spec.mcp.targets[${index}].prefix: must be unique; entry 0 has the same prefix x`),
    ],
    [`targets: [{name: a, prefix: b, ${address}}, {name: b, prefix: a, ${address}}]`],
    [
      `targets: [{name: A, prefix: a, ${address}}, {name: b, ${address}}]`,
      'spec.mcp.targets[0].name: must be lower-case letters, digits, "-" and ".", and begin and end with a letter or digit',
    ],
    [`targets: [{name: 1b, ${address}}], mode: Federated`, `spec.mcp.targets[0].prefix: ${unfit('1b')}`],
    [`targets: [{name: 1b, ${address}}]`],
    [`targets: [{name: a, prefix: x, failureMode: FailClosed, tools: {exclude: ["*"]}, ${address}}], mode: Federated`],
  ]);
  run(transparent, [
    ['prefix: tix', `spec.mcp.targets[0].prefix: ${noEffect}`],
    ['failureMode: FailClosed', `spec.mcp.targets[0].failureMode: ${noEffect}`],
    ['tools: {include: [x]}', `spec.mcp.targets[0].tools: ${noEffect}`],
    ['prompts: {include: [x]}', `spec.mcp.targets[0].prompts: ${noEffect}`],
    ['resources: {include: [x]}', `spec.mcp.targets[0].resources: ${noEffect}`],
  ]);
  run(second, [
    ['name: b.example, prefix: b'],
    ['name: b, prefix: b-'],
    ['name: b, prefix: a_b', `spec.mcp.targets[1].prefix: ${letters}`],
    ['name: b, prefix: a.b', `spec.mcp.targets[1].prefix: ${letters}`],
    ['name: b, prefix: Ab', `spec.mcp.targets[1].prefix: ${letters}`],
    ['name: b, prefix: 1b', `spec.mcp.targets[1].prefix: ${letters}`],
    ['name: b, prefix: ""', 'spec.mcp.targets[1].prefix: must not be empty'],
    ['name: b, prefix: abcdefghijklmnopqrst'],
    ['name: b, prefix: abcdefghijklmnopqrstu', 'spec.mcp.targets[1].prefix: must have at most 20 characters, has 21'],
    ['name: b.example', `spec.mcp.targets[1].prefix: ${unfit('b.example')}`],
    ['name: 1b', `spec.mcp.targets[1].prefix: ${unfit('1b')}`],
    ['name: abcdefghijklmnopqrstu', `spec.mcp.targets[1].prefix: ${unfit('abcdefghijklmnopqrstu')}`],
    ['name: b, prefix: a', 'spec.mcp.targets[1].prefix: must be unique; entry 0 has the same prefix a'],
    ['name: b, failureMode: Open', 'spec.mcp.targets[1].failureMode: must be one of FailOpen or FailClosed'],
    ['name: b, tools: {}', 'spec.mcp.targets[1].tools: must have at least one of include, exclude'],
    ['name: b, tools: {include: []}', 'spec.mcp.targets[1].tools.include: must have at least 1 entry, has 0'],
    ['name: b, tools: {include: [""]}', 'spec.mcp.targets[1].tools.include[0]: must not be empty'],
    [
      `name: b, prompts: {exclude: [${Array.from({ length: 65 }, () => 'x').join(', ')}]}`,
      'spec.mcp.targets[1].prompts.exclude: must have at most 64 entries, has 65',
    ],
    [`name: b, tools: {include: [${'t'.repeat(256)}]}, resources: {include: ["*"], exclude: ["${'u'.repeat(2048)}"]}`],
    [
      `name: b, tools: {exclude: [${'t'.repeat(257)}]}`,
      'spec.mcp.targets[1].tools.exclude[0]: must have at most 256 characters, has 257',
    ],
    [
      `name: b, resources: {include: [${'u'.repeat(2049)}]}`,
      'spec.mcp.targets[1].resources.include[0]: must have at most 2048 characters, has 2049',
    ],
    [
      'name: b, tools: {only: [a]}',
      'spec.mcp.targets[1].tools: must have at least one of include, exclude',
      'spec.mcp.targets[1].tools.only: unknown field; valid here: include, exclude',
    ],
  ]);
  // The CRD must decide as the schema does; the cluster suite asks a real API server.
  test('the CRD has every rule', () => {
    const node = describeSchema(proxyBackendSchema).properties!['spec']!.properties!['mcp']!;
    assert.equal(node['x-kubernetes-validations']?.length, 11);
  });
});

const gateway = '{group: gateway.networking.k8s.io, kind: Gateway, name: g}';
const route = '{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}';
const tickets = '{group: gateway.proxy, kind: ProxyBackend, name: tickets}';
const policy = '{apiVersion: gateway.proxy/v1alpha1, kind: ProxyPolicy, metadata: {name: a}, spec: {HERE}}';

describe('ProxyPolicy', () => {
  const cases: Cases = [
    [`targetRefs: [${gateway}], traffic: {cors: {}}`],
    ['traffic: {cors: {}}', 'spec: must have exactly one of targetRefs and targetSelectors'],
    [
      `targetRefs: [${gateway}], targetSelectors: [{group: gateway.networking.k8s.io, kind: Gateway, matchLabels: {a: b}}], traffic: {cors: {}}`,
      'spec: must have exactly one of targetRefs and targetSelectors',
    ],
    [`targetRefs: [${gateway}]`, 'spec: must have at least one of backend, traffic'],
    [
      `targetRefs: [${gateway}], traffic: {}`,
      'spec.traffic: must have at least one of jwtAuthentication, authorization, publicAccess, cors',
    ],
    ['targetRefs: [], traffic: {cors: {}}', 'spec.targetRefs: must have at least 1 entry, has 0'],
    [
      `targetRefs: [${Array.from({ length: 17 }, (_, i) => gateway.replace('name: g', `name: g${i}`)).join(', ')}], traffic: {cors: {}}`,
      'spec.targetRefs: must have at most 16 entries, has 17',
    ],
    [
      `targetRefs: [${gateway}, {group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}], traffic: {cors: {}}`,
      'spec.targetRefs: must all be of one kind; write one policy for each kind',
    ],
    [`targetRefs: [${gateway}, ${gateway}], traffic: {cors: {}}`, 'spec.targetRefs: must not name a target twice'],
    [`targetRefs: [${tickets}], traffic: {cors: {}}`, 'spec.traffic: can only target Gateway or HTTPRoute'],
    [
      'targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}], enforcement: Override, traffic: {cors: {}}',
      'spec.enforcement: can be Override only when the targets are Gateways',
    ],
    [
      `targetRefs: [${gateway}], enforcement: Override, traffic: {jwtAuthentication: {mode: Optional, providers: [{name: a, issuer: a, jwks: {inline: "{}"}}]}}`,
      'spec.traffic.jwtAuthentication.mode: must be Strict in an Override, which would otherwise replace stricter policies',
    ],
    [
      `targetRefs: [${gateway}], enforcement: Sometimes, traffic: {cors: {}}`,
      'spec.enforcement: must be one of Default or Override',
    ],
    [
      'targetRefs: [{group: gateway.proxy, kind: Gateway, name: g}], traffic: {cors: {}}',
      'spec.targetRefs[0].group: must be gateway.proxy for kind ProxyBackend, and gateway.networking.k8s.io for Gateway and HTTPRoute',
    ],
    [
      'targetRefs: [{group: "", kind: Service, name: g}], traffic: {cors: {}}',
      'spec.targetRefs[0].group: must be one of gateway.networking.k8s.io or gateway.proxy',
      'spec.targetRefs[0].kind: must be one of Gateway, HTTPRoute or ProxyBackend',
    ],
    [
      'targetRefs: [{kind: Gateway, name: g}], traffic: {cors: {}}',
      'spec.targetRefs[0].group: required: one of gateway.networking.k8s.io or gateway.proxy',
    ],
    [
      'targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: g, namespace: x}], traffic: {cors: {}}',
      'spec.targetRefs[0].namespace: unknown field; valid here: group, kind, name, sectionName',
    ],
    [
      'targetSelectors: [{group: gateway.networking.k8s.io, kind: Gateway, matchLabels: {}}], traffic: {cors: {}}',
      'spec.targetSelectors[0].matchLabels: must have at least one label',
    ],
    [
      'targetSelectors: [{group: gateway.networking.k8s.io, kind: Gateway}], traffic: {cors: {}}',
      'spec.targetSelectors[0].matchLabels: required: a mapping',
    ],
    [
      `targetRefs: [${gateway}], traffic: {jwtAuthentication: {}}`,
      'spec.traffic.jwtAuthentication.providers: required: a list',
    ],
    [
      `targetRefs: [${gateway}], traffic: {authorization: {}, cors: {}}`,
      'spec.traffic.authorization.policy: required: a mapping',
    ],
    [`targetRefs: [${route}], traffic: {publicAccess: true, cors: {}}`],
    [`targetRefs: [${route}], traffic: {publicAccess: false}`, 'spec.traffic.publicAccess: must be true'],
    [
      `targetRefs: [${gateway}], traffic: {publicAccess: true}`,
      'spec.traffic.publicAccess: can only target HTTPRoute: routes are opened one by one',
    ],
    [
      `targetRefs: [${route}], traffic: {publicAccess: true, jwtAuthentication: {providers: [{name: a, issuer: "https://a", jwks: {url: "https://a/k"}}]}}`,
      'spec.traffic.publicAccess: must be absent beside jwtAuthentication: a route is public or asks for a token',
    ],
    [`targetRefs: [${tickets}], backend: {mcp: {authentication: {issuer: "https://idp.example.com"}}}`],
    [
      `targetRefs: [${tickets}], backend: {mcp: {authentication: {}}}`,
      'spec.backend.mcp.authentication.issuer: required: the URL of the identity provider; only those of Google, GitHub and GitLab are known',
    ],
    [
      `targetRefs: [${gateway}], backend: {mcp: {authentication: {issuer: "https://idp.example.com"}}}`,
      'spec.backend: can only target ProxyBackend',
    ],
    [`targetRefs: [${tickets}], backend: {mcp: {authorization: {policy: {matchExpressions: ["true"]}}}}`],
    [
      `targetRefs: [${tickets}], backend: {mcp: {}}`,
      'spec.backend.mcp: must have at least one of authentication, authorization',
    ],
    [
      `targetRefs: [${tickets}], backend:`,
      'spec.backend: is empty: give it a value or remove it',
      'spec: must have at least one of backend, traffic',
    ],
    [
      `targetRef: [${gateway}], traffic: {cors: {}}`,
      'spec.targetRef: unknown field; did you mean `targetRefs`?',
      'spec: must have exactly one of targetRefs and targetSelectors',
    ],
  ];
  for (const [yaml, ...expected] of cases)
    test(expected.length === 0 ? `good: ${yaml}` : `${expected.join('; ')} (${yaml.slice(0, 40)})`, () =>
      assert.deepEqual([...listProblems(fillTemplate(policy, yaml))].toSorted(), expected.toSorted()),
    );
});

function runSchema(template: string, at: string, cases: Cases): void {
  for (const [yaml, ...expected] of cases)
    test(expected.length === 0 ? `good: ${yaml}` : expected.join('; '), () => {
      const result = proxyPolicySchema.safeParse(fillTemplate(template, yaml), { reportInput: true });
      const found =
        result.error?.issues
          .map(describeIssue)
          .map(({ path, message }) => `${formatFieldPath(path)}: ${message}`.slice(at.length)) ?? [];
      assert.deepEqual(found, expected);
    });
}

/** The rules that span fields: the schema itself, without the parser. */
describe('MCP authentication', () => {
  const authentication = policy.replace(
    'HERE',
    `targetRefs: [${tickets}], backend: {mcp: {authentication: {issuer: "https://idp.example.com", HERE}}}`,
  );
  const insecure =
    'must be https; http is allowed for loopback and *.svc.cluster.local, and elsewhere with allowInsecureHttp';
  runSchema(authentication, 'spec.backend.mcp.authentication.', [
    ['jwks: {}'],
    ['jwks: {url: "https://a/k", inline: "{}"}', 'jwks: must have at most one of url, inline, file and backendRef'],
    ['jwks: {file: keys.json}'],
    ['jwks: {url: "https://a/k", file: k}', 'jwks: must have at most one of url, inline, file and backendRef'],
    ['jwks: {path: /k}', 'jwks: path and backendRef belong together; set both or neither'],
    ['jwks: {url: "http://a/k"}', `jwks.url: ${insecure}`],
    ['jwks: {url: "http://a/k", allowInsecureHttp: true}'],
    ['jwks: {cacheDuration: 0s}', 'jwks.cacheDuration: must be between 1s and 24h'],
    ['metadataUrl: "http://a/k"', `metadataUrl: ${insecure}`],
    [
      'metadataUrl: "ftp://a/k"',
      'metadataUrl: must be an absolute URL such as https://idp.example.com/realms/mcp',
      `metadataUrl: ${insecure}`,
    ],
    [
      'metadataUrl: "https://user@a/k"',
      'metadataUrl: must be an absolute URL such as https://idp.example.com/realms/mcp',
    ],
    [
      'registration: {mode: Shared}',
      'registration.clientId: required with mode Shared: the client that all clients use',
    ],
    [
      'registration: {mode: Shared, clientId: a}, flow: Direct',
      'flow: must be Auto, Broker or Issuer with registration.mode Shared',
    ],
    [
      'registration: {mode: Shared, clientId: a}, flow: Facade',
      'flow: must be Auto, Broker or Issuer with registration.mode Shared',
    ],
    ['registration: {mode: Shared, clientId: a}, flow: Broker'],
    ['registration: {clientId: a}', 'registration: clientId and clientSecretRef have no effect without mode: Shared'],
    [
      'registration: {mode: Shared, clientId: a, endpoint: "https://a/r"}',
      'registration: endpoint and initialAccessToken* have no effect without mode: Forward',
    ],
    ['registration: {endpoint: "http://a/r"}', `registration.endpoint: ${insecure}`],
    [
      'registration: {initialAccessTokenRef: {name: a, key: b}, initialAccessTokenFrom: {clientCredentials: {clientId: a, clientSecretRef: {name: a, key: b}}}}',
      'registration: must have at most one of initialAccessTokenRef and initialAccessTokenFrom',
    ],
    ['registration: {limits: {perMinute: 0}}', 'registration.limits.perMinute: must be at least 1'],
    ['registration: {limits: {maxBodyBytes: 1}}', 'registration.limits.maxBodyBytes: must be at least 1024'],
    [
      'requiredScopes: ["a b"]',
      'requiredScopes[0]: must be a scope: printable characters without spaces, quotes and backslashes',
    ],
    ['requiredClaims: {a: {}}', 'requiredClaims.a: must be a value or a list of values'],
    ['clockSkew: 11m', 'clockSkew: must be between 0s and 10m'],
    ['audiences: []', 'audiences: must have at least 1 entry, has 0'],
    [
      'provider: Okto',
      'provider: must be one of Keycloak, Auth0, Okta, Entra, Descope, Authentik, Google, GitHub, GitLab, Dex or Spring; did you mean Okta?',
    ],
    ['resourceMetadata: {anything: [1, {a: b}]}'],
    [
      'resourceMetadata: {bearerMethodsSupported: [query]}',
      'resourceMetadata.bearerMethodsSupported[0]: must be header',
    ],
    ['authorizationRequest: {extraParameters: {audience: a, prompt: consent}}'],
    [
      'authorizationRequest: {extraParameters: {state: a}}',
      'authorizationRequest.extraParameters: must not have client_id, code_challenge, code_challenge_method, nonce, redirect_uri, request, request_uri, resource, response_mode, response_type, scope or state, which the gateway sets itself',
    ],
    ['registration: {allowedRedirectUris: ["https://a/cb", "http://127.0.0.1/cb", "cursor://x/cb"]}'],
    [
      'registration: {allowedRedirectUris: ["/cb", "https://a/cb#x"]}',
      'registration.allowedRedirectUris[0]: must be an absolute URI without a fragment',
      'registration.allowedRedirectUris[1]: must be an absolute URI without a fragment',
    ],
    ['claimsToHeaders: [{claim: sub, header: x-user}, {claim: realm.roles, header: X-Roles}]'],
    [
      'claimsToHeaders: [{claim: sub, header: Authorization}]',
      'claimsToHeaders[0].header: must be a header of your own, such as x-auth-subject; this one already has a meaning',
    ],
    [
      'claimsToHeaders: [{claim: sub, header: content_length}]',
      'claimsToHeaders[0].header: must be a header of your own, such as x-auth-subject; this one already has a meaning',
    ],
    [
      'claimsToHeaders: [{claim: sub, header: x-user}, {claim: email, header: X_User}]',
      'claimsToHeaders: must not name a header twice',
    ],
  ]);
});

describe('secure URLs', () => {
  const cases: readonly (readonly [string, boolean])[] = [
    ['https://idp.example.com', true],
    ['http://localhost', true],
    ['http://localhost:8080/a', true],
    ['http://idp.localhost/', true],
    ['http://127.0.0.1:9000', true],
    ['http://[::1]:9000/', true],
    ['http://idp.auth.svc', true],
    ['http://idp.auth.svc.cluster.local:80/x', true],
    ['http://idp.example.com', false],
    ['http://localhost.example.com', false],
    ['http://127.0.0.1.example.com', false],
    ['http://svc.example.com', false],
    ['http://evil/?x=.svc', false],
    ['ftp://localhost', false],
  ];
  for (const [url, expected] of cases)
    test(`${url} ${expected ? 'is' : 'is not'}`, () => assert.equal(isSecureUrl(url), expected));
});
