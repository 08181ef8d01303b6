// Signing keys of a running gateway: made beside the seal keys when a policy first issues tokens, rotated without a restart.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { executeCommand } from '../../src/cmd/command.ts';
import { rotateKeyCommand } from '../../src/cmd/rotate-key.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { runGateway } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'signing-keys-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const policy = {
  apiVersion: 'gateway.proxy/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name: 'tickets' },
  spec: {
    targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'tickets' }],
    backend: {
      mcp: {
        authentication: {
          flow: 'Issuer',
          // Nobody logs in here, so nobody is asked.
          issuer: 'http://127.0.0.1:9',
          endpoints: {
            authorization: 'http://127.0.0.1:9/authorize',
            token: 'http://127.0.0.1:9/token',
            userinfo: 'http://127.0.0.1:9/userinfo',
          },
          registration: { mode: 'Shared', clientId: 'gateway' },
        },
      },
    },
  },
};

test('made when a policy first issues tokens, published before they sign, and replaced at once after a leak', async (t) => {
  const folder = await makeFolder(t);
  const [sealKeyFile, file] = [join(folder, 'seal-keys'), join(folder, 'signing-keys')];
  const describeOpen = (port: number): object[] => [
    gatewayResource(port),
    backendResource('tickets', 9),
    routeResource('main', [ruleTo('/mcp', 'tickets')]),
  ];
  const gateway = await runGateway({ resources: describeOpen, flags: ['--seal-key-file', sealKeyFile] });
  t.after(() => gateway.stop());
  assert.equal(existsSync(file), false);

  type Published = { readonly kids: readonly string[]; readonly active: string };
  const readKeys = async (): Promise<Published | undefined> => {
    const text = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/config`)).text();
    assert.doesNotMatch(text, /PRIVATE|privateKey/);
    const { secrets } = JSON.parse(text) as { secrets: { key: string; signingKeys?: Published }[] };
    return secrets.find(({ key }) => key === 'SigningKeys')?.signingKeys;
  };
  const rotate = async (...flags: string[]): Promise<void> => {
    const io = { stdout: () => {}, stderr: () => {}, color: false, env: {} };
    const args = ['--signing', '--seal-key-file', sealKeyFile, ...flags];
    assert.equal(await executeCommand(rotateKeyCommand, args, io), 0);
  };

  gateway.write([...describeOpen(gateway.port), policy]);
  await waitFor('the first key', async () => (await readKeys()) !== undefined);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const first = (await readKeys())!;
  assert.deepEqual(first.kids, [first.active]);

  await rotate();
  await waitFor('the next key is published', async () => (await readKeys())?.kids.length === 2);
  const rotated = (await readKeys())!;
  assert.ok(rotated.kids.includes(first.active));
  assert.equal(rotated.active, first.active, 'it does not sign yet');

  await rotate('--drop-previous');
  await waitFor('the new key alone', async () => (await readKeys())?.kids.length === 1);
  const { active } = (await readKeys())!;
  assert.ok(!rotated.kids.includes(active));
  const log = JSON.stringify(gateway.readLog());
  assert.match(log, /made a new signing key/);
  assert.match(log, /the signing keys have changed/);
  assert.ok(!log.includes('PRIVATE') && readFileSync(file, 'utf8').includes(active));
});
