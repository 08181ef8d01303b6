// HTTPRoute: defaults, and every constraint of the CRD of Gateway API 1.6, standard channel.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseResource } from './parse-resource.ts';
import { fillTemplate, listProblems } from './testing/expect-problems.ts';

type Cases = readonly (readonly [yaml: string, ...expected: string[]])[];

const route = '{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {HERE}}';
const rule = route.replace('HERE', 'rules: [{HERE}]');
const filter = route.replace('HERE', 'rules: [{filters: [HERE]}]');

function run(template: string, cases: Cases): void {
  for (const [yaml, ...expected] of cases)
    test(expected.length === 0 ? `good: ${yaml}` : expected.join('; '), () =>
      assert.deepEqual(listProblems(fillTemplate(template, yaml)), expected),
    );
}

function parseSpec(yaml: string) {
  const result = parseResource(fillTemplate(route, yaml), { origin: 'file' });
  assert.ok(result.ok && result.kind === 'HTTPRoute');
  return result.resource.spec;
}

const everything = [{ path: { type: 'PathPrefix', value: '/' } }];

describe('defaults', () => {
  test('a route without rules forwards everything', () =>
    assert.deepEqual(parseSpec(''), { rules: [{ matches: everything }] }));
  test('a rule without matches matches everything', () =>
    assert.deepEqual(parseSpec('rules: [{}]'), { rules: [{ matches: everything }] }));
  test('a match without a path matches every path', () =>
    assert.deepEqual(parseSpec('rules: [{matches: [{method: GET}]}]').rules[0]?.matches, [
      { path: { type: 'PathPrefix', value: '/' }, method: 'GET' },
    ]));
  test('a path', () =>
    assert.deepEqual(parseSpec('rules: [{matches: [{path: {value: /a}}, {path: {type: Exact}}]}]').rules[0]?.matches, [
      { path: { type: 'PathPrefix', value: '/a' } },
      { path: { type: 'Exact', value: '/' } },
    ]));
  test('headers and query parameters match exactly', () =>
    assert.deepEqual(
      parseSpec('rules: [{matches: [{headers: [{name: a, value: b}], queryParams: [{name: c, value: d}]}]}]').rules[0]
        ?.matches[0],
      {
        path: { type: 'PathPrefix', value: '/' },
        headers: [{ type: 'Exact', name: 'a', value: 'b' }],
        queryParams: [{ type: 'Exact', name: 'c', value: 'd' }],
      },
    ));
  test('parents are Gateways', () =>
    assert.deepEqual(parseSpec('parentRefs: [{name: g}]').parentRefs, [
      { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' },
    ]));
  test('backends are Services of weight 1', () =>
    assert.deepEqual(parseSpec('rules: [{backendRefs: [{name: s, port: 80}]}]').rules[0]?.backendRefs, [
      { group: '', kind: 'Service', name: 's', port: 80, weight: 1 },
    ]));
  test('redirects are 302', () =>
    assert.deepEqual(
      parseSpec('rules: [{filters: [{type: RequestRedirect, requestRedirect: {}}]}]').rules[0]?.filters,
      [{ type: 'RequestRedirect', requestRedirect: { statusCode: 302 } }],
    ));
  test('CORS is remembered for 5 seconds', () =>
    assert.deepEqual(parseSpec('rules: [{filters: [{type: CORS, cors: {}}]}]').rules[0]?.filters, [
      { type: 'CORS', cors: { maxAge: 5 } },
    ]));
  test('a mirrored fraction is in percent', () =>
    assert.deepEqual(
      parseSpec(
        'rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: s, port: 1}, fraction: {numerator: 5}}}]}]',
      ).rules[0]?.filters?.[0]?.requestMirror?.fraction,
      { numerator: 5, denominator: 100 },
    ));
});

describe('parentRefs', () =>
  run(route, [
    ['parentRefs: [{}]', 'spec.parentRefs[0].name: required: a string'],
    [
      'parentRefs: [{name: a, sectionName: A}]',
      'spec.parentRefs[0].sectionName: must be lower-case letters, digits, "-" and ".", and begin and end with a letter or digit',
    ],
    ['parentRefs: [{name: a, port: 0}]', 'spec.parentRefs[0].port: must be at least 1'],
    [
      'parentRefs: [{name: a, namespace: a.b}]',
      'spec.parentRefs[0].namespace: must be lower-case letters, digits and "-", and begin and end with a letter or digit',
    ],
    ['parentRefs: [{name: a}, {name: a}]', 'spec.parentRefs[1]: must differ from the other references to Gateway a'],
    [
      'parentRefs: [{name: a, sectionName: x}, {name: a, sectionName: x}]',
      'spec.parentRefs[1].sectionName: must differ from the other references to Gateway a',
    ],
    [
      'parentRefs: [{name: a, sectionName: x}, {name: a}]',
      'spec.parentRefs[1]: must name a sectionName, and so must every other reference to Gateway a',
    ],
    [
      'parentRefs: [{name: a, port: 1}, {name: a, port: 2}]',
      'spec.parentRefs[1]: must differ from the other references to Gateway a',
    ],
    ['parentRefs: [{name: a, sectionName: x}, {name: a, sectionName: y}]'],
    ['parentRefs: [{name: a}, {name: a, namespace: b}, {name: a, kind: Service, group: ""}]'],
    [
      `parentRefs: [${Array.from({ length: 33 }, (_, i) => `{name: g${i}}`).join(', ')}]`,
      'spec.parentRefs: must have at most 32 entries, has 33',
    ],
    ['useDefaultGateways: All', 'spec.useDefaultGateways: not supported yet: name the Gateway in parentRefs'],
  ]));

describe('hostnames', () =>
  run(route, [
    [
      'hostnames: ["*"]',
      'spec.hostnames[0]: must be a lower-case host name without a port, such as mcp.example.com or *.example.com',
    ],
    [
      'hostnames: ["a:80"]',
      'spec.hostnames[0]: must be a lower-case host name without a port, such as mcp.example.com or *.example.com',
    ],
    [
      'hostnames: ["a.*.b"]',
      'spec.hostnames[0]: must be a lower-case host name without a port, such as mcp.example.com or *.example.com',
    ],
    ['hostnames: ["*.example.com", a]'],
  ]));

describe('rules', () => {
  run(route, [
    [
      `rules: [${Array.from({ length: 17 }, () => '{}').join(', ')}]`,
      'spec.rules: must have at most 16 entries, has 17',
    ],
    [
      `rules: [${Array.from({ length: 3 }, () => `{matches: [${Array.from({ length: 43 }, () => '{}').join(', ')}]}`).join(', ')}]`,
      'spec.rules: must have at most 128 matches in all rules together, has 129',
    ],
    [
      `rules: [{matches: [${Array.from({ length: 65 }, () => '{}').join(', ')}]}]`,
      'spec.rules[0].matches: must have at most 64 entries, has 65',
    ],
    ['rules: [{name: a}, {name: a}]', 'spec.rules[1].name: must be unique; rules[0] has the same name'],
    [
      'rules: [{name: A}]',
      'spec.rules[0].name: must be lower-case letters, digits, "-" and ".", and begin and end with a letter or digit',
    ],
  ]);
  test('a repeated name does not take a route out of service in Kubernetes, whose CRD lets it through', () =>
    assert.deepEqual(listProblems(fillTemplate(route, 'rules: [{name: a}, {name: a}]'), 'kubernetes'), []));
});

describe('matches', () => {
  const characters = "must be a URL path: letters, digits, -/._~!$&'()*+,;=:@ and %XX only";
  const value = 'spec.rules[0].matches[0].path.value';
  run(rule, [
    ['matches: [{path: {value: a}}]', `${value}: must begin with "/" with type PathPrefix`],
    ['matches: [{path: {value: ""}}]', `${value}: must begin with "/" with type PathPrefix`],
    ['matches: [{path: {value: /a//b}}]', `${value}: must not contain "//" with type PathPrefix`],
    ['matches: [{path: {value: /a/./b}}]', `${value}: must not contain "/./" with type PathPrefix`],
    ['matches: [{path: {value: /a/../b}}]', `${value}: must not contain "/../" with type PathPrefix`],
    ['matches: [{path: {value: /a%2fb}}]', `${value}: must not contain "%2f" with type PathPrefix`],
    ['matches: [{path: {value: /a%2Fb, type: Exact}}]', `${value}: must not contain "%2F" with type Exact`],
    ['matches: [{path: {value: "/a#b"}}]', `${value}: must not contain "#" with type PathPrefix`],
    ['matches: [{path: {value: /a/..}}]', `${value}: must not end with "/.." with type PathPrefix`],
    ['matches: [{path: {value: /a/.}}]', `${value}: must not end with "/." with type PathPrefix`],
    ['matches: [{path: {value: "/a b"}}]', `${value}: ${characters} with type PathPrefix`],
    ['matches: [{path: {value: "/a?b"}}]', `${value}: ${characters} with type PathPrefix`],
    ['matches: [{path: {value: "/%zz"}}]', `${value}: ${characters} with type PathPrefix`],
    [`matches: [{path: {value: /${'a'.repeat(1024)}}}]`, `${value}: must have at most 1024 characters, has 1025`],
    ['matches: [{path: {type: RegularExpression, value: "//?#"}}]'],
    [
      'matches: [{path: {type: Prefix}}]',
      'spec.rules[0].matches[0].path.type: must be one of Exact, PathPrefix or RegularExpression',
    ],
    [
      'matches: [{path: {type: Pathprefix}}]',
      'spec.rules[0].matches[0].path.type: must be one of Exact, PathPrefix or RegularExpression; did you mean PathPrefix?',
    ],
    [
      'matches: [{method: get}]',
      'spec.rules[0].matches[0].method: must be one of GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, TRACE or PATCH; did you mean GET?',
    ],
    [
      'matches: [{headers: [{name: "a b", value: x}]}]',
      "spec.rules[0].matches[0].headers[0].name: must be a header name: letters, digits and !#$%&'*+-.^_`|~ only",
    ],
    ['matches: [{headers: [{name: a, value: ""}]}]', 'spec.rules[0].matches[0].headers[0].value: must not be empty'],
    [
      'matches: [{headers: [{name: a, value: x}, {name: a, value: y}]}]',
      'spec.rules[0].matches[0].headers[1].name: must be unique; entry 0 has the same name',
    ],
    [
      'matches: [{queryParams: [{name: a, value: x}, {name: a, value: y}]}]',
      'spec.rules[0].matches[0].queryParams[1].name: must be unique; entry 0 has the same name',
    ],
    ['matches: [{queryParams: [{name: a}]}]', 'spec.rules[0].matches[0].queryParams[0].value: required: a string'],
    [
      'matches: [{headers: [{name: a, value: x, type: Prefix}]}]',
      'spec.rules[0].matches[0].headers[0].type: must be one of Exact or RegularExpression',
    ],
  ]);
});

describe('filters', () => {
  const at = 'spec.rules[0].filters[0]';
  run(filter, [
    ['{type: CORS}', `${at}.cors: required with type CORS`],
    ['{type: URLRewrite}', `${at}.urlRewrite: required with type URLRewrite`],
    ['{type: ExtensionRef}', `${at}.extensionRef: required with type ExtensionRef`],
    [
      '{type: RequestHeaderModifier, requestHeaderModifier: {}, cors: {}}',
      `${at}.cors: must be absent with type RequestHeaderModifier`,
    ],
    [
      '{type: RequestMirror, responseHeaderModifier: {}}',
      `${at}.responseHeaderModifier: must be absent with type RequestMirror`,
      `${at}.requestMirror: required with type RequestMirror`,
    ],
    [
      '{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}, {name: a, value: c}]}}',
      `${at}.requestHeaderModifier.set[1].name: must be unique; entry 0 has the same name`,
    ],
    [
      '{type: RequestHeaderModifier, requestHeaderModifier: {add: [{name: a}]}}',
      `${at}.requestHeaderModifier.add[0].value: required: a string`,
    ],
    [
      '{type: RequestHeaderModifier, requestHeaderModifier: {remove: [a, a]}}',
      `${at}.requestHeaderModifier.remove[1]: must not be listed twice`,
    ],
    [
      '{type: RequestRedirect, requestRedirect: {statusCode: 300}}',
      `${at}.requestRedirect.statusCode: must be one of 301, 302, 303, 307 or 308`,
    ],
    [
      '{type: RequestRedirect, requestRedirect: {scheme: ftp}}',
      `${at}.requestRedirect.scheme: must be one of http or https`,
    ],
    [
      '{type: RequestRedirect, requestRedirect: {hostname: "*.a"}}',
      `${at}.requestRedirect.hostname: must be a lower-case host name without a port or wildcard, such as mcp.example.com`,
    ],
    [
      '{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath}}}',
      `${at}.requestRedirect.path.replaceFullPath: required with type ReplaceFullPath`,
    ],
    [
      '{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /, replacePrefixMatch: /}}}',
      `${at}.urlRewrite.path.replacePrefixMatch: must be absent with type ReplaceFullPath`,
    ],
    [
      '{type: RequestMirror, requestMirror: {backendRef: {name: a}}}',
      `${at}.requestMirror.backendRef.port: required: the port of the Service`,
    ],
    [
      '{type: RequestMirror, requestMirror: {backendRef: {name: a, port: 1}, percent: 101}}',
      `${at}.requestMirror.percent: must be at most 100`,
    ],
    [
      '{type: RequestMirror, requestMirror: {backendRef: {name: a, port: 1}, percent: 1, fraction: {numerator: 1}}}',
      `${at}.requestMirror.fraction: must be absent with percent; keep one of the two`,
    ],
    [
      '{type: RequestMirror, requestMirror: {backendRef: {name: a, port: 1}, fraction: {numerator: 3, denominator: 2}}}',
      `${at}.requestMirror.fraction.numerator: must not be greater than denominator`,
    ],
    [
      '{type: CORS, cors: {allowOrigins: ["*", "https://a"]}}',
      `${at}.cors.allowOrigins[0]: must be the only entry; remove the others or "*"`,
    ],
    [
      '{type: CORS, cors: {allowMethods: [GET, "*"]}}',
      `${at}.cors.allowMethods[1]: must be the only entry; remove the others or "*"`,
    ],
    [
      '{type: CORS, cors: {allowHeaders: [a, "*"]}}',
      `${at}.cors.allowHeaders[1]: must be the only entry; remove the others or "*"`,
    ],
    [
      '{type: CORS, cors: {allowOrigins: ["app.example.com"]}}',
      `${at}.cors.allowOrigins[0]: must be "*" or an origin such as https://app.example.com, https://*.example.com or http://localhost:6274`,
    ],
    [
      '{type: CORS, cors: {allowOrigins: ["https://a/"]}}',
      `${at}.cors.allowOrigins[0]: must be "*" or an origin such as https://app.example.com, https://*.example.com or http://localhost:6274`,
    ],
    ['{type: CORS, cors: {exposeHeaders: [a, a]}}', `${at}.cors.exposeHeaders[1]: must not be listed twice`],
    ['{type: CORS, cors: {maxAge: 0}}', `${at}.cors.maxAge: must be at least 1`],
    ['{type: CORS, cors: {}, externalAuth: {}}', `${at}.externalAuth: not supported yet: use a ProxyPolicy`],
    [
      '{type: RequestRedirect, requestRedirect: {}}, {type: URLRewrite, urlRewrite: {}}',
      'spec.rules[0].filters[1].type: RequestRedirect and URLRewrite exclude each other; keep one of the two',
    ],
    [
      '{type: RequestMirror, requestMirror: {backendRef: {name: a, port: 1}}}, {type: RequestMirror, requestMirror: {backendRef: {name: b, port: 1}}}',
    ],
    ...(['CORS', 'RequestHeaderModifier', 'ResponseHeaderModifier', 'RequestRedirect', 'URLRewrite'] as const).map(
      (type) => {
        const member = {
          CORS: 'cors',
          RequestHeaderModifier: 'requestHeaderModifier',
          ResponseHeaderModifier: 'responseHeaderModifier',
          RequestRedirect: 'requestRedirect',
          URLRewrite: 'urlRewrite',
        }[type];
        return [
          `{type: ${type}, ${member}: {}}, {type: ${type}, ${member}: {}}`,
          `spec.rules[0].filters[1].type: must not repeat ${type}; entry 0 has it already`,
        ] as const;
      },
    ),
  ]);
});

describe('rules that span a rule', () => {
  const redirect =
    '{type: RequestRedirect, requestRedirect: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}';
  const rewrite = '{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}';
  const needs = 'needs a rule with exactly one match, of type PathPrefix';
  run(rule, [
    [
      'filters: [{type: RequestRedirect, requestRedirect: {}}], backendRefs: [{name: a, port: 1}]',
      'spec.rules[0].filters[0]: RequestRedirect and backendRefs exclude each other; remove one of the two',
    ],
    [`filters: [${redirect}]`],
    [
      `filters: [${redirect}], matches: [{path: {type: Exact, value: /a}}]`,
      `spec.rules[0].filters[0].requestRedirect.path.replacePrefixMatch: ${needs}`,
    ],
    [
      `filters: [${rewrite}], matches: [{}, {}]`,
      `spec.rules[0].filters[0].urlRewrite.path.replacePrefixMatch: ${needs}`,
    ],
    [`filters: [${rewrite}], matches: []`, `spec.rules[0].filters[0].urlRewrite.path.replacePrefixMatch: ${needs}`],
    [
      `matches: [{}, {}], backendRefs: [{name: a, port: 1, filters: [${rewrite}]}]`,
      `spec.rules[0].backendRefs[0].filters[0].urlRewrite.path.replacePrefixMatch: ${needs}`,
    ],
    [
      'timeouts: {request: 1s, backendRequest: 2s}',
      'spec.rules[0].timeouts.backendRequest: must not be longer than request (1s)',
    ],
    ['timeouts: {request: 0s, backendRequest: 2s}'],
    ['timeouts: {backendRequest: 2s}'],
    [
      'timeouts: {backendRequest: 2}',
      'spec.rules[0].timeouts.backendRequest: must be a string, not a number: put it in quotes',
    ],
    [
      'timeouts: {backendRequest: 2d}',
      'spec.rules[0].timeouts.backendRequest: must be a duration such as 500ms, 10s or 1h30m',
    ],
    [
      'sessionPersistence: {}',
      'spec.rules[0].sessionPersistence: not supported yet: a ProxyBackend keeps MCP sessions on their endpoint',
    ],
  ]);
});

describe('backendRefs', () =>
  run(rule, [
    ['backendRefs: [{name: a}]', 'spec.rules[0].backendRefs[0].port: required: the port of the Service'],
    ['backendRefs: [{name: a, group: gateway.proxy, kind: ProxyBackend}]'],
    ['backendRefs: [{name: a, port: 1, weight: -1}]', 'spec.rules[0].backendRefs[0].weight: must be at least 0'],
    [
      'backendRefs: [{name: a, port: 1, weight: 1000001}]',
      'spec.rules[0].backendRefs[0].weight: must be at most 1000000',
    ],
    [
      `backendRefs: [${Array.from({ length: 17 }, () => '{name: a, port: 1}').join(', ')}]`,
      'spec.rules[0].backendRefs: must have at most 16 entries, has 17',
    ],
  ]));
