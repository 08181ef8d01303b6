import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FetchOutcome } from '../../../../base/fetch-json.ts';
import { createSealKey } from '../../../../base/sealed.ts';
import { RegistrationMode } from '../../../../ir/gen/config_pb.ts';
import { digestClientId, sealClient } from '../state/client-envelope.ts';
import type { ClientAuthMethod, IdpClient } from '../../../config/shared-logins.ts';
import { type IssuedCode, openRefreshToken, sealCode, sealRefreshToken } from '../state/code-envelope.ts';
import type { OAuthAnswer } from '../oauth-endpoint.ts';
import {
  answerJson,
  type BrokerOptions,
  createPkce,
  idpIssuer,
  listHeaders,
  resourceUrl,
  base,
  TestBroker,
} from '../../testing/broker-fixture.ts';
import { tokenEndpoint } from './token.ts';

const place = { issuer: idpIssuer, resource: resourceUrl };
const redirectUri = 'http://127.0.0.1:33418/callback';
const { verifier, challenge } = createPkce();
const tokens = {
  access_token: 'at',
  token_type: 'Bearer',
  expires_in: 300,
  refresh_token: 'idp-refresh',
  id_token: 'x',
};
const publicClient: IdpClient = { clientId: 'idp-client', authMethod: 'none', secret: undefined };

interface SetUp extends BrokerOptions {
  readonly idpClient?: IdpClient | undefined;
  readonly code?: Partial<IssuedCode>;
}

function setUp(options: SetUp = {}, answer: FetchOutcome = answerJson(tokens)) {
  const broker = new TestBroker({ fetch: () => answer, ...options });
  const idpClient = 'idpClient' in options ? options.idpClient : publicClient;
  const register = (): string =>
    sealClient(broker.sealer, place, { idpClient, redirectUris: [redirectUri], name: undefined, scope: undefined });
  const clientId = register();
  const issued: IssuedCode = {
    code: 'idp-code',
    redirectUri,
    challenge,
    resource: resourceUrl,
    scope: undefined,
    idpClient: undefined,
    ...options.code,
  };
  const code = sealCode(broker.sealer, place, digestClientId(clientId), issued, broker.nowMs);
  const refreshToken = sealRefreshToken(broker.sealer, place, clientId, {
    token: 'idp-refresh-0',
    resource: resourceUrl,
    idpClient: undefined,
  });
  const redeem = {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    resource: resourceUrl,
  };
  const refresh = { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken };
  const readSent = (): Record<string, string> => {
    assert.equal(broker.fetched.length, 1);
    return Object.fromEntries(new URLSearchParams(broker.fetched[0]!.body));
  };
  return { broker, clientId, register, code, redeem, refresh, readSent };
}

function expectError(answer: OAuthAnswer, error: string, reason: string, status = 400): Record<string, unknown> {
  assert.equal(answer.status, status, answer.body);
  assert.equal(answer.reason, reason, answer.body);
  assert.deepEqual(listHeaders(answer, 'content-type'), ['application/json']);
  assert.deepEqual(listHeaders(answer, 'cache-control'), ['no-store']);
  for (const name of ['set-cookie', 'location']) assert.deepEqual(listHeaders(answer, name), []);
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  assert.deepEqual(Object.keys(body), ['error', 'error_description', 'request_id']);
  assert.equal(body['error'], error, answer.body);
  return body;
}

describe('a code', () => {
  test('is exchanged with what the IdP knows in place of what the client knows', async () => {
    const { broker, redeem, clientId, readSent } = setUp();
    const answer = await broker.call(tokenEndpoint, { form: redeem });
    assert.equal(answer.status, 200);
    assert.deepEqual(listHeaders(answer, 'cache-control'), ['no-store']);
    assert.deepEqual(listHeaders(answer, 'pragma'), ['no-cache']);
    assert.deepEqual(readSent(), {
      grant_type: 'authorization_code',
      code: 'idp-code',
      redirect_uri: `${base}/.oauth/mcp/callback`,
      code_verifier: verifier,
      resource: resourceUrl,
      client_id: 'idp-client',
    });
    assert.equal(broker.fetched[0]!.url, `${idpIssuer}/token`);
    assert.equal(broker.fetched[0]!.headers?.['authorization'], undefined);
    assert.equal(broker.fetched[0]!.chosenBy, 'operator');
    const { refresh_token: refresh, ...rest } = JSON.parse(answer.body) as Record<string, string>;
    const { refresh_token: _own, ...expected } = tokens;
    assert.deepEqual(rest, expected);
    assert.deepEqual(openRefreshToken(broker.sealer, place, clientId, refresh!), {
      ok: true,
      // Without `secret: undefined`, which JSON does not know.
      grant: {
        token: 'idp-refresh',
        resource: resourceUrl,
        idpClient: { clientId: 'idp-client', authMethod: 'none' },
      },
    });
  });

  const authentications: readonly (readonly [ClientAuthMethod, string | undefined, RegExp | undefined, string[]])[] = [
    ['none', undefined, undefined, ['client_id']],
    ['client_secret_basic', 's:c%ret +', /^Basic aWRwLWNsaWVudDpzJTNBYyUyNXJldCslMkI=$/, []],
    ['client_secret_post', 's3cret', undefined, ['client_id', 'client_secret']],
    ['client_secret_jwt', 's3cret', undefined, ['client_id', 'client_assertion_type', 'client_assertion']],
  ];
  for (const [authMethod, secret, authorization, members] of authentications)
    test(`is exchanged by a client with ${authMethod}, and by no other method`, async () => {
      const { broker, redeem, readSent } = setUp({ idpClient: { clientId: 'idp-client', authMethod, secret } });
      assert.equal((await broker.call(tokenEndpoint, { form: redeem })).status, 200);
      const sent = readSent();
      const header = broker.fetched[0]!.headers?.['authorization'];
      if (authorization === undefined) assert.equal(header, undefined);
      else assert.match(header!, authorization);
      assert.deepEqual(
        Object.keys(sent).filter((name) => name.startsWith('client_')),
        members,
      );
    });

  test('needs resource again only where it was named before', async () => {
    const { broker, redeem, readSent } = setUp({ code: { resource: undefined } });
    await broker.call(tokenEndpoint, { form: redeem });
    assert.equal(readSent()['resource'], undefined);
  });

  test('tells the client the scope when it is not the one it asked for', async () => {
    const scopeOf = async (scope: string | undefined, answered?: string): Promise<unknown> => {
      const answer = answerJson({ ...tokens, ...(answered !== undefined && { scope: answered }) });
      const { broker, redeem } = setUp({ code: { scope } }, answer);
      return (JSON.parse((await broker.call(tokenEndpoint, { form: redeem })).body) as { scope?: string }).scope;
    };
    assert.equal(await scopeOf(undefined), undefined);
    assert.equal(await scopeOf('a b'), 'a b');
    assert.equal(await scopeOf('a b', 'a'), 'a');
  });

  test('may come without redirect_uri (OAuth 2.1), and not with another one', async () => {
    const { broker, redeem } = setUp();
    const { redirect_uri: _left, ...without } = redeem;
    assert.equal((await broker.call(tokenEndpoint, { form: without })).status, 200);
    const form = { ...redeem, redirect_uri: 'http://127.0.0.1:33419/callback' };
    expectError(await broker.call(tokenEndpoint, { form }), 'invalid_grant', 'grant_invalid');
    assert.equal(broker.fetched.length, 1);
  });

  test('is refused without verifier, with a wrong one, for another client, twice sealed, expired: the IdP is not asked', async () => {
    const { broker, redeem, register, code } = setUp();
    const { code_verifier: _left, ...without } = redeem;
    for (const form of [
      without,
      { ...redeem, code_verifier: createPkce().verifier },
      { ...redeem, code_verifier: challenge },
      { ...redeem, code_verifier: 'short' },
      { ...redeem, client_id: register() },
      { ...redeem, code: `${code}A` },
      { ...redeem, code: 'idp-code' },
    ])
      expectError(await broker.call(tokenEndpoint, { form }), 'invalid_grant', 'grant_invalid');
    broker.nowMs += 600_000;
    expectError(await broker.call(tokenEndpoint, { form: redeem }), 'invalid_grant', 'grant_invalid');
    assert.deepEqual(broker.fetched, []);
  });

  test('that is used twice is refused by the IdP, and the client hears invalid_grant', async () => {
    let uses = 0;
    const { broker, redeem } = setUp({
      fetch: () => {
        uses += 1;
        return uses === 1 ? answerJson(tokens) : answerJson({ error: 'invalid_grant' }, 400);
      },
    });
    assert.equal((await broker.call(tokenEndpoint, { form: redeem })).status, 200);
    expectError(await broker.call(tokenEndpoint, { form: redeem }), 'invalid_grant', 'idp_refused_grant');
  });
});

describe('a refresh token', () => {
  test('is opened, exchanged, and the new one sealed', async () => {
    const { broker, refresh, clientId, readSent } = setUp();
    const answer = await broker.call(tokenEndpoint, { form: { ...refresh, scope: 'a', resource: resourceUrl } });
    assert.deepEqual(readSent(), {
      grant_type: 'refresh_token',
      refresh_token: 'idp-refresh-0',
      scope: 'a',
      resource: resourceUrl,
      client_id: 'idp-client',
    });
    const { refresh_token: next } = JSON.parse(answer.body) as { refresh_token: string };
    const opened = openRefreshToken(broker.sealer, place, clientId, next);
    assert.ok(opened.ok && opened.grant.token === 'idp-refresh');
  });

  test('that the IdP keeps is sealed anew, so that it outlives the next rotation of keys', async () => {
    const { refresh_token: _none, ...without } = tokens;
    const { broker, refresh, clientId } = setUp({}, answerJson(without));
    const answer = await broker.call(tokenEndpoint, { form: refresh });
    const { refresh_token: next } = JSON.parse(answer.body) as { refresh_token: string };
    assert.notEqual(next, refresh.refresh_token);
    const opened = openRefreshToken(broker.sealer, place, clientId, next);
    assert.ok(opened.ok && opened.grant.token === 'idp-refresh-0');
  });

  for (const standing of ['own', 'shared'] as const)
    test(`outlives any number of rotations, also when the client id does not (${standing})`, async () => {
      const [old, middle, fresh] = [createSealKey(), createSealKey(), createSealKey()];
      const options: SetUp =
        standing === 'own'
          ? { idpClient: { clientId: 'idp-client', authMethod: 'client_secret_post', secret: 's3cret' } }
          : {
              idpClient: undefined,
              registration: { mode: RegistrationMode.SHARED, clientId: 'shared' },
              sharedClientSecret: 's3cret',
              metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] },
            };
      const answers: FetchOutcome[] = [];
      const start = (...keys: readonly Uint8Array[]) =>
        setUp({ ...options, keys, fetch: () => answers.shift() ?? answerJson(tokens) });
      const first = start(old);
      const read = (answer: OAuthAnswer) => JSON.parse(answer.body) as Record<string, string>;
      const login = read(await first.broker.call(tokenEndpoint, { form: first.redeem }));
      const form = { grant_type: 'refresh_token', client_id: first.clientId, refresh_token: login['refresh_token']! };
      form.refresh_token = read(await start(middle, old).broker.call(tokenEndpoint, { form }))['refresh_token']!;

      const last = start(fresh, middle);
      const answer = await last.broker.call(tokenEndpoint, { form });
      assert.equal(answer.status, 200, answer.body);
      assert.equal(last.readSent()['client_secret'], 's3cret');
      form.refresh_token = read(answer)['refresh_token']!;

      // Nothing else can be done with such a client id; and when its refresh token ends, the client has to register.
      const { refresh_token: refreshToken } = form;
      const stolen = { ...form, client_id: last.register() };
      expectError(await last.broker.call(tokenEndpoint, { form: stolen }), 'invalid_grant', 'grant_invalid');
      const withSecret = { ...form, client_secret: 'x' };
      expectError(await last.broker.call(tokenEndpoint, { form: withSecret }), 'invalid_client', 'unknown_client', 401);
      const garbage = { ...form, refresh_token: 'x' };
      expectError(await last.broker.call(tokenEndpoint, { form: garbage }), 'invalid_client', 'unknown_client', 401);
      answers.push(answerJson({ error: 'invalid_grant' }, 400));
      const dead = { ...form, refresh_token: refreshToken };
      expectError(await last.broker.call(tokenEndpoint, { form: dead }), 'invalid_client', 'unknown_client', 401);
    });

  test('of another client, or not ours, is refused: the IdP is not asked', async () => {
    const { broker, refresh, register, code } = setUp();
    for (const form of [
      { ...refresh, client_id: register() },
      { ...refresh, refresh_token: 'idp-refresh-0' },
      { ...refresh, refresh_token: code },
    ])
      expectError(await broker.call(tokenEndpoint, { form }), 'invalid_grant', 'grant_invalid');
    assert.deepEqual(broker.fetched, []);
  });
});

describe('a token request that is wrong on its face', () => {
  const cases: readonly (readonly [string, Record<string, string>, string, string])[] = [
    ['no grant_type', { grant_type: '' }, 'invalid_request', 'token_request_invalid'],
    ['no code', { code: '' }, 'invalid_request', 'token_request_invalid'],
    ['another resource', { resource: `${base}/other` }, 'invalid_target', 'wrong_resource'],
    ['a malformed scope', { scope: 'a\\b' }, 'invalid_scope', 'token_request_invalid'],
    ['an unknown grant', { grant_type: 'urn:x:unknown' }, 'unsupported_grant_type', 'grant_unsupported'],
    ['the implicit grant', { grant_type: 'implicit' }, 'unsupported_grant_type', 'grant_unsupported'],
  ];
  for (const [name, change, error, reason] of cases)
    test(name, async () => {
      const { broker, redeem } = setUp({
        metadata: { grant_types_supported: ['authorization_code', 'implicit', 'refresh_token'] },
      });
      expectError(await broker.call(tokenEndpoint, { form: { ...redeem, ...change } }), error, reason);
      assert.deepEqual(broker.fetched, []);
    });

  test('repeated parameters', async () => {
    const { broker, redeem } = setUp();
    for (const name of ['code', 'grant_type', 'client_id', 'unknown']) {
      const form = new URLSearchParams({ ...redeem, unknown: 'a' });
      form.append(name, 'b');
      expectError(await broker.call(tokenEndpoint, { form }), 'invalid_request', 'token_request_invalid');
    }
    assert.deepEqual(broker.fetched, []);
  });

  test('JSON, or no type at all', async () => {
    const { broker, redeem } = setUp();
    for (const contentType of ['application/json', '', 'multipart/form-data'])
      expectError(
        await broker.call(tokenEndpoint, { body: new URLSearchParams(redeem).toString(), contentType }),
        'invalid_request',
        'token_request_invalid',
      );
  });

  test('no key to open anything with', async () => {
    const { broker, redeem } = setUp({ noSealer: true });
    expectError(await broker.call(tokenEndpoint, { form: redeem }), 'server_error', 'seal_key_missing', 500);
  });
});

describe('who the client is', () => {
  const basic = (user: string, password: string): string[] => [
    'Authorization',
    `Basic ${Buffer.from(`${encodeURIComponent(user)}:${password}`).toString('base64')}`,
  ];

  test('is in client_id, or in a Basic header without a password', async () => {
    const { broker, redeem, clientId } = setUp();
    const { client_id: _left, ...without } = redeem;
    assert.equal((await broker.call(tokenEndpoint, { form: without, headers: basic(clientId, '') })).status, 200);
    assert.equal((await broker.call(tokenEndpoint, { form: redeem, headers: basic(clientId, '') })).status, 200);
    assert.equal((await broker.call(tokenEndpoint, { form: { ...redeem, client_secret: '' } })).status, 200);
  });

  test('must be known: 401, so that the client registers again', async () => {
    const { broker, redeem } = setUp();
    const { client_id: _left, ...without } = redeem;
    for (const form of [without, { ...redeem, client_id: 'idp-client' }, { ...redeem, client_id: 'http://x/' }]) {
      const answer = await broker.call(tokenEndpoint, { form });
      expectError(answer, 'invalid_client', 'unknown_client', 401);
      assert.deepEqual(listHeaders(answer, 'www-authenticate'), []);
    }
    const answer = await broker.call(tokenEndpoint, { form: without, headers: basic('nobody', '') });
    expectError(answer, 'invalid_client', 'unknown_client', 401);
    assert.deepEqual(listHeaders(answer, 'www-authenticate'), ['Basic realm="token"'], 'RFC 6749 5.2');
    assert.deepEqual(broker.fetched, []);
  });

  test('is not proved by a secret that nobody gave out', async () => {
    const { broker, redeem, clientId } = setUp();
    const { client_id: _left, ...without } = redeem;
    for (const call of [
      { form: { ...redeem, client_secret: 'guess' } },
      { form: { ...redeem, client_assertion: 'ey', client_assertion_type: 'x' } },
      { form: without, headers: basic(clientId, 'guess') },
    ])
      expectError(await broker.call(tokenEndpoint, call), 'invalid_client', 'unknown_client', 401);
    assert.deepEqual(broker.fetched, []);
  });

  test('is said once', async () => {
    const { broker, redeem, register, clientId } = setUp();
    for (const call of [
      { form: redeem, headers: basic(register(), '') },
      { form: { ...redeem, client_secret: 'x' }, headers: basic(clientId, '') },
    ])
      expectError(await broker.call(tokenEndpoint, call), 'invalid_request', 'token_request_invalid');
    const headers = [...basic(clientId, ''), ...basic(clientId, '')];
    expectError(await broker.call(tokenEndpoint, { form: redeem, headers }), 'invalid_client', 'unknown_client', 401);
    const bearer = await broker.call(tokenEndpoint, { form: redeem, headers: ['authorization', 'Bearer x'] });
    expectError(bearer, 'invalid_client', 'unknown_client', 401);
  });

  test('with Shared registration is the client of the policy, with its secret', async () => {
    const { broker, redeem, readSent } = setUp({
      idpClient: undefined,
      registration: { mode: RegistrationMode.SHARED, clientId: 'shared' },
      sharedClientSecret: 'shared-secret',
      metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] },
    });
    assert.equal((await broker.call(tokenEndpoint, { form: redeem })).status, 200);
    const sent = readSent();
    assert.deepEqual([sent['client_id'], sent['client_secret']], ['shared', 'shared-secret']);
  });
});

describe('a grant other than those of a login', () => {
  test('is refused, whatever the IdP lists and whoever asks', async () => {
    const { broker, clientId } = setUp({
      idpClient: { clientId: 'idp-client', authMethod: 'client_secret_post', secret: 's3cret' },
    });
    const basic = ['authorization', `Basic ${Buffer.from('machine:secret').toString('base64')}`];
    for (const grantType of [
      'client_credentials',
      'password',
      'implicit',
      'urn:ietf:params:oauth:grant-type:token-exchange',
      'urn:ietf:params:oauth:grant-type:jwt-bearer',
      'urn:ietf:params:oauth:grant-type:device_code',
      'Authorization_Code',
      'refresh_token ',
    ]) {
      const own = { grant_type: grantType, client_id: clientId };
      const foreign = { grant_type: grantType, client_id: 'machine', client_secret: 'its-own', scope: 'a' };
      for (const call of [{ form: own }, { form: foreign }, { form: { grant_type: grantType }, headers: basic }]) {
        const answer = await broker.call(tokenEndpoint, call);
        assert.equal(answer.status, 400, grantType);
        assert.equal((JSON.parse(answer.body) as { error: string }).error, 'unsupported_grant_type', grantType);
      }
    }
    assert.deepEqual(broker.fetched, []);
  });

  test('nothing that the client adds to a login goes on to the IdP', async () => {
    const { broker, redeem, readSent } = setUp();
    const form = {
      ...redeem,
      audience: 'https://other.example',
      client_assertion_type: 'x',
      requested_token_type: 'urn:x',
      subject_token: 's',
      acr_values: 'low',
      __proto__x: 'y',
    };
    assert.equal((await broker.call(tokenEndpoint, { form })).status, 200);
    assert.deepEqual(
      Object.keys(readSent()).filter(
        (name) => !['grant_type', 'code', 'redirect_uri', 'code_verifier', 'resource', 'client_id'].includes(name),
      ),
      [],
    );
  });
});

test('too many requests of one address: 429, and when to come back', async () => {
  const { broker } = setUp();
  const statuses = new Map<number, number>();
  let last: Awaited<ReturnType<typeof broker.call>> | undefined;
  for (let asked = 0; asked < 650; asked += 1) {
    last = await broker.call(tokenEndpoint, {
      form: { grant_type: 'refresh_token', client_id: 'x', refresh_token: 'y' },
    });
    statuses.set(last.status, (statuses.get(last.status) ?? 0) + 1);
  }
  assert.deepEqual(
    [...statuses],
    [
      [401, 600],
      [429, 50],
    ],
  );
  assert.ok(Number(last!.headers[last!.headers.indexOf('retry-after') + 1]) >= 1);
  assert.deepEqual(broker.fetched, []);
});

describe('an answer of the IdP that is no success', () => {
  const html = (status: number): FetchOutcome => ({
    ok: true,
    status,
    headers: new Map([
      ['content-type', 'text/html'],
      ['www-authenticate', 'Basic realm="idp"'],
      ['set-cookie', 'idp=1'],
      ['location', 'https://idp.example.com/login'],
    ]),
    body: '<html>no</html>',
  });
  const failure = (
    code: 'redirect' | 'timeout' | 'unreachable' | 'too_large' | 'broken' | 'blocked',
  ): FetchOutcome => ({
    ok: false,
    code,
    message: code,
  });
  const empty = (status: number): FetchOutcome => ({ ok: true, status, headers: new Map(), body: '' });

  const bothGrants: readonly (readonly [string, FetchOutcome, string, string, number])[] = [
    ['invalid_grant', answerJson({ error: 'invalid_grant' }, 400), 'invalid_grant', 'idp_refused_grant', 400],
    ['403 invalid_code', answerJson({ error: 'invalid_code' }, 403), 'invalid_grant', 'idp_refused_grant', 400],
    ['an empty 400', empty(400), 'invalid_grant', 'idp_refused_grant', 400],
    ['HTML with 400', html(400), 'invalid_grant', 'idp_refused_grant', 400],
    ['HTML with 404', html(404), 'invalid_grant', 'idp_refused_grant', 400],
    ['a redirect', failure('redirect'), 'invalid_grant', 'idp_refused_grant', 400],
    [
      'interaction_required',
      answerJson({ error: 'interaction_required' }, 400),
      'invalid_grant',
      'idp_refused_grant',
      400,
    ],
    ['invalid_scope', answerJson({ error: 'invalid_scope' }, 400), 'invalid_scope', 'idp_refused_grant', 400],
    ['an error with 200', answerJson({ error: 'bad_refresh_token' }, 200), 'invalid_grant', 'idp_refused_grant', 400],
    ['an error that is no text', answerJson({ error: { a: 1 } }, 400), 'invalid_grant', 'idp_refused_grant', 400],
    ['invalid_client', answerJson({ error: 'invalid_client' }, 401), 'invalid_client', 'idp_refused_client', 401],
    ['401 without a word', html(401), 'invalid_client', 'idp_refused_client', 401],
    ['HTML with 500', html(500), 'temporarily_unavailable', 'idp_unavailable', 503],
    ['503', empty(503), 'temporarily_unavailable', 'idp_unavailable', 503],
    ['429', empty(429), 'temporarily_unavailable', 'idp_unavailable', 503],
    ['HTML with 200', html(200), 'temporarily_unavailable', 'idp_unavailable', 503],
    ['JSON without a token', answerJson({}), 'temporarily_unavailable', 'idp_unavailable', 503],
    ['an array', answerJson([]), 'temporarily_unavailable', 'idp_unavailable', 503],
    ['no answer', failure('timeout'), 'temporarily_unavailable', 'idp_unavailable', 503],
    ['no connection', failure('unreachable'), 'temporarily_unavailable', 'idp_unavailable', 503],
    ['20 MB', failure('too_large'), 'temporarily_unavailable', 'idp_unavailable', 503],
    ['no HTTP', failure('broken'), 'temporarily_unavailable', 'idp_unavailable', 503],
  ];
  for (const [name, outcome, error, reason, status] of bothGrants)
    test(`${name} -> ${status} ${error}`, async () => {
      const { broker, redeem, refresh } = setUp({}, outcome);
      for (const form of [redeem, refresh]) {
        const answer = await broker.call(tokenEndpoint, { form });
        expectError(answer, error, reason, status);
        assert.deepEqual(listHeaders(answer, 'www-authenticate'), [], "the IdP's challenge stays there");
        assert.equal(listHeaders(answer, 'retry-after').length, status === 503 ? 1 : 0);
      }
    });

  test('invalid_request means a dead refresh token, and a bad request for a code', async () => {
    const { broker, redeem, refresh } = setUp({}, answerJson({ error: 'invalid_request' }, 400));
    expectError(await broker.call(tokenEndpoint, { form: redeem }), 'invalid_request', 'idp_refused_grant');
    expectError(await broker.call(tokenEndpoint, { form: refresh }), 'invalid_grant', 'idp_refused_grant');
  });

  test('Retry-After is passed on', async () => {
    const { broker, refresh } = setUp(
      {},
      { ok: true, status: 429, headers: new Map([['retry-after', '17']]), body: '' },
    );
    const answer = await broker.call(tokenEndpoint, { form: refresh });
    assert.deepEqual(listHeaders(answer, 'retry-after'), ['17']);
  });

  test('words of the IdP are passed on as plain text', async () => {
    const error_description = '<b>Code "x"</b>\r\nexpired\u2028é';
    const { broker, refresh } = setUp({}, answerJson({ error: 'invalid_grant', error_description }, 400));
    const body = expectError(await broker.call(tokenEndpoint, { form: refresh }), 'invalid_grant', 'idp_refused_grant');
    assert.match(String(body['error_description']), /^[ !#-;=?-[\]-~]+$/);
  });

  test('a Shared client that the IdP refuses is the business of the operator', async () => {
    const { broker, redeem } = setUp(
      {
        idpClient: undefined,
        registration: { mode: RegistrationMode.SHARED, clientId: 'shared' },
        sharedClientSecret: 'wrong',
      },
      answerJson({ error: 'invalid_client', error_description: 'secret' }, 401),
    );
    const answer = await broker.call(tokenEndpoint, { form: redeem });
    expectError(answer, 'temporarily_unavailable', 'idp_refused_client', 503);
    assert.ok(!answer.body.includes('wrong'));
  });

  test('the metadata of the IdP is not there', async () => {
    const { broker, redeem } = setUp({ metadataState: { ok: false, detail: 'down', retryAfterSeconds: 2.2 } });
    const answer = await broker.call(tokenEndpoint, { form: redeem });
    expectError(answer, 'temporarily_unavailable', 'idp_unavailable', 503);
    assert.deepEqual(listHeaders(answer, 'retry-after'), ['3']);
  });
});
