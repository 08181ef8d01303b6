// What `run` has loaded once it has served a request: what a simple configuration does not need costs no time at the start and no memory afterwards.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTestKey } from '../kit/test-issuer.ts';
import { sources } from '../kit/gateway-program.ts';
import { startRecordingUpstream } from '../kit/recording-upstream.ts';
import { copyBuiltProgram } from './built-program.ts';
import type { Loaded } from './list-loaded.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayProcessRun, runGatewayProcess } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

const list = join(tmpdir(), `mcp-gatehouse-loaded-${process.pid}.json`);

/** A gateway that can be asked what it has loaded. */
function start(resources: (port: number) => readonly object[], program = sources): Promise<GatewayProcessRun> {
  const hook = new URL('list-loaded.ts', import.meta.url).href;
  return runGatewayProcess({ resources, env: { NODE_OPTIONS: `--import=${hook}`, LOADED_LIST: list }, program });
}

async function readLoaded(gateway: GatewayProcessRun): Promise<Loaded> {
  rmSync(list, { force: true });
  process.kill(gateway.child.pid, 'SIGUSR2');
  await waitFor(() => existsSync(list));
  return JSON.parse(readFileSync(list, 'utf8')) as Loaded;
}

/** The packages that files are of. */
function listPackages({ files }: Loaded): string[] {
  const names = files.map((file) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))].toSorted();
}

const key = createTestKey('RS256', { kid: 'k', alg: 'RS256', use: 'sig' });

function createResources(port: number, upstream: number, jwks: object): readonly object[] {
  return [
    gatewayResource(port),
    routeResource('mcp', [ruleTo('/mcp', 'mcp')]),
    routeResource('open', [ruleTo('/open', 'mcp')]),
    backendResource('mcp', upstream),
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyPolicy',
      metadata: { name: 'jwt' },
      spec: {
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'mcp' }],
        traffic: {
          jwtAuthentication: { providers: [{ name: 'idp', issuer: 'https://idp.example', audiences: ['a'], jwks }] },
        },
      },
    },
  ];
}

test('a gateway with a JWT policy loads what it needs, and no more', async (t) => {
  const upstream = await startRecordingUpstream('mcp');
  t.after(() => upstream.close());
  const keys = { inline: JSON.stringify({ keys: [key.publicJwk] }) };
  const gateway = await start((port) => createResources(port, upstream.port, keys));
  t.after(() => gateway.stop());
  const statuses = await Promise.all(
    ['/mcp', '/open'].map(async (path) => (await fetch(`http://127.0.0.1:${gateway.port}${path}`)).status),
  );
  assert.deepEqual(statuses, [401, 200]);

  const loaded = await readLoaded(gateway);
  assert.deepEqual(listPackages(loaded), [
    '@bufbuild/cel',
    '@bufbuild/cel-spec',
    '@bufbuild/protobuf',
    '@bufbuild/re2',
    'yaml',
    'zod',
  ]);
  const folders = new Set(loaded.files.map((file) => /\/src\/([^/]+)\//.exec(file)?.[1]));
  for (const folder of ['controller', 'demo', 'deploy', 'kubernetes', 'xds']) assert.ok(!folders.has(folder), folder);
  assert.ok(folders.has('gateway') && folders.has('translate'));
  // An import of node:http brings fetch along, with the HTTP client that is built into Node.
  for (const builtin of ['tls', 'http2', 'https', 'zlib', 'internal/deps/undici/undici']) {
    assert.ok(!loaded.builtins.includes(builtin), `${builtin} is loaded`);
  }
  assert.ok(loaded.builtins.includes('net') && loaded.builtins.includes('crypto'));
});

test('the program that is built has few files to load', async (t) => {
  const folder = fileURLToPath(new URL(`../../build/loaded-at-start-${process.pid}`, import.meta.url));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  await copyBuiltProgram(folder);
  const upstream = await startRecordingUpstream('mcp');
  t.after(() => upstream.close());
  const keys = { inline: JSON.stringify({ keys: [key.publicJwk] }) };
  const gateway = await start((port) => createResources(port, upstream.port, keys), join(folder, 'mcp-gatehouse.js'));
  t.after(() => gateway.stop());
  assert.equal((await fetch(`http://127.0.0.1:${gateway.port}/open`)).status, 200);

  const loaded = await readLoaded(gateway);
  const files = loaded.files.filter((file) => file.includes('/build/'));
  assert.ok(files.length > 1 && files.length <= 10, files.join('\n'));
});

test('the HTTP client for identity providers is loaded with the first call to one', async (t) => {
  const upstream = await startRecordingUpstream('mcp', (_, response) => {
    response.end(JSON.stringify({ keys: [key.publicJwk] }));
  });
  t.after(() => upstream.close());
  const jwks = { url: `http://127.0.0.1:${upstream.port}/jwks` };
  const gateway = await start((port) => createResources(port, upstream.port, jwks));
  t.after(() => gateway.stop());
  await waitFor(() => upstream.requests.some(({ url }) => url === '/jwks'));
  assert.ok(listPackages(await readLoaded(gateway)).includes('undici'));
});
