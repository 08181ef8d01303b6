// What clients, browsers and identity providers can send wrongly, step by step: the status, the body, and that nothing is left behind.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type StartedIdp, startQuirky } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { ask, type FlowAnswer, FlowClient, postForm } from '../idp/flow-client.ts';
import { type ProtectedSystem, startProtectedSystem } from '../idp/protected-system.ts';
import type { QuirkyIdp } from '../idp/quirky-idp.ts';
import type { Quirks, WrongAnswer } from '../idp/quirks.ts';

let system: ProtectedSystem;
let idp: QuirkyIdp;
let standard: Quirks;
/** Knows the endpoints, and is registered. */
let known: FlowClient;

before(async () => {
  system = await startProtectedSystem({
    startIdp: (): Promise<StartedIdp> =>
      startQuirky(
        { advertisesIss: true, emitsIss: 'always' },
        {
          registration: {
            limits: { perMinute: 100_000 },
            trustedRedirectUris: ['http://127.0.0.1:33418/callback'],
          },
        },
      ),
  });
  idp = system.idp.quirky!;
  standard = { ...idp.quirks };
  known = await new FlowClient(system.url).prepare();
});
after(() => system?.close());
beforeEach(() => {
  Object.assign(idp.quirks, standard);
  idp.server.forget();
});

/** An OAuth error as JSON, with the id that the operator finds it by. */
function assertError(answer: FlowAnswer, status: number, error: string): void {
  assert.equal(answer.status, status, answer.body);
  const body = answer.json();
  assert.equal(body['error'], error, answer.body);
  assert.equal(typeof body['error_description'], 'string');
  assert.equal(typeof body['request_id'], 'string');
  assert.match(String(answer.headers['cache-control']), /no-store/);
  assert.equal(answer.headers['location'], undefined);
}

/** A page for people, not a redirect. */
function assertErrorPage(answer: FlowAnswer, status = 400): void {
  assert.equal(answer.status, status, answer.body);
  assert.equal(answer.headers['location'], undefined);
  assert.match(String(answer.headers['content-type']), /^text\/html/);
  assert.match(String(answer.headers['content-security-policy']), /frame-ancestors 'none'/);
  assert.match(answer.body, /Request id/);
}

function postRegistration(body: string, contentType = 'application/json'): Promise<FlowAnswer> {
  return ask(known.server!.registration_endpoint!, { method: 'POST', headers: { 'content-type': contentType }, body });
}

const goodRegistration = {
  client_name: 'x',
  redirect_uris: ['http://127.0.0.1:1/cb'],
  token_endpoint_auth_method: 'none',
};

describe('registration', () => {
  const nest = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const uris = (...list: unknown[]): string => JSON.stringify({ ...goodRegistration, redirect_uris: list });
  const refused: Record<string, [body: string, status: number, error: string]> = {
    'not JSON': ['redirect_uris=x', 400, 'invalid_client_metadata'],
    empty: ['', 400, 'invalid_client_metadata'],
    'an array': [JSON.stringify([goodRegistration]), 400, 'invalid_client_metadata'],
    null: ['null', 400, 'invalid_client_metadata'],
    'a string': ['"x"', 400, 'invalid_client_metadata'],
    __proto__: ['{"redirect_uris":["https://a.example/"],"__proto__":{"x":1}}', 400, 'invalid_client_metadata'],
    'no redirect_uris': ['{"client_name":"x"}', 400, 'invalid_redirect_uri'],
    'redirect_uris that is no list': ['{"redirect_uris":"https://a.example/"}', 400, 'invalid_redirect_uri'],
    'an empty list': [uris(), 400, 'invalid_redirect_uri'],
    'a number for a redirect URI': [uris(1), 400, 'invalid_redirect_uri'],
    'javascript:': [uris('javascript:alert(1)'), 400, 'invalid_redirect_uri'],
    'JaVaScRiPt:': [uris('JaVaScRiPt:alert(1)'), 400, 'invalid_redirect_uri'],
    'data:': [uris('data:text/html,x'), 400, 'invalid_redirect_uri'],
    'http on a public host': [uris('http://app.example.com/cb'), 400, 'invalid_redirect_uri'],
    'http on a name that only looks like loopback': [
      uris('http://127.0.0.1.example.com/'),
      400,
      'invalid_redirect_uri',
    ],
    'a user in front of the host': [uris('http://127.0.0.1@evil.example/'), 400, 'invalid_redirect_uri'],
    'a fragment': [uris('https://app.example.com/cb#x'), 400, 'invalid_redirect_uri'],
    'one bad among good ones': [uris('https://a.example/', 'javascript:x'), 400, 'invalid_redirect_uri'],
    'a relative redirect URI': [uris('/cb'), 400, 'invalid_redirect_uri'],
    'a line break': [uris('https://a.example/\r\nset-cookie:x'), 400, 'invalid_redirect_uri'],
    '10,000 levels deep': [
      `{"redirect_uris":["https://a.example/"],"jwks":${nest(10_000)}}`,
      400,
      'invalid_client_metadata',
    ],
  };
  for (const [name, [body, status, error]] of Object.entries(refused)) {
    test(`${name} -> ${status} ${error}, and the identity provider is not asked`, async () => {
      assertError(await postRegistration(body), status, error);
      assert.equal(idp.server.calls.length, 0);
    });
  }

  test('10,000 redirect URIs -> refused at once', async () => {
    const answer = await postRegistration(
      uris(...Array.from({ length: 10_000 }, (_, index) => `https://a.example/${index}`)),
    );
    assert.ok(answer.status === 400 || answer.status === 413, answer.body);
    assert.equal(idp.server.calls.length, 0);
  });

  test('1 MB -> 413, and the identity provider is not asked', async () => {
    const answer = await postRegistration(JSON.stringify({ ...goodRegistration, client_name: 'x'.repeat(1_048_576) }));
    assert.equal(answer.status, 413, answer.body);
    assert.equal(typeof answer.json()['request_id'], 'string');
    assert.equal(idp.server.calls.length, 0);
  });

  test('a client id, a secret and unknown members of the client’s choice are not passed on', async () => {
    const wished = { client_id: 'admin', client_secret: 'chosen', x_admin: true, registration_access_token: 'x' };
    const answer = await postRegistration(JSON.stringify({ ...goodRegistration, ...wished }));
    assert.equal(answer.status, 201, answer.body);
    assert.notEqual(answer.json()['client_id'], 'admin');
    assert.equal(answer.json()['client_secret'], undefined);
    const [call] = idp.server.callsTo(idp.paths.register);
    const sent = JSON.parse(call!.body) as object;
    for (const member of Object.keys(wished)) {
      assert.equal(Object.hasOwn(sent, member), false, member);
    }
  });

  const html = { 'content-type': 'text/html' };
  const json = { 'content-type': 'application/json' };
  const answers: Record<string, [WrongAnswer, status: number, error: string]> = {
    '400 with a code of RFC 7591': [
      { status: 400, headers: json, body: '{"error":"invalid_client_metadata","error_description":"no"}' },
      400,
      'invalid_client_metadata',
    ],
    '400 with a code of its own': [{ status: 400, headers: json, body: '{"error":"E1234"}' }, 403, 'access_denied'],
    '400 with nothing': [{ status: 400 }, 403, 'access_denied'],
    '401': [{ status: 401, headers: { 'www-authenticate': 'Bearer realm="idp-internal"' } }, 403, 'access_denied'],
    '403': [{ status: 403, headers: json, body: '{"error":"insufficient_scope"}' }, 403, 'access_denied'],
    '404': [{ status: 404, headers: html, body: '<h1>No</h1>' }, 403, 'access_denied'],
    'a redirect to a login page': [
      { status: 302, headers: { location: 'https://idp-internal.example.com/login' } },
      403,
      'access_denied',
    ],
    '500 with HTML': [{ status: 500, headers: html, body: '<h1>Oops</h1>' }, 503, 'temporarily_unavailable'],
    '503': [{ status: 503, headers: { 'retry-after': '7' } }, 503, 'temporarily_unavailable'],
    'HTML in place of JSON': [{ status: 200, headers: html, body: '<h1>Log in</h1>' }, 503, 'temporarily_unavailable'],
    garbage: [{ status: 201, headers: json, body: '{"client_id":' }, 503, 'temporarily_unavailable'],
    'JSON without a client_id': [{ status: 201, headers: json, body: '{}' }, 503, 'temporarily_unavailable'],
    'a client_id that is no string': [
      { status: 201, headers: json, body: '{"client_id":7}' },
      503,
      'temporarily_unavailable',
    ],
    '20 MB': [{ status: 201, headers: json, body: 'x'.repeat(20_000_000) }, 503, 'temporarily_unavailable'],
    nothing: ['never', 503, 'temporarily_unavailable'],
  };
  for (const [name, [wrong, status, error]] of Object.entries(answers)) {
    test(`the identity provider answers ${name} -> ${status} ${error}`, async () => {
      idp.quirks.registrationAnswer = wrong;
      const answer = await postRegistration(JSON.stringify(goodRegistration));
      assertError(answer, status, error);
      if (status === 503) assert.match(String(answer.headers['retry-after']), /^\d+$/);
      assert.doesNotMatch(JSON.stringify(answer.headers) + answer.body, /idp-internal|E1234/);
    });
  }

  test('the identity provider answers 429 -> 403 access_denied, like any other refusal that the client cannot mend', async () => {
    idp.quirks.registrationAnswer = { status: 429, headers: { 'retry-after': '30' } };
    const answer = await postRegistration(JSON.stringify(goodRegistration));
    assert.equal(answer.status, 403, answer.body);
    assert.equal((JSON.parse(answer.body) as { error: string }).error, 'access_denied');
    assert.equal(typeof answer.json()['request_id'], 'string');
  });

  test('the identity provider is down -> 503 with Retry-After, and works again once it is up', async () => {
    idp.server.goDown();
    const answer = await postRegistration(JSON.stringify(goodRegistration));
    idp.server.comeUp();
    assertError(answer, 503, 'temporarily_unavailable');
    assert.equal((await postRegistration(JSON.stringify(goodRegistration))).status, 201);
  });

  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
    test(`${method} -> 405 with Allow`, async () => {
      const answer = await ask(known.server!.registration_endpoint!, { method });
      assert.equal(answer.status, 405);
      assert.match(String(answer.headers['allow']), /POST/);
    });
  }
});

describe('registrations are limited per address', () => {
  test('more than allowed in a minute -> 429 with Retry-After, and the identity provider is not asked', async (t) => {
    const limited = await startProtectedSystem({
      startIdp: () =>
        startQuirky({}, { flow: 'Broker', registration: { limits: { perMinute: 3, maxBodyBytes: 1_024 } } }),
    });
    t.after(() => limited.close());
    const client = new FlowClient(limited.url);
    await client.getChallenge();
    await client.discoverResource();
    await client.discoverServer();
    for (let count = 0; count < 3; count += 1) await client.register();
    const answer = await client.tryRegister();
    assert.equal(answer.status, 429, answer.body);
    assert.match(String(answer.headers['retry-after']), /^\d+$/);
    assert.equal(typeof answer.json()['request_id'], 'string');
    const { server, paths } = limited.idp.quirky!;
    assert.equal(server.callsTo(paths.register).length, 3);
  });
});

describe('authorize', () => {
  const visit = (changes: Record<string, string | undefined>): Promise<FlowAnswer> =>
    ask(known.formatAuthorizationUrl(changes));
  const spoil = (text: string): string => `${text.slice(0, -2)}${text.endsWith('AA') ? 'BB' : 'AA'}`;

  test('an unknown client -> an error page, never a redirect', async () => {
    for (const client of [
      undefined,
      '',
      'nobody',
      spoil(known.clientId),
      `${known.clientId}x`,
      known.clientId.slice(1),
    ]) {
      assertErrorPage(await visit({ client_id: client }));
    }
    assert.equal(idp.server.callsTo(idp.paths.authorize).length, 0);
  });

  test('a redirect URI that is not registered -> an error page, never a redirect', async () => {
    const wrong = [
      'https://evil.example/',
      'http://127.0.0.1:33418/callback/../evil',
      'http://127.0.0.1:33418/callback/',
      'http://127.0.0.1:33418/callback?x=1',
      'http://127.0.0.1:33418/Callback',
      'http://localhost:33418/callback',
      'https://127.0.0.1:33418/callback',
      'http://127.0.0.1:33418@evil.example/callback',
      'javascript:alert(1)',
    ];
    for (const uri of wrong) assertErrorPage(await visit({ redirect_uri: uri }));
  });

  test('only the port of a loopback may differ', async () => {
    const answer = await visit({ redirect_uri: 'http://127.0.0.1:50000/callback' });
    assert.equal(answer.status, 200, answer.body);
    assert.match(answer.body, /Allow access to .*127\.0\.0\.1:50000/s);
  });

  const toldTheClient: Record<string, [Record<string, string | undefined>, error: string]> = {
    'missing PKCE': [{ code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    'plain PKCE': [{ code_challenge_method: 'plain' }, 'invalid_request'],
    'PKCE without a method, which means plain': [{ code_challenge_method: undefined }, 'invalid_request'],
    'a challenge that is no SHA-256': [{ code_challenge: 'short' }, 'invalid_request'],
    'another response type': [{ response_type: 'token' }, 'unsupported_response_type'],
    'no response type': [{ response_type: undefined }, 'invalid_request'],
    'another resource': [{ resource: 'https://other.example/mcp' }, 'invalid_target'],
  };
  for (const [name, [changes, error]] of Object.entries(toldTheClient)) {
    test(`${name} -> ${error} at the client, with its state and our issuer`, async () => {
      const answer = await visit(changes);
      assert.ok([302, 303].includes(answer.status), answer.body);
      const location = new URL(String(answer.headers['location']));
      assert.equal(location.origin + location.pathname, known.redirectUri);
      assert.equal(location.searchParams.get('error'), error);
      assert.equal(location.searchParams.get('state'), known.state);
      assert.equal(location.searchParams.get('iss'), known.server!.issuer);
      assert.equal(idp.server.callsTo(idp.paths.authorize).length, 0);
    });
  }

  test('a long state and long redirect URIs come back whole', async () => {
    const client = new FlowClient(system.url, `http://127.0.0.1:33418/${'p'.repeat(1_500)}`);
    await client.prepare({ redirect_uris: [client.redirectUri, `https://app.example.com/${'q'.repeat(1_500)}`] });
    const state = 's'.repeat(2_000);
    const callback = await new BrowserAgent().authorize(client.formatAuthorizationUrl({ state }), client.redirectUri);
    assert.equal(callback.searchParams.get('state'), state);
    await client.redeem(callback);
    assert.notEqual((await client.post()).status, 401);
  });

  test('repeated parameters -> refused, whichever they are', async () => {
    for (const name of [
      'client_id',
      'redirect_uri',
      'state',
      'code_challenge',
      'scope',
      'response_type',
      'code_challenge_method',
    ]) {
      const url = known.formatAuthorizationUrl({ scope: 'tickets:read' });
      url.searchParams.append(name, url.searchParams.get(name)!);
      const answer = await ask(url);
      if (name === 'client_id' || name === 'redirect_uri') assertErrorPage(answer);
      else {
        const location = new URL(String(answer.headers['location']));
        assert.equal(location.searchParams.get('error'), 'invalid_request', name);
      }
    }
  });
});

describe('callback', () => {
  /** A login up to the identity provider's answer to the gateway, which is not delivered. */
  async function logInUpToCallback(browser: BrowserAgent): Promise<URL> {
    const callback = new URL('/.oauth/tickets/callback', system.url).href;
    const arrival = await browser.visit(known.formatAuthorizationUrl(), callback);
    assert.equal(arrival.at, 'page');
    const answered = await browser.answer(arrival.page, callback);
    assert.equal(answered.at, 'client');
    return answered.url;
  }

  const deliver = (browser: BrowserAgent, url: URL) => browser.visit(url, known.redirectUri);

  test('a good one comes through once; the replay is refused', async () => {
    const browser = new BrowserAgent();
    const url = await logInUpToCallback(browser);
    const arrival = await deliver(browser, url);
    assert.equal(arrival.at, 'client');
    assert.equal(arrival.url.searchParams.get('iss'), known.server!.issuer);
    const replay = await deliver(browser, url);
    assert.equal(replay.at, 'page');
    assert.equal(replay.page.status, 400);
  });

  test('in another browser -> refused', async () => {
    const url = await logInUpToCallback(new BrowserAgent());
    const arrival = await deliver(new BrowserAgent(), url);
    assert.equal(arrival.at, 'page');
    assert.equal(arrival.page.status, 400);
  });

  test('an altered or missing state -> refused', async () => {
    const browser = new BrowserAgent();
    const url = await logInUpToCallback(browser);
    const state = url.searchParams.get('state')!;
    for (const wrong of [undefined, '', 'x', `${state}x`, state.slice(0, -1), `Z${state.slice(1)}`, known.clientId]) {
      const altered = new URL(url);
      if (wrong === undefined) altered.searchParams.delete('state');
      else altered.searchParams.set('state', wrong);
      const arrival = await deliver(browser, altered);
      assert.equal(arrival.at, 'page', String(wrong));
      assert.equal(arrival.page.status, 400);
    }
    const twice = new URL(url);
    twice.searchParams.append('state', state);
    assert.equal((await deliver(browser, twice)).at, 'page');
    // None of this has spent the login itself.
    assert.equal((await deliver(browser, url)).at, 'client');
  });

  for (const [name, change] of Object.entries({
    wrong: (url: URL) => url.searchParams.set('iss', 'https://evil.example'),
    'with a trailing slash': (url: URL) => url.searchParams.set('iss', `${url.searchParams.get('iss')}/`),
    twice: (url: URL) => url.searchParams.append('iss', url.searchParams.get('iss')!),
    'missing although advertised': (url: URL) => url.searchParams.delete('iss'),
  })) {
    test(`iss ${name} -> the code goes nowhere`, async () => {
      const browser = new BrowserAgent();
      const url = await logInUpToCallback(browser);
      change(url);
      const arrival = await deliver(browser, url);
      if (arrival.at === 'client') {
        assert.equal(arrival.url.searchParams.has('code'), false);
        assert.notEqual(arrival.url.searchParams.get('error'), null);
      } else assert.ok(arrival.page.status >= 400);
    });
  }

  test('an error of the identity provider travels to the client', async () => {
    const refusal = await known.logIn(new BrowserAgent(), { cancelsLogin: true });
    assert.equal(refusal.searchParams.get('error'), 'access_denied');
    assert.equal(refusal.searchParams.get('iss'), known.server!.issuer);
    assert.equal(refusal.searchParams.has('code'), false);
  });
});

describe('token', () => {
  let callback: URL;
  beforeEach(async () => {
    callback = await known.logIn(new BrowserAgent());
  });

  test('a wrong verifier, or none -> invalid_grant', async () => {
    assertError(await known.tryRedeem(callback, { code_verifier: 'x'.repeat(43) }), 400, 'invalid_grant');
    const again = await known.logIn(new BrowserAgent());
    assertError(await known.tryRedeem(again, { code_verifier: undefined }), 400, 'invalid_grant');
  });

  test('a code twice -> invalid_grant', async () => {
    await known.redeem(callback);
    assertError(await known.tryRedeem(callback), 400, 'invalid_grant');
  });

  test('a code of another client -> invalid_grant, and the identity provider is not asked', async () => {
    const other = await new FlowClient(system.url).prepare();
    idp.server.forget();
    const answer = await other.tryRedeem(callback, { code_verifier: known.verifier });
    assertError(answer, 400, 'invalid_grant');
    assert.equal(idp.server.callsTo(idp.paths.token).length, 0);
  });

  test('a refresh token of another client -> invalid_grant', async () => {
    await known.redeem(callback);
    const other = await new FlowClient(system.url).prepare();
    idp.server.forget();
    const answer = await other.tryRefresh({ refresh_token: known.tokens!.refresh_token });
    assertError(answer, 400, 'invalid_grant');
    assert.equal(idp.server.callsTo(idp.paths.token).length, 0);
  });

  test('another redirect URI than at authorize -> invalid_grant', async () => {
    assertError(await known.tryRedeem(callback, { redirect_uri: 'http://127.0.0.1:1/other' }), 400, 'invalid_grant');
  });

  test('an unknown client -> invalid_client', async () => {
    const answer = await known.tryRedeem(callback, { client_id: 'nobody' });
    assert.equal(answer.json()['error'], 'invalid_client');
    assert.ok(answer.status === 400 || answer.status === 401);
  });

  test('an unknown grant, and one that the identity provider does not list -> unsupported_grant_type', async () => {
    for (const grant of ['password', 'urn:ietf:params:oauth:grant-type:device_code', 'x']) {
      assertError(await known.tryRedeem(callback, { grant_type: grant }), 400, 'unsupported_grant_type');
    }
    assertError(await known.tryRedeem(callback, { grant_type: undefined }), 400, 'invalid_request');
  });

  test('another resource -> invalid_target', async () => {
    assertError(await known.tryRedeem(callback, { resource: 'https://other.example/' }), 400, 'invalid_target');
  });

  test('garbage in place of a code or a refresh token -> invalid_grant, and the identity provider is not asked', async () => {
    const code = callback.searchParams.get('code')!;
    idp.server.forget();
    for (const wrong of ['x', `${code}x`, code.slice(0, -1), `Z${code.slice(1)}`, known.clientId]) {
      assertError(await known.tryRedeem(callback, { code: wrong }), 400, 'invalid_grant');
      assertError(await known.tryRefresh({ refresh_token: wrong }), 400, 'invalid_grant');
    }
    assertError(await known.tryRefresh({ refresh_token: code }), 400, 'invalid_grant');
    assert.equal(idp.server.callsTo(idp.paths.token).length, 0);
  });

  test('repeated parameters -> invalid_request', async () => {
    for (const name of ['grant_type', 'code', 'client_id', 'code_verifier', 'redirect_uri']) {
      const form = new URLSearchParams({
        grant_type: 'authorization_code',
        code: callback.searchParams.get('code')!,
        client_id: known.clientId,
        code_verifier: known.verifier,
        redirect_uri: known.redirectUri,
      });
      form.append(name, form.get(name)!);
      assertError(await postForm(known.server!.token_endpoint, form), 400, 'invalid_request');
    }
  });

  test('JSON, nothing at all, or a GET -> refused', async () => {
    const url = known.server!.token_endpoint;
    const json = await ask(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    assertError(json, 400, 'invalid_request');
    assertError(await postForm(url, {}), 400, 'invalid_request');
    assert.equal((await ask(url)).status, 405);
  });
});
