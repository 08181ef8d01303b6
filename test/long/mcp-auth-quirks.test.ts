// Identity providers that deviate: a login with each quirk alone and with all of them together, on one gateway with as many protected servers.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type StartedIdp, startQuirky } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { type FlowAnswer, FlowClient } from '../idp/flow-client.ts';
import {
  createSealKeyFile,
  type ProtectedBackend,
  type ProtectedGateway,
  startProtectedGateway,
} from '../idp/protected-gateway.ts';
import { type QuirkCase, quirkCases } from '../idp/quirk-cases.ts';
import type { QuirkyIdp } from '../idp/quirky-idp.ts';
import type { Quirks } from '../idp/quirks.ts';
import { startTcpSwitch, type TcpSwitch } from '../idp/tcp-switch.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import type { RecordingUpstream } from '../kit/recording-upstream.ts';

type QuirkyStart = StartedIdp & { readonly quirky: QuirkyIdp };

/** Further identity providers, for what can only fail. */
const failing: readonly QuirkCase[] = [
  { name: 'failing', quirks: { advertisesIss: true, emitsIss: 'always' } },
  { name: 'no sub', quirks: { omitsSubject: true } },
  { name: 'no scopes', quirks: { scopeClaim: 'none' } },
  { name: 'opaque', quirks: { accessTokenFormat: 'opaque' } },
  { name: 'audience is the client id', quirks: { audience: 'client-id', resource: 'ignored' } },
];

const cases = [...quirkCases, ...failing];
let front: TcpSwitch;
let upstream: RecordingUpstream;
let gateway: ProtectedGateway;
let key: ReturnType<typeof createSealKeyFile>;
const idps: QuirkyStart[] = [];

const pathOf = (each: QuirkCase): string => `/case-${cases.indexOf(each)}`;
const urlOf = (each: QuirkCase): string => `http://127.0.0.1:${front.port}${pathOf(each)}`;
const idpOf = (each: QuirkCase): QuirkyIdp => idps[cases.indexOf(each)]!.quirky;

before(async () => {
  front = await startTcpSwitch();
  upstream = await startMcpUpstream();
  key = createSealKeyFile();
  for (const each of cases) {
    const callback = `http://127.0.0.1:${front.port}/.oauth${pathOf(each)}/callback`;
    const policy = { requiredScopes: ['tickets:read'], ...each.authentication };
    idps.push(
      await startQuirky(each.quirks, policy, each.shared === true ? { callback, method: 'as-listed' } : undefined),
    );
  }
  gateway = await startProtectedGateway({
    backends: cases.map((each, index): ProtectedBackend => ({
      path: pathOf(each),
      port: upstream.port,
      authentication: idps[index]!.authentication,
    })),
    secrets: idps[0]!.secrets,
    sealKeyFile: key.path,
    origin: `http://127.0.0.1:${front.port}`,
  });
  front.pointTo(gateway.port);
});
after(async () => {
  await gateway?.stop();
  await Promise.all(idps.map((idp) => idp.close()));
  await upstream?.close();
  await front?.close();
  key?.remove();
});

describe('a login succeeds although', () => {
  for (const each of quirkCases) {
    test(each.name, async () => {
      const idp = idpOf(each);
      const client = new FlowClient(urlOf(each));
      client.scope = 'openid tickets:read';
      await client.getChallenge();
      client.scope = 'openid tickets:read';
      await client.discoverResource();
      await client.discoverServer();
      await client.register();
      await client.redeem(await client.logIn(new BrowserAgent()));
      assertAccepted(await client.post());
      if (each.givesNoRefreshToken === true) assert.equal(client.tokens!.refresh_token, undefined);
      else {
        const old = client.tokens!;
        await client.refresh();
        assert.notEqual(client.tokens!.access_token, old.access_token);
        assertAccepted(await client.post());
      }
      await each.check?.({ idp, client });
      assertNothingLeaked(client, idp);
      assert.deepEqual(
        idp.server.calls.filter(({ method }) => method === 'HEAD'),
        [],
        'an identity provider is never asked with HEAD',
      );
    });
  }
});

function assertAccepted(answer: FlowAnswer): void {
  assert.equal(answer.status, 200, `${answer.body} ${String(answer.headers['www-authenticate'])}`);
}

/** In Facade the client talks to the identity provider itself, so only the registration is the gateway's. */
function assertNothingLeaked(client: FlowClient, idp: QuirkyIdp): void {
  const isBroker = client.server!.token_endpoint.startsWith(new URL(client.url).origin);
  const told = isBroker ? client.told : client.told.slice(0, 1);
  for (const answer of told) {
    const text = JSON.stringify(answer.headers) + answer.body;
    for (const secret of idp.state.secrets) assert.equal(text.includes(secret), false, `${secret} in ${text}`);
    assert.doesNotMatch(text, /idp-internal|registration_client_uri|registration_access_token/);
    assert.equal(answer.headers['set-cookie'], undefined);
    assert.match(String(answer.headers['cache-control']), /no-store/);
  }
}

describe('answers of the token endpoint of an identity provider', () => {
  const [each] = failing as [QuirkCase];
  const html = { 'content-type': 'text/html' };
  const json = { 'content-type': 'application/json' };
  const answers: Record<string, [Quirks['tokenAnswer'], status: number, error: string]> = {
    '403 invalid_code': [{ status: 403, headers: json, body: '{"error":"invalid_code"}' }, 400, 'invalid_grant'],
    'an empty 400': [{ status: 400 }, 400, 'invalid_grant'],
    'a 400 in HTML': [{ status: 400, headers: html, body: '<h1>Bad</h1>' }, 400, 'invalid_grant'],
    'a 500 in HTML': [{ status: 500, headers: html, body: '<h1>Oops</h1>' }, 503, 'temporarily_unavailable'],
    'a 200 in HTML': [{ status: 200, headers: html, body: '<h1>Hello</h1>' }, 503, 'temporarily_unavailable'],
    'a 200 without a token': [{ status: 200, headers: json, body: '{}' }, 503, 'temporarily_unavailable'],
    'half of a JSON document': [
      { status: 200, headers: json, body: '{"access_token":' },
      503,
      'temporarily_unavailable',
    ],
    nothing: ['never', 503, 'temporarily_unavailable'],
  };
  for (const [name, [wrong, status, error]] of Object.entries(answers)) {
    for (const grant of ['code', 'refresh token'] as const) {
      test(`${name} for a ${grant} -> ${status} ${error}`, async () => {
        const idp = idpOf(each);
        const client = await new FlowClient(urlOf(each)).connect(new BrowserAgent());
        const callback = await client.logIn(new BrowserAgent());
        if (grant === 'code') idp.quirks.tokenAnswer = wrong;
        else idp.quirks.refreshAnswer = wrong;
        const answer = await (grant === 'code' ? client.tryRedeem(callback) : client.tryRefresh());
        idp.quirks.tokenAnswer = undefined;
        idp.quirks.refreshAnswer = undefined;
        assert.equal(answer.status, status, answer.body);
        assert.equal(answer.json()['error'], error);
        assert.equal(typeof answer.json()['request_id'], 'string');
        assert.match(String(answer.headers['cache-control']), /no-store/);
      });
    }
  }

  test('a redirect -> an error, not followed', async () => {
    const idp = idpOf(each);
    const client = await new FlowClient(urlOf(each)).connect(new BrowserAgent());
    idp.quirks.refreshAnswer = { status: 302, headers: { location: `${idp.issuer}/sso/login` } };
    const answer = await client.tryRefresh();
    idp.quirks.refreshAnswer = undefined;
    assert.ok(answer.status === 400 || answer.status === 503, answer.body);
    assert.equal(typeof answer.json()['error'], 'string');
    assert.equal(answer.headers['location'], undefined);
    assert.equal(idp.server.callsTo('/sso/login').length, 0);
  });

  for (const how of ['invalid_grant', 'invalid_request', '403 invalid_code', 'empty 400'] as const) {
    test(`${how} for a dead refresh token -> invalid_grant`, async () => {
      const idp = idpOf(each);
      idp.quirks.deadRefreshToken = how;
      const client = await new FlowClient(urlOf(each)).connect(new BrowserAgent());
      idp.state.refreshTokens.clear();
      const answer = await client.tryRefresh();
      assert.equal(answer.status, 400, answer.body);
      assert.equal(answer.json()['error'], 'invalid_grant');
    });
  }

  test('the login fails at the identity provider, with and without iss -> the client learns it', async () => {
    const idp = idpOf(each);
    for (const emitsIss of ['always', 'on-success'] as const) {
      Object.assign(idp.quirks, { emitsIss, loginError: 'server_error' });
      const client = await new FlowClient(urlOf(each)).prepare();
      const callback = await client.logIn(new BrowserAgent());
      assert.equal(callback.searchParams.get('error'), 'server_error');
      assert.equal(callback.searchParams.get('iss'), client.server!.issuer);
    }
    Object.assign(idp.quirks, { emitsIss: 'always', loginError: undefined });
  });
});

describe('tokens that cannot be accepted', () => {
  const expected: Record<string, [status: number, error: string]> = {
    'no sub': [403, 'missing_subject'],
    'no scopes': [403, 'token_without_scopes'],
    opaque: [401, 'token_malformed'],
    'audience is the client id': [401, 'token_wrong_audience'],
  };
  for (const each of failing.slice(1)) {
    test(`${each.name} -> ${expected[each.name]!.join(' ')}`, async () => {
      const [status, error] = expected[each.name]!;
      upstream.forget();
      const client = await new FlowClient(urlOf(each)).connect(new BrowserAgent());
      const answer = await client.post();
      assert.equal(answer.status, status, answer.body);
      assert.equal(answer.json()['error'], error, answer.body);
      assert.equal(upstream.headCount, 0);
    });
  }
});
