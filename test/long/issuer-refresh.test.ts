// Sessions of the flow Issuer after the login: the identity provider is asked again, what is stolen or lost, keys that change in between; with a store on this machine,
// without one, and with two gateways.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { executeCommand } from '../../src/cmd/command.ts';
import { rotateKeyCommand } from '../../src/cmd/rotate-key.ts';
import { profileSetups } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { ask, type FlowAnswer, type FlowClient, postForm } from '../idp/flow-client.ts';
import { startProtectedSystem } from '../idp/protected-system.ts';
import { walkWithBreaks } from '../idp/stepwise-login.ts';
import { waitFor } from '../kit/wait-for.ts';
import {
  assertAccepted,
  assertError,
  likeGithub,
  likeProfile,
  startIssuerSite,
} from '../integration/issuer-fixture.ts';

const starts = {
  google: likeProfile('Google'),
  gitlab: likeProfile('GitLab'),
  'oauth-app': likeGithub('OAuth app'),
  app: likeGithub('App'),
} as const;

type Site = Awaited<ReturnType<typeof startIssuerSite<keyof typeof starts, typeof starts>>>;
let folder = '';
let stored: Site;
let sealed: Site;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-gatehouse-issuer-'));
  stored = await startIssuerSite(starts, { flags: ['--store', `sqlite:${join(folder, 'store.db')}`] });
  sealed = await startIssuerSite(starts);
});
after(async () => {
  await stored?.close();
  await sealed?.close();
  rmSync(folder, { recursive: true, force: true });
});

const sites = [
  ['with a store', () => stored],
  ['without a store', () => sealed],
] as const;

for (const [how, find] of sites)
  describe(`an account that is no longer what it was, ${how}`, () => {
    const end = async (client: FlowClient, reason: string, error = 'invalid_grant'): Promise<void> => {
      const answer = await client.tryRefresh();
      assertError(answer, 400, error);
      await find().waitForReason(reason);
      assertAccepted(await client.post());
    };

    test('closed, or the access taken back: the session ends with the next refresh', async () => {
      const site = find();
      site.forgetLog();
      for (const name of ['google', 'gitlab'] as const) {
        const client = await site.connect(name);
        site.idps[name].quirky.state.removedUsers.add('alice');
        await end(client, 'idp_refused_grant');
        site.idps[name].quirky.state.removedUsers.clear();
      }
      const client = await site.connect('app');
      site.idps.app.github.revokeTokens();
      await end(client, 'idp_refused_grant');
    });

    test('of an OAuth app of GitHub: its token is asked about, and ends the session when it is refused', async () => {
      const site = find();
      site.forgetLog();
      const client = await site.connect('oauth-app');
      await client.refresh();
      site.idps['oauth-app'].github.revokeTokens();
      await end(client, 'identity_invalid');
    });

    test('left the organization: the session ends; back in it, another login works', async () => {
      const site = find();
      site.forgetLog();
      const account = site.idps.app.github.state.accounts.get('alice')!;
      const client = await site.connect('app');
      const { organizations } = account;
      account.organizations = ['first-org'];
      await end(client, 'identity_not_allowed');
      account.organizations = organizations;
      await client.redeem(await client.logIn(new BrowserAgent()));
      await client.refresh();
    });

    test('called something else: the same person', async () => {
      const site = find();
      const client = await site.connect('app');
      const { sub } = decodeJwt(client.tokens!.access_token);
      site.idps.app.github.state.accounts.get('alice')!.login = 'alice-was-taken';
      await client.refresh();
      assert.equal(decodeJwt(client.tokens!.access_token).sub, sub);
    });
  });

describe('a stolen refresh token that is used after the owner went on', () => {
  test('with a store: the session ends for both, and the log says why', async () => {
    const client = await stored.connect('google');
    const stolen = client.tokens!.refresh_token!;
    await client.refresh();
    await client.refresh();
    stored.forgetLog();
    assertError(await client.tryRefresh({ refresh_token: stolen }), 400, 'invalid_grant');
    assert.match(String((await stored.waitForReason('grant_revoked'))['detail']), /used again/);
    assertError(await client.tryRefresh(), 400, 'invalid_grant');
    await client.redeem(await client.logIn(new BrowserAgent()));
    await client.refresh();
  });

  test('without one: nobody notices, unless the refresh tokens of the identity provider work once', async () => {
    const google = await sealed.connect('google');
    const stolen = google.tokens!.refresh_token!;
    await google.refresh();
    await google.refresh({ refresh_token: stolen });
    const gitlab = await sealed.connect('gitlab');
    const old = gitlab.tokens!.refresh_token!;
    await gitlab.refresh();
    assertError(await gitlab.tryRefresh({ refresh_token: old }), 400, 'invalid_grant');
  });

  test('by another client: refused, and the session goes on', async () => {
    for (const site of [stored, sealed]) {
      const [client, thief] = [await site.connect('google'), await site.prepare('google')];
      const { refresh_token } = client.tokens!;
      assertError(await thief.tryRefresh({ refresh_token: refresh_token! }), 400, 'invalid_grant');
      await client.refresh();
    }
  });
});

describe('an answer that gets lost', () => {
  test('with a store the same refresh token gets the same answer again, also many at once; the identity provider is asked once', async () => {
    for (const name of ['gitlab', 'app'] as const) {
      const client = await stored.connect(name);
      const { server } = stored.idps[name];
      server.forget();
      const answers: FlowAnswer[] = [];
      // One is on its way, and others hear that they shall come again.
      const refresh = async (): Promise<void> => {
        await waitFor('there are tokens', async () => {
          const answer = await client.tryRefresh();
          if (answer.status === 200) answers.push(answer);
          else assertError(answer, 503, 'temporarily_unavailable');
          return answer.status === 200;
        });
      };
      await Promise.all(Array.from({ length: 5 }, refresh));
      assert.equal(new Set(answers.map(({ body }) => body)).size, 1);
      const asked = server.calls.filter(({ form }) => form.get('grant_type') === 'refresh_token');
      assert.equal(asked.length, 1);
      client.tokens = answers[0]!.json() as unknown as typeof client.tokens;
      await client.refresh();
      assertAccepted(await client.post());
    }
  });

  test('without one all of them ask the identity provider; where its refresh tokens work once, one gets tokens', async () => {
    // Like the real one, the stub of Google has its token endpoint at another host.
    const servers = [sealed.idps.google.quirky.secondServer, sealed.idps.gitlab.server];
    const countGrants = (): number =>
      servers.flatMap(({ calls }) => calls).filter(({ form }) => form.get('grant_type') === 'refresh_token').length;
    for (const name of ['google', 'gitlab'] as const) {
      const client = await sealed.connect(name);
      for (const server of servers) server.forget();
      const answers = await Promise.all(Array.from({ length: 3 }, () => client.tryRefresh()));
      assert.equal(countGrants(), 3);
      const good = answers.filter(({ status }) => status === 200);
      assert.equal(good.length, name === 'google' ? 3 : 1);
      for (const answer of answers) if (answer.status !== 200) assertError(answer, 400, 'invalid_grant');
      client.tokens = good[0]!.json() as unknown as typeof client.tokens;
      assertAccepted(await client.post());
    }
  });

  test('of userinfo, after the refresh token of the identity provider was used: with a store the session goes on', async () => {
    const wrong = { status: 500 } as const;
    for (const site of [stored, sealed]) {
      const { quirks } = site.idps.gitlab.quirky;
      const client = await site.connect('gitlab');
      quirks.userinfoAnswer = wrong;
      assertError(await client.tryRefresh(), 503, 'temporarily_unavailable');
      quirks.userinfoAnswer = undefined;
      if (site === stored) await client.refresh();
      else assertError(await client.tryRefresh(), 400, 'invalid_grant');
    }
  });
});

describe('a session that the client ends (RFC 7009)', () => {
  test('without a store it is not offered', async () => {
    const client = await sealed.prepare('google');
    assert.equal(client.server!['revocation_endpoint'], undefined);
  });

  test('with one its refresh tokens are worth nothing from then on', async () => {
    const client = await stored.connect('google');
    const token = client.tokens!.refresh_token!;
    const revoke = (): Promise<FlowAnswer> =>
      postForm(String(client.server!['revocation_endpoint']), { token, client_id: client.clientId });
    assert.equal((await revoke()).status, 200);
    assertError(await client.tryRefresh(), 400, 'invalid_grant');
    assert.equal((await revoke()).status, 200, 'there is nothing to tell about a token that is over');
  });
});

describe('keys', () => {
  const rotate = async (...args: string[]): Promise<void> => {
    let said = '';
    const write = (text: string): void => void (said += text);
    const io = { stdout: write, stderr: write, color: false, env: {} };
    assert.equal(await executeCommand(rotateKeyCommand, ['--seal-key-file', sealed.keyFile, ...args], io), 0, said);
  };
  const listKids = async (client: FlowClient): Promise<string[]> =>
    ((await ask(String(client.server!['jwks_uri']))).json()['keys'] as { kid: string }[]).map(({ kid }) => kid);

  test('a new signing key between code and token: it is published before it signs, and the login goes on', async () => {
    const client = await sealed.connect('google');
    const known = await listKids(client);
    const { kid } = decodeProtectedHeader(client.tokens!.access_token);
    const back = await client.logIn(new BrowserAgent());
    await rotate('--signing');
    await waitFor('it is published', async () => (await listKids(client)).length === known.length + 1);
    assertAccepted(await client.post());
    await client.redeem(back);
    assert.equal(decodeProtectedHeader(client.tokens!.access_token).kid, kid, 'it signs once every gateway has it');
    assertAccepted(await client.post());
  });

  test('one that leaked is replaced at once: its tokens are refused, and refresh tokens bring new ones', async () => {
    const client = await sealed.connect('google');
    const back = await client.logIn(new BrowserAgent());
    const known = await listKids(client);
    await rotate('--signing', '--drop-previous');
    await waitFor('the token is refused', async () => (await client.post()).status === 401);
    const now = await listKids(client);
    assert.equal(now.length, 1);
    assert.equal(known.includes(now[0]!), false);
    await client.refresh();
    assertAccepted(await client.post());
    await client.redeem(back);
    assertAccepted(await client.post());
  });

  test('a new seal key between code and token, and between two refreshes', async () => {
    const client = await sealed.connect('google');
    const back = await client.logIn(new BrowserAgent());
    const old = client.tokens!.refresh_token!;
    await rotate();
    await client.redeem(back);
    await client.refresh({ refresh_token: old });
    assertAccepted(await client.post());
  });
});

for (const name of ['a stub like Google', 'a stub like GitHub, App'])
  test(`${name}: two gateways with the same key files and no store, each step at the other one`, async (t) => {
    const setup = profileSetups.find((each) => each.name === name)!;
    const system = await startProtectedSystem({ startIdp: (callback) => setup.start(callback) });
    t.after(() => system.close());
    const ports = [system.gateway.port, (await system.addReplica()).port];
    let turn = 0;
    await walkWithBreaks(setup, system.url, () => {
      turn += 1;
      system.front.pointTo(ports[turn % 2]!);
      return Promise.resolve();
    });
    assert.ok(turn >= 12);
  });
