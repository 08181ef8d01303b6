// `mcp-gatehouse probe` against pages and ports that are well, not well yet, and somebody else's.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import http2 from 'node:http2';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { createHealth } from '../../src/base/health.ts';
import { Watchable } from '../../src/base/watchable.ts';
import { probeCommand } from '../../src/cmd/probe.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import type { PeerVerdict, XdsCertificate } from '../../src/xds/server.ts';
import { program } from '../kit/gateway-program.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import { startServer } from './xds-server-fixture.ts';

const options = { timeout: 180_000 };

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function probe(...args: readonly string[]): Promise<Outcome> {
  let stdout = '';
  let stderr = '';
  const code = await executeCommand(probeCommand, args, {
    stdout: (text) => void (stdout += text),
    stderr: (text) => void (stderr += text),
    color: false,
    env: {},
  });
  return { code, stdout, stderr };
}

/** Probes with more and more time until it was enough to hear this: how much that is depends on the machine. */
async function probeUntil(expected: RegExp, ...args: readonly string[]): Promise<Outcome> {
  for (let time = 50; ; time *= 2) {
    const outcome = await probe(...args, '--timeout', `${time}ms`);
    if (expected.test(outcome.stderr) || time > 60_000) return outcome;
  }
}

async function listen(t: TestContext, server: Pick<Server, 'listen' | 'address' | 'close' | 'once'>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server as Server, 'listening');
  t.after(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** As the controller answers on /readyz. */
async function startReadyPage(t: TestContext, health = createHealth()): Promise<string> {
  const server = createServer((_, response) => {
    const readiness = health.read();
    response.writeHead(readiness.ready ? 200 : 503).end(JSON.stringify(readiness));
  });
  t.after(() => server.closeAllConnections());
  return `http://127.0.0.1:${await listen(t, server)}/readyz`;
}

/** A controller's verdict on replicas: by the token alone. */
async function refuseStrangers({ token }: { readonly token: string | undefined }): Promise<PeerVerdict> {
  return token === undefined
    ? { allowed: false, code: 'unauthenticated', reason: 'there is no token' }
    : { allowed: false, code: 'permission_denied', reason: 'somebody else' };
}

describe('--ready', options, () => {
  test('a page that is ready', async (t) => {
    const health = createHealth();
    health.addCheck('process', 'starting').pass();
    const url = await startReadyPage(t, health);
    assert.deepEqual(await probe('--ready', url), { code: 0, stdout: `ready ${url}: yes\n`, stderr: '' });
  });

  test('it waits until the page is ready', async (t) => {
    const health = createHealth();
    const check = health.addCheck('caches', 'reading');
    const url = await startReadyPage(t, health);
    const probing = probe('--ready', url, '--timeout', '30s');
    setTimeout(() => check.pass(), 300);
    assert.equal((await probing).code, 0);
  });

  test('what is missing is told when the time is over', async (t) => {
    const health = createHealth();
    health.addCheck('process', 'starting').pass();
    health.addCheck('certificate', 'there is no tls.crt');
    const url = await startReadyPage(t, health);
    assert.deepEqual(await probeUntil(/certificate/, '--ready', url), {
      code: 1,
      stdout: '',
      stderr: `ready ${url}: certificate: there is no tls.crt\n`,
    });
  });

  test('another status, a port that nobody has, a page that does not answer', async (t) => {
    const other = await listen(
      t,
      createServer((_, response) => void response.writeHead(404).end('nothing here')),
    );
    const status = /: it answers with status 404\n$/;
    assert.match((await probeUntil(status, '--ready', `http://127.0.0.1:${other}/`)).stderr, status);
    const silent = createTcpServer(() => {});
    const port = await listen(t, silent as unknown as Server);
    assert.match(
      (await probe('--ready', `http://127.0.0.1:${port}/`, '--timeout', '100ms')).stderr,
      /: it does not answer\n$/,
    );
    assert.match((await probeUntil(/ECONNREFUSED/, '--ready', 'http://127.0.0.1:1/')).stderr, /ECONNREFUSED/);
  });
});

describe('--xds', options, () => {
  test('an xDS server that refuses strangers', async (t) => {
    const { server, counts } = await startServer(t, { authorizeReplica: refuseStrangers });
    const address = `127.0.0.1:${server.port}`;
    assert.deepEqual(await probe('--xds', address), {
      code: 0,
      stdout: `xds ${address}: served without TLS, and peers without a token are refused\n`,
      stderr: '',
    });
    assert.deepEqual(counts.refused, ['unauthenticated']);
  });

  test('one that lets everybody in is not well', async (t) => {
    const { server } = await startServer(t);
    const expected = /: it accepts peers without a token\n$/;
    const { code, stderr } = await probeUntil(expected, '--xds', `127.0.0.1:${server.port}`);
    assert.equal(code, 1);
    assert.match(stderr, expected);
  });

  test('one that cannot tell at the moment is asked again', async (t) => {
    let asked = 0;
    const { server } = await startServer(t, {
      authorizeReplica: async (peer) => {
        asked += 1;
        return asked === 1
          ? { allowed: false, code: 'unavailable', reason: 'still reading the cluster' }
          : refuseStrangers(peer);
      },
    });
    assert.equal((await probe('--xds', `127.0.0.1:${server.port}`, '--timeout', '30s')).code, 0);
    assert.equal(asked, 2);
  });

  test('something else on the port: silence, HTTP/1, HTTP/2 without gRPC, another gRPC service', async (t) => {
    const silent = await listen(t, createTcpServer(() => {}) as unknown as Server);
    const http1 = await listen(
      t,
      createServer((_, response) => void response.end('hello')),
    );
    const plain = http2.createServer((_, response) => void response.end('hello'));
    const h2c = await listen(t, plain as unknown as Server);
    const foreign = http2.createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/grpc+proto', 'grpc-status': '12' }).end();
    });
    const grpc = await listen(t, foreign as unknown as Server);
    for (const port of [silent, http1, h2c, grpc, 1]) {
      const { code, stdout, stderr } = await probe('--xds', `127.0.0.1:${port}`, '--timeout', '300ms');
      assert.equal(code, 1, stderr);
      assert.equal(stdout, '');
      assert.match(stderr, /^xds 127\.0\.0\.1:\d+: \S.*\n$/);
    }
    const locked = http2.createServer((_, response) => void response.writeHead(401).end());
    for (const port of [h2c, grpc, await listen(t, locked as unknown as Server)]) {
      const expected = /it is not an xDS server of this gateway/;
      assert.match((await probeUntil(expected, '--xds', `127.0.0.1:${port}`)).stderr, expected);
    }
    const refused = /: connect ECONNREFUSED 127\.0\.0\.1:1\n$/;
    assert.match((await probeUntil(refused, '--xds', '127.0.0.1:1')).stderr, refused);
  });
});

describe('--xds with --ca', options, () => {
  const issuer = createAuthority();
  const { cert, key } = createCertificate({ names: ['127.0.0.1'], issuer });
  const folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-probe-'));
  const file = join(folder, 'ca.crt');

  test('TLS with the authority of the file', async (t) => {
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const certificate = new Watchable<XdsCertificate | undefined>({ certificateChain: cert, privateKey: key });
    const { server } = await startServer(t, { certificate, authorizeReplica: refuseStrangers });
    const address = `127.0.0.1:${server.port}`;

    const early = await probeUntil(/ENOENT/, '--xds', address, '--ca', file);
    assert.equal(early.stderr, `xds ${address}: ${file} cannot be read: ENOENT\n`);
    const probing = probe('--xds', address, '--ca', file, '--timeout', '30s');
    writeFileSync(file, issuer.cert);
    assert.deepEqual(await probing, {
      code: 0,
      stdout: `xds ${address}: served over TLS, and peers without a token are refused\n`,
      stderr: '',
    });

    writeFileSync(file, createAuthority('Another CA').cert);
    const stranger = await probeUntil(/certificate/, '--xds', address, '--ca', file);
    assert.equal(stranger.code, 1);
    assert.match(stranger.stderr, /certificate/);
    writeFileSync(file, '-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n');
    const broken = await probe('--xds', address, '--ca', file, '--timeout', '300ms');
    assert.deepEqual([broken.code, broken.stdout], [1, '']);
    assert.match(broken.stderr, /^xds \S+: \S.*\n$/);
    const plain = await probe('--xds', address, '--timeout', '300ms');
    assert.equal(plain.code, 1);
  });
});

describe('the command line', options, () => {
  test('what cannot be meant is refused', async () => {
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [[], /say what to check/],
      [['--ready', 'proxy:9093'], /--ready must be a URL/],
      [['--xds', 'proxy'], /--xds must be a host and a port/],
      [['--xds', 'http://proxy:9978'], /--xds must be a host and a port/],
      [['--xds', 'proxy:99999'], /--xds must be a host and a port/],
      [['--ready', 'http://proxy/', '--ca', 'x'], /--ca goes with --xds/],
      [['--timeout', 'soon', '--xds', 'proxy:1'], /--timeout must be a duration/],
    ];
    for (const [args, expected] of cases) {
      const { code, stdout, stderr } = await probe(...args);
      assert.equal(code, 2, stderr);
      assert.equal(stdout, '');
      assert.match(stderr, expected);
      assert.match(stderr, /See mcp-gatehouse probe --help\.\n$/);
    }
  });

  test('as a process: one line per check, and it ends by itself', async (t) => {
    const health = createHealth();
    health.addCheck('process', 'starting').pass();
    const url = await startReadyPage(t, health);
    const { server } = await startServer(t, { authorizeReplica: refuseStrangers });
    const args = [program, 'probe', '--ready', url, '--xds', `127.0.0.1:${server.port}`];
    const { promise, resolve: done, reject } = Promise.withResolvers<string>();
    execFile(process.execPath, args, { timeout: 170_000 }, (error, stdout) => (error ? reject(error) : done(stdout)));
    assert.deepEqual(
      (await promise).split('\n').map((line) => line.split(' ')[0]),
      ['ready', 'xds', ''],
    );
  });

  test('--help', async () => {
    const { code, stdout } = await probe('--help');
    assert.equal(code, 0);
    for (const flag of ['--ready URL', '--xds HOST:PORT', '--ca FILE', '--timeout DURATION', 'default 30s'])
      assert.ok(stdout.includes(flag), flag);
  });
});
