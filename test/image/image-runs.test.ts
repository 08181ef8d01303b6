// The programs of the images, run as containers run them: from their own root, read-only, as their user.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { authoritiesFile } from '../../scripts/image/components.ts';
import { listAlternatives } from '../../src/base/nearest-name.ts';
import type { CommandTable } from '../../src/cmd/command-line.ts';
import { controllerCommands } from '../../src/cmd/controller-commands.ts';
import { gatewayCommands } from '../../src/cmd/gateway-commands.ts';
import { version } from '../../src/base/version.ts';
import { startQuirkyIdp } from '../idp/quirky-idp.ts';
import { startCollector } from '../integration/admin-otlp-collector.ts';
import { waitFor } from '../kit/wait-for.ts';
import type { Child } from '../kit/child-process.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import { startGrpcCollector } from './grpc-collector.ts';
import { buildCurrentImages } from './current-images.ts';
import { requireImageMachine } from './image-machine.ts';
import { runInRoot, startInRoot } from './run-in-root.ts';

const exampleFolder = join(import.meta.dirname, '..', '..', 'examples');

const roots = { controller: '', gateway: '' };

before(async () => {
  requireImageMachine();
  for (const { component, root } of await buildCurrentImages()) roots[component.name] = root;
});

describe('both', () => {
  for (const name of ['controller', 'gateway'] as const) {
    test(`${name}: the version is that of the package`, async () => {
      assert.deepEqual(await runInRoot({ root: roots[name], args: ['--version'] }), {
        exitCode: 0,
        output: `${version}\n`,
      });
    });

    test(`${name}: every command can be loaded, and no other is offered`, async () => {
      const known: CommandTable = name === 'controller' ? controllerCommands : gatewayCommands;
      const commands = [...Object.keys(known).filter((command) => known[command]!.isInternal !== true), 'version'];
      assert.ok(commands.includes(name));
      for (const command of commands) {
        const { exitCode, output } = await runInRoot({ root: roots[name], args: [...command.split(' '), '--help'] });
        assert.equal(exitCode, 0, output);
        assert.match(output, new RegExp(`^Usage: mcp-gatehouse ${command}\\b`));
      }
      for (const command of Object.keys(known).filter((each) => known[each]!.isInternal === true)) {
        const { exitCode, output } = await runInRoot({ root: roots[name], args: [command] });
        assert.equal(exitCode, 2, output);
        assert.match(output, new RegExp(`^mcp-gatehouse ${command}: it is started by mcp-gatehouse run --workers`));
      }
      const unknown = await runInRoot({ root: roots[name], args: ['demo'] });
      assert.equal(unknown.exitCode, 2);
      assert.ok(unknown.output.includes(`; there is ${listAlternatives(commands)}\n`), unknown.output);
    });

    test(`${name}: it runs as nobody in particular, and can write to /tmp only`, async () => {
      const script = `
        const write = (path) => { try { fs.writeFileSync(path, ''); return 'written'; } catch (error) { return error.code; } };
        console.log(JSON.stringify({
          ids: [process.getuid(), process.getgid(), ...process.getgroups()],
          files: ['/x', '/app/x', '/etc/x', '/tmp/x'].map(write),
        }));`;
      const { output } = await runInRoot({ root: roots[name], program: '/usr/local/bin/node', args: ['-e', script] });
      assert.deepEqual(JSON.parse(output), {
        ids: [65_532, 65_532, 65_532],
        files: ['EROFS', 'EROFS', 'EROFS', 'written'],
      });
    });
  }
});

describe('the controller', () => {
  test('says that it has no cluster', async () => {
    const { exitCode, output } = await runInRoot({ root: roots.controller, args: ['controller'] });
    assert.equal(exitCode, 1);
    assert.match(
      output,
      /^mcp-gatehouse controller: no Kubernetes cluster found: KUBERNETES_SERVICE_HOST is not set, so this process does not run in a pod; .*\n$/,
    );
  });

  test('reads a kubeconfig, for which it loads what it otherwise does not', async () => {
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'away', cluster: { server: 'http://127.0.0.1:1' } }],
      users: [{ name: 'away', user: { token: 'none' } }],
      contexts: [{ name: 'away', context: { cluster: 'away', user: 'away' } }],
      'current-context': 'away',
    };
    const { exitCode, output } = await runInRoot({
      root: roots.controller,
      args: ['status', '--kubeconfig', '/etc/kubeconfig'],
      files: { '/etc/kubeconfig': JSON.stringify(kubeconfig) },
    });
    assert.equal(exitCode, 2, output);
    assert.match(output, /no answer from http:\/\/127\.0\.0\.1:1: connect ECONNREFUSED/);
  });
});

describe('the gateway', () => {
  test('serves from files, asks for a login, traces, and ends when told to', async () => {
    const [collector, idp] = [await startCollector(), await startQuirkyIdp()];
    const [port, adminPort, metricsPort, readinessPort] = (await findFreePorts(4)).map(String);
    const target = ['--target', 'http://127.0.0.1:1/mcp', '--port', port!, '--issuer', idp.issuer];
    const { output: resources } = await runInRoot({ root: roots.gateway, args: ['run', ...target, '--print'] });
    const gateway = startInRoot({
      root: roots.gateway,
      args: ['run', '-f', '/etc/mcp-gateway/gateway.yaml', '--seal-key-file', '/tmp/seal-keys'],
      files: { '/etc/mcp-gateway/gateway.yaml': resources },
      env: {
        MCP_GATEHOUSE_ADMIN_PORT: adminPort!,
        MCP_GATEHOUSE_METRICS_PORT: metricsPort!,
        MCP_GATEHOUSE_READINESS_PORT: readinessPort!,
        MCP_GATEHOUSE_LOG_FORMAT: 'json',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_BSP_SCHEDULE_DELAY: '10',
      },
    });
    try {
      await waitUntilReady(gateway, readinessPort!);
      console.log(`gateway: ${readResidentMegabytes(gateway.pid)} MB resident when ready`);
      const ask = (): Promise<Response> =>
        fetch(`http://127.0.0.1:${port}/mcp`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
        });
      // 503 until it has the keys.
      await waitFor(async () => (await ask()).status !== 503);
      const answer = await ask();
      assert.equal(answer.status, 401, await answer.text());
      const metadataUrl = `http://127.0.0.1:${port}/.well-known/oauth-protected-resource/mcp`;
      assert.ok(answer.headers.get('www-authenticate')?.includes(`resource_metadata="${metadataUrl}"`));
      const metadata = (await (await fetch(metadataUrl)).json()) as { readonly resource: string };
      assert.equal(metadata.resource, `http://127.0.0.1:${port}/mcp`);
      await collector.waitForSpans(1);
      const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      assert.match(metrics, new RegExp(`build_info\\{version="${version}"`));
      assert.equal(await gateway.stop(), 0, gateway.readOutput());
    } finally {
      await gateway.stop();
      await collector.close();
      await idp.close();
    }
  });

  test('takes every example: expressions, patterns and certificates work as in a checkout', async () => {
    const certificate = createCertificate({ names: ['mcp.example.com', '*.example.com'] });
    const examples = globSync('*.yaml', { cwd: exampleFolder });
    assert.ok(examples.length >= 5, `${examples.length} examples`);
    const keyFiles = Object.fromEntries(
      globSync('keys/*', { cwd: exampleFolder }).map((file) => [
        `/etc/${file}`,
        readFileSync(join(exampleFolder, file), 'utf8'),
      ]),
    );
    for (const example of examples) {
      const text = readFileSync(join(exampleFolder, example), 'utf8');
      const { exitCode, output } = await runInRoot({
        root: roots.gateway,
        args: [
          'check',
          '-f',
          '/etc/example.yaml',
          ...(text.includes('kind: InferencePool') ? ['--inference-extension'] : []),
        ],
        files: { '/etc/example.yaml': text, ...keyFiles },
        env: { TLS_CRT: certificate.cert, TLS_KEY: certificate.key },
      });
      assert.equal(exitCode, 0, `${example}: ${output}`);
    }
  });

  test('traces over gRPC, for which it loads what it otherwise does not', async () => {
    const collector = await startGrpcCollector();
    const [port, adminPort, metricsPort, readinessPort] = (await findFreePorts(4)).map(String);
    const ports = ['--admin-port', adminPort!, '--metrics-port', metricsPort!, '--readiness-port', readinessPort!];
    const gateway = startInRoot({
      root: roots.gateway,
      args: ['run', '--target', 'http://127.0.0.1:1/mcp', '--port', port!, ...ports],
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
        OTEL_BSP_SCHEDULE_DELAY: '10',
      },
    });
    try {
      await waitUntilReady(gateway, readinessPort!);
      assert.equal((await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST' })).status, 502);
      const late = AbortSignal.timeout(30_000);
      const path = await Promise.race([collector.called, once(late, 'abort').then(() => gateway.readOutput())]);
      assert.equal(path, '/opentelemetry.proto.collector.trace.v1.TraceService/Export');
    } finally {
      await gateway.stop();
      collector.close();
    }
  });

  test('asks endpoint pickers, for which it loads what it otherwise does not', async () => {
    const [port, adminPort, metricsPort, readinessPort, pickerPort] = (await findFreePorts(5)).map(String);
    const ports = ['--admin-port', adminPort!, '--metrics-port', metricsPort!, '--readiness-port', readinessPort!];
    const example = readFileSync(join(exampleFolder, 'inference-pool.yaml'), 'utf8');
    // The picker of the example, on a port where nothing listens; without the policies, which are about other things.
    const pool = example
      .split('\n---\n')
      .filter((document) => !document.includes('kind: ProxyPolicy'))
      .join('\n---\n')
      .replaceAll('10.0.1.1', '127.0.0.1')
      .replaceAll('9002', pickerPort!)
      .replace('port: 8080', `port: ${port!}`)
      .replace('failureMode: FailOpen', 'failureMode: FailClose');
    const gateway = startInRoot({
      root: roots.gateway,
      args: ['run', '-f', '/etc/pool.yaml', '--inference-extension', ...ports],
      files: { '/etc/pool.yaml': pool },
    });
    try {
      await waitUntilReady(gateway, readinessPort!);
      const response = await fetch(`http://127.0.0.1:${port!}/v1/models`);
      const { error } = (await response.json()) as { error: string };
      assert.deepEqual([response.status, error], [503, 'picker_unavailable'], gateway.readOutput());
    } finally {
      await gateway.stop();
    }
  });

  test('finds names in /etc/hosts, and trusts the authorities of the file that is mounted', async () => {
    const authority = createAuthority();
    const certificate = createCertificate({ names: ['idp.test'], issuer: authority });
    const server = createServer(certificate, (_, response) => void response.writeHead(404).end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const issuer = `https://idp.test:${(server.address() as AddressInfo).port}`;
      const target = ['--target', 'http://127.0.0.1:1/mcp', '--issuer', issuer];
      const { output: resources } = await runInRoot({ root: roots.gateway, args: ['run', ...target, '--print'] });
      const files = { '/etc/hosts': '127.0.0.1 idp.test\n', '/etc/gateway.yaml': resources };
      const run = { root: roots.gateway, args: ['check', '--online', '-f', '/etc/gateway.yaml'] };
      const stranger = await runInRoot({ ...run, files });
      assert.match(stranger.output, /certificate/i);
      assert.doesNotMatch(stranger.output, /answers 404/);
      const trusted = await runInRoot({ ...run, files: { ...files, [authoritiesFile]: authority.cert } });
      assert.match(trusted.output, /404/);
    } finally {
      server.close();
    }
  });

  test('as a pod without a controller it waits, alive and not ready, and ends when told to', async () => {
    const [metricsPort, readinessPort, adminPort] = (await findFreePorts(3)).map(String);
    const gateway = startInRoot({
      root: roots.gateway,
      args: ['gateway'],
      env: {
        MCP_GATEHOUSE_CONTROLLER: 'http://127.0.0.1:1',
        MCP_GATEHOUSE_CONTROLLER_TOKEN: '/etc/token',
        MCP_GATEHOUSE_GATEWAY: 'default/test',
        MCP_GATEHOUSE_NODE_ID: 'test',
        MCP_GATEHOUSE_ADMIN_PORT: adminPort!,
        MCP_GATEHOUSE_METRICS_PORT: metricsPort!,
        MCP_GATEHOUSE_READINESS_PORT: readinessPort!,
      },
      files: { '/etc/token': 'none' },
    });
    try {
      await waitUntilReady(gateway, readinessPort!, '/live');
      assert.equal((await fetch(`http://127.0.0.1:${readinessPort}/ready`)).status, 503);
      assert.equal(await gateway.stop(), 0, gateway.readOutput());
    } finally {
      await gateway.stop();
    }
  });
});

async function waitUntilReady(child: Child, port: string, path = '/ready'): Promise<void> {
  await waitFor(async () => {
    if (child.exitCode() !== undefined) throw new Error(`it ended:\n${child.readOutput()}`);
    return (await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined))?.ok === true;
  });
}

function readResidentMegabytes(pid: number): number {
  const [, kilobytes] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1000);
}
