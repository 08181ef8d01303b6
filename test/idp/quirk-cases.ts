// Every quirk with which a login must still succeed, alone and all together; and what must have reached the identity provider.
import assert from 'node:assert/strict';
import { BrowserAgent } from './browser-agent.ts';
import type { FlowClient } from './flow-client.ts';
import type { QuirkyIdp } from './quirky-idp.ts';
import type { Quirks } from './quirks.ts';

/** One identity provider. */
export interface QuirkCase {
  readonly name: string;
  readonly quirks: Partial<Quirks>;
  /** Members of the policy. */
  readonly authentication?: Readonly<Record<string, unknown>>;
  /** One pre-registered client stands for all. */
  readonly shared?: boolean;
  /** Public clients get no refresh token from it. */
  readonly givesNoRefreshToken?: boolean;
  /** What else must be true after the walk. */
  readonly check?: (walk: { readonly idp: QuirkyIdp; readonly client: FlowClient }) => Promise<void> | void;
}

const broker = { flow: 'Broker' };

function readRegistrations(idp: QuirkyIdp): Record<string, unknown>[] {
  return idp.server.callsTo(idp.paths.register).map((call) => JSON.parse(call.body) as Record<string, unknown>);
}

/** How the last request to the token endpoint said who it is from. */
function describeClientAuthentication(idp: QuirkyIdp): string {
  const call = idp.server.callsTo(idp.paths.token).at(-1)!;
  if (call.headers.authorization !== undefined) return 'client_secret_basic';
  return call.form.has('client_secret') ? 'client_secret_post' : 'none';
}

/** The quirks that leave a way. */
export const quirkCases: readonly QuirkCase[] = [
  { name: 'none at all, Facade', quirks: {}, authentication: { flow: 'Facade' } },
  { name: 'none at all, Broker', quirks: {}, authentication: broker },
  { name: 'registration answered with 200, Facade', quirks: { registrationStatus: 200 } },
  { name: 'registration answered with 200, Broker', quirks: { registrationStatus: 200 }, authentication: broker },
  {
    name: 'any scope in a registration is refused with 400 invalid_scope',
    quirks: { registrationRefusesScope: 'any' },
    authentication: broker,
    async check({ idp, client }) {
      assert.equal(readRegistrations(idp).at(-1)!['scope'], undefined);
      idp.server.forget();
      await client.register();
      assert.deepEqual(
        readRegistrations(idp).map(({ scope }) => scope),
        ['openid tickets:read', 'tickets:read', undefined],
        'what one client was refused is not held against the next one',
      );
    },
  },
  {
    name: 'any scope in a registration is refused with 403, Facade',
    quirks: { registrationRefusesScope: 'any', registrationScopeError: '403' },
  },
  {
    name: 'openid in a registration is refused with 403',
    quirks: { registrationRefusesScope: 'openid', registrationScopeError: '403' },
    authentication: broker,
    check({ idp }) {
      assert.deepEqual(
        readRegistrations(idp).map(({ scope }) => scope),
        ['openid tickets:read', 'tickets:read'],
      );
    },
  },
  {
    name: 'unknown members in a registration are refused',
    quirks: { registrationRefusesUnknownMembers: true },
    authentication: broker,
  },
  {
    name: '`none` is answered with a secret',
    quirks: { secretComesWithNone: true },
    authentication: broker,
    check: ({ idp }) => assert.equal(describeClientAuthentication(idp), 'none'),
  },
  {
    name: '`none` is answered with a secret, Facade',
    quirks: { secretComesWithNone: true },
    check: ({ client }) => assert.equal(client.registration!['client_secret'], undefined),
  },
  {
    name: 'every client gets a secret for Basic',
    quirks: { insistsOnMethod: 'client_secret_basic' },
    authentication: broker,
    check: ({ idp }) => assert.equal(describeClientAuthentication(idp), 'client_secret_basic'),
  },
  {
    name: 'every client gets a secret for the body',
    quirks: { insistsOnMethod: 'client_secret_post' },
    authentication: broker,
    check: ({ idp }) => assert.equal(describeClientAuthentication(idp), 'client_secret_post'),
  },
  {
    name: 'public clients are not listed',
    quirks: { tokenEndpointAuthMethods: ['client_secret_post'], refreshTokens: 'confidential-clients' },
    check: ({ idp }) => assert.equal(readRegistrations(idp)[0]!['token_endpoint_auth_method'], 'client_secret_post'),
  },
  {
    name: 'no methods are listed, which means Basic',
    quirks: { tokenEndpointAuthMethods: undefined, refreshTokens: 'confidential-clients' },
    check: ({ idp }) => assert.equal(readRegistrations(idp)[0]!['token_endpoint_auth_method'], 'client_secret_basic'),
  },
  {
    name: 'an initial access token is needed',
    quirks: { registration: 'token' },
    authentication: broker,
  },
  {
    name: 'initial access tokens work once',
    quirks: { registration: 'one-use-token' },
    authentication: broker,
    async check({ idp, client }) {
      await client.register();
      const asked = idp.server
        .callsTo(idp.paths.token)
        .filter(({ form }) => form.get('grant_type') === 'client_credentials');
      assert.equal(asked.length, 2, 'a fresh one for each registration');
    },
  },
  {
    name: 'a nonce is required',
    quirks: { requiresNonce: true },
    authentication: broker,
    check: ({ idp }) => assert.ok(idp.server.callsTo(idp.paths.authorize)[0]!.query.has('nonce')),
  },
  { name: 'iss is sent but not advertised', quirks: { emitsIss: 'always' }, authentication: broker },
  {
    name: 'iss is advertised, and missing where the login failed',
    quirks: { advertisesIss: true, emitsIss: 'on-success' },
    async check({ client }) {
      const refusal = await client.logIn(new BrowserAgent(), { cancelsLogin: true });
      assert.equal(refusal.searchParams.get('error'), 'access_denied');
      assert.equal(refusal.searchParams.get('iss'), client.server!.issuer);
    },
  },
  {
    name: 'two `resource` are refused',
    quirks: { resource: 'one-only' },
    authentication: broker,
    async check({ idp, client }) {
      const url = client.formatAuthorizationUrl();
      url.searchParams.append('resource', url.searchParams.get('resource')!);
      idp.server.forget();
      const callback = await new BrowserAgent().authorize(url, client.redirectUri);
      assert.equal(callback.searchParams.get('error'), null);
      assert.equal(idp.server.callsTo(idp.paths.authorize)[0]!.query.getAll('resource').length, 1);
    },
  },
  {
    name: 'tokens are opaque unless `resource` is on the authorization request',
    quirks: { accessTokenFormat: 'opaque-without-resource' },
    authentication: broker,
    async check({ client }) {
      // A client of 2025-03-26 knows nothing of `resource`.
      await client.redeem(await client.logIn(new BrowserAgent(), {}, { resource: undefined }), { resource: undefined });
      assert.equal((await client.post()).status, 200);
    },
  },
  {
    name: 'two documents with different registration endpoints',
    quirks: { twoRegistrationEndpoints: true },
    authentication: broker,
    check: ({ idp }) => assert.equal(idp.server.callsTo(idp.paths.otherRegister).length, 0),
  },
  { name: 'the OAuth document alone', quirks: { metadataDocuments: ['oauth-authorization-server'] } },
  { name: 'the OpenID document alone', quirks: { metadataDocuments: ['openid-configuration'] } },
  { name: 'an issuer with a path', quirks: { issuerPath: '/realms/mcp' }, authentication: broker },
  { name: 'an issuer that is a slash', quirks: { issuerPath: '/' }, authentication: broker },
  { name: 'an issuer with a path and a slash', quirks: { issuerPath: '/o/mcp/' }, authentication: broker },
  {
    name: 'HEAD leads to a login page',
    quirks: { headLeadsToLogin: true },
    check: ({ idp }) =>
      assert.deepEqual(
        idp.server.calls.filter(({ method }) => method === 'HEAD'),
        [],
      ),
  },
  { name: 'PKCE is not in the metadata', quirks: { hidesPkce: true } },
  {
    name: 'the metadata is signed',
    quirks: { metadataMembers: { signed_metadata: 'e30.e30.e30' } },
    check: ({ client }) => assert.equal(client.server!['signed_metadata'], undefined),
  },
  { name: 'scope is an array', quirks: { scopeClaim: 'array' } },
  { name: 'scopes are in scp', quirks: { scopeClaim: 'scp-string' } },
  { name: 'scopes are an array in scp', quirks: { scopeClaim: 'scp-array' } },
  {
    name: 'no scopes in tokens, and none required',
    quirks: { scopeClaim: 'none' },
    authentication: { requiredScopes: undefined },
  },
  {
    name: 'no sub, and sessions are not bound',
    quirks: { omitsSubject: true },
    authentication: { sessionBinding: false },
  },
  { name: 'keys without alg', quirks: { keysWithoutAlg: true } },
  { name: 'keys without kid', quirks: { keysWithoutKid: true } },
  { name: 'encryption keys mixed in', quirks: { encryptionKeysMixedIn: true } },
  {
    name: 'alg-less keys with encryption keys mixed in',
    quirks: { keysWithoutAlg: true, encryptionKeysMixedIn: true },
  },
  { name: 'bad keys among good ones', quirks: { badKeysMixedIn: true } },
  { name: 'refresh tokens that stay the same', quirks: { rotatesRefreshTokens: false }, authentication: broker },
  {
    name: 'no refresh tokens for public clients',
    quirks: { refreshTokens: 'confidential-clients' },
    authentication: broker,
    givesNoRefreshToken: true,
  },
  {
    name: 'the audience is the client’s own id, with Shared',
    quirks: { registration: 'none', audience: 'client-id', resource: 'ignored' },
    authentication: { audiences: ['gateway'] },
    shared: true,
  },
  {
    name: 'it says more than it should, Broker',
    quirks: { talksTooMuch: true },
    authentication: broker,
  },
  {
    name: 'all that can be combined, Forward',
    quirks: {
      metadataDocuments: ['oauth-authorization-server', 'openid-configuration'],
      issuerPath: '/all/of/them/',
      twoRegistrationEndpoints: true,
      headLeadsToLogin: true,
      hidesPkce: true,
      advertisesIss: true,
      emitsIss: 'on-success',
      tokenEndpointAuthMethods: undefined,
      registration: 'one-use-token',
      registrationStatus: 200,
      registrationRefusesScope: 'any',
      registrationScopeError: '403',
      registrationRefusesUnknownMembers: true,
      insistsOnMethod: 'client_secret_post',
      talksTooMuch: true,
      requiresNonce: true,
      requiresOpenid: true,
      resource: 'one-only',
      refreshTokens: 'confidential-clients',
      deadRefreshToken: 'invalid_request',
      accessTokenFormat: 'opaque-without-resource',
      scopeClaim: 'scp-array',
      keysWithoutAlg: true,
      encryptionKeysMixedIn: true,
      badKeysMixedIn: true,
      metadataMembers: { signed_metadata: 'e30.e30.e30' },
    },
    authentication: { authorizationRequest: { extraScopes: ['openid'] } },
  },
  {
    name: 'all that can be combined, Shared',
    quirks: {
      metadataDocuments: ['openid-configuration'],
      issuerPath: '/all/of/them',
      headLeadsToLogin: true,
      hidesPkce: true,
      emitsIss: 'always',
      tokenEndpointAuthMethods: ['client_secret_post', 'private_key_jwt'],
      registration: 'none',
      talksTooMuch: true,
      requiresNonce: true,
      requiresOpenid: true,
      resource: 'ignored',
      audience: 'client-id',
      refreshTokens: 'with-offline_access',
      rotatesRefreshTokens: false,
      deadRefreshToken: '403 invalid_code',
      scopeClaim: 'array',
      keysWithoutAlg: true,
      encryptionKeysMixedIn: true,
      badKeysMixedIn: true,
    },
    authentication: { audiences: ['gateway'], authorizationRequest: { extraScopes: ['openid', 'offline_access'] } },
    shared: true,
  },
];
