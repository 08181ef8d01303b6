import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FetchOutcome, GuardedRequest } from '../../../../base/fetch-json.ts';
import { RegistrationMode } from '../../../../ir/gen/config_pb.ts';
import { authorizationServerMetadataEndpoint } from '../endpoints/authorization-server-metadata.ts';
import { createAuthorizeEndpoint } from '../endpoints/authorize.ts';
import { callbackEndpoint } from '../endpoints/callback.ts';
import { createClientDocuments, findClientUrlProblem, isClientUrl, readClientDocument } from './client-id-metadata.ts';
import { createDocumentRegistrations } from './document-registration.ts';
import {
  answerJson,
  type BrokerOptions,
  createPkce,
  idpIssuer,
  readLocation,
  TestBroker,
  TestBrowser,
} from '../../testing/broker-fixture.ts';
import { createTokenEndpoint } from '../endpoints/token.ts';

const clientUrl = 'https://client.example.com/oauth/client.json';
const redirectUri = 'http://127.0.0.1:33418/callback';
const document = { client_id: clientUrl, client_name: 'Document client', redirect_uris: [redirectUri] };

describe('the URL of a client', () => {
  test('is https, has a path, and is written in its one form', () => {
    assert.ok(isClientUrl(clientUrl));
    assert.ok(!isClientUrl('http://client.example.com/c.json') && !isClientUrl('AXyz'));
    for (const good of [clientUrl, 'https://client.example.com:8443/c?v=1', 'https://client.example.com/a/'])
      assert.equal(findClientUrlProblem(good, []), undefined, good);
    for (const bad of [
      'https://client.example.com',
      'https://client.example.com/',
      'https://client.example.com/c#x',
      'https://user@client.example.com/c',
      'https://client.example.com/a/../c',
      'https://client.example.com/./c',
      'https://CLIENT.example.com/c',
      'https://client.example.com:443/c',
      'https:///c',
      'https://client.example.com\\c',
      `https://client.example.com/${'x'.repeat(2048)}`,
    ])
      assert.notEqual(findClientUrlProblem(bad, []), undefined, bad);
  });

  test('is on an allowed domain', () => {
    const allowed = ['client.example.com', '*.apps.example'];
    for (const [host, isAllowed] of [
      ['client.example.com', true],
      ['a.apps.example', true],
      ['a.b.apps.example', true],
      ['apps.example', false],
      ['evilapps.example', false],
      ['x.client.example.com', false],
      ['clientXexample.com', false],
      ['client.example.com.evil.example', false],
    ] as const)
      assert.equal(findClientUrlProblem(`https://${host}/c`, allowed) === undefined, isAllowed, host);
  });
});

describe('a client document', () => {
  test('names itself and binds its redirect URIs', () => {
    assert.deepEqual(readClientDocument(clientUrl, JSON.stringify({ ...document, scope: 'a' })), {
      ok: true,
      document: { redirectUris: [redirectUri], name: 'Document client', scope: 'a' },
    });
  });

  for (const [name, text] of [
    ['another client_id', JSON.stringify({ ...document, client_id: `${clientUrl}/` })],
    ['no client_id', JSON.stringify({ redirect_uris: [redirectUri] })],
    ['no redirect_uris', JSON.stringify({ client_id: clientUrl })],
    ['empty redirect_uris', JSON.stringify({ ...document, redirect_uris: [] })],
    ['redirect_uris that are no texts', JSON.stringify({ ...document, redirect_uris: [1] })],
    [
      '10,000 redirect_uris',
      JSON.stringify({ ...document, redirect_uris: Array.from({ length: 10_000 }, () => redirectUri) }),
    ],
    ['a secret for everybody', JSON.stringify({ ...document, client_secret: 'x' })],
    ['a method that needs a secret', JSON.stringify({ ...document, token_endpoint_auth_method: 'client_secret_post' })],
    ['an array', JSON.stringify([document])],
    ['no JSON', '<html>'],
    ['10,000 levels', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    ['client_id twice', `{"client_id":"${clientUrl}","client_id":"${clientUrl}","redirect_uris":["${redirectUri}"]}`],
    ['__proto__', `{"__proto__":{},"client_id":"${clientUrl}","redirect_uris":["${redirectUri}"]}`],
  ] as const)
    test(`with ${name} is refused`, () => assert.equal(readClientDocument(clientUrl, text).ok, false));
});

function setUp(
  options: BrokerOptions = {},
  served: (request: GuardedRequest) => FetchOutcome = () => answerJson(document),
) {
  const registrations = createDocumentRegistrations();
  let registered = 0;
  const broker = new TestBroker({
    ...options,
    fetch: (request) => {
      if (request.url === `${idpIssuer}/register`) {
        registered += 1;
        return answerJson(
          {
            client_id: `idp-client-${registered}`,
            client_secret: `secret-${registered}`,
            token_endpoint_auth_method: 'client_secret_post',
          },
          201,
        );
      }
      if (request.url === `${idpIssuer}/token`)
        return answerJson({ access_token: 'at', token_type: 'Bearer', refresh_token: 'r' });
      return served(request);
    },
  });
  const pkce = createPkce();
  const query = {
    client_id: clientUrl,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    scope: 'a',
  };
  return {
    broker,
    query,
    pkce,
    authorizeEndpoint: createAuthorizeEndpoint({ documents: createClientDocuments(), registrations }),
    tokenEndpoint: createTokenEndpoint(registrations),
    browser: new TestBrowser(),
    countFetches: (url: string) => broker.fetched.filter((request) => request.url === url).length,
  };
}

describe('a client with a document', () => {
  test('logs in and refreshes: it is registered at the IdP once, and every later step needs nothing but what was sealed', async () => {
    const { broker, query, pkce, authorizeEndpoint, browser, countFetches } = setUp();
    const location = readLocation(await broker.call(authorizeEndpoint, { query }, browser));
    assert.equal(location.searchParams.get('client_id'), 'idp-client-1');
    await broker.call(authorizeEndpoint, { query });
    assert.equal(countFetches(clientUrl), 1, 'the document is cached');
    assert.equal(countFetches(`${idpIssuer}/register`), 1, 'and so is the registration');
    const fetched = broker.fetched.find(({ url }) => url === clientUrl)!;
    assert.equal(fetched.chosenBy, 'client', 'guarded as an address that a client chose');
    assert.ok(fetched.maxBytes! <= 16_384 && fetched.timeoutMs! <= 5000);

    const callback = { code: 'idp-code', state: location.searchParams.get('state')! };
    const code = readLocation(await broker.call(callbackEndpoint, { query: callback }, browser)).searchParams.get(
      'code',
    )!;
    // As after a restart: with empty caches.
    const fresh = createTokenEndpoint(createDocumentRegistrations());
    const form = { grant_type: 'authorization_code', client_id: clientUrl, code, code_verifier: pkce.verifier };
    const tokens = JSON.parse((await broker.call(fresh, { form })).body) as { refresh_token: string };
    const { refresh_token } = tokens;
    const refreshed = await broker.call(fresh, {
      form: { grant_type: 'refresh_token', client_id: clientUrl, refresh_token },
    });
    assert.equal(refreshed.status, 200);
    const sent = broker.fetched
      .filter(({ url }) => url === `${idpIssuer}/token`)
      .map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
    for (const each of sent) assert.deepEqual([each['client_id'], each['client_secret']], ['idp-client-1', 'secret-1']);
    assert.equal(countFetches(clientUrl), 1);
    const stolen = { grant_type: 'refresh_token', client_id: 'https://evil.example/c.json', refresh_token };
    assert.equal(
      (JSON.parse((await broker.call(fresh, { form: stolen })).body) as { error: string }).error,
      'invalid_grant',
    );
  });

  test('with Shared registration sees the consent page, which names its host', async () => {
    const { broker, query, authorizeEndpoint, browser } = setUp({
      registration: { mode: RegistrationMode.SHARED, clientId: 'shared' },
    });
    const page = await broker.call(authorizeEndpoint, { query }, browser);
    assert.equal(page.status, 200);
    assert.match(page.body, /described by client\.example\.com/);
  });

  test('whose IdP client is gone is registered again at the next login', async () => {
    const { broker, query, pkce, authorizeEndpoint, tokenEndpoint, browser } = setUp();
    const location = readLocation(await broker.call(authorizeEndpoint, { query }, browser));
    const callback = { code: 'idp-code', state: location.searchParams.get('state')! };
    const code = readLocation(await broker.call(callbackEndpoint, { query: callback }, browser)).searchParams.get(
      'code',
    )!;
    const form = { grant_type: 'authorization_code', client_id: clientUrl, code, code_verifier: pkce.verifier };
    const { fetcher } = broker.config.idp;
    const original = fetcher.fetch.bind(fetcher);
    fetcher.fetch = (request) =>
      request.url === `${idpIssuer}/token`
        ? Promise.resolve(answerJson({ error: 'invalid_client' }, 401))
        : original(request);
    const answer = await broker.call(tokenEndpoint, { form });
    assert.equal((JSON.parse(answer.body) as { error: string }).error, 'invalid_grant');
    const again = readLocation(await broker.call(authorizeEndpoint, { query }, browser));
    assert.equal(again.searchParams.get('client_id'), 'idp-client-2');
  });

  test('cannot be registered where the IdP has no registration', async () => {
    const { broker, query, authorizeEndpoint } = setUp({ preset: { name: 'x', hasNoRegistration: true } });
    const answer = await broker.call(authorizeEndpoint, { query });
    assert.equal(readLocation(answer).searchParams.get('error'), 'temporarily_unavailable');
    assert.equal(answer.reason, 'idp_refused_client');
  });

  test('is refused with a page when the document is not usable, allowed or wanted', async () => {
    const refusals: readonly (readonly [string, BrokerOptions, (request: GuardedRequest) => FetchOutcome, string])[] = [
      ['switched off', { message: { clientIdMetadataDocuments: false } }, () => answerJson(document), 'unknown_client'],
      [
        'another domain',
        { message: { clientIdMetadataDomains: ['apps.example'] } },
        () => answerJson(document),
        'client_document_invalid',
      ],
      [
        'blocked address',
        {},
        () => ({ ok: false, code: 'blocked', message: '169.254.169.254' }),
        'client_document_invalid',
      ],
      ['redirect', {}, () => ({ ok: false, code: 'redirect', message: 'x' }), 'client_document_invalid'],
      ['too large', {}, () => ({ ok: false, code: 'too_large', message: 'x' }), 'client_document_invalid'],
      ['404', {}, () => answerJson(document, 404), 'client_document_invalid'],
      ['as a page', {}, () => answerJson(document, 200, { 'content-type': 'text/html' }), 'client_document_invalid'],
      [
        'of somebody else',
        {},
        () => answerJson({ ...document, client_id: 'https://x.example/y' }),
        'client_document_invalid',
      ],
    ];
    for (const [name, options, served, reason] of refusals) {
      const { broker, query, authorizeEndpoint } = setUp(options, served);
      const answer = await broker.call(authorizeEndpoint, { query });
      assert.equal(answer.status, 400, name);
      assert.equal(answer.reason, reason, name);
      assert.ok(!answer.body.includes('169.254'), 'where it leads is not told');
    }
  });

  test('documents are offered while they can be fetched, and the page says what the operator can do', async () => {
    let isReachable = false;
    const { broker, query, authorizeEndpoint } = setUp({}, () =>
      isReachable ? answerJson(document) : { ok: false, code: 'timeout', message: 'no answer' },
    );
    const isOffered = async (): Promise<unknown> => {
      const { body } = await broker.call(authorizationServerMetadataEndpoint, {});
      return (JSON.parse(body) as Record<string, unknown>)['client_id_metadata_document_supported'];
    };
    assert.equal(await isOffered(), true);
    const answer = await broker.call(authorizeEndpoint, { query });
    assert.equal(answer.reason, 'client_document_invalid');
    const { host } = new URL(clientUrl);
    assert.match(
      answer.body,
      new RegExp(`The gateway cannot reach ${host}, where the application describes itself\\.`),
    );
    assert.match(answer.body, new RegExp(`allow https to ${host} \\(HTTPS_PROXY for a proxy\\)`));
    assert.equal(await isOffered(), undefined);
    isReachable = true;
    assert.equal((await broker.call(authorizeEndpoint, { query })).reason, undefined, 'still accepted');
    assert.equal(await isOffered(), true);
  });

  test('documents that cannot be fetched are offered all the same where the operator says so, and where clients cannot register', async () => {
    for (const options of [
      { message: { clientIdMetadataAlways: true } },
      { preset: { name: 'x', hasNoRegistration: true } },
    ] as const) {
      const served = (): FetchOutcome => ({ ok: false, code: 'unreachable', message: 'x' });
      const { broker, query, authorizeEndpoint } = setUp(options, served);
      await broker.call(authorizeEndpoint, { query });
      const { body } = await broker.call(authorizationServerMetadataEndpoint, {});
      assert.match(body, /"client_id_metadata_document_supported": true/);
    }
  });

  test('gets only to its own redirect URIs, and to those that the operator allows', async () => {
    const { broker, query, authorizeEndpoint } = setUp();
    const evil = await broker.call(authorizeEndpoint, { query: { ...query, redirect_uri: 'https://evil.example/cb' } });
    assert.equal(evil.reason, 'redirect_uri_not_registered');
    const strict = setUp({ registration: { allowedRedirectUris: ['https://only.example/cb'] } });
    const answer = await strict.broker.call(strict.authorizeEndpoint, { query: strict.query });
    assert.equal(answer.reason, 'redirect_uri_not_registered');
    const bad = setUp({}, () => answerJson({ ...document, redirect_uris: ['javascript:alert(1)'] }));
    const query2 = { ...bad.query, redirect_uri: 'javascript:alert(1)' };
    const answer2 = await bad.broker.call(bad.authorizeEndpoint, { query: query2 });
    assert.equal(answer2.reason, 'redirect_uri_not_registered');
  });
});

describe('the cache of documents', () => {
  async function countFetches(headers: Record<string, string>, afterMs: number): Promise<number> {
    const { broker, query, authorizeEndpoint } = setUp({}, () => answerJson(document, 200, headers));
    await broker.call(authorizeEndpoint, { query });
    broker.nowMs += afterMs;
    await broker.call(authorizeEndpoint, { query });
    return broker.fetched.filter(({ url }) => url === clientUrl).length;
  }

  test('follows the headers of the answer, within bounds', async () => {
    assert.equal(await countFetches({}, 299_999), 1);
    assert.equal(await countFetches({}, 300_000), 2);
    assert.equal(await countFetches({ 'cache-control': 'public, max-age=3600' }, 3_599_000), 1);
    assert.equal(await countFetches({ 'cache-control': 'max-age=3600', age: '3000' }, 700_000), 2);
    assert.equal(await countFetches({ 'cache-control': 'no-store' }, 0), 2);
    assert.equal(await countFetches({ 'cache-control': 'no-cache, max-age=60' }, 0), 2);
    assert.equal(await countFetches({ 'cache-control': 'max-age=999999999' }, 86_400_000), 2);
    const soon = new Date(Date.UTC(2026, 0, 1) + 1000).toUTCString();
    assert.equal(await countFetches({ expires: soon }, 500), 1);
    assert.equal(await countFetches({ expires: soon }, 1500), 2);
    assert.equal(await countFetches({ expires: '0' }, 0), 2);
  });

  test('keeps no failures, and asks once for logins that start together', async () => {
    let answers = 0;
    const { broker, query, authorizeEndpoint } = setUp({}, () => {
      answers += 1;
      return answers === 1 ? answerJson({}, 500) : answerJson(document);
    });
    const first = await Promise.all([1, 2, 3].map(() => broker.call(authorizeEndpoint, { query })));
    assert.deepEqual(
      first.map(({ status }) => status),
      [400, 400, 400],
    );
    assert.equal(answers, 1);
    assert.equal((await broker.call(authorizeEndpoint, { query })).status, 302);
  });

  test('fetches no more than so many for one address', async () => {
    const { broker, query, authorizeEndpoint } = setUp({ registration: { perMinute: 5 } }, ({ url }) =>
      answerJson({ ...document, client_id: url }),
    );
    const ask = async (n: number): Promise<number> =>
      (await broker.call(authorizeEndpoint, { query: { ...query, client_id: `${clientUrl}?${n}` } })).status;
    const statuses: number[] = [];
    for (let n = 0; n < 7; n += 1) statuses.push(await ask(n));
    assert.deepEqual(statuses, [302, 302, 302, 302, 302, 400, 400]);
    broker.nowMs += 60_000;
    assert.equal(await ask(6), 302);
  });
});
