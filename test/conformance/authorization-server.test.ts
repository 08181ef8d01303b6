// The MCP conformance suite against the authorization server that the gateway is to MCP clients: its metadata, and a login with a code, for every flow that has
// one. The client registers at the gateway first; a scripted browser logs in. Writes docs/conformance/mcp-authorization.md.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type AuthSetup, oidcProviderSetups, profileSetups, startQuirky } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { FlowClient } from '../idp/flow-client.ts';
import { startProtectedSystem } from '../idp/protected-system.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { type AuthorizationResults, formatAuthorizationPage } from './authorization-page.ts';
import { type CheckResult, suiteProgram, suiteVersion } from './conformance-suite.ts';

const expectedChecks = [
  'authorization-server-metadata',
  'authorization-server-metadata-cimd',
  'authorization-code-grant',
];

/** Runs every scenario for authorization servers; `logIn` gets the address that the suite asks people to open. */
async function runSuite(
  args: readonly string[],
  logIn: (url: string) => Promise<unknown>,
): Promise<{ readonly checks: readonly CheckResult[]; readonly output: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
  try {
    const child = spawn(process.execPath, [...suiteProgram, 'authorization', ...args, '--output-dir', folder], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let login: Promise<unknown> | undefined;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const url = /^(http\S+[?&]code_challenge=\S+)$/m.exec(output)?.[1];
      // The suite asks before it listens for the answer.
      const isListening = output.includes('Callback server started');
      if (url !== undefined && isListening)
        login ??= logIn(url).catch((error: unknown) => child.kill() && (output += String(error)));
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    await once(child, 'close');
    await login;
    const found = await readdir(folder, { recursive: true });
    const files = found.filter((name) => name.endsWith('checks.json'));
    const checks = await Promise.all(
      files.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8')) as CheckResult[]),
    );
    return { checks: checks.flat(), output };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

// With Facade the login is the identity provider's own, and the suite asks for no scope, which oidc-provider answers with access_denied.
const setups: readonly Pick<AuthSetup, 'name' | 'flow' | 'start'>[] = [
  ...oidcProviderSetups.filter(({ flow }) => flow === 'Broker'),
  { name: 'a stub without quirks', flow: 'Facade', start: () => startQuirky({}, { flow: 'Facade' }) },
  { name: 'a stub without quirks', flow: 'Broker', start: () => startQuirky({}, { flow: 'Broker' }) },
  ...profileSetups.filter(({ flow }) => flow === 'Issuer'),
];

const finished: AuthorizationResults[] = [];

after(async () => {
  if (finished.length < setups.length) return;
  const page = new URL('../../docs/conformance/mcp-authorization.md', import.meta.url);
  await writeFile(page, formatAuthorizationPage(suiteVersion, expectedChecks, finished));
});

// The suite takes the metadata that its second scenario needs from its first.
for (const setup of setups)
  test(`${setup.flow}: ${setup.name}`, async (t) => {
    const system = await startProtectedSystem({ startIdp: setup.start });
    t.after(() => system.close());
    const [port] = await findFreePorts(1);
    const redirectUri = `http://127.0.0.1:${port}/callback`;
    const client = await new FlowClient(system.url, redirectUri).prepare();
    const { issuer } = client.server!;
    const browser = new BrowserAgent();
    const args = ['--url', issuer, '--client-id', client.clientId, '--resource', system.url, '--port', String(port)];
    const { checks, output } = await runSuite(args, async (url) => fetch(await browser.authorize(url, redirectUri)));
    assert.deepEqual(new Set(checks.map(({ id }) => id)), new Set(expectedChecks), output);
    assert.deepEqual(
      checks.filter(({ status }) => status !== 'SUCCESS').map(({ id, status }) => `${id}: ${status}`),
      // With Facade only the identity provider could take metadata documents of clients.
      setup.flow === 'Facade' ? ['authorization-server-metadata-cimd: WARNING'] : [],
      output,
    );
    finished.push({ flow: setup.flow, idp: setup.name, checks });
  });
