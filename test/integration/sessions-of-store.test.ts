// Sessions of a real gateway with a store in SQLite: people log in, are listed, and are logged out by an operator.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { executeCommand } from '../../src/cmd/command.ts';
import { loginCommand, type LoginIo } from '../../src/cmd/login.ts';
import { sessionsListCommand } from '../../src/cmd/sessions-list.ts';
import { sessionsRevokeCommand } from '../../src/cmd/sessions-revoke.ts';
import type { DescribedSession } from '../../src/gateway/admin/describe-sessions.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { assertAccepted, assertError, likeProfile, startIssuerSite } from './issuer-fixture.ts';

test('who is logged in is listed, and logged out, at every gateway with the store', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sessions-of-store-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  // Without a store itself; two more have one in common.
  const site = await startIssuerSite({
    lab: likeProfile('GitLab', {}, { identity: { allow: { domains: ['example.com'] } } }),
  });
  t.after(() => site.close());
  const store = ['--store', `sqlite:${join(folder, 'private', 'store.db')}`];
  const [first, other] = [await site.addGateway(store), await site.addGateway(store)];
  site.front.pointTo(first.port);

  async function run(command: 'list' | 'revoke', args: readonly string[], port = first.adminPort) {
    let [out, err] = ['', ''];
    const io = {
      stdout: (text: string) => void (out += text),
      stderr: (text: string) => void (err += text),
      color: false,
      env: {},
    };
    const all = [...args, '--admin', `http://127.0.0.1:${port}`];
    const code =
      command === 'list'
        ? await executeCommand(sessionsListCommand, all, io)
        : await executeCommand(sessionsRevokeCommand, all, io);
    return { code, out, err };
  }
  async function list(port?: number): Promise<readonly DescribedSession[]> {
    const { code, out, err } = await run('list', ['--json'], port);
    assert.equal(code, 0, err);
    return (JSON.parse(out) as { sessions: DescribedSession[] }).sessions;
  }

  assert.deepEqual(await list(), []);
  const alice = await site.connect('lab', { user: 'alice' });
  const again = await site.connect('lab', { user: 'alice' });
  const bob = await site.connect('lab', { user: 'bob' });
  const sessions = await list(other.adminPort);
  assert.deepEqual(sessions.map(({ user }) => `${user}`).toSorted(), ['alice', 'alice', 'bob']);
  for (const { resource, idp, idpSubject, startedAt, endsAt } of sessions) {
    assert.equal(resource, site.urlOf('lab'));
    assert.equal(idp, site.idps.lab.quirky.issuer);
    assert.ok(idpSubject !== null && startedAt < endsAt);
  }
  const listed = JSON.stringify(sessions);
  for (const secret of site.idps.lab.quirky.state.refreshTokens.keys()) assert.ok(!listed.includes(secret));

  const ofBob = sessions.find(({ user }) => user === 'bob')!;
  assert.equal((await run('revoke', [ofBob.id], other.adminPort)).code, 0);
  assertError(await bob.tryRefresh(), 400, 'invalid_grant');
  assertAccepted(await bob.post());
  assert.equal((await run('revoke', [ofBob.id])).code, 1);

  const ended = await run('revoke', ['--user', 'alice']);
  assert.equal(
    ended.out,
    'Ended 2 sessions. Access tokens that were given out live on, for 15 min at most.\n',
    ended.err,
  );
  assertError(await alice.tryRefresh(), 400, 'invalid_grant');
  assertError(await again.tryRefresh(), 400, 'invalid_grant');
  assert.deepEqual(await list(), []);

  // `login` is a client that leaves nothing behind.
  let said = '';
  const write = (text: string): void => void (said += text);
  const openBrowser = (href: string): Promise<boolean> => {
    const redirectUri = new URL(href).searchParams.get('redirect_uri')!;
    void new BrowserAgent().authorize(href, redirectUri).then(fetch, () => {});
    return Promise.resolve(true);
  };
  const io: LoginIo = { stdout: write, stderr: write, color: false, env: {}, openBrowser };
  assert.equal(await executeCommand(loginCommand, [site.urlOf('lab'), '--verbose', '--refresh'], io), 0, said);
  assert.match(said, /The authorization server issued it itself, for a login at http:\S+\./);
  assert.match(said, /expires_in +900 s/);
  assert.match(said, /Refresh +RFC 6749 6\n[^]*✓ The refresh token was replaced\.\n[^]*Ask again, with the token/);
  assert.match(said, /Leave nothing behind +RFC 7009 2\.1\n.*\n.*\n +✓ The session is ended\./);
  assert.deepEqual(await list(), []);

  const page = await fetch(`http://127.0.0.1:${first.adminPort}/sessions`, { headers: { accept: 'text/html' } });
  assert.match(await page.text(), /Nobody is logged in\./);
  const without = await run('list', [], site.gateway.adminPort);
  assert.deepEqual([without.code, /without a store.*docs\/store\.md/.test(without.err)], [1, true], without.err);
});
