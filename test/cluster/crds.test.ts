// Our CRDs in a real API server: it takes them, explains them, and judges resources as src/api does, so that what is wrong is refused
// when it is written and not found out later.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { parseResource } from '../../src/api/parse-resource.ts';
import { formatFieldPath } from '../../src/api/problem.ts';
import { loadGoodResources, type RawResource } from '../../src/api/testing/load-testdata.ts';
import { type ApiCase, collectApiCases } from './api-cases.ts';
import { ApiError } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('crds');
const apiVersion = 'gateway.proxy/v1alpha1';
const plurals: Readonly<Record<string, string>> = {
  ProxyPolicy: 'proxypolicies',
  ProxyBackend: 'proxybackends',
  GatewayParameters: 'gatewayparameters',
};

/** What the API server cannot judge, by the path of the problem. The controller says it in the status, and closes what it protects. */
const beyondTheSchema: readonly { readonly path: RegExp; readonly why: string }[] = [
  { path: /\.matchExpressions\[\d+\]$/, why: 'an expression is text to a schema' },
  { path: /\.tokens\.scopes\[\d+\]\.when$/, why: 'an expression is text to a schema' },
  {
    path: /^spec\.backend\.mcp\.authentication$/,
    why: 'who gets in depends on requiredClaims, whose values have no one type',
  },
  { path: /^spec\.overlays\./, why: 'an overlay is a free form of any depth' },
  { path: /\.requiredClaims\./, why: 'the value of a claim has no one type' },
  { path: /\.static\.host$/, why: 'an address is a host name to a pattern' },
];

const gateway = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' };
const backend = { group: 'gateway.proxy', kind: 'ProxyBackend', name: 'b', sectionName: 'a' };

/** For rules that no unit test breaks. */
const furtherCases: readonly ApiCase[] = [
  ...['MCP_GATEHOUSE_LOG_FORMAT', 'MCP_GATEHOUSE_DRAIN_TIMEOUT', 'MCP_GATEHOUSE_TRUSTED_PROXIES'].map((name) =>
    createCase('GatewayParameters', { env: [{ name, value: 'a' }] }),
  ),
  createCase('ProxyPolicy', {
    targetRefs: [backend],
    backend: { mcp: { authentication: { issuer: 'https://a.example' } } },
  }),
  createCase('ProxyPolicy', { targetRefs: [gateway], traffic: { cors: { allowOrigins: ['*', 'https://a.example'] } } }),
];

let cluster: Cluster;
let cases: readonly ApiCase[];
let judging: Promise<readonly (readonly [ApiCase, Judgement])[]> | undefined;

before(async () => {
  cluster = await joinCluster();
  cases = [...(await collectApiCases(apiVersion, Object.keys(plurals))), ...furtherCases];
});
after(leaveCluster);

function createCase(kind: string, spec: object): ApiCase {
  return { apiVersion, kind, metadata: { name: 'a' }, spec };
}

/** What the API server says to creating a resource: why not, or what it would store. Nothing is created. */
type Judgement = { readonly refusal: string } | { readonly refusal?: undefined; readonly stored: ApiCase };

async function judge(resource: ApiCase, validation: 'Strict' | 'Ignore'): Promise<Judgement> {
  const path = `/apis/${apiVersion}/namespaces/${namespace}/${plurals[resource.kind]}`;
  try {
    return { stored: await cluster.api.create(`${path}?dryRun=All&fieldValidation=${validation}`, resource) };
  } catch (error) {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500) return { refusal: error.message };
    throw error;
  }
}

async function judgeAll(): Promise<readonly (readonly [ApiCase, Judgement])[]> {
  const results: [ApiCase, Judgement][] = [];
  const waiting = [...cases];
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      results.push([next, await judge(next, 'Ignore')]);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return results;
}

/** All cases with what the API server says to them. */
const judgeOnce = () => (judging ??= judgeAll());

describe('the API server', () => {
  test('has our kinds, with short names and columns', async () => {
    const { stdout } = await cluster.kubectl([
      'api-resources',
      '--api-group=gateway.proxy',
      '-o',
      'wide',
      '--no-headers',
    ]);
    for (const [kind, plural] of Object.entries(plurals)) {
      assert.match(stdout, new RegExp(`^${plural}\\s+\\S+\\s+gateway\\.proxy/v1alpha1\\s+true\\s+${kind}\\s`, 'm'));
    }
  });

  test('explains every field', async () => {
    for (const plural of Object.values(plurals)) {
      const { stdout } = await cluster.kubectl(['explain', `${plural}.spec`, '--recursive']);
      assert.match(stdout, /FIELDS:/);
    }
    const { stdout } = await cluster.kubectl(['explain', 'proxypolicy.spec.backend.mcp.authentication.issuer']);
    assert.match(stdout, /DESCRIPTION:\n\s+\S/);
  });

  test('takes the good resources of src/api/testdata, ours and those of the Gateway API', async () => {
    const refusals: string[] = [];
    const custom = loadGoodResources().filter(
      (resource) =>
        // Some fields are for gateways that read files.
        resource.apiVersion.startsWith('gateway.') && parseResource(resource, { origin: 'kubernetes' }).ok,
    );
    assert.ok(custom.length > 10);
    for (const { metadata, ...resource } of custom) {
      // Their metadata shows that we read all of it; an API server wants it to mean something, and there may be one of the name.
      const text = JSON.stringify({ ...resource, metadata: { name: `${metadata.name}-once-more` } });
      await cluster
        .kubectl(['create', '--dry-run=server', '--validate=strict', '-f', '-'], text)
        .catch((error: Error) => refusals.push(`${resource.kind} ${metadata.name}: ${error.message}`));
    }
    assert.deepEqual(refusals, []);
  });
});

describe('every case of the unit tests of src/api', () => {
  test('is judged the same by the API server and by src/api', async () => {
    assert.ok(cases.length > 800, `only ${cases.length} cases were found`);
    const differences: string[] = [];
    let refused = 0;
    for (const [resource, { refusal }] of await judgeOnce()) {
      const result = parseResource(resource, { origin: 'kubernetes' });
      const problems = result.ok ? [] : result.problems;
      const decidable = problems.filter(
        ({ code, path }) =>
          code !== 'not_supported_yet' && !beyondTheSchema.some((rule) => rule.path.test(formatFieldPath(path))),
      );
      if (refusal !== undefined) refused += 1;
      const text = JSON.stringify(resource['spec']);
      if (refusal !== undefined && result.ok) differences.push(`only the API server refuses ${text}: ${refusal}`);
      if (refusal === undefined && decidable.length > 0) {
        const why = decidable.map(({ path, message }) => `${formatFieldPath(path)}: ${message}`).join('; ');
        differences.push(`only src/api refuses ${text}: ${why}`);
      }
    }
    assert.deepEqual(differences, []);
    assert.ok(refused > 500, `only ${refused} cases were refused`);
  });

  test('means the same in files and in the API server, which writes down the same defaults and no others', async () => {
    const differences: string[] = [];
    let compared = 0;
    for (const [resource, judgement] of await judgeOnce()) {
      const result = parseResource(resource, { origin: 'file' });
      if (judgement.refusal !== undefined || !result.ok) continue;
      compared += 1;
      // Without members that are undefined.
      const expected: unknown = JSON.parse(JSON.stringify((result.resource as { readonly spec?: unknown }).spec));
      if (!isDeepStrictEqual(judgement.stored['spec'], expected))
        differences.push(`${JSON.stringify(judgement.stored['spec'])} instead of ${JSON.stringify(expected)}`);
    }
    assert.deepEqual(differences, []);
    assert.ok(compared > 100, `only ${compared} cases were compared`);
  });

  test('breaks every rule of the CRDs at least once, and the API server says its message', async () => {
    const said = (await judgeOnce()).flatMap(([, { refusal }]) => refusal ?? []).join('\n');
    const silent = listRuleMessages().filter((message) => !said.includes(message));
    assert.deepEqual(silent, []);
  });

  test('with a misspelled field is refused to those who ask for it, as kubectl does', async () => {
    const [good] = loadGoodResources().filter(({ kind }) => kind === 'ProxyBackend') as readonly (RawResource &
      ApiCase)[];
    assert.ok(good !== undefined);
    const misspelled = { ...good, spec: { ...(good['spec'] as object), mpc: {} } };
    assert.match((await judge(misspelled, 'Strict')).refusal ?? '', /unknown field "spec\.mpc"/);
    assert.equal((await judge(misspelled, 'Ignore')).refusal, undefined);
  });
});

function listRuleMessages(): readonly string[] {
  const folder = join(import.meta.dirname, '..', '..', 'charts', 'proxy-crds', 'templates');
  const messages = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, field] of Object.entries(value)) {
      if (key !== 'x-kubernetes-validations') collect(field);
      else for (const { message } of field as readonly { readonly message: string }[]) messages.add(message);
    }
  };
  for (const file of globSync('*.yaml', { cwd: folder })) collect(parse(readFileSync(join(folder, file), 'utf8')));
  return [...messages];
}
