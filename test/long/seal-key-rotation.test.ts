// Seal keys of a running gateway: made when they are first needed, rotated without a restart and without logging anyone out, kept when the file breaks.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { rotateKeyCommand } from '../../src/cmd/rotate-key.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { buildShortForm, printResources } from '../../src/cmd/short-form.ts';
import { startOidcProviderIdp } from '../idp/oidc-provider-idp.ts';
import { type ProtectedGateway, startProtectedGateway } from '../idp/protected-gateway.ts';
import { startChild } from '../kit/child-process.ts';
import { program } from '../kit/gateway-program.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'seal-keys-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function startSealingGateway(t: TestContext, sealKeyFile: string): Promise<ProtectedGateway> {
  const idp = await startOidcProviderIdp();
  t.after(() => idp.close());
  const [port] = (await findFreePorts(1)) as [number];
  const gateway = await startProtectedGateway({
    backends: [
      {
        path: '/mcp',
        port,
        authentication: { issuer: idp.issuer, registration: { trustedRedirectUris: [redirectUri] } },
      },
    ],
    sealKeyFile,
  });
  t.after(() => gateway.stop());
  return gateway;
}

async function rotate(file: string, ...flags: string[]): Promise<void> {
  const io = { stdout: () => {}, stderr: () => {}, color: false, env: {} };
  assert.equal(await executeCommand(rotateKeyCommand, ['--seal-key-file', file, ...flags], io), 0);
}

async function countKeys({ adminPort }: ProtectedGateway): Promise<number | undefined> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/config`);
  const { secrets } = (await response.json()) as { secrets: { key: string; sealKeys?: { count: number } }[] };
  return secrets.find(({ key }) => key === 'SealKeys')?.sealKeys?.count;
}

const redirectUri = 'http://127.0.0.1:9/callback';

async function register({ url }: ProtectedGateway): Promise<string> {
  const response = await fetch(`${url}/.oauth/mcp/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirectUri], client_name: 'test', token_endpoint_auth_method: 'none' }),
  });
  const text = await response.text();
  assert.equal(response.status, 201, text);
  return (JSON.parse(text) as { client_id: string }).client_id;
}

/** True: sent on to the identity provider. False: the client is not known. */
async function canLogIn({ url }: ProtectedGateway, clientId: string): Promise<boolean> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    state: 's',
  });
  const response = await fetch(`${url}/.oauth/mcp/authorize?${query.toString()}`, { redirect: 'manual' });
  await response.text();
  assert.ok(response.status < 500, `answered ${response.status}`);
  return response.status >= 300 && response.status < 400;
}

describe('seal keys of a running gateway', () => {
  test('are made with 0600 when first needed, and rotate without logging anyone out', async (t) => {
    const file = join(await makeFolder(t), 'state', 'seal-keys');
    const gateway = await startSealingGateway(t, file);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(join(file, '..')).mode & 0o777, 0o700);
    assert.equal(await countKeys(gateway), 1);
    const client = await register(gateway);

    await rotate(file);
    await waitFor(async () => (await countKeys(gateway)) === 2);
    assert.ok(await canLogIn(gateway, client), 'sealed with the key until now');
    const later = await register(gateway);

    // What a leak asks for: nothing of before opens any more.
    await rotate(file, '--drop-previous');
    await waitFor(async () => (await countKeys(gateway)) === 1);
    assert.ok(!(await canLogIn(gateway, client)));
    assert.ok(!(await canLogIn(gateway, later)));
    assert.ok(await canLogIn(gateway, await register(gateway)));

    const log = JSON.stringify(gateway.readLog());
    assert.match(log, /made new seal keys/);
    assert.match(log, /the seal keys were rotated/);
    const [, current] = /current: (\S+)/.exec(readFileSync(file, 'utf8'))!;
    assert.ok(!log.includes(current!));
  });

  test('stay in force while the file is broken, readable by others or gone; and the log says so once', async (t) => {
    const folder = await makeFolder(t);
    const file = join(folder, 'seal-keys');
    const gateway = await startSealingGateway(t, file);
    const client = await register(gateway);
    const good = readFileSync(file, 'utf8');
    const countLines = (text: RegExp): number =>
      gateway.readLog().filter((line) => text.test(JSON.stringify(line))).length;

    writeFileSync(file, good.slice(0, -20));
    await waitFor(() => countLines(/cut off.*stay in force/) === 1);
    assert.ok(await canLogIn(gateway, client));
    writeFileSync(file, good);
    await waitFor(() => countLines(/can be used again/) === 1);
    chmodSync(file, 0o644);
    await waitFor(() => countLines(/mode 0644.*stay in force/) === 1);
    renameSync(file, `${file}.away`);
    await waitFor(() => countLines(/There is no seal key file.*stay in force/) === 1);
    assert.ok(await canLogIn(gateway, client));
    assert.equal(existsSync(file), false, 'a running gateway makes no second file');
  });

  test('are not made for a configuration that seals nothing; and are when a policy arrives', async (t) => {
    const folder = await makeFolder(t);
    const file = join(folder, 'seal-keys');
    const idp = await startOidcProviderIdp();
    t.after(() => idp.close());
    const describeOpen = (port: number): object[] => [
      gatewayResource(port),
      backendResource('tickets', 9),
      routeResource('main', [ruleTo('/mcp', 'tickets')]),
    ];
    const gateway = await runGateway({ resources: describeOpen, flags: ['--seal-key-file', file] });
    t.after(() => gateway.stop());
    assert.equal(existsSync(file), false);
    const policy = {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyPolicy',
      metadata: { name: 'tickets' },
      spec: {
        targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'tickets' }],
        backend: { mcp: { authentication: { issuer: idp.issuer } } },
      },
    };
    gateway.write([...describeOpen(gateway.port), policy]);
    await waitFor(async () => (await fetch(`http://127.0.0.1:${gateway.port}/mcp`, { method: 'POST' })).status === 401);
    assert.ok(existsSync(file));
  });
});

describe('a gateway that cannot have its keys does not start', () => {
  async function runWith(t: TestContext, file: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
    const folder = await makeFolder(t);
    const short = buildShortForm({ targets: ['http://127.0.0.1:9/mcp'], port: 1, issuer: 'http://127.0.0.1:9' });
    assert.ok(short.ok);
    writeFileSync(join(folder, 'gateway.yaml'), printResources(short.resources));
    const ports = ['--admin-port', '0', '--metrics-port', '0', '--readiness-port', '0'];
    const keyFlags = file === '' ? [] : ['--seal-key-file', file];
    const child = startChild({
      command: process.execPath,
      args: [program, 'run', '-f', join(folder, 'gateway.yaml'), ...ports, ...keyFlags],
      env: { ...process.env, ...env },
    });
    assert.equal(await child.waitForExit(), 1);
    return child.readOutput();
  }

  test('others can read them', async (t) => {
    const file = join(await makeFolder(t), 'seal-keys');
    writeFileSync(file, 'current: x\n', { mode: 0o644 });
    chmodSync(file, 0o644);
    assert.match(await runWith(t, file), /can be used by others than its owner \(mode 0644\)\. Run: chmod 600 /);
  });

  test('they are cut off', async (t) => {
    const file = join(await makeFolder(t), 'seal-keys');
    writeFileSync(file, '', { mode: 0o600 });
    assert.match(await runWith(t, file), /has no current key: it seems to be cut off/);
  });

  test('there is no place for them', async (t) => {
    const folder = await makeFolder(t);
    writeFileSync(join(folder, 'file'), '');
    assert.match(await runWith(t, join(folder, 'file', 'keys')), /not a folder/);
    assert.match(
      await runWith(t, '', { XDG_STATE_HOME: '', HOME: '' }),
      /neither XDG_STATE_HOME nor HOME is set\. Choose one with --seal-key-file/,
    );
  });

  test('the default place is in XDG_STATE_HOME', async (t) => {
    const folder = await makeFolder(t);
    mkdirSync(join(folder, 'mcp-gatehouse'), { mode: 0o700 });
    writeFileSync(join(folder, 'mcp-gatehouse', 'seal-keys'), 'nonsense\n', { mode: 0o600 });
    assert.match(await runWith(t, '', { XDG_STATE_HOME: folder }), /mcp-gatehouse\/seal-keys, line 1, must read/);
  });
});
