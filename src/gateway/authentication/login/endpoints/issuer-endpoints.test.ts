// The endpoints of the flow Issuer but for the token endpoint: metadata, keys, registration, login and revocation.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSealKey } from '../../../../base/sealed.ts';
import { createMemoryStore } from '../../../../store/memory-store.ts';
import type { Store } from '../../../../store/store.ts';
import { standardPreset } from '../../../config/provider-preset.ts';
import { createContext, valueOf } from '../../testing/auth-fixture.ts';
import { base, createPkce, listHeaders, readLocation, resourceUrl, TestBrowser } from '../../testing/broker-fixture.ts';
import {
  arrangeKeys,
  createTestKey,
  type IssuedTokens,
  type IssuerOptions,
  readBody,
  readTokens,
  redirectUri,
  TestIssuer,
} from '../../testing/issuer-fixture.ts';
import { readKeySet } from '../../token/key-set.ts';
import { authorizationServerMetadataEndpoint } from './authorization-server-metadata.ts';
import { authorizeEndpoint } from './authorize.ts';
import { callbackEndpoint } from './callback.ts';
import { jwksEndpoint } from './jwks.ts';
import { describeResource } from './protected-resource-metadata.ts';
import { revokeEndpoint } from './revoke.ts';
import { serveOwnEndpoint } from './serve-own-endpoint.ts';

const down = { ok: false, detail: 'nothing is there', retryAfterSeconds: 3 } as const;

function createStore(reach: Store['reach'] = 'shared'): Store {
  return { ...createMemoryStore({ now: () => Date.UTC(2026, 0, 1) }), reach };
}

async function readMetadata(
  options: IssuerOptions = {},
  isRootForm = false,
): Promise<Readonly<Record<string, unknown>>> {
  const { broker } = new TestIssuer(options);
  const answer = await broker.call(authorizationServerMetadataEndpoint, { isRootForm });
  assert.equal(answer.status, 200, answer.body);
  return readBody(answer);
}

describe('metadata', () => {
  test('is the gateway’s own, and is served while the identity provider is down', async () => {
    const metadata = { claims_supported: ['sub'], end_session_endpoint: 'https://idp.example.com/logout' };
    for (const options of [{ metadata }, { metadataState: down }])
      assert.deepEqual(await readMetadata(options), {
        issuer: resourceUrl,
        authorization_endpoint: `${base}/.oauth/mcp/authorize`,
        token_endpoint: `${base}/.oauth/mcp/token`,
        registration_endpoint: `${base}/.oauth/mcp/register`,
        jwks_uri: `${base}/.oauth/mcp/jwks`,
        scopes_supported: ['tickets', 'admin'],
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_methods_supported: ['none'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
      });
  });

  test('at the root names the host and the endpoints there', async () => {
    const document = await readMetadata({}, true);
    assert.equal(document['issuer'], base);
    assert.equal(document['jwks_uri'], `${base}/.oauth/jwks`);
    assert.equal(document['token_endpoint'], `${base}/.oauth/token`);
  });

  test('offers revocation only where sessions are in a store that outlives the process', async () => {
    for (const reach of ['shared', 'machine'] as const)
      assert.equal(
        (await readMetadata({ store: createStore(reach) }))['revocation_endpoint'],
        `${base}/.oauth/mcp/revoke`,
      );
    for (const options of [{}, { store: createStore('process') }])
      assert.equal((await readMetadata(options))['revocation_endpoint'], undefined);
  });

  test('offers no refresh tokens where there are none', async () => {
    const issuedTokens = { lifetimeMs: 900_000, refreshLifetimeMs: 0n, claims: [], scopes: [] };
    const document = await readMetadata({ message: { issuedTokens } });
    assert.deepEqual(document['grant_types_supported'], ['authorization_code']);
    assert.equal(document['scopes_supported'], undefined);
  });

  test('is not served without signing keys', async () => {
    const { broker } = new TestIssuer({ signingKeys: null });
    for (const endpoint of [authorizationServerMetadataEndpoint, jwksEndpoint]) {
      const answer = await broker.call(endpoint, {});
      assert.deepEqual([answer.status, answer.reason], [503, 'signing_key_missing']);
    }
  });

  test('of the resource lists the scopes that tokens can have', () => {
    const { broker } = new TestIssuer();
    assert.deepEqual(describeResource(base, broker.resource)['scopes_supported'], ['tickets', 'admin']);
    assert.deepEqual(describeResource(base, broker.resource)['authorization_servers'], [resourceUrl]);
  });
});

test('all published keys are served, and nothing private', async () => {
  const [active, waiting] = [createTestKey(), createTestKey()];
  const { broker } = new TestIssuer({ signingKeys: arrangeKeys(active, waiting) });
  const answer = await broker.call(jwksEndpoint, {});
  assert.deepEqual(listHeaders(answer, 'cache-control'), ['public, max-age=60']);
  const document = readBody(answer) as { readonly keys: readonly Record<string, unknown>[] };
  assert.deepEqual(
    document.keys.map(({ kid }) => kid),
    [active.kid, waiting.kid],
  );
  for (const key of document.keys)
    assert.deepEqual(Object.keys(key).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  const read = readKeySet(document);
  assert.ok(read.ok);
  assert.deepEqual(read.keySet.ignored, []);
});

describe('the way to the identity provider', () => {
  test('asks for an identity, and for nothing that the client wants', async () => {
    const gateway = new TestIssuer({
      message: { extraScopes: ['team'], extraParameters: { hd: 'example.com' } },
    });
    const { idpUrl } = await gateway.logIn({
      scope: 'tickets admin',
      resource: resourceUrl,
      nonce: 'of the client',
      id_token_hint: 'of the client',
      login_hint: 'alice',
      audience: 'x',
    });
    const parameters = Object.fromEntries(idpUrl.searchParams);
    assert.equal(parameters['scope'], 'openid email profile team');
    assert.equal(parameters['client_id'], 'gateway-client');
    assert.equal(parameters['redirect_uri'], `${base}/.oauth/mcp/callback`);
    assert.equal(parameters['login_hint'], 'alice');
    assert.equal(parameters['hd'], 'example.com');
    assert.match(parameters['nonce']!, /^[\w-]{22}$/);
    for (const name of ['resource', 'audience', 'id_token_hint']) assert.equal(parameters[name], undefined, name);
    const other = await gateway.logIn();
    assert.notEqual(other.idpUrl.searchParams.get('nonce'), parameters['nonce']);
  });

  test('has the nonce of the gateway, whatever the policy adds', async () => {
    const gateway = new TestIssuer({ message: { extraParameters: { nonce: 'fixed' } } });
    const { redeem, idpUrl } = await gateway.logIn();
    assert.notEqual(idpUrl.searchParams.get('nonce'), 'fixed');
    readTokens(await gateway.ask(redeem));
  });

  test('has the parameters without which there is no refresh token', async () => {
    const authorizationParameters = { access_type: 'offline', prompt: 'consent' };
    const gateway = new TestIssuer({ preset: { ...standardPreset, identity: { authorizationParameters } } });
    const ask = async (query: Record<string, string>): Promise<unknown[]> => {
      const { searchParams } = (await gateway.logIn(query)).idpUrl;
      return [searchParams.get('access_type'), searchParams.get('prompt')];
    };
    assert.deepEqual(await ask({}), ['offline', 'consent']);
    assert.deepEqual(await ask({ prompt: 'select_account' }), ['offline', 'select_account consent']);
    assert.deepEqual(await ask({ prompt: 'none' }), ['offline', 'none']);
  });

  test('does not begin without keys to sign with or to seal with', async () => {
    for (const [options, reason, status] of [
      [{ signingKeys: null }, 'signing_key_missing', 503],
      [{ noSealer: true }, 'seal_key_missing', 500],
    ] as const) {
      const { broker } = new TestIssuer(options);
      const answer = await broker.call(authorizeEndpoint, { query: { client_id: 'x' } });
      assert.deepEqual([answer.status, answer.reason], [status, reason]);
    }
  });

  test('shows the scopes of the gateway to the user', async () => {
    const gateway = new TestIssuer({ asksForConsent: true });
    const answer = await gateway.broker.call(authorizeEndpoint, {
      query: {
        response_type: 'code',
        client_id: await gateway.register(),
        redirect_uri: redirectUri,
        code_challenge: createPkce().challenge,
        code_challenge_method: 'S256',
        scope: 'tickets something-else',
      },
    });
    assert.match(answer.body, /tickets/);
    assert.doesNotMatch(answer.body, /something-else|openid|profile/);
  });
});

describe('the callback', () => {
  async function startLogin(gateway: TestIssuer) {
    const browser = new TestBrowser();
    const query = {
      response_type: 'code',
      client_id: await gateway.register(),
      redirect_uri: redirectUri,
      code_challenge: createPkce().challenge,
      code_challenge_method: 'S256',
    };
    const sent = await gateway.broker.call(authorizeEndpoint, { query }, browser);
    return { browser, answer: gateway.idp.logIn(readLocation(sent)) };
  }

  test('of another identity provider or another resource does not know the login (mix-up)', async () => {
    const keys = [createSealKey()];
    const gateway = new TestIssuer({ keys });
    const { browser, answer } = await startLogin(gateway);
    const elsewhere = new TestIssuer({ keys, path: '/other' }, gateway.idp);
    const renamed = new TestIssuer({ keys }, gateway.idp);
    Object.assign(renamed.broker.config.idp, { issuer: 'https://new.example.com' });
    for (const other of [elsewhere, renamed]) {
      const page = await other.broker.call(callbackEndpoint, { query: answer }, browser);
      assert.deepEqual([page.status, page.reason], [400, 'login_state_invalid']);
    }
    readLocation(await gateway.broker.call(callbackEndpoint, { query: answer }, browser));
  });

  test('refuses an answer that names another issuer', async () => {
    const gateway = new TestIssuer();
    const { browser, answer } = await startLogin(gateway);
    const query = { ...answer, iss: 'https://attacker.example' };
    const back = await gateway.broker.call(callbackEndpoint, { query }, browser);
    assert.equal(back.reason, 'idp_wrong_issuer');
    assert.equal(readLocation(back).searchParams.get('code'), null);
  });
});

describe('revocation', () => {
  async function setUp() {
    const gateway = new TestIssuer({ store: createStore() });
    const tokens = await gateway.getTokens();
    const revoke = (form: Readonly<Record<string, string>>) => gateway.broker.call(revokeEndpoint, { form });
    return { gateway, tokens, revoke };
  }
  const formOf = ({ clientId, refreshToken }: IssuedTokens) => ({ client_id: clientId, token: refreshToken });

  test('ends the session at once', async () => {
    const { gateway, tokens, revoke } = await setUp();
    const answer = await revoke({ ...formOf(tokens), token_type_hint: 'refresh_token' });
    assert.deepEqual([answer.status, answer.reason], [200, undefined]);
    assert.equal((await gateway.refresh(tokens)).reason, 'grant_revoked');
  });

  test('with any token of the session, also an older one', async () => {
    const { gateway, tokens, revoke } = await setUp();
    const next = readTokens(await gateway.refresh(tokens));
    assert.equal((await revoke(formOf(tokens))).status, 200);
    assert.equal((await gateway.refresh({ ...tokens, ...next })).reason, 'grant_revoked');
  });

  test('says yes to what is not known, and does not end what belongs to another client', async () => {
    const { gateway, tokens, revoke } = await setUp();
    const other = await gateway.register();
    assert.equal((await revoke({ client_id: tokens.clientId, token: 'x' })).status, 200);
    assert.equal((await revoke({ client_id: other, token: tokens.refreshToken })).status, 200);
    readTokens(await gateway.refresh(tokens));
  });

  test('refuses access tokens, and requests that are malformed', async () => {
    const { gateway, tokens, revoke } = await setUp();
    for (const [form, error, status] of [
      [{ client_id: tokens.clientId, token: tokens.accessToken }, 'unsupported_token_type', 400],
      [{ client_id: tokens.clientId }, 'invalid_request', 400],
      [{ token: tokens.refreshToken }, 'invalid_client', 401],
      [{ client_id: 'x', token: tokens.refreshToken }, 'invalid_client', 401],
      [{ ...formOf(tokens), client_secret: 'x' }, 'invalid_client', 401],
    ] as const) {
      const answer = await revoke(form);
      assert.deepEqual([answer.status, readBody(answer)['error']], [status, error]);
    }
    const json = await gateway.broker.call(revokeEndpoint, { body: '{}', contentType: 'application/json' });
    assert.equal(readBody(json)['error'], 'invalid_request');
    readTokens(await gateway.refresh(tokens));
  });

  test('with a store that does not answer is a 503', async () => {
    const store = createStore();
    const gateway = new TestIssuer({ store });
    const tokens = await gateway.getTokens();
    store.take = () => Promise.resolve({ ok: false, detail: 'the store is down' });
    const answer = await gateway.broker.call(revokeEndpoint, { form: formOf(tokens) });
    assert.deepEqual([answer.status, answer.reason], [503, 'store_unavailable']);
    assert.equal(listHeaders(answer, 'retry-after').length, 1);
  });

  test('is not there without a store', async () => {
    for (const [options, status] of [
      [{}, 404],
      [{ store: createStore() }, 401],
    ] as const) {
      const { broker } = new TestIssuer(options);
      const { context, answered } = createContext({
        method: 'POST',
        path: '/.oauth/mcp/revoke',
        headers: ['content-type', 'application/x-www-form-urlencoded'],
        body: ['token=x'],
      });
      await serveOwnEndpoint({ context, resource: broker.resource, form: 'revoke', isRootForm: false });
      assert.equal(answered.status, status, answered.body);
      assert.equal(valueOf(answered.headers, 'access-control-allow-origin'), '*');
    }
  });
});
