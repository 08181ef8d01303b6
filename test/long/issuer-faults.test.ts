// An identity provider that fails in the middle of a login with the flow Issuer, at each step and in each way: what the client is told, what the operator can read,
// and that whoever tries again gets in.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { startQuirky } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { ask, type FlowClient } from '../idp/flow-client.ts';
import { rateLimitExceeded, secondaryRateLimitExceeded } from '../idp/github-api.ts';
import type { GithubSwitches } from '../idp/github-state.ts';
import { type Quirks, type WrongAnswer, wrongAnswers } from '../idp/quirks.ts';
import { waitFor } from '../kit/wait-for.ts';
import {
  assertAccepted,
  assertError,
  likeGithub,
  likeProfile,
  startIssuerSite,
} from '../integration/issuer-fixture.ts';

const quick = Object.entries(wrongAnswers).filter(([name]) => name !== 'slow') as [string, WrongAnswer][];

const html = { 'content-type': 'text/html' };
/** Answers of something in front of the identity provider. */
const foreign: [string, WrongAnswer][] = [
  ['a redirect', { status: 302, headers: { location: 'https://maintenance.example.com/' } }],
  ['a 403 page', { status: 403, headers: html, body: '<h1>Request blocked</h1>' }],
  ['a 404 page', { status: 404, headers: html, body: '<h1>No such path</h1>' }],
  ['an empty 400', { status: 400 }],
];

const startLate = (callback: string, metadataAnswer: WrongAnswer) =>
  startQuirky({ registration: 'none', idTokenHash: 'none', metadataAnswer }, { flow: 'Issuer' }, { callback });

const starts = {
  // Userinfo is needed for its groups, and its refresh tokens work once.
  gitlab: likeProfile('GitLab'),
  // All is in the ID token, and its refresh tokens stay.
  google: likeProfile('Google'),
  github: likeGithub('OAuth app'),
  app: likeGithub('App'),
  // Of their own, because slowness takes long.
  'slow-token': likeProfile('GitLab'),
  'slow-userinfo': likeProfile('GitLab'),
  'slow-refresh': likeProfile('Google'),
  // Not there when the gateway starts.
  late: (callback: string) => startLate(callback, 'cut'),
  'slow-metadata': (callback: string) => startLate(callback, 'never'),
} as const;

type Name = keyof typeof starts;
type Site = Awaited<ReturnType<typeof startIssuerSite<Name, typeof starts>>>;
let site: Site;
before(async () => {
  site = await startIssuerSite(starts);
});
after(() => site?.close());

/** While `changes` are in force. */
async function during<T extends object, R>(switches: T, changes: Partial<T>, act: () => Promise<R>): Promise<R> {
  const original = Object.fromEntries(Object.keys(changes).map((name) => [name, switches[name as keyof T]]));
  Object.assign(switches, changes);
  try {
    return await act();
  } finally {
    Object.assign(switches, original);
  }
}

/** Logs in once more, with the same client. */
async function logInAgain(client: FlowClient): Promise<void> {
  await client.redeem(await client.logIn(new BrowserAgent()));
  assertAccepted(await client.post());
}

describe('no metadata', () => {
  test('clients find the gateway and register; a login is a page with 503, and works once the identity provider is there', async () => {
    const { quirks } = site.idps.late.quirky;
    const client = await site.prepare('late');
    for (const [name, wrong] of quick) {
      quirks.metadataAnswer = wrong;
      const page = await ask(client.formatAuthorizationUrl());
      assert.equal(page.status, 503, name);
      assert.match(page.body, /identity provider/);
    }
    quirks.metadataAnswer = undefined;
    await waitFor('it is there', async () => (await ask(client.formatAuthorizationUrl())).status === 200);
    await logInAgain(client);
  });
});

describe('the page where people log in', () => {
  for (const [name, wrong] of quick)
    test(`${name}: the login ends there, and another one works`, async () => {
      const client = await site.prepare('google');
      await during(site.idps.google.quirky.quirks, { authorizeAnswer: wrong }, () =>
        assert.rejects(client.logIn(new BrowserAgent())),
      );
      await logInAgain(client);
    });
});

describe('the code for tokens', () => {
  for (const [name, wrong] of [...quick, ...foreign])
    test(`${name}: 503, and the same code works later`, async () => {
      const { quirks } = site.idps.gitlab.quirky;
      const client = await site.prepare('gitlab');
      const back = await client.logIn(new BrowserAgent());
      site.forgetLog();
      await during(quirks, { tokenAnswer: wrong }, async () =>
        assertError(await client.tryRedeem(back), 503, 'temporarily_unavailable'),
      );
      await site.waitForReason('idp_unavailable');
      await client.redeem(back);
      assertAccepted(await client.post());
    });

  test('an error of GitHub with status 200 is one: an unknown code, a wrong secret, and each has its remedy', async () => {
    const { switches } = site.idps.github.github;
    const say = (error: string): WrongAnswer => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ error, error_description: 'Something is wrong.' }),
    });
    const client = await site.prepare('github');
    const back = await client.logIn(new BrowserAgent());
    for (const [error, status, told, reason] of [
      ['bad_verification_code', 400, 'invalid_grant', 'idp_refused_grant'],
      ['incorrect_client_credentials', 503, 'temporarily_unavailable', 'idp_refused_client'],
      ['redirect_uri_mismatch', 503, 'temporarily_unavailable', 'idp_refused_client'],
      ['slow_down', 503, 'temporarily_unavailable', 'idp_unavailable'],
    ] as const) {
      site.forgetLog();
      await during<GithubSwitches, void>(switches, { tokenAnswer: say(error) }, async () =>
        assertError(await client.tryRedeem(back), status, told),
      );
      const { detail } = await site.waitForReason(reason);
      assert.match(String(detail), new RegExp(error), error);
    }
    await client.redeem(back);
  });
});

describe('an ID token that cannot be trusted', () => {
  const changes: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    'the nonce of another login': { nonce: 'another' },
    'no nonce': { nonce: undefined },
    'another audience': { aud: 'another-client' },
    'no audience': { aud: undefined },
    'two audiences and no azp': { aud: ['gateway', 'another-client'], azp: undefined },
    'another azp': { azp: 'another-client' },
    'a hash of another access token': { at_hash: 'AAAAAAAAAAAAAAAAAAAAAA' },
    'another issuer': { iss: 'https://accounts.evil.example' },
    'expired an hour ago': { exp: Math.floor(Date.now() / 1_000) - 3_600 },
    'no subject': { sub: undefined },
    'a subject that is no text': { sub: { id: 1 } },
  };
  for (const [name, idTokenChanges] of Object.entries(changes))
    test(`${name}: nobody gets in`, async () => {
      const { quirks } = site.idps.google.quirky;
      const client = await site.prepare('google');
      site.forgetLog();
      await during<Quirks, void>(quirks, { idTokenChanges }, async () => {
        const back = await client.logIn(new BrowserAgent());
        assertError(await client.tryRedeem(back), 400, 'invalid_grant');
      });
      assert.match(String((await site.waitForReason('identity_invalid'))['detail']), /\w/);
      await logInAgain(client);
    });

  test('none at all: nobody gets in', async () => {
    const client = await site.prepare('google');
    await during<Quirks, void>(site.idps.google.quirky.quirks, { omitsIdToken: true }, async () =>
      assertError(await client.tryRedeem(await client.logIn(new BrowserAgent())), 400, 'invalid_grant'),
    );
    await logInAgain(client);
  });

  test('signed with a key that is new since the login: it is fetched; with one that is not published: nobody gets in', async () => {
    const idp = site.idps.google;
    const client = await site.prepare('google');
    const back = await client.logIn(new BrowserAgent());
    await idp.rotateKeys({ withdrawOld: true });
    await client.redeem(back);
    assertAccepted(await client.post());
    const { keys } = idp.quirky.state;
    await idp.rotateKeys();
    const published: WrongAnswer = {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ keys: keys.map(({ publicJwk }) => publicJwk) }),
    };
    await during<Quirks, void>(idp.quirky.quirks, { jwksAnswer: published }, async () => {
      const answer = await client.tryRedeem(await client.logIn(new BrowserAgent()));
      assert.ok(answer.status === 400 || answer.status === 503, answer.body);
    });
    idp.quirky.state.keys = keys;
    await logInAgain(client);
  });
});

describe('userinfo', () => {
  for (const [name, wrong] of [...quick, ...foreign.filter(([answer]) => answer !== 'an empty 400')])
    test(`${name}: 503; the code is used up, so another login is needed, and works`, async () => {
      const { quirks } = site.idps.gitlab.quirky;
      const client = await site.prepare('gitlab');
      const back = await client.logIn(new BrowserAgent());
      await during<Quirks, void>(quirks, { userinfoAnswer: wrong }, async () =>
        assertError(await client.tryRedeem(back), 503, 'temporarily_unavailable'),
      );
      assertError(await client.tryRedeem(back), 400, 'invalid_grant');
      await logInAgain(client);
    });

  const wrong: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    'about another person': { sub: '117020101794783964719', groups: ['support'] },
    'about nobody': { sub: undefined },
    'with a number for a subject': { sub: 117_020_101 },
  };
  for (const [name, userinfoChanges] of Object.entries(wrong))
    test(`${name}: nobody gets in, and nobody is mixed up`, async () => {
      const client = await site.prepare('gitlab');
      site.forgetLog();
      await during<Quirks, void>(site.idps.gitlab.quirky.quirks, { userinfoChanges }, async () =>
        assertError(await client.tryRedeem(await client.logIn(new BrowserAgent())), 400, 'invalid_grant'),
      );
      await site.waitForReason('identity_invalid');
      await logInAgain(client);
    });

  test('that disagrees with the ID token: what is signed counts', async () => {
    const changes = { userinfoChanges: { email: 'root@example.com', preferred_username: 'root' } };
    const idp = site.idps.gitlab;
    const policy = { ...idp.authentication, tokens: { claims: ['email', 'preferred_username'] } };
    site.changePolicy('gitlab', policy);
    await waitFor('the claims are there', async () => {
      const { tokens } = await site.connect('gitlab');
      return decodeJwt(tokens!.access_token)['email'] === 'alice@example.com';
    });
    await during<Quirks, void>(idp.quirky.quirks, changes, async () => {
      const claims = decodeJwt((await site.connect('gitlab')).tokens!.access_token);
      assert.deepEqual([claims['email'], claims['preferred_username']], ['alice@example.com', 'alice']);
    });
    site.changePolicy('gitlab', idp.authentication);
  });

  const limits = { 'the rate limit': rateLimitExceeded, 'the secondary rate limit': secondaryRateLimitExceeded };
  for (const [name, limited] of Object.entries(limits))
    for (const place of ['userAnswer', 'organizationsAnswer'] as const)
      test(`GitHub, ${name} at ${place}: 503 with the time to wait, in a login and in a refresh`, async () => {
        const { switches } = site.idps.github.github;
        const client = await site.connect('github');
        await during<GithubSwitches, void>(switches, { [place]: limited }, async () => {
          assertError(await client.tryRefresh(), 503, 'temporarily_unavailable');
          const answer = await client.tryRedeem(await client.logIn(new BrowserAgent()));
          assertError(answer, 503, 'temporarily_unavailable');
        });
        await client.refresh();
        await logInAgain(client);
      });
});

test('a GitHub App without a permission that the policy needs: the log has the words of GitHub', async () => {
  const organizationsAnswer: WrongAnswer = {
    status: 403,
    headers: { 'content-type': 'application/json', 'x-ratelimit-remaining': '4999' },
    body: '{"message":"Resource not accessible by integration"}',
  };
  const client = await site.prepare('app');
  site.forgetLog();
  await during<GithubSwitches, void>(site.idps.app.github.switches, { organizationsAnswer }, async () =>
    assertError(await client.tryRedeem(await client.logIn(new BrowserAgent())), 503, 'temporarily_unavailable'),
  );
  const { detail } = await site.waitForReason('idp_unavailable');
  assert.match(String(detail), /user\/orgs answers 403: "Resource not accessible by integration"/);
});

describe('a refresh', () => {
  for (const [name, wrong] of [...quick, ...foreign])
    test(`${name} at the token endpoint: 503, and the same refresh token works later`, async () => {
      for (const idp of ['google', 'gitlab'] as const) {
        const client = await site.connect(idp);
        await during<Quirks, void>(site.idps[idp].quirky.quirks, { refreshAnswer: wrong }, async () => {
          assertError(await client.tryRefresh(), 503, 'temporarily_unavailable');
          assertAccepted(await client.post());
        });
        await client.refresh();
        assertAccepted(await client.post());
      }
    });

  test('the whole identity provider is down: tokens go on, a refresh is 503 and works later', async () => {
    const { quirky } = site.idps.google;
    const client = await site.connect('google');
    quirky.server.goDown();
    quirky.secondServer.goDown();
    assertError(await client.tryRefresh(), 503, 'temporarily_unavailable');
    assertAccepted(await client.post());
    quirky.server.comeUp();
    quirky.secondServer.comeUp();
    await client.refresh();
  });

  test('another person in userinfo or in the ID token ends the session', async () => {
    const changes: [Name & ('gitlab' | 'google'), Partial<Quirks>][] = [
      ['gitlab', { userinfoChanges: { sub: '1' }, omitsIdTokenOnRefresh: true }],
      ['google', { idTokenChanges: { sub: '1' } }],
    ];
    for (const [idp, quirks] of changes) {
      const client = await site.connect(idp);
      site.forgetLog();
      await during<Quirks, void>(site.idps[idp].quirky.quirks, quirks, async () =>
        assertError(await client.tryRefresh(), 400, 'invalid_grant'),
      );
      await site.waitForReason('identity_invalid');
    }
  });
});

test('an identity provider that takes a request and never answers: 503 at every step, and whoever tries again gets in', async () => {
  const slowly = async (
    name: 'slow-token' | 'slow-userinfo' | 'slow-refresh',
    changes: Partial<Quirks>,
    step: (client: FlowClient, back: URL) => ReturnType<FlowClient['tryRefresh']>,
  ): Promise<void> => {
    const client = await site.connect(name);
    const back = await client.logIn(new BrowserAgent());
    await during<Quirks, void>(site.idps[name].quirky.quirks, changes, async () =>
      assertError(await step(client, back), 503, 'temporarily_unavailable'),
    );
    await client.refresh();
    await logInAgain(client);
  };
  const waitForMetadata = async (): Promise<void> => {
    const client = await site.prepare('slow-metadata');
    assert.equal((await ask(client.formatAuthorizationUrl())).status, 503);
    site.idps['slow-metadata'].quirky.quirks.metadataAnswer = undefined;
    await waitFor('it is there', async () => (await ask(client.formatAuthorizationUrl())).status === 200);
    await logInAgain(client);
  };
  await Promise.all([
    waitForMetadata(),
    slowly('slow-token', { tokenAnswer: 'never' }, (client, back) => client.tryRedeem(back)),
    slowly('slow-userinfo', { userinfoAnswer: 'never' }, (client, back) => client.tryRedeem(back)),
    slowly('slow-refresh', { refreshAnswer: 'never' }, (client) => client.tryRefresh()),
  ]);
});

test('nothing of the identity provider is in any log', () => {
  const output = site.gateway.readOutput();
  for (const idp of [site.idps.google, site.idps.gitlab]) {
    const { accessTokens, refreshTokens, redeemedCodes } = idp.quirky.state;
    for (const secret of [...accessTokens.keys(), ...refreshTokens.keys(), ...redeemedCodes])
      assert.equal(output.includes(secret), false, secret);
  }
  assert.doesNotMatch(output, /gh[our]_|the-secret-of-the-shared-client|"eyJ/);
});
