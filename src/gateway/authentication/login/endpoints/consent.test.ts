import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RegistrationMode } from '../../../../ir/gen/config_pb.ts';
import { createAuthorizeEndpoint } from './authorize.ts';
import { callbackEndpoint } from './callback.ts';
import { sealClient } from '../state/client-envelope.ts';
import type { IdpClient } from '../../../config/shared-logins.ts';
import { createClientDocuments } from '../clients/client-id-metadata.ts';
import { consentEndpoint } from './consent.ts';
import { renderConsentPage } from '../pages/consent-page.ts';
import { createDocumentRegistrations } from '../clients/document-registration.ts';
import { registerShared } from '../clients/shared-registration.ts';
import {
  base,
  createPkce,
  idpIssuer,
  listHeaders,
  readLocation,
  readTransaction,
  resourceUrl,
  TestBroker,
  TestBrowser,
} from '../../testing/broker-fixture.ts';

const place = { issuer: idpIssuer, resource: resourceUrl };
const website = 'https://app.example.com/cb';

const authorizeEndpoint = createAuthorizeEndpoint({
  documents: createClientDocuments(),
  registrations: createDocumentRegistrations(),
});

function setUp() {
  const broker = new TestBroker({
    registration: { mode: RegistrationMode.SHARED, clientId: 'shared-client' },
    message: { resourceMetadata: JSON.stringify({ resource_name: 'Tickets' }) },
  });
  const register = (name: string, redirectUri = website): Record<string, string> => ({
    client_id: registerShared(broker.sealer, place, { redirectUris: [redirectUri], name, scope: undefined }),
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: createPkce().challenge,
    code_challenge_method: 'S256',
    state: `state of ${name}`,
    scope: 'tickets:read',
  });
  return { broker, register, browser: new TestBrowser() };
}

describe('consent', () => {
  test('is asked for before anything goes to the IdP, and approval goes on to it', async () => {
    const { broker, register, browser } = setUp();
    const page = await broker.call(authorizeEndpoint, { query: register('App') }, browser);
    assert.equal(page.status, 200);
    assert.match(page.body, /app\.example\.com/);
    assert.match(page.body, /“App”/);
    assert.match(page.body, /tickets:read/);
    assert.match(page.body, /Tickets/);
    assert.match(page.body, /action="\/\.oauth\/mcp\/consent"/);
    assert.match(listHeaders(page, 'content-security-policy')[0]!, /default-src 'none'.*frame-ancestors 'none'/);
    assert.deepEqual(listHeaders(page, 'cache-control'), ['no-store']);
    assert.deepEqual(listHeaders(page, 'x-frame-options'), ['DENY']);
    assert.equal(browser.cookies.size, 1);

    const form = { transaction: readTransaction(page), decision: 'approve' };
    const answer = await broker.call(consentEndpoint, { form }, browser);
    assert.equal(answer.status, 303);
    const location = readLocation(answer);
    assert.equal(location.origin, idpIssuer);
    assert.equal(location.searchParams.get('client_id'), 'shared-client');
    assert.equal(location.searchParams.get('scope'), 'tickets:read');

    const query = { code: 'c', state: location.searchParams.get('state')! };
    const back = readLocation(await broker.call(callbackEndpoint, { query }, browser));
    assert.equal(back.origin, 'https://app.example.com');
    assert.equal(back.searchParams.get('state'), 'state of App');
  });

  test('denied goes back to the client, and ends the login', async () => {
    const { broker, register, browser } = setUp();
    const page = await broker.call(authorizeEndpoint, { query: register('App') }, browser);
    const form = { transaction: readTransaction(page), decision: 'deny' };
    const answer = await broker.call(consentEndpoint, { form }, browser);
    assert.equal(answer.status, 303);
    assert.equal(answer.reason, 'consent_denied');
    const { searchParams } = readLocation(answer);
    assert.equal(searchParams.get('error'), 'access_denied');
    assert.equal(searchParams.get('state'), 'state of App');
    assert.equal(searchParams.get('iss'), `${base}/mcp`);
    assert.equal(browser.cookies.size, 0);
    const again = await broker.call(consentEndpoint, { form: { ...form, decision: 'approve' } }, browser);
    assert.equal(again.reason, 'login_other_browser');
  });

  test('is remembered for a website, for exactly what the page showed', async () => {
    const { broker, register, browser } = setUp();
    const query = register('App');
    const page = await broker.call(authorizeEndpoint, { query }, browser);
    await broker.call(consentEndpoint, { form: { transaction: readTransaction(page), decision: 'approve' } }, browser);
    const ask = async (changed: Record<string, string>): Promise<number> =>
      (await broker.call(authorizeEndpoint, { query: { ...query, ...changed } }, browser)).status;
    assert.equal(await ask({}), 302, 'the same again');
    assert.equal(await ask({ scope: 'tickets:read tickets:write' }), 200, 'another scope');
    assert.equal(await ask({ prompt: 'consent' }), 200, 'when the client wants the question');
    assert.equal(await ask({ client_id: register('Other')['client_id']! }), 200, 'another client');
    broker.nowMs += 31 * 86_400_000;
    assert.equal(await ask({}), 200, 'after a month');
  });

  test('is asked for every time by programs and apps on the device: anybody there could be behind them', async () => {
    const { broker, register, browser } = setUp();
    const query = register('CLI', 'http://127.0.0.1:33418/callback');
    for (let n = 0; n < 2; n += 1) {
      const page = await broker.call(authorizeEndpoint, { query }, browser);
      assert.equal(page.status, 200);
      const form = { transaction: readTransaction(page), decision: 'approve' };
      const answer = await broker.call(consentEndpoint, { form }, browser);
      assert.equal(listHeaders(answer, 'set-cookie').length, 0);
    }
  });

  test('cannot be skipped with prompt=none', async () => {
    const { broker, register, browser } = setUp();
    const answer = await broker.call(authorizeEndpoint, { query: { ...register('App'), prompt: 'none' } }, browser);
    assert.match(answer.body, /error=consent_required/);
    assert.deepEqual(listHeaders(answer, 'location'), []);
    assert.equal(answer.reason, 'consent_needed');
  });

  test('that was not given is no state: the question cannot be used as the answer', async () => {
    const { broker, register, browser } = setUp();
    const page = await broker.call(authorizeEndpoint, { query: register('App') }, browser);
    const query = { code: 'stolen', state: readTransaction(page) };
    const answer = await broker.call(callbackEndpoint, { query }, browser);
    assert.equal(answer.reason, 'login_state_invalid');
    assert.deepEqual(listHeaders(answer, 'location'), []);
  });

  test('of another browser, altered, late, or without a decision is refused with a page', async () => {
    const { broker, register, browser } = setUp();
    const page = await broker.call(authorizeEndpoint, { query: register('App') }, browser);
    const transaction = readTransaction(page);
    const expectRefusal = async (form: Record<string, string>, reason: string, by = browser): Promise<void> => {
      const answer = await broker.call(consentEndpoint, { form }, by);
      assert.equal(answer.status, 400);
      assert.equal(answer.reason, reason);
      assert.deepEqual(listHeaders(answer, 'location'), []);
      assert.deepEqual(listHeaders(answer, 'set-cookie'), []);
    };
    await expectRefusal({ transaction, decision: 'approve' }, 'login_other_browser', new TestBrowser());
    await expectRefusal({ transaction: `${transaction.slice(0, -2)}AA`, decision: 'approve' }, 'login_state_invalid');
    await expectRefusal({ decision: 'approve' }, 'login_state_invalid');
    await expectRefusal({ transaction }, 'authorization_request_invalid');
    await expectRefusal({ transaction, decision: 'maybe' }, 'authorization_request_invalid');
    const body = new URLSearchParams({ transaction, decision: 'approve' }).toString();
    const answer = await broker.call(consentEndpoint, { body, contentType: 'text/plain' }, browser);
    assert.equal(answer.reason, 'login_state_invalid');
    broker.nowMs += 600_000;
    await expectRefusal({ transaction, decision: 'approve' }, 'login_state_invalid');
  });

  test('a cookie of another browser is of no use to it', async () => {
    const { broker, register } = setUp();
    const [mine, theirs] = [new TestBrowser(), new TestBrowser()];
    const page = await broker.call(authorizeEndpoint, { query: register('App') }, mine);
    await broker.call(authorizeEndpoint, { query: register('App') }, theirs);
    const form = { transaction: readTransaction(page), decision: 'approve' };
    assert.equal((await broker.call(consentEndpoint, { form }, theirs)).reason, 'login_other_browser');
  });
});

describe('consent where every client is registered at the IdP (Forward)', () => {
  const idpClient: IdpClient = { clientId: 'own-client', authMethod: 'client_secret_basic', secret: 's3cr3t' };
  const start = async (redirectUri: string) => {
    const broker = new TestBroker({ asksForConsent: true });
    const browser = new TestBrowser();
    const client = { idpClient, redirectUris: [redirectUri], name: 'App', scope: undefined };
    const query = {
      client_id: sealClient(broker.sealer, place, client),
      redirect_uri: redirectUri,
      response_type: 'code',
      code_challenge: createPkce().challenge,
      code_challenge_method: 'S256',
      scope: 'tickets:read',
    };
    return { broker, browser, query, page: await broker.call(authorizeEndpoint, { query }, browser) };
  };

  test('is asked for as well, and the client stays its own', async () => {
    const { broker, browser, query, page } = await start(website);
    assert.equal(page.status, 200);
    assert.match(page.body, /app\.example\.com/);
    assert.doesNotMatch(page.body, /s3cr3t|own-client/);
    const form = { transaction: readTransaction(page), decision: 'approve' };
    const location = readLocation(await broker.call(consentEndpoint, { form }, browser));
    assert.equal(location.searchParams.get('client_id'), 'own-client');
    const callback = { code: 'c', state: location.searchParams.get('state')! };
    assert.equal((await broker.call(callbackEndpoint, { query: callback }, browser)).status, 302);
    assert.equal((await broker.call(authorizeEndpoint, { query }, browser)).status, 302, 'and it is remembered');
    assert.equal((await broker.call(authorizeEndpoint, { query }, new TestBrowser())).status, 200, 'in this browser');
  });

  test('one link and a session at the IdP hand over nothing', async () => {
    for (const uri of [website, 'http://127.0.0.1:33418/callback', 'http://localhost:1/cb']) {
      const { page } = await start(uri);
      assert.deepEqual([page.status, listHeaders(page, 'location')], [200, []], uri);
    }
  });
});

describe('the consent page', () => {
  const question = {
    clientName: 'App',
    clientHost: undefined,
    redirectUri: website,
    scopes: ['a'],
    resourceName: 'Tickets',
    resource: resourceUrl,
    action: '/.oauth/mcp/consent',
    transaction: 'sealed',
  };

  test('shows what a client wrote as text, whatever it wrote', () => {
    const clientName = '<script>alert(1)</script>" onclick="x\u202E\u0000 & Co';
    const { body } = renderConsentPage({ ...question, clientName, scopes: ['<b>"x'], clientHost: 'a.example' });
    assert.ok(!body.includes('<script'), 'no markup of the client');
    assert.ok(!body.includes('\u202E') && !body.includes('\u0000'), 'nothing invisible');
    assert.match(
      body,
      /&lt;script&gt;alert\(1\)&lt;\/script&gt;&quot; onclick=&quot;x & Co|&lt;script&gt;alert\(1\)&lt;\/script&gt;&quot; onclick=&quot;x &amp; Co/,
    );
    assert.match(body, /&lt;b&gt;&quot;x/);
    assert.match(body, /described by a\.example/);
  });

  test('shortens what is too long, and names what has no name', () => {
    assert.match(renderConsentPage({ ...question, clientName: 'x'.repeat(500) }).body, /“x{80}…”/);
    for (const clientName of [undefined, '', ' \u200B ']) {
      const { body } = renderConsentPage({ ...question, clientName, scopes: [] });
      assert.match(body, /An application without a name/);
      assert.match(body, /Nothing in particular/);
    }
  });

  test('says where the user will be sent', () => {
    assert.match(renderConsentPage(question).body, /That is a website/);
    assert.match(renderConsentPage({ ...question, redirectUri: 'http://127.0.0.1:7/x' }).body, /program on the device/);
    assert.match(renderConsentPage({ ...question, redirectUri: 'cursor://x/y' }).body, /app on the device/);
  });
});
