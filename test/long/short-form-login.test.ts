// `mcp-gatehouse run --target URL --issuer URL ...`: ten seconds from a server without a login to one with it.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { loginCommand } from '../../src/cmd/login.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { startSampleServer } from '../../src/demo/sample-mcp-server.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { startOidcProviderIdp } from '../idp/oidc-provider-idp.ts';
import { startChild } from '../kit/child-process.ts';
import { program } from '../kit/gateway-program.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { waitFor } from '../kit/wait-for.ts';

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'short-form-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs the short form in front of the sample server, and resolves with its output when it is ready. */
async function runShortForm(t: TestContext, port: number, flags: readonly string[]): Promise<() => string> {
  const sample = await startSampleServer({ host: '127.0.0.1', port: 0 });
  t.after(() => sample.close());
  const [readiness] = (await findFreePorts(1)) as [number];
  const ownPorts = ['--admin-port', '0', '--metrics-port', '0', '--readiness-port', String(readiness)];
  const child = startChild({
    command: process.execPath,
    args: [
      program,
      'run',
      '--target',
      sample.url,
      '--port',
      String(port),
      '--log-format',
      'text',
      ...ownPorts,
      ...flags,
    ],
    env: { ...process.env, XDG_STATE_HOME: await makeFolder(t) },
  });
  t.after(() => child.stop());
  await waitFor(async () => {
    if (child.exitCode() !== undefined) throw new Error(`the gateway ended:\n${child.readOutput()}`);
    return (await fetch(`http://127.0.0.1:${readiness}/ready`).catch(() => undefined))?.ok === true;
  });
  return () => child.readOutput();
}

async function logIn(url: string): Promise<{ code: number; out: string }> {
  let out = '';
  const write = (text: string): void => void (out += text);
  const openBrowser = (href: string): Promise<boolean> => {
    const redirectUri = new URL(href).searchParams.get('redirect_uri')!;
    const arrive = async (): Promise<void> => void (await fetch(await new BrowserAgent().authorize(href, redirectUri)));
    void arrive().catch((error: unknown) => write(String(error)));
    return Promise.resolve(true);
  };
  const io = { stdout: write, stderr: write, color: false, env: {}, openBrowser };
  return { code: await executeCommand(loginCommand, [url], io), out };
}

describe('run --target --issuer', () => {
  test('protects the server; its start says where the login is', async (t) => {
    const idp = await startOidcProviderIdp();
    t.after(() => idp.close());
    const [port] = (await findFreePorts(1)) as [number];
    const readOutput = await runShortForm(t, port, ['--issuer', idp.issuer, '--required-scope', 'tickets:read']);
    assert.match(readOutput(), new RegExp(`login at ${RegExp.escape(idp.issuer)}`));
    const { code, out } = await logIn(`http://127.0.0.1:${port}/mcp`);
    assert.equal(code, 0, out);
    assert.match(out, /scope +tickets:read/);
  });

  test('with a client that stands for all, and its secret in a file', async (t) => {
    const folder = await makeFolder(t);
    const file = join(folder, 'client-secret');
    await writeFile(file, 'hunter2-hunter2-hunter2-hunter2\n');
    const [port] = (await findFreePorts(1)) as [number];
    const idp = await startOidcProviderIdp({
      registration: 'none',
      clients: [
        {
          client_id: 'gateway',
          client_secret: 'hunter2-hunter2-hunter2-hunter2',
          redirect_uris: [`http://127.0.0.1:${port}/.oauth/mcp/callback`],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          application_type: 'native',
        },
      ],
    });
    t.after(() => idp.close());
    const readOutput = await runShortForm(t, port, [
      '--issuer',
      idp.issuer,
      '--client-id',
      'gateway',
      '--client-secret-file',
      file,
      '--required-scope',
      'tickets:read',
    ]);
    const { code, out } = await logIn(`http://127.0.0.1:${port}/mcp`);
    assert.equal(code, 0, out);
    assert.doesNotMatch(readOutput(), /hunter2/);
  });

  test('a secret file that is not there, or empty, is refused before anything opens', async (t) => {
    const folder = await makeFolder(t);
    await writeFile(join(folder, 'empty'), '\n');
    for (const [file, message] of [
      ['missing', /--client-secret-file: the file \S+missing does not exist/],
      ['empty', /--client-secret-file: the file \S+empty is empty/],
    ] as const) {
      const flags = [
        '--issuer',
        'https://idp.example.com',
        '--client-id',
        'x',
        '--client-secret-file',
        join(folder, file),
      ];
      const args = [program, 'run', '--target', 'http://127.0.0.1:9/mcp', ...flags];
      const child = startChild({ command: process.execPath, args });
      assert.equal(await child.waitForExit(), 1);
      assert.match(child.readOutput(), message);
    }
  });
});
