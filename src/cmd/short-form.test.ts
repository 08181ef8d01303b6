import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readYaml } from '../sources/files/read-yaml.ts';
import { LoginFlow } from '../ir/gen/config_pb.ts';
import { createFixedSource } from '../sources/fixed-source.ts';
import { translate } from '../translate/translate.ts';
import { buildShortForm, printResources, type ShortFormOptions } from './short-form.ts';

function build(target: string, options: Omit<ShortFormOptions, 'targets'> = {}): object[] {
  const short = buildShortForm({ targets: [target], ...options });
  assert.ok(short.ok, JSON.stringify(short));
  return short.resources;
}

function readParts(resources: object[]) {
  const { gateways, httpRoutes, proxyBackends } = createFixedSource(resources).resources.get();
  const [target] = proxyBackends[0]!.spec.mcp.targets;
  return {
    addresses: gateways[0]!.spec.addresses,
    port: gateways[0]!.spec.listeners[0]!.port,
    path: httpRoutes[0]!.spec.rules[0]!.matches[0]!.path,
    target: target!.static,
    tls: target!.tls,
  };
}

describe('buildShortForm', () => {
  test('one server on a laptop: loopback, port 3000, the path of the server', () => {
    assert.deepEqual(readParts(build('http://127.0.0.1:3001/mcp')), {
      addresses: [{ type: 'IPAddress', value: '127.0.0.1' }],
      port: 3000,
      path: { type: 'PathPrefix', value: '/mcp' },
      target: { host: '127.0.0.1', port: 3001, path: '/mcp', protocol: 'StreamableHTTP' },
      tls: undefined,
    });
  });

  test('a URL without a path is served at the root', () => {
    const { path, target } = readParts(build('http://localhost:3001'));
    assert.equal(path?.value, '/');
    assert.equal(target?.path, '/');
  });

  test('--port and --transport', () => {
    const { port, target } = readParts(build('http://127.0.0.1:3001/sse', { port: 8080, transport: 'sse' }));
    assert.equal(port, 8080);
    assert.equal(target?.protocol, 'SSE');
  });

  test('https asks for the name, on 443 unless the URL says otherwise; an address has no name to ask for', () => {
    const named = readParts(build('https://MCP.example.com/v1/mcp'));
    assert.deepEqual(
      [named.target?.host, named.target?.port, named.tls?.sni],
      ['mcp.example.com', 443, 'mcp.example.com'],
    );
    const address = readParts(build('https://192.0.2.7:8443/mcp'));
    assert.deepEqual([address.target?.port, address.tls?.sni], [8443, undefined]);
    assert.notEqual(address.tls, undefined);
  });

  test('http is on port 80 unless the URL says otherwise, and IPv6 has no brackets in a resource', () => {
    assert.deepEqual(readParts(build('http://[::1]/mcp')).target, {
      host: '::1',
      port: 80,
      path: '/mcp',
      protocol: 'StreamableHTTP',
    });
  });

  test('every form is fully served: no condition is bad', () => {
    for (const target of [
      'http://127.0.0.1:3001/mcp',
      'http://localhost:3001',
      'https://mcp.example.com/a/b/',
      'https://[2001:db8::1]:1/x',
    ]) {
      const { configuration, statuses, notices } = translate(createFixedSource(build(target)).resources.get());
      assert.equal(configuration.listeners.length, 1);
      assert.equal(configuration.backends.length, 1);
      assert.deepEqual(notices, []);
      const parents = Object.values(statuses.httpRoutes).flatMap(({ parents: all }) => all);
      assert.ok(
        parents.every(({ conditions }) => conditions.every(({ status }) => status === 'True')),
        target,
      );
    }
  });

  const refusals: readonly [target: string, message: RegExp][] = [
    ['localhost:3001/mcp', /^--target must be a URL.*did you mean http:\/\/localhost:3001\/mcp \?$/],
    ['127.0.0.1:3001', /did you mean http:\/\/127\.0\.0\.1:3001 \?$/],
    ['', /^--target must be a URL.*such as http/],
    ['ftp://example.com/mcp', /^--target must be a URL.*such as http/],
    ['javascript:alert(1)', /^--target must be a URL/],
    ['http://', /^--target must be a URL/],
    ['http://user:hunter2@127.0.0.1/mcp', /^--target must have no user name or password/],
    ['http://127.0.0.1/mcp?key=hunter2', /^--target must have no query/],
    ['http://127.0.0.1/mcp?', /^--target must have no query/],
    ['http://127.0.0.1/mcp#x', /^--target must have no fragment/],
    ['http://127.0.0.1:0/mcp', /^--target must have a port between 1 and 65535/],
    ['http://127.0.0.1:99999/mcp', /^--target must be a URL/],
    ['http://my_host/mcp', /^--target cannot be served as it is \(.*host/],
    ['http://127.0.0.1/a%2Fb', /^--target cannot be served as it is \(.*path/],
  ];
  for (const [target, message] of refusals) {
    test(`refuses ${JSON.stringify(target)}, and shows no secret`, () => {
      const short = buildShortForm({ targets: [target] });
      assert.ok(!short.ok);
      assert.match(short.message, message);
      assert.doesNotMatch(short.message, /hunter2/);
    });
  }

  test('refuses a port that is none', () => {
    for (const port of [0, 65_536, 1.5, Number.NaN]) {
      const short = buildShortForm({ targets: ['http://127.0.0.1/mcp'], port });
      assert.match(short.ok ? '' : short.message, /^--port must be between 1 and 65535/);
    }
  });
});

describe('buildShortForm with several servers', () => {
  const tickets = 'tickets=http://127.0.0.1:3001/mcp';

  function readBackend(...targets: string[]) {
    const short = buildShortForm({ targets });
    assert.ok(short.ok, JSON.stringify(short));
    const { proxyBackends, httpRoutes } = createFixedSource(short.resources).resources.get();
    const { mode, targets: built } = proxyBackends[0]!.spec.mcp;
    const path = httpRoutes[0]!.spec.rules[0]!.matches[0]!.path;
    return {
      mode,
      path: path?.value,
      targets: built.map(({ name, static: at, tls }) => [name, at?.host, at?.path, tls?.sni]),
    };
  }

  test('each has its own address and name; clients reach all of them at /mcp', () =>
    assert.deepEqual(readBackend(tickets, 'crm=https://crm.example.com/v1'), {
      mode: 'Auto',
      path: '/mcp',
      targets: [
        ['tickets', '127.0.0.1', '/mcp', undefined],
        ['crm', 'crm.example.com', '/v1', 'crm.example.com'],
      ],
    }));

  test('one with a name is a federation, so that the next one renames nothing', () =>
    assert.deepEqual(readBackend(tickets), {
      mode: 'Federated',
      path: '/mcp',
      targets: [['tickets', '127.0.0.1', '/mcp', undefined]],
    }));

  test('the resources serve all of them', () => {
    const short = buildShortForm({ targets: [tickets, 'crm=http://127.0.0.1:3002/mcp'] });
    assert.ok(short.ok);
    const { configuration } = translate(createFixedSource(short.resources).resources.get());
    const { kind } = configuration.backends[0]!;
    assert.deepEqual(kind.case === 'federation' && kind.value.targets.map(({ prefix }) => prefix), ['tickets', 'crm']);
  });

  const name =
    '--target must have a name of at most 20 lower-case letters, digits and "-", which begins with a letter and does not end with "-", not';
  for (const [targets, message] of [
    [
      [tickets, 'http://127.0.0.1:3002/mcp'],
      '--target must have a name in front of its URL where there are several, such as tickets=http://127.0.0.1:3001/mcp; number 2 has none',
    ],
    [[tickets, 'tickets=http://127.0.0.1:3002/mcp'], '--target must have names that differ; two are called tickets'],
    [['Crm=http://127.0.0.1:3002/mcp'], `${name} "Crm"`],
    [['a_b=http://127.0.0.1:3002/mcp'], `${name} "a_b"`],
    [['a.b=http://127.0.0.1:3002/mcp'], `${name} "a.b"`],
    [['=http://127.0.0.1:3002/mcp'], `${name} ""`],
    [['a-=http://127.0.0.1:3002/mcp'], `${name} "a-"`],
    [
      ['crm=127.0.0.1:3002/mcp'],
      '--target must be a URL that begins with http:// or https://; did you mean http://127.0.0.1:3002/mcp ?',
    ],
    [['crm=http://127.0.0.1:3002/mcp?a=b'], '--target must have no query; only the path is passed on'],
    [[], '--target is missing; use a URL such as http://127.0.0.1:3001/mcp'],
    [
      Array.from({ length: 129 }, (_, index) => `a${index}=http://127.0.0.1:3001/mcp`),
      '--target cannot be served as it is (spec.mcp.targets of the ProxyBackend must have at most 128 entries, has 129); use a URL such as http://127.0.0.1:3001/mcp',
    ],
  ] as const)
    test(`${targets.slice(0, 3).join(' ')}: ${message}`, () => {
      const short = buildShortForm({ targets });
      assert.equal(short.ok ? '' : short.message, message);
    });
});

describe('buildShortForm with an identity provider', () => {
  const target = 'http://127.0.0.1:3001/mcp';
  const issuer = 'https://idp.example.com/realms/mcp';

  function readPolicy(options: Partial<ShortFormOptions>) {
    const { proxyPolicies, secrets } = createFixedSource(build(target, { issuer, ...options })).resources.get();
    return { authentication: proxyPolicies[0]?.spec.backend?.mcp?.authentication, secrets };
  }

  test('--issuer alone: a policy on the backend, all else by default', () => {
    const { authentication, secrets } = readPolicy({});
    assert.deepEqual(
      [authentication?.issuer, authentication?.audiences, authentication?.flow, authentication?.registration.mode],
      [issuer, undefined, 'Auto', 'Forward'],
    );
    assert.equal(secrets.length, 0);
  });

  test('--provider, --extra-scope', () => {
    const { authentication } = readPolicy({ provider: 'Dex', extraScopes: ['groups', 'email'] });
    assert.equal(authentication?.provider, 'Dex');
    assert.deepEqual(authentication?.authorizationRequest?.extraScopes, ['groups', 'email']);
  });

  test('--audience, --required-scope, --client-id', () => {
    const { authentication } = readPolicy({ audiences: ['a', 'b'], requiredScopes: ['s'], clientId: 'gateway' });
    assert.deepEqual(authentication?.audiences, ['a', 'b']);
    assert.deepEqual(authentication?.requiredScopes, ['s']);
    const { mode, clientId, clientSecretRef } = authentication?.registration ?? {};
    assert.deepEqual([mode, clientId, clientSecretRef], ['Shared', 'gateway', undefined]);
  });

  test('--client-secret-file becomes a Secret that refers to the file, by its whole path', () => {
    const { authentication, secrets } = readPolicy({ clientId: 'gateway', clientSecretFile: 'idp.secret' });
    assert.deepEqual(authentication?.registration.clientSecretRef, { name: 'idp-client', key: 'client-secret' });
    assert.deepEqual(secrets[0]?.stringData, { 'client-secret': `\${file:${join(process.cwd(), 'idp.secret')}}` });
  });

  test('all of it is in force: the policy is accepted, and nothing is closed', () => {
    const resources = build(target, { issuer, clientId: 'gateway', clientSecretFile: '/run/secret' });
    const { configuration, statuses } = translate(createFixedSource(resources).resources.get());
    assert.deepEqual(
      configuration.policies.map(({ spec }) => spec.case),
      ['mcpAuthentication'],
    );
    const conditions = Object.values(statuses.proxyPolicies).flatMap(({ ancestors }) =>
      ancestors.flatMap((ancestor) => ancestor.conditions),
    );
    assert.deepEqual(
      conditions.filter(({ type }) => type === 'Accepted').map(({ status }) => status),
      ['True'],
    );
  });

  const refusals: readonly [options: Partial<ShortFormOptions>, message: RegExp][] = [
    [{ issuer: undefined, audiences: ['a'] }, /^--audience goes with --issuer/],
    [{ issuer: undefined, requiredScopes: ['a'] }, /^--required-scope goes with --issuer/],
    [{ issuer: undefined, clientId: 'a' }, /^--client-id goes with --issuer/],
    [{ issuer: undefined, clientSecretFile: 'a' }, /^--client-secret-file goes with --issuer/],
    [{ clientSecretFile: 'a' }, /^--client-secret-file goes with --client-id/],
    [{ clientId: 'a', clientSecretFile: 'a}b' }, /^--client-secret-file must have no }/],
    [{ issuer: 'idp.example.com' }, /^--issuer must be an absolute URL such as https:/],
    [{ issuer: 'http://idp.example.com' }, /^--issuer .*https/],
    [{ requiredScopes: ['a b'] }, /^--required-scope /],
    [{ issuer: undefined, extraScopes: ['a'] }, /^--extra-scope goes with --issuer/],
    [{ issuer: undefined, provider: 'Dex' }, /^--provider goes with --issuer/],
    [{ extraScopes: ['a b'] }, /^--extra-scope /],
    [{ provider: 'dex' as 'Dex' }, /^--provider /],
    [{ issuer: undefined, allow: ['org:a'] }, /^--allow goes with --issuer: the URL .*, or with --provider Google, /],
    [{ allow: ['org:a'] }, /^--allow goes with --provider Google, GitHub or GitLab, where the gateway decides/],
    [{ provider: 'Dex', allow: ['org:a'] }, /^--allow goes with --provider Google, GitHub or GitLab/],
    [
      { issuer: 'https://login.microsoftonline.com/common/v2.0', provider: 'Entra', clientId: 'a' },
      /^anybody with a Microsoft account would get in: name the --issuer of your own organization/,
    ],
  ];
  for (const [options, message] of refusals) {
    test(`refuses ${JSON.stringify(options)}`, () => {
      const short = buildShortForm({ targets: [target], issuer, ...options });
      assert.match(short.ok ? '' : short.message, message);
    });
  }
});

describe('buildShortForm with --provider Google, GitHub or GitLab', () => {
  const target = 'http://127.0.0.1:3001/mcp';
  const github = { provider: 'GitHub', clientId: 'gateway', allow: ['org:acme'] } as const;

  test('needs no --issuer; --allow says who gets in', () => {
    const allow = ['org:acme', 'email:Ada@example.com', 'domain:example.com', 'org:b:c', 'subject:https://x/1'];
    const resources = build(target, { ...github, allow, clientSecretFile: '/run/secret' });
    const { proxyPolicies } = createFixedSource(resources).resources.get();
    const { issuer, provider, identity, registration } = proxyPolicies[0]!.spec.backend!.mcp.authentication!;
    assert.deepEqual([issuer, provider, registration.mode], [undefined, 'GitHub', 'Shared']);
    assert.deepEqual(identity?.allow, {
      organizations: ['acme', 'b:c'],
      emails: ['Ada@example.com'],
      domains: ['example.com'],
      subjects: ['https://x/1'],
    });
    const { configuration } = translate(createFixedSource(resources).resources.get());
    const [policy] = configuration.policies;
    assert.ok(policy?.spec.case === 'mcpAuthentication');
    assert.deepEqual([policy.spec.value.issuer, policy.spec.value.flow], ['https://github.com', LoginFlow.ISSUER]);
  });

  test("one's own GitLab is not open to anybody", () => {
    build(target, { provider: 'GitLab', issuer: 'https://gitlab.example.com', clientId: 'gateway' });
  });

  const examples = 'org:acme, domain:example.com, email:ada@example.com, subject:1234';
  const refusals: readonly [options: Partial<ShortFormOptions>, message: string][] = [
    [{ allow: [] }, `anybody with a GitHub account would get in: say who with --allow, such as ${examples}`],
    [
      { clientId: undefined },
      '--provider GitHub needs --client-id: the client that you have registered there for the gateway',
    ],
    [{ allow: ['team:a'] }, `--allow must be one of ${examples}, not "team:a"`],
    [{ allow: ['orgs:a'] }, `--allow must be one of ${examples}, not "orgs:a"; did you mean org:a ?`],
    [{ allow: ['acme'] }, `--allow must be one of ${examples}, not "acme"; did you mean org:acme ?`],
    [{ allow: ['a.test'] }, `--allow must be one of ${examples}, not "a.test"; did you mean domain:a.test ?`],
    [{ allow: ['a@b.test'] }, `--allow must be one of ${examples}, not "a@b.test"; did you mean email:a@b.test ?`],
    [{ allow: ['org:'] }, '--allow org: has no value; write org:acme'],
    [{ allow: ['org:a', 'email: '] }, '--allow email: has no value; write email:ada@example.com'],
    [{ allow: ['domain:@a.test'] }, '--allow must be a domain such as example.com, without @ or *'],
    [{ allow: ['email:a'] }, '--allow must be an email address such as ada@example.com'],
    [
      { audiences: ['a'] },
      "--audience must be absent in the flow Issuer: the `aud` of issued tokens is the server's own URL",
    ],
    [
      { issuer: 'https://git.example.com' },
      '--issuer must be https://github.com with provider GitHub; another one needs endpoints, because there is no metadata',
    ],
    [{ clientSecretFile: 'a', clientId: undefined }, '--client-secret-file goes with --client-id: whose secret is it?'],
  ];
  for (const [options, message] of refusals) {
    test(`refuses ${JSON.stringify(options)}`, () => {
      const short = buildShortForm({ targets: [target], ...github, ...options });
      assert.equal(short.ok ? '' : short.message, message);
    });
  }
});

test('printResources gives YAML that reads back as the same resources', () => {
  const resources = build('https://mcp.example.com/mcp', { transport: 'sse' });
  const text = printResources(resources);
  assert.equal(text.split('---\n').length, 3);
  const read = readYaml(text);
  assert.ok(read.ok);
  assert.deepEqual(
    read.resources.map(({ raw }) => raw),
    resources,
  );
  assert.match(text, /^apiVersion: gateway\.networking\.k8s\.io\/v1\nkind: Gateway\nmetadata:\n {2}name: mcp\n/);
});
