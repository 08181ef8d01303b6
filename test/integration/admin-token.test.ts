// The admin port where it asks for a token: programs, browsers, the file, and the commands that ask it.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { adminTokenCommand } from '../../src/cmd/admin-token.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { gatewayResource } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { runExplain } from './explain-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'admin-token-'));
const file = join(folder, 'state', 'admin-token');
let gateway: GatewayRun;
let token: string;

before(async () => {
  gateway = await runGateway({ resources: (port) => [gatewayResource(port)], flags: ['--admin-token-file', file] });
  token = readFileSync(file, 'utf8').trim();
});
after(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${gateway.adminPort}${path}`, { headers, redirect: 'manual' });

const pages = ['/', '/config', '/routes', '/flows', '/requests', '/requests/x', '/loglevel', '/nothing'];

describe('the token', () => {
  test('is made with mode 0600, and not said in the log', () => {
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(token, /^[\w-]{43}$/);
    assert.ok(!gateway.readOutput().includes(token));
  });

  test('opens every page, and nothing else does', async () => {
    for (const path of pages) {
      for (const authorization of [
        '',
        'Bearer',
        'Bearer x',
        `Bearer ${token}x`,
        `Basic ${token}`,
        `Bearer ${token.slice(1)}`,
      ]) {
        const answer = await get(path, authorization === '' ? {} : { authorization });
        assert.equal(answer.status, 401, `${path} ${authorization}`);
        assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
        assert.doesNotMatch(await answer.text(), /listeners/);
      }
      const status = (await get(path, { authorization: `Bearer ${token}` })).status;
      assert.ok(status === 200 || status === 404, `${path} ${status}`);
    }
  });

  test('does not make up for a foreign Host or Origin', async () => {
    const answer = await get('/config', { authorization: `Bearer ${token}`, origin: 'https://evil.example' });
    assert.equal(answer.status, 403);
  });
});

describe('a browser', () => {
  const html = { accept: 'text/html' };
  const logIn = (sent: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${gateway.adminPort}/login`, {
      method: 'POST',
      body: new URLSearchParams({ token: sent }),
      headers: { ...html, ...headers },
      redirect: 'manual',
    });

  test('is asked for it, and gets a cookie that other sites cannot send along', async () => {
    const page = await get('/routes', html);
    assert.equal(page.status, 401);
    assert.match(await page.text(), /<input id="token" name="token" type="password"/);
    const answer = await logIn(` ${token}\n`);
    assert.equal(answer.status, 303);
    const cookie = answer.headers.get('set-cookie')!;
    assert.match(cookie, /; HttpOnly; SameSite=Strict$/);
    assert.ok(!cookie.includes(token));
    assert.equal((await get('/routes', { ...html, cookie: `a=b; ${cookie.split(';')[0]!}` })).status, 200);
    assert.equal((await get('/routes', { ...html, cookie: 'mcp-gatehouse-admin=x' })).status, 401);
  });

  test('a wrong token gets the page again, and nothing to keep', async () => {
    for (const wrong of ['', 'x', `${token}x`]) {
      const answer = await logIn(wrong);
      assert.equal(answer.status, 401);
      assert.equal(answer.headers.get('set-cookie'), null);
      assert.match(await answer.text(), /not the token of this gateway/);
    }
    assert.equal((await logIn(token, { origin: 'https://evil.example' })).status, 403);
  });
});

describe('commands', () => {
  const run = async (...args: string[]) => {
    const lines = { out: '', err: '' };
    const io = {
      stdout: (text: string) => void (lines.out += text),
      stderr: (text: string) => void (lines.err += text),
      color: false,
      env: {},
    };
    return { code: await executeCommand(adminTokenCommand, args, io), ...lines };
  };

  test('admin-token prints it', async () => {
    assert.deepEqual(await run('--admin-token-file', file), { code: 0, out: `${token}\n`, err: '' });
    assert.equal((await run()).code, 2);
    assert.match((await run('--admin-token-file', join(folder, 'none'))).err, /does not exist/);
  });

  test('a file that others can read, or without a token, is refused', async () => {
    const open = join(folder, 'open');
    writeFileSync(open, `${'a'.repeat(43)}\n`);
    chmodSync(open, 0o644);
    assert.match((await run('--admin-token-file', open)).err, /has mode 0644: others can read it/);
    chmodSync(open, 0o600);
    writeFileSync(open, 'short\n');
    const problem = /has no token of 32/;
    assert.match((await run('--admin-token-file', open)).err, problem);
    await assert.rejects(
      runGateway({ resources: (port) => [gatewayResource(port)], flags: ['--admin-token-file', open] }),
      problem,
    );
  });

  test('explain --admin uses it, and says so when it has none', async () => {
    const admin = [
      '--admin',
      `http://127.0.0.1:${gateway.adminPort}`,
      '--request',
      `GET http://127.0.0.1:${gateway.port}/x`,
    ];
    assert.match((await runExplain(admin)).err, /asks for its token: --admin-token-file says where it is/);
    const { out, err } = await runExplain([...admin, '--admin-token-file', file]);
    assert.match(`${out}${err}`, /no_route/);
  });
});
