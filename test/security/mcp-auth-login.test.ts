// Known failures of OAuth proxies at registration, login and token exchange, one test per lesson.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type StartedIdp, startQuirky } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { ask, FlowClient } from '../idp/flow-client.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { createSealKeyFile, type ProtectedGateway, startProtectedGateway } from '../idp/protected-gateway.ts';
import type { QuirkyIdp } from '../idp/quirky-idp.ts';
import { startTcpSwitch, type TcpSwitch } from '../idp/tcp-switch.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';

type QuirkyStart = StartedIdp & { readonly quirky: QuirkyIdp };

let front: TcpSwitch;
let upstream: RecordingUpstream;
let gateway: ProtectedGateway;
let forward: QuirkyStart;
let shared: QuirkyStart;
let listed: QuirkyStart;
let key: ReturnType<typeof createSealKeyFile>;
let urls: { readonly forward: string; readonly shared: string; readonly listed: string };

before(async () => {
  front = await startTcpSwitch();
  upstream = await startMcpUpstream();
  key = createSealKeyFile();
  const origin = `http://127.0.0.1:${front.port}`;
  urls = { forward: `${origin}/forward`, shared: `${origin}/shared`, listed: `${origin}/listed` };
  const generous = { limits: { perMinute: 100_000 } };
  forward = await startQuirky(
    { advertisesIss: true, emitsIss: 'always', secretComesWithNone: true, talksTooMuch: true },
    { registration: generous },
  );
  shared = await startQuirky(
    { registration: 'none', audience: ['gateway'] },
    { audiences: ['gateway'] },
    {
      callback: `${origin}/.oauth/shared/callback`,
    },
  );
  listed = await startQuirky(
    {},
    {
      flow: 'Broker',
      registration: { ...generous, allowedRedirectUris: ['https://app.example.com/cb', 'http://127.0.0.1/cb'] },
    },
  );
  gateway = await startProtectedGateway({
    backends: [
      { path: '/forward', port: upstream.port, authentication: forward.authentication },
      { path: '/shared', port: upstream.port, authentication: shared.authentication },
      { path: '/listed', port: upstream.port, authentication: listed.authentication },
    ],
    secrets: shared.secrets,
    sealKeyFile: key.path,
    origin,
  });
  front.pointTo(gateway.port);
});
after(async () => {
  await gateway?.stop();
  await Promise.all([forward, shared, listed].map((idp) => idp?.close()));
  await upstream?.close();
  await front?.close();
  key?.remove();
});
beforeEach(() => {
  upstream.forget();
  for (const idp of [forward, shared, listed]) idp.server.forget();
});

test('redirect_uri unchecked at authorize (CVE-2025-4143): an unregistered one gets an error page, never a redirect', async () => {
  for (const url of [urls.forward, urls.shared]) {
    const client = await new FlowClient(url).prepare();
    for (const uri of [
      'https://evil.example/cb',
      'http://127.0.0.1:33418/callback2',
      'http://evil.example:33418/callback',
    ]) {
      const answer = await ask(client.formatAuthorizationUrl({ redirect_uri: uri }));
      assert.equal(answer.status, 400);
      assert.equal(answer.headers['location'], undefined);
      assert.equal(answer.headers['refresh'], undefined);
      assert.doesNotMatch(answer.body, /evil\.example/);
    }
  }
});

test('PKCE downgrade (CVE-2025-4144): a challenge on authorize and no verifier at token is invalid_grant', async () => {
  for (const ignoresPkce of [false, true]) {
    for (const [url, idp] of [
      [urls.forward, forward],
      [urls.shared, shared],
    ] as const) {
      // Also where the identity provider knows nothing of PKCE: the gateway does.
      idp.quirky.quirks.ignoresPkce = ignoresPkce;
      const client = await new FlowClient(url).prepare();
      for (const verifier of [undefined, '', 'x'.repeat(43), `${client.verifier}x`]) {
        const callback = await client.logIn(new BrowserAgent());
        const answer = await client.tryRedeem(callback, { code_verifier: verifier });
        assert.equal(answer.status, 400, answer.body);
        assert.equal(answer.json()['error'], 'invalid_grant', answer.body);
      }
      idp.quirky.quirks.ignoresPkce = false;
    }
  }
});

test('shared client without consent (GHSA-c2jp-c369-7pvx): a second client always sees the consent page', async () => {
  const browser = new BrowserAgent();
  const consentPages = (): number => browser.pages.filter(({ url }) => url.port === String(front.port)).length;
  await new FlowClient(urls.shared).connect(browser);
  assert.equal(consentPages(), 1);
  // The person is logged in, and has agreed to one client. Another one, even of the same name, asks anew.
  const second = await new FlowClient(urls.shared, 'https://evil.example/cb').prepare();
  await second.logIn(browser);
  assert.equal(consentPages(), 2);
  assert.match(browser.pages.findLast(({ url }) => url.port === String(front.port))!.html, /evil\.example/);
  // Nothing reaches the identity provider before the person has agreed.
  shared.server.forget();
  const third = await new FlowClient(urls.shared, 'https://other.example/cb').prepare();
  const refusal = await third.logIn(browser, { consent: 'deny' });
  assert.equal(refusal.searchParams.get('error'), 'access_denied');
  assert.equal(shared.server.callsTo(shared.quirky.paths.authorize).length, 0);
});

test('consent of one browser is not consent of another: the form is bound to its cookie', async () => {
  const client = await new FlowClient(urls.shared, 'https://app.example.com/cb').prepare();
  const honest = new BrowserAgent();
  const arrival = await honest.visit(client.formatAuthorizationUrl(), client.redirectUri);
  assert.equal(arrival.at, 'page');
  // The attacker's form, submitted in the victim's browser.
  shared.server.forget();
  const victim = new BrowserAgent();
  const answered = await victim.answer(arrival.page, client.redirectUri);
  assert.equal(answered.at, 'page');
  assert.equal(answered.page.status, 400);
  assert.equal(shared.server.callsTo(shared.quirky.paths.authorize).length, 0);
});

test('consent not bound to the browser (CVE-2026-27124): a callback replayed in another browser is refused', async () => {
  for (const [url, idp] of [
    [urls.forward, forward],
    [urls.shared, shared],
  ] as const) {
    const client = await new FlowClient(url).prepare();
    const gatewayCallback = `${new URL(url).origin}/.oauth${new URL(url).pathname}/callback`;
    const attacker = new BrowserAgent();
    const stolen = await attacker.authorize(client.formatAuthorizationUrl(), gatewayCallback);
    assert.ok(stolen.searchParams.has('code'));
    idp.server.forget();
    const arrival = await new BrowserAgent().visit(stolen, client.redirectUri);
    assert.equal(arrival.at, 'page');
    assert.equal(arrival.page.status, 400);
    assert.equal(idp.server.calls.length, 0);
  }
});

test('registration defeats the redirect allow-list: refused at register and at authorize; only a loopback port may vary', async () => {
  const client = new FlowClient(urls.listed, 'http://127.0.0.1:5000/cb');
  await client.getChallenge();
  await client.discoverResource();
  await client.discoverServer();
  for (const uri of [
    'https://evil.example/cb',
    'https://app.example.com/cb2',
    'https://app.example.com:444/cb',
    'http://127.0.0.1:5000/other',
    'http://localhost:5000/cb',
  ]) {
    const answer = await client.tryRegister({ redirect_uris: [uri] });
    assert.equal(answer.status, 400, uri);
    assert.equal(answer.json()['error'], 'invalid_redirect_uri');
  }
  assert.equal(listed.server.callsTo(listed.quirky.paths.register).length, 0);
  await client.register();
  assert.ok((await client.logIn(new BrowserAgent())).searchParams.has('code'));
  for (const uri of ['https://app.example.com/cb', 'http://127.0.0.1:5000/other', 'http://[::1]:5000/cb']) {
    const answer = await ask(client.formatAuthorizationUrl({ redirect_uri: uri }));
    assert.equal(answer.status, 400, uri);
    assert.equal(answer.headers['location'], undefined);
  }
  const moved = await ask(client.formatAuthorizationUrl({ redirect_uri: 'http://127.0.0.1:6000/cb' }));
  assert.equal(moved.status, 200, 'the consent page');
});

describe('code or refresh token of one client used by another: refused, in Forward and in Shared', () => {
  for (const mode of ['forward', 'shared'] as const) {
    test(mode, async () => {
      const idp = mode === 'forward' ? forward : shared;
      const owner = await new FlowClient(urls[mode]).prepare();
      const thief = await new FlowClient(urls[mode]).prepare();
      const callback = await owner.logIn(new BrowserAgent());
      idp.server.forget();
      const stolenCode = await thief.tryRedeem(callback, { code_verifier: owner.verifier });
      assert.equal(stolenCode.json()['error'], 'invalid_grant');
      await owner.redeem(callback);
      idp.server.forget();
      const stolenToken = await thief.tryRefresh({ refresh_token: owner.tokens!.refresh_token });
      assert.equal(stolenToken.json()['error'], 'invalid_grant');
      assert.equal(idp.server.callsTo(idp.quirky.paths.token).length, 0);
      await owner.refresh();
    });
  }

  test('the client holds sealed values, not those of the identity provider', async () => {
    for (const mode of ['forward', 'shared'] as const) {
      const idp = mode === 'forward' ? forward : shared;
      const client = await new FlowClient(urls[mode]).connect(new BrowserAgent());
      assert.equal(idp.quirky.state.refreshTokens.has(client.tokens!.refresh_token!), false);
      assert.equal(idp.quirky.state.clients.has(client.clientId), false);
    }
  });
});

test('a client id, code or refresh token of one protected server is nothing at another', async () => {
  const here = await new FlowClient(urls.forward).connect(new BrowserAgent());
  const there = await new FlowClient(urls.shared).prepare();
  const answer = await ask(there.formatAuthorizationUrl({ client_id: here.clientId }));
  assert.equal(answer.status, 400);
  assert.equal(answer.headers['location'], undefined);
  const refreshed = await there.tryRefresh({ refresh_token: here.tokens!.refresh_token });
  assert.equal(refreshed.json()['error'], 'invalid_grant');
});

test('IdP secret given out with `none`: a secret that the IdP returns for a public client is never sent to a client', async () => {
  const client = await new FlowClient(urls.forward).connect(new BrowserAgent());
  await client.refresh();
  const { secrets } = forward.quirky.state;
  assert.ok(secrets.size > 0);
  const shown = await readAdminPages();
  const everything = [
    ...client.told.map(({ headers, body }) => JSON.stringify(headers) + body),
    gateway.readOutput(),
    shown,
    ...forward.server.callsTo(forward.quirky.paths.token).map(({ body, headers }) => JSON.stringify(headers) + body),
  ].join('\n');
  for (const secret of secrets) assert.equal(everything.includes(secret), false);
});

async function readAdminPages(): Promise<string> {
  const pages = ['/', '/flows', '/config', '/routes'].flatMap((path) =>
    ['text/html', 'application/json'].map(async (accept) => {
      const answer = await ask(`http://127.0.0.1:${gateway.adminPort}${path}`, { headers: { accept } });
      assert.equal(answer.status, 200, path);
      return answer.body;
    }),
  );
  return (await Promise.all(pages)).join('\n');
}

test('nothing that could be used is shown to the operator: no token, code, secret, verifier, key or sealed value', async () => {
  const client = await new FlowClient(urls.shared).prepare();
  const browser = new BrowserAgent();
  const callback = await client.logIn(browser);
  await client.redeem(callback);
  await client.refresh();
  assert.equal((await client.post()).status, 200);
  const shown = (await readAdminPages()) + gateway.readOutput();
  assert.match(shown, /Broker/, 'the pages were read');
  const [current = ''] = /(?<=current: )\S+/.exec(readFileSync(key.path, 'utf8')) ?? [];
  assert.equal(current.length > 40, true);
  const secrets: Record<string, string> = {
    'the key': current,
    'the key, in another alphabet': Buffer.from(current, 'base64url').toString('base64'),
    'the key, in hexadecimal': Buffer.from(current, 'base64url').toString('hex'),
    'the secret of the shared client': shared.secrets['client-secret']!,
    'the initial access token': shared.secrets['initial-access-token']!,
    'an access token': client.tokens!.access_token,
    'its signature': client.tokens!.access_token.split('.')[2]!,
    'a refresh token': client.tokens!.refresh_token!,
    'a code': callback.searchParams.get('code')!,
    'a verifier': client.verifier,
    'a state': client.state,
  };
  for (const [name, value] of Object.entries(secrets)) assert.equal(shown.includes(value), false, name);
  for (const refreshToken of shared.quirky.state.refreshTokens.keys())
    assert.equal(shown.includes(refreshToken), false);
});

test("IdP's own challenge relayed: no WWW-Authenticate, Set-Cookie or Location of the IdP reaches the client", async () => {
  const client = await new FlowClient(urls.forward).connect(new BrowserAgent());
  await client.refresh();
  await client.tryRefresh({ refresh_token: 'x' });
  forward.quirky.quirks.refreshAnswer = {
    status: 401,
    headers: {
      'www-authenticate': 'Basic realm="idp-internal"',
      'set-cookie': 'idp-internal=1',
      location: 'https://idp-internal.example.com/',
    },
  };
  await client.tryRefresh();
  forward.quirky.quirks.refreshAnswer = undefined;
  assert.ok(client.told.length >= 4);
  for (const { headers, body } of client.told) {
    assert.doesNotMatch(JSON.stringify(headers) + body, /idp-internal/);
    for (const name of ['www-authenticate', 'set-cookie', 'location']) assert.equal(headers[name], undefined, name);
  }
});

test('hostile JSON: 10,000 redirect_uris, 10,000 levels deep, `__proto__` are refused at once, never 5xx', async () => {
  const client = await new FlowClient(urls.forward).prepare();
  const deep = (open: string, close: string): string => open.repeat(10_000) + close.repeat(10_000);
  const uri = '"redirect_uris":["https://a.example/"]';
  const hostile = [
    `{"redirect_uris":[${Array.from({ length: 10_000 }, () => '"https://a/"').join(',')}]}`,
    `{${uri},"x":${deep('[', ']')}}`,
    `{${uri},"x":${deep('{"a":', '}').replace('}', '1}')}}`,
    deep('[', ']'),
    '{"redirect_uris":{"length":1,"0":"https://a.example/"}}',
    '{"__proto__":{"redirect_uris":["https://a.example/"]}}',
    '{"constructor":{"prototype":{"redirect_uris":["https://a.example/"]}}}',
    `{${uri},"client_name":{"toString":1}}`,
    `{${uri},"scope":["a"]}`,
    `{${uri},"client_name":"\\ud800"}`,
    '\uFEFF{}',
  ];
  forward.server.forget();
  for (const body of hostile) {
    const answer = await ask(client.server!.registration_endpoint!, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const accepted = answer.status === 201;
    assert.ok(accepted || answer.status === 400 || answer.status === 413, `${answer.status} for ${body.slice(0, 80)}`);
    // What is let through must have lost what makes it hostile.
    if (accepted) assert.match(body, /client_name|scope/);
  }
});

test('the consent page shows what the client says as text', async () => {
  const client = new FlowClient(urls.shared, 'https://app.example.com/cb');
  await client.prepare({ client_name: '<script>alert(1)</script><b>Bank</b>\u202e"' });
  const browser = new BrowserAgent();
  const arrival = await browser.visit(client.formatAuthorizationUrl({ scope: 'a"><img/src=x>' }), client.redirectUri);
  if (arrival.at === 'page') {
    assert.doesNotMatch(arrival.page.html, /<script>alert|<img|<b>Bank/);
    assert.doesNotMatch(arrival.page.html, /\u202e/);
  }
  const plain = await browser.visit(client.formatAuthorizationUrl({ scope: 'tickets:read' }), client.redirectUri);
  assert.equal(plain.at, 'page');
  const { headers, html } = plain.page;
  assert.doesNotMatch(html, /<script|\u202e/);
  assert.match(html, /app\.example\.com/);
  assert.match(html, /tickets:read/);
  const policy = String(headers['content-security-policy']);
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.equal(headers['x-frame-options'], 'DENY');
  assert.match(String(headers['cache-control']), /no-store/);
  const cookies = [headers['set-cookie'] ?? []].flat();
  assert.ok(cookies.length > 0);
  for (const cookie of cookies) assert.match(cookie, /HttpOnly.*SameSite=Lax|SameSite=Lax.*HttpOnly/);
});
