import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FetchOutcome, GuardedRequest } from '../../../../base/fetch-json.ts';
import type { ClientMetadata } from './client-metadata.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';
import { findPreset } from '../idp/presets.ts';
import type { IdpMetadata } from '../../../config/idp-connection.ts';
import type { OAuthRequest } from '../oauth-endpoint.ts';
import { type BrokeredRegistration, registerBrokeredClient, registerOwnClient } from './register-at-idp.ts';
import { answerJson, type BrokerOptions, idpMetadata, TestBroker } from '../../testing/broker-fixture.ts';
import { registerEndpoint } from '../endpoints/register.ts';

const keycloak = findPreset('Keycloak')!;
const spring = findPreset('Spring')!;

const endpoint = new URL('https://idp.example.com/register');
const client: ClientMetadata = {
  redirectUris: ['http://127.0.0.1:1/cb'],
  name: 'Desk',
  scope: 'openid tickets',
  members: {
    client_uri: 'https://desk.example',
    grant_types: ['authorization_code'],
    token_endpoint_auth_method: 'client_secret_basic',
    application_type: 'native',
  },
};

const metadataWithScopes: IdpMetadata = { ...idpMetadata, scopes_supported: ['openid', 'tickets'] };

type Sent = Readonly<Record<string, unknown>>;

/** A broker whose IdP judges registrations by a function. */
class Idp {
  readonly sent: Sent[] = [];
  readonly requests: GuardedRequest[] = [];
  readonly broker: TestBroker;
  readonly request: OAuthRequest;
  answer: (sent: Sent) => FetchOutcome = () => answerJson({ client_id: 'c', token_endpoint_auth_method: 'none' }, 201);

  constructor(options: BrokerOptions = {}) {
    this.broker = new TestBroker({
      ...options,
      fetch: (request) => {
        this.requests.push(request);
        const sent = JSON.parse(request.body!) as Sent;
        this.sent.push(sent);
        return this.answer(sent);
      },
    });
    this.request = this.broker.request(registerEndpoint, { body: '' });
  }

  register(asked: ClientMetadata = client, metadata = metadataWithScopes): Promise<BrokeredRegistration> {
    return registerBrokeredClient(this.request, endpoint, metadata, asked);
  }
}

const withPreset = (preset: ProviderPreset): Idp => new Idp({ preset });

describe('a brokered client', () => {
  test('is all the gateway at the IdP, but for what people read', async () => {
    const idp = new Idp();
    assert.deepEqual(await idp.register(), {
      ok: true,
      client: { clientId: 'c', authMethod: 'none', secret: undefined },
      expiresAtMs: undefined,
    });
    assert.deepEqual(idp.sent, [
      {
        redirect_uris: ['https://mcp.example.com/.oauth/mcp/callback'],
        client_name: 'Desk',
        client_uri: 'https://desk.example',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        scope: 'openid tickets',
      },
    ]);
    const [request] = idp.requests;
    assert.equal(request!.method, 'POST');
    assert.equal(request!.chosenBy, 'operator');
    assert.deepEqual(request!.headers, { accept: 'application/json', 'content-type': 'application/json' });
  });

  test('may use what the gateway will ask for on its behalf', async () => {
    const idp = new Idp({ message: { requiredScopes: ['tickets'], extraScopes: ['email'] } });
    await idp.register();
    assert.equal(idp.sent[0]!['scope'], 'openid tickets email');
    await idp.register({ ...client, scope: undefined });
    assert.equal('scope' in idp.sent[1]!, false, 'the IdP gives what it gives by default');
  });

  test('is native when the gateway itself is on loopback', async () => {
    const idp = new Idp();
    const request = idp.broker.request(registerEndpoint, { body: '', base: 'http://127.0.0.1:8080' });
    await registerBrokeredClient(request, endpoint, idpMetadata, client);
    assert.equal(idp.sent[0]!['application_type'], 'native');
  });

  test('is confidential where the IdP has no public clients', async () => {
    const cases: readonly (readonly [readonly string[] | undefined, string])[] = [
      [['client_secret_post', 'none'], 'none'],
      [['private_key_jwt', 'client_secret_post'], 'client_secret_post'],
      [undefined, 'client_secret_basic'],
      [['private_key_jwt'], 'client_secret_basic'],
    ];
    for (const [listed, expected] of cases) {
      const idp = new Idp();
      const { token_endpoint_auth_methods_supported: _left, ...others } = idpMetadata;
      await idp.register(
        client,
        listed === undefined ? others : { ...idpMetadata, token_endpoint_auth_methods_supported: listed },
      );
      assert.equal(idp.sent[0]!['token_endpoint_auth_method'], expected);
    }
  });

  test('keeps the method that the IdP answered, with its secret and expiry', async () => {
    const idp = new Idp();
    idp.answer = () =>
      answerJson({
        client_id: 'c',
        client_secret: 's',
        client_secret_expires_at: 1_800_000_000,
        token_endpoint_auth_method: 'client_secret_post',
      });
    assert.deepEqual(await idp.register(), {
      ok: true,
      client: { clientId: 'c', authMethod: 'client_secret_post', secret: 's' },
      expiresAtMs: 1_800_000_000_000,
    });
    idp.answer = () =>
      answerJson({
        client_id: 'c',
        client_secret: 's',
        client_secret_expires_at: 0,
        token_endpoint_auth_method: 'client_secret_basic',
      });
    const endless = await idp.register();
    assert.ok(endless.ok && endless.expiresAtMs === undefined);
  });

  test('a secret that comes along with none is nobody’s', async () => {
    const idp = new Idp();
    for (const method of ['none', undefined]) {
      idp.answer = () => answerJson({ client_id: 'c', client_secret: 'leak', token_endpoint_auth_method: method });
      const result = await idp.register();
      assert.ok(result.ok);
      assert.deepEqual(result.client, { clientId: 'c', authMethod: 'none', secret: undefined });
    }
  });

  test('that the gateway cannot use is the operator’s to know', async () => {
    const idp = new Idp();
    for (const answer of [
      { client_id: 'c', token_endpoint_auth_method: 'private_key_jwt' },
      { client_id: 'c', token_endpoint_auth_method: 'client_secret_basic' },
      { client_id: 'c', token_endpoint_auth_method: 7 },
    ]) {
      idp.answer = () => answerJson(answer);
      const result = await idp.register();
      assert.ok(!result.ok && result.kind === 'denied', JSON.stringify(answer));
    }
  });
});

describe('an IdP that refuses scopes', () => {
  const scopeOf = (sent: Sent): unknown => sent['scope'];
  const answerFor =
    (accepts: (scope: unknown) => boolean, refusal: FetchOutcome) =>
    (sent: Sent): FetchOutcome =>
      accepts(sent['scope']) ? answerJson({ client_id: 'c', token_endpoint_auth_method: 'none' }) : refusal;

  test('gets the request again without openid, then without scope; the next client gets all of it again', async () => {
    for (const refusal of [
      answerJson({ error: 'invalid_scope' }, 400),
      answerJson({ error: 'insufficient_scope' }, 403),
      answerJson({ error: 'invalid_client_metadata', error_description: 'scope' }, 400),
    ]) {
      const idp = new Idp();
      idp.answer = answerFor((scope) => scope === 'tickets', refusal);
      assert.ok((await idp.register()).ok);
      assert.deepEqual(idp.sent.map(scopeOf), ['openid tickets', 'tickets']);
      await idp.register();
      assert.deepEqual(idp.sent.map(scopeOf).slice(2), ['openid tickets', 'tickets']);
      assert.match(idp.request.context.flowStep!.notes![0]!, /scope without openid/);

      const strict = new Idp();
      strict.answer = answerFor((scope) => scope === undefined, refusal);
      assert.ok((await strict.register()).ok);
      assert.deepEqual(strict.sent.map(scopeOf), ['openid tickets', 'tickets', undefined]);
      await strict.register();
      assert.deepEqual(strict.sent.map(scopeOf).slice(3), ['openid tickets', 'tickets', undefined]);
    }
  });

  test('does not get the same request twice', async () => {
    const idp = new Idp();
    idp.answer = answerFor((scope) => scope === undefined, answerJson({}, 403));
    await idp.register({ ...client, scope: 'openid' });
    assert.deepEqual(idp.sent.map(scopeOf), ['openid', undefined]);
    const never = new Idp();
    never.answer = () => answerJson({}, 403);
    const result = await never.register();
    assert.ok(!result.ok && result.kind === 'denied');
    assert.equal(never.sent.length, 3);
  });

  test('gets nothing again when it was not the scope', async () => {
    for (const answer of [
      answerJson({ error: 'invalid_redirect_uri' }, 400),
      answerJson({}, 401),
      answerJson({}, 500),
      { ok: false, code: 'timeout', message: 'slow' } as const,
    ]) {
      const idp = new Idp();
      idp.answer = () => answer;
      assert.equal((await idp.register()).ok, false);
      assert.equal(idp.sent.length, 1);
    }
  });

  test('presets know it before', async () => {
    const known = withPreset(keycloak);
    await known.register();
    assert.equal(known.sent[0]!['scope'], 'tickets');
    await known.register({ ...client, scope: 'openid' });
    assert.equal('scope' in known.sent[1]!, false);
    const shipped = withPreset(spring);
    await shipped.register();
    assert.equal(shipped.sent[0]!['scope'], 'openid tickets', 'Spring may have been set up to take them');
    await shipped.register({ ...client, scope: undefined });
    assert.equal(
      shipped.sent[1]!['scope'],
      'openid',
      'a client of Spring may ask for what it registered, and nothing else',
    );
  });
});

test('an IdP that refuses a grant gets those that it lists', async () => {
  const idp = new Idp();
  const metadata = { ...idpMetadata, grant_types_supported: ['authorization_code'] };
  idp.answer = (sent) =>
    (sent['grant_types'] as string[]).includes('refresh_token')
      ? answerJson({ error: 'invalid_client_metadata', error_description: 'grant_types' }, 400)
      : answerJson({ client_id: 'c' });
  assert.ok((await idp.register(client, metadata)).ok);
  assert.deepEqual(
    idp.sent.map((sent) => sent['grant_types']),
    [['authorization_code', 'refresh_token'], ['authorization_code']],
  );
});

describe('what one client was refused is not held against the next one', () => {
  test('a scope', async () => {
    const idp = new Idp();
    idp.answer = (sent) =>
      String(sent['scope']).includes('tickets')
        ? answerJson({ error: 'invalid_scope' }, 400)
        : answerJson({ client_id: 'c', token_endpoint_auth_method: 'none' });
    await idp.register({ ...client, scope: 'tickets' });
    idp.answer = () => answerJson({ client_id: 'c', token_endpoint_auth_method: 'none' });
    await idp.register({ ...client, scope: 'openid tickets' });
    assert.equal(idp.sent.at(-1)!['scope'], 'openid tickets');
  });

  test('a grant', async () => {
    const idp = new Idp();
    const metadata = { ...idpMetadata, grant_types_supported: ['authorization_code'] };
    idp.answer = () => answerJson({ error: 'invalid_client_metadata' }, 400);
    await idp.register(client, metadata);
    idp.answer = () => answerJson({ client_id: 'c', token_endpoint_auth_method: 'none' });
    await idp.register(client, metadata);
    assert.deepEqual(idp.sent.at(-1)!['grant_types'], ['authorization_code', 'refresh_token']);
  });
});

describe('scopes that a client invents', () => {
  test('are asked for by nobody: neither the IdP nor the policy names them', async () => {
    const idp = new Idp({
      message: {
        requiredScopes: ['required'],
        extraScopes: ['extra'],
        resourceMetadata: JSON.stringify({ scopes_supported: ['told'] }),
      },
    });
    const scope = 'openid invented told client.create extra Tickets';
    await idp.register({ ...client, scope });
    assert.equal(idp.sent[0]!['scope'], 'openid told extra required');
    await registerOwnClient(idp.request, endpoint, metadataWithScopes, { ...client, scope });
    assert.equal(idp.sent[1]!['scope'], 'openid told extra');
    await registerOwnClient(idp.request, endpoint, metadataWithScopes, { ...client, scope: 'invented' });
    assert.equal('scope' in idp.sent[2]!, false);
  });
});

describe('a client of its own', () => {
  test('goes to the IdP as a public client', async () => {
    const idp = new Idp();
    const outcome = await registerOwnClient(idp.request, endpoint, metadataWithScopes, client);
    assert.ok(outcome.ok);
    assert.deepEqual(idp.sent[0], {
      redirect_uris: client.redirectUris,
      client_name: 'Desk',
      ...client.members,
      token_endpoint_auth_method: 'none',
      scope: 'openid tickets',
    });
  });

  test('has a secret only where the IdP has no public clients, and keys never', async () => {
    const idp = new Idp();
    for (const [listed, asked, sent] of [
      [['client_secret_post'], 'client_secret_post', 'client_secret_post'],
      [['client_secret_basic'], 'client_secret_post', undefined],
      [undefined, 'client_secret_basic', 'client_secret_basic'],
      [['private_key_jwt'], 'private_key_jwt', undefined],
      [['private_key_jwt', 'none'], 'private_key_jwt', 'none'],
      [['tls_client_auth'], 'tls_client_auth', undefined],
      [undefined, undefined, undefined],
    ] as const) {
      const { token_endpoint_auth_methods_supported: _own, ...others } = metadataWithScopes;
      const metadata = { ...others, ...(listed !== undefined && { token_endpoint_auth_methods_supported: listed }) };
      const members = { ...client.members, token_endpoint_auth_method: asked };
      await registerOwnClient(idp.request, endpoint, metadata, { ...client, members });
      assert.equal(idp.sent.at(-1)!['token_endpoint_auth_method'], sent, `${listed?.join(' ')}: ${asked}`);
    }
  });
});
