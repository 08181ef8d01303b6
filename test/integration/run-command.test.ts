// `mcp-gatehouse run` as a user meets it: what it prints when something is wrong, and what it serves when only part of it is right.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startChild } from '../kit/child-process.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { runCommandHere } from '../kit/run-command.ts';
import { runCommand as runHere } from '../../src/cmd/run.ts';
import { startCountingUpstream } from './counting-upstream.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

const launcher = fileURLToPath(new URL('../../bin/mcp-gatehouse.mjs', import.meta.url));

async function runCommand(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = startChild({ command: process.execPath, args: [launcher, ...args] });
  const code = await child.waitForExit();
  return { code, output: child.readOutput() };
}

function postTo(port: number, path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: '{}', headers });
}

async function readError(response: Response): Promise<string> {
  const body = (await response.json()) as { error: string; error_description: string; request_id: string };
  assert.deepEqual(Object.keys(body), ['error', 'error_description', 'request_id']);
  assert.equal(response.headers.get('x-request-id'), body.request_id);
  return `${response.status} ${body.error}`;
}

describe('a start that cannot succeed says why in one line, with the right exit code', () => {
  test('nothing to serve', async () => {
    const { code, output } = await runCommand('run');
    assert.equal(code, 2);
    assert.match(output, /^mcp-gatehouse run: say what to serve: -f PATH or --target URL$/m);
  });

  test('flags that do not go together', async () => {
    const { code, output } = await runCommand('run', '-f', 'x.yaml', '--port', '3000');
    assert.equal(code, 2);
    assert.match(output, /--port goes with --target/);
  });

  test('an unknown flag, an unknown command', async () => {
    const flag = await runCommand('run', '--taget', 'http://127.0.0.1:1/');
    assert.equal(flag.code, 2);
    assert.match(flag.output, /--taget.*--target/);
    const command = await runCommand('rum');
    assert.equal(command.code, 2);
    assert.match(command.output, /no command "rum"/);
  });

  test('a worker that was started by hand', () => {
    // Without a channel, which children of the kit have.
    const { status, stderr } = spawnSync(process.execPath, [launcher, 'worker'], { encoding: 'utf8', timeout: 60_000 });
    assert.equal(
      stderr,
      'mcp-gatehouse worker: it is started by mcp-gatehouse run --workers, and serves nothing by itself\n',
    );
    assert.equal(status, 2);
  });

  test('a path that does not exist', async () => {
    const { code, output } = await runCommand('run', '-f', 'does-not-exist.yaml');
    assert.equal(code, 1);
    assert.match(output, /^mcp-gatehouse run: does-not-exist\.yaml: .*(exist|found)/m);
  });

  test('a file that is no YAML: file, line and column', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-run-'));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'broken.yaml'), 'kind: Gateway\n  metadata: {\n');
    const { code, output } = await runCommand('run', '-f', folder);
    assert.equal(code, 1);
    assert.match(output, /broken\.yaml:\d+:\d+: \S/);
  });

  for (const [what, flagOf] of [
    ['traffic', (port: number) => ['--port', port]],
    ['admin', (port: number) => ['--admin-port', port]],
    ['metrics', (port: number) => ['--metrics-port', port]],
    ['readiness', (port: number) => ['--readiness-port', port]],
  ] as const) {
    test(`the ${what} port is taken`, async (t) => {
      const taken = createServer();
      await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
      t.after(() => taken.close());
      const { port } = taken.address() as AddressInfo;
      const [free, admin, metrics, readiness] = await findFreePorts(4);
      const ports = { '--port': free, '--admin-port': admin, '--metrics-port': metrics, '--readiness-port': readiness };
      const flags = Object.entries({ ...ports, ...Object.fromEntries([flagOf(port)]) })
        .flat()
        .map(String);
      const { code, output } = await runCommand(
        'run',
        '--target',
        'http://127.0.0.1:9/mcp',
        '--log-level',
        'error',
        ...flags,
      );
      assert.equal(code, 1);
      assert.equal(output.trim().split('\n').length, 1, output);
      assert.match(output, new RegExp(`port ${port}\\b.*use`));
    });
  }
});

describe('the Inference Extension', () => {
  const inference = 'inference.networking.k8s.io';
  const pool = (name: string, port: number, failureMode: string): object => ({
    apiVersion: `${inference}/v1`,
    kind: 'InferencePool',
    metadata: { name },
    spec: {
      selector: { matchLabels: { app: 'model' } },
      targetPorts: [{ number: port }],
      endpointPickerRef: { name: 'picker', port: { number: 9002 }, failureMode },
    },
  });
  const listResources = (port: number, modelPort: number): readonly object[] => [
    gatewayResource(port),
    routeResource(
      'models',
      ['open', 'closed'].map((name) => ({
        matches: [{ path: { value: `/${name}` } }],
        backendRefs: [{ group: inference, kind: 'InferencePool', name }],
      })),
    ),
    pool('open', modelPort, 'FailOpen'),
    pool('closed', modelPort, 'FailClose'),
    // There is no picker: the failure mode decides.
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'picker' }, spec: { ports: [{ port: 9002 }] } },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'model-1', labels: { app: 'model' } },
      status: { phase: 'Running', podIP: '127.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
    },
  ];

  test('with the switch pools are served, without it they are refused by name', async (t) => {
    const model = await startCountingUpstream();
    t.after(() => model.close());
    const on = await runGateway({
      resources: (port) => listResources(port, model.port),
      flags: ['--inference-extension'],
    });
    t.after(() => on.stop());
    assert.equal((await postTo(on.port, '/open')).status, 200);
    assert.equal(await readError(await postTo(on.port, '/closed')), '503 picker_unavailable');

    const off = await runGateway({ resources: (port) => listResources(port, model.port) });
    t.after(() => off.stop());
    assert.equal(await readError(await postTo(off.port, '/open')), '500 backend_invalid');
    const output = off.readOutput();
    assert.match(
      output,
      /kind: InferencePools are only read with the Inference Extension: start with --inference-extension/,
    );
    assert.match(output, /kind: Pods are only read with the Inference Extension/);
  });
});

describe('one bad resource does not take down the good ones', () => {
  test('a bad route, a bad backend and a bad policy: each is reported, the rest serves, what was to be protected is closed', async (t) => {
    const upstream = await startCountingUpstream();
    t.after(() => upstream.close());
    const policy = (name: string, target: object, spec: object): object => ({
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyPolicy',
      metadata: { name },
      spec: { targetRefs: [target], ...spec },
    });
    const http = 'gateway.networking.k8s.io';
    const gateway = await runGateway({
      resources: (port) => [
        gatewayResource(port),
        routeResource('good', [ruleTo('/good', 'server')]),
        routeResource('typo', [{ ...ruleTo('/typo', 'server'), matchs: [] }]),
        routeResource('broken-backend', [ruleTo('/broken-backend', 'broken')]),
        routeResource('closed', [ruleTo('/closed', 'server')]),
        routeResource('jwt', [ruleTo('/jwt', 'server')]),
        routeResource('protected-backend', [ruleTo('/protected-backend', 'protected')]),
        backendResource('server', upstream.port),
        backendResource('protected', upstream.port),
        backendResource('broken', 0),
        policy('typo', { group: http, kind: 'HTTPRoute', name: 'closed' }, { traffic: { crs: {} } }),
        policy(
          'jwt',
          { group: http, kind: 'HTTPRoute', name: 'jwt' },
          { traffic: { jwtAuthentication: { providers: [{ name: 'a', issuer: 'https://a.example' }] } } },
        ),
        policy(
          'mcp',
          { group: 'gateway.proxy', kind: 'ProxyBackend', name: 'protected' },
          // The identity provider does not answer: without keys no token can be verified, so no request passes.
          { backend: { mcp: { authentication: { issuer: 'http://127.0.0.1:9' } } } },
        ),
      ],
    });
    t.after(() => gateway.stop());
    assert.equal((await postTo(gateway.port, '/good')).status, 200);
    assert.equal(await readError(await postTo(gateway.port, '/typo')), '404 no_route');
    assert.equal(await readError(await postTo(gateway.port, '/broken-backend')), '500 backend_invalid');
    assert.equal(await readError(await postTo(gateway.port, '/closed')), '500 policy_invalid');
    assert.equal(await readError(await postTo(gateway.port, '/jwt')), '500 policy_invalid');
    assert.equal(await readError(await postTo(gateway.port, '/protected-backend')), '503 keys_unavailable');
    // On a busy machine the first attempt may say that there was no answer in time.
    const saysWhy = /http:\/\/127\.0\.0\.1:9\S* cannot be reached: the connection was refused/;
    await waitFor(() => saysWhy.test(gateway.readOutput()));
    const output = gateway.readOutput();
    assert.match(output, /gateway\.yaml:\d+:\d+ spec\.rules\[0\]\.matchs: .*did you mean .*matches/);
    assert.match(output, /gateway\.yaml:\d+:\d+ spec\.traffic\.crs: .*did you mean .*cors/);
    assert.match(output, /gateway\.yaml:\d+:\d+ spec\.traffic\.jwtAuthentication\.providers\[0\]\.jwks: required/);
    assert.match(output, /gateway\.yaml:\d+:\d+ spec\.mcp\.targets\[0\]\.static\.port: /);
  });

  test('a policy that goes bad keeps its last good form; a truncated file keeps its content', async (t) => {
    const upstream = await startCountingUpstream();
    t.after(() => upstream.close());
    const cors = (spec: object): object => ({
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyPolicy',
      metadata: { name: 'browsers' },
      spec: {
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'main' }],
        traffic: { cors: spec },
      },
    });
    const describeAll = (port: number, policy: object): object[] => [
      gatewayResource(port),
      routeResource('main', [ruleTo('/mcp', 'server')]),
      backendResource('server', upstream.port),
      policy,
    ];
    const gateway = await runGateway({
      resources: (port) => describeAll(port, cors({ allowOrigins: ['https://app.example'] })),
    });
    t.after(() => gateway.stop());
    const allowedOrigin = async (): Promise<string | null> => {
      const response = await postTo(gateway.port, '/mcp', { origin: 'https://app.example' });
      await response.text();
      return response.headers.get('access-control-allow-origin');
    };
    assert.equal(await allowedOrigin(), 'https://app.example');

    gateway.write(describeAll(gateway.port, cors({ allowOrgins: ['https://other.example'] })));
    await waitFor(() => /allowOrgins.*did you mean/.test(gateway.readOutput()));
    assert.equal(await allowedOrigin(), 'https://app.example');

    gateway.write([]);
    await waitFor(() => /gateway\.yaml:.*(empt|no resources)/i.test(gateway.readOutput()));
    assert.equal(await allowedOrigin(), 'https://app.example');

    gateway.write(describeAll(gateway.port, cors({ allowOrigins: ['https://*.example'] })));
    await waitFor(async () => {
      const response = await postTo(gateway.port, '/mcp', { origin: 'https://new.example' });
      await response.text();
      return response.headers.get('access-control-allow-origin') === 'https://new.example';
    });
  });
});

test('the short form serves, and says what', async (t) => {
  const upstream = await startCountingUpstream();
  t.after(() => upstream.close());
  const [port, admin, metrics, readiness] = (await findFreePorts(4)) as [number, number, number, number];
  const child = startChild({
    command: process.execPath,
    args: [
      launcher,
      'run',
      '--target',
      `http://127.0.0.1:${upstream.port}/mcp`,
      '--log-format',
      'text',
      '--port',
      port,
      '--admin-port',
      admin,
      '--metrics-port',
      metrics,
      '--readiness-port',
      readiness,
    ].map(String),
  });
  t.after(() => child.stop());
  await waitFor(() => child.readOutput().includes('Admin http'));
  assert.match(child.readOutput(), new RegExp(`^Serving http://127\\.0\\.0\\.1:${port} `, 'm'));
  assert.match(
    child.readOutput(),
    new RegExp(`/mcp/\\* +OPEN: no policy +-> ProxyBackend/default/mcp at 127\\.0\\.0\\.1:${upstream.port}`),
  );
  assert.equal((await postTo(port, '/mcp')).status, 200);
  assert.equal(await child.stop(), 0);
  assert.doesNotMatch(child.readOutput(), /does not answer yet/);
});

test('the short form says once that nobody answers at the target, after what it serves', async (t) => {
  const [port, target] = (await findFreePorts(2)) as [number, number];
  const own = ['--admin-port', '0', '--metrics-port', '0', '--readiness-port', '0'];
  const url = `http://127.0.0.1:${target}/mcp`;
  const args = ['--target', url, '--port', String(port), '--log-format', 'text', ...own];
  const run = runCommandHere(runHere, args, process.env);
  t.after(() => run.stop());
  const warning = `${url} does not answer yet (connection refused); requests get 502 until it does`;
  await waitFor('it says so', () => run.readOutput().includes(warning));
  assert.ok(run.readOutput().indexOf('Serving http') < run.readOutput().indexOf(warning), run.readOutput());
  assert.equal((await postTo(port, '/mcp')).status, 502);
  assert.equal(run.readOutput().split('does not answer yet').length, 2, 'once');
  assert.equal(await run.stop(), 0);
});

test('web pages of other sites do not reach a loopback listener', async (t) => {
  const upstream = await startCountingUpstream();
  t.after(() => upstream.close());
  const gateway = await runGateway({
    resources: (port) => [
      gatewayResource(port),
      routeResource('main', [ruleTo('/mcp', 'server')]),
      backendResource('server', upstream.port),
    ],
  });
  t.after(() => gateway.stop());
  assert.equal(
    await readError(await postTo(gateway.port, '/mcp', { origin: 'https://evil.example' })),
    '403 origin_not_allowed',
  );
  assert.equal((await postTo(gateway.port, '/mcp', { origin: 'http://localhost:5173' })).status, 200);
});
