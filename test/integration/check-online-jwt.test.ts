// `mcp-gatehouse check --online` and the keys of JWT providers: fetched as a gateway does, and a cross with advice where they are of no use.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { checkCommand } from '../../src/cmd/check.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import type { CheckReport } from '../../src/cmd/check-report.ts';
import { printResources } from '../../src/cmd/short-form.ts';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const goodKey = { ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }), kid: 'good' };
const weakKey = { kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'weak' };

const surroundings = [
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'public' },
    spec: { gatewayClassName: 'proxy', listeners: [{ name: 'http', port: 8080, protocol: 'HTTP' }] },
  },
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'api' },
    spec: {
      parentRefs: [{ name: 'public' }],
      rules: [{ backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'api' }] }],
    },
  },
  {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyBackend',
    metadata: { name: 'api' },
    spec: { mcp: { targets: [{ name: 'api', static: { host: '127.0.0.1', port: 3001 } }] } },
  },
];

async function runCheck(t: TestContext, providers: readonly object[], ...flags: string[]): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), 'check-online-jwt-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const policy = {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'tokens' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'public' }],
      traffic: { jwtAuthentication: { providers } },
    },
  };
  await writeFile(join(folder, 'gateway.yaml'), printResources([...surroundings, policy]));
  let out = '';
  let err = '';
  const code = await executeCommand(checkCommand, ['-f', folder, ...flags], {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    color: false,
    env: {},
  });
  return { code, out, err };
}

/** Where the keys are served; counts how often they were asked for. */
async function serveKeys(
  t: TestContext,
  listener: RequestListener,
): Promise<{ readonly url: string; readonly asked: () => number }> {
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`, asked: () => count };
}

function answer(body: unknown, status = 200, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

test('without --online no identity provider is asked', async (t) => {
  const { url, asked } = await serveKeys(t, answer({ keys: [goodKey] }));
  const run = await runCheck(t, [{ name: 'idp', issuer: 'https://idp.example.com', jwks: { url } }]);
  assert.equal(run.code, 0, run.err);
  assert.equal(asked(), 0);
  assert.match(
    run.out,
    /^Tokens\n {2}ProxyPolicy default\/tokens {2}Strict +in header authorization after "Bearer "$/m,
  );
  assert.match(run.out, /^ {4}idp +https:\/\/idp\.example\.com +keys from http:\S+\/keys +for any audience$/m);
});

describe('--online', () => {
  test('good keys have a tick, also beside one that is of no use', async (t) => {
    const { url, asked } = await serveKeys(t, answer({ keys: [goodKey, weakKey] }));
    const run = await runCheck(
      t,
      [
        { name: 'idp', issuer: 'https://idp.example.com', audiences: ['api'], jwks: { url } },
        { name: 'batch', issuer: 'batch', jwks: { inline: JSON.stringify({ keys: [goodKey] }) } },
      ],
      '--online',
    );
    assert.equal(run.code, 0, run.out);
    assert.equal(asked(), 1);
    assert.match(run.out, /^Provider idp of ProxyPolicy default\/tokens {2}https:\/\/idp\.example\.com$/m);
    assert.match(run.out, /✓ keys +http:\S+\/keys: 1 usable, 1 EdDSA\n {2}! +key weak is left out: it /);
    assert.match(run.out, /✓ audience +api$/m);
    assert.match(
      run.out,
      /^Provider batch of ProxyPolicy default\/tokens {2}batch\n {2}✓ keys +inline: 1 usable, 1 EdDSA$/m,
    );
    assert.match(run.out, /! audience +any: .*\n.*→ Set audiences/);
    assert.match(run.out, /^No problems\.$/m);
  });

  interface Case {
    readonly name: string;
    readonly listener: RequestListener;
    readonly lines: RegExp;
  }
  const effect = '→ Without keys every token of this issuer is answered 503\\.';
  const cases: readonly Case[] = [
    {
      name: 'an error',
      listener: answer({}, 500),
      lines: new RegExp(`✗ keys +http:\\S+ answers 500\n +${effect} Is jwks\\.url right\\?`),
    },
    {
      name: 'an empty set',
      listener: answer({ keys: [] }),
      lines: new RegExp(`✗ keys +the key set at http:\\S+ is empty\n +${effect} Does the identity provider publish`),
    },
    {
      name: 'no usable key',
      listener: answer({ keys: [{ ...goodKey, use: 'enc' }] }),
      lines: new RegExp(
        `✗ keys +the key set at .* has no key that verifies signatures: key good .*\n +${effect} Does the`,
      ),
    },
    {
      name: 'a page',
      listener: answer('<html>', 200, { 'content-type': 'text/html' }),
      lines: new RegExp(`✗ keys .*\n +${effect} Is jwks\\.url right\\?`),
    },
    {
      name: 'a redirect',
      listener: answer('', 302, { location: '/login' }),
      lines: new RegExp(`✗ keys .*a redirect.*\n +${effect} Set jwks\\.url to where it leads`),
    },
  ];
  for (const { name, listener, lines } of cases) {
    test(`${name} has a cross and advice`, async (t) => {
      const { url } = await serveKeys(t, listener);
      const good = { name: 'good', issuer: 'good', jwks: { inline: JSON.stringify({ keys: [goodKey] }) } };
      const providers = [{ name: 'idp', issuer: 'https://idp.example.com', jwks: { url } }, good];
      const run = await runCheck(t, providers, '--online');
      assert.equal(run.code, 1, run.out);
      assert.match(run.out, lines);
      assert.match(run.err, /^1 problem\n$/);
      const report = JSON.parse((await runCheck(t, providers, '--online', '--json')).out) as CheckReport;
      assert.deepEqual(
        report.online?.map(({ policy, provider, issuer, ok }) => [policy, provider, issuer, ok]),
        [
          ['default/tokens', 'idp', 'https://idp.example.com', false],
          ['default/tokens', 'good', 'good', true],
        ],
      );
      const [problem] = report.problems;
      assert.deepEqual([problem?.code, problem?.kind, problem?.name], ['identity_provider', 'ProxyPolicy', 'tokens']);
      assert.match(problem?.message ?? '', /^ProxyPolicy default\/tokens, provider idp: keys: /);
    });
  }

  test('nobody there', async (t) => {
    const { url } = await serveKeys(t, (request) => request.socket.destroy());
    const run = await runCheck(t, [{ name: 'idp', issuer: 'https://idp.example.com', jwks: { url } }], '--online');
    assert.equal(run.code, 1, run.out);
    assert.match(run.out, new RegExp(`✗ keys .*\n +${effect} Is the identity provider up`));
  });

  test('inline keys of which none is usable: that is known without asking anybody', async (t) => {
    const jwks = { inline: JSON.stringify({ keys: [weakKey] }) };
    const run = await runCheck(t, [{ name: 'idp', issuer: 'https://idp.example.com', jwks }]);
    assert.equal(run.code, 1, run.out);
    assert.match(
      run.err,
      /the provider "idp": the inline key set has no key that verifies signatures: key weak is too short/,
    );
  });
});
