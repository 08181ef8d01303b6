// The consent page in Chromium, in front of a whole login: with the keyboard, without JavaScript, in light and dark, on a phone.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { createSealKey } from '../../src/base/sealed.ts';
import {
  type Closable,
  listenOnLoopback,
  startUpstream,
  tlsSecretOf,
  type Upstream,
} from '../integration/gateway-fixture.ts';
import {
  addSharedClient,
  type BrokerGateway,
  createPkce,
  sharedRegistration,
  sharedSecrets,
  startBrokerGateway,
  startBrokerIdp,
} from '../integration/mcp-auth-broker-fixture.ts';
import { createCertificate } from '../self-signed-certificate.ts';
import type { QuirkyIdp } from '../idp/quirky-idp.ts';
import { openContext, startChromium } from './chromium.ts';
import { checkAccessible, checkFits } from './page-checks.ts';

let browser: Browser;
let idp: QuirkyIdp;
let upstream: Upstream;
let client: Closable & { readonly port: number };

before(async () => {
  // Where the client waits for its code.
  const waiting = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><html lang="en"><title>Client</title><p>You can close this window.');
  });
  // With all that a browser does about cookies, redirects and policies of pages.
  browser = await startChromium({ isWhole: true });
  [idp, upstream, client] = await Promise.all([startBrokerIdp(), startUpstream('mcp'), listenOnLoopback(waiting)]);
});
after(() => Promise.all([browser?.close(), idp?.close(), upstream?.close(), client?.close()]));

const { cert, key } = createCertificate({ names: ['127.0.0.1'] });

async function startOwnGateway(scheme: 'http' | 'https'): Promise<BrokerGateway> {
  const authentication = {
    issuer: idp.issuer,
    registration: sharedRegistration,
    resourceMetadata: { resourceName: 'Ticket desk' },
    requiredScopes: ['tickets:read'],
  };
  const gateway = await startBrokerGateway({
    backends: [{ path: '/mcp', port: upstream.port, authentication }],
    secrets: sharedSecrets,
    keys: [createSealKey()],
    ...(scheme === 'https' && {
      listener: { protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'cert' }] } },
      resources: [tlsSecretOf('cert', cert, key)],
    }),
  });
  addSharedClient(idp, gateway);
  return gateway;
}

/** Registers through the browser's own network stack, which takes the test's certificate. */
async function startLogin(context: BrowserContext, gateway: BrokerGateway, name = 'Editor <b>X</b>') {
  const redirectUri = `http://127.0.0.1:${client.port}/callback`;
  const registration = await context.request.post(`${gateway.url}/.oauth/mcp/register`, {
    data: { client_name: name, redirect_uris: [redirectUri] },
  });
  const { client_id: clientId } = (await registration.json()) as { client_id: string };
  const { verifier, challenge } = createPkce();
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 'mine',
    scope: 'tickets:read tickets:write',
  });
  return { clientId, verifier, url: `${gateway.url}/.oauth/mcp/authorize?${query.toString()}` };
}

async function openPage(
  options: BrowserContextOptions,
): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> {
  const context = await openContext(browser, { ignoreHTTPSErrors: true, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  return { context, page, complaints };
}

const isAtClient = (url: URL): boolean => url.port === String(client.port);

for (const scheme of ['http', 'https'] as const)
  describe(`on ${scheme}`, () => {
    let gateway: BrokerGateway;
    before(async () => {
      gateway = await startOwnGateway(scheme);
    });
    after(() => gateway.close());

    test('a login with the keyboard and without JavaScript ends at the client with a code that works', async () => {
      const { context, page } = await openPage({ javaScriptEnabled: false });
      const { clientId, verifier, url } = await startLogin(context, gateway);
      await page.goto(url);
      assert.equal(await page.title(), 'Allow access to Ticket desk?');
      const text = await page.locator('main').innerText();
      assert.match(text, new RegExp(`127\\.0\\.0\\.1:${client.port}`));
      assert.match(text, /“Editor <b>X<\/b>”/, 'a name is text');
      assert.match(text, /tickets:read\s+tickets:write/);
      const prefix = scheme === 'https' ? '__Host-' : '';
      const [cookie] = await context.cookies(gateway.url);
      assert.ok(
        cookie !== undefined && cookie.name.startsWith(`${prefix}mcp-gateway-login-`),
        'the browser keeps the cookie',
      );
      assert.deepEqual([cookie.httpOnly, cookie.secure, cookie.sameSite], [true, scheme === 'https', 'Lax']);

      const focused = (): Promise<string> => page.locator(':focus').innerText();
      await page.keyboard.press('Tab');
      assert.equal(await focused(), 'Cancel');
      await page.keyboard.press('Tab');
      assert.equal(await focused(), 'Allow');
      await page.keyboard.press('Enter');
      await page.waitForURL(isAtClient);
      const { searchParams } = new URL(page.url());
      assert.equal(searchParams.get('state'), 'mine');
      assert.equal(searchParams.get('iss'), `${gateway.url}/mcp`);
      const token = await context.request.post(`${gateway.url}/.oauth/mcp/token`, {
        form: {
          grant_type: 'authorization_code',
          client_id: clientId,
          code: searchParams.get('code')!,
          code_verifier: verifier,
        },
      });
      assert.equal(token.status(), 200, await token.text());
      assert.deepEqual(await context.cookies(gateway.url), [], 'nothing is left behind');
      await context.close();
    });

    test('Cancel goes back to the client with access_denied', async () => {
      const { context, page } = await openPage({});
      const countAuthorizations = (): number => idp.server.callsTo(idp.paths.authorize).length;
      const asked = countAuthorizations();
      await page.goto((await startLogin(context, gateway)).url);
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.waitForURL(isAtClient);
      assert.equal(new URL(page.url()).searchParams.get('error'), 'access_denied');
      assert.equal(countAuthorizations(), asked, 'the IdP never heard of it');
      await context.close();
    });

    test('two tabs at the same time both arrive', async () => {
      const { context, page } = await openPage({});
      const other = await context.newPage();
      await page.goto((await startLogin(context, gateway, 'One')).url);
      await other.goto((await startLogin(context, gateway, 'Two')).url);
      for (const tab of [page, other]) {
        await tab.getByRole('button', { name: 'Allow' }).click();
        await tab.waitForURL(isAtClient);
        assert.ok(new URL(tab.url()).searchParams.has('code'));
      }
      await context.close();
    });

    test('a callback in another browser is refused with a page', async () => {
      const { context, page } = await openPage({});
      const callbacks: string[] = [];
      page.on('request', (request) => request.url().includes('/callback?') && callbacks.push(request.url()));
      await page.goto((await startLogin(context, gateway)).url);
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.waitForURL(isAtClient);
      const victim = await openPage({});
      const response = await victim.page.goto(callbacks[0]!);
      assert.equal(response!.status(), 400);
      assert.equal(await victim.page.title(), 'This login cannot go on');
      await Promise.all([context.close(), victim.context.close()]);
    });
  });

describe('the page itself', () => {
  let gateway: BrokerGateway;
  before(async () => {
    gateway = await startOwnGateway('http');
  });
  after(() => gateway.close());

  for (const colorScheme of ['light', 'dark'] as const)
    for (const [name, viewport] of [
      ['desktop', { width: 1100, height: 900 }],
      ['phone', { width: 360, height: 740 }],
      ['phone, text at 200 %', { width: 180, height: 740 }],
    ] as const)
      test(`no axe violations, no console messages, no sideways scrolling: ${colorScheme}, ${name}`, async () => {
        const { context, page, complaints } = await openPage({ colorScheme, viewport });
        for (const clientName of ['Editor', 'W'.repeat(120)]) {
          const { url } = await startLogin(context, gateway, clientName);
          for (const each of [url, `${gateway.url}/.oauth/mcp/authorize?client_id=x`]) {
            await page.goto(each);
            // The 404 of a favicon is nothing of the page's; an error page is a 400.
            const serious = complaints.splice(0).filter((text) => !text.startsWith('Failed to load resource'));
            assert.deepEqual(serious, []);
            await checkFits(page);
            await checkAccessible(page);
          }
        }
        await context.close();
      });

  test('nobody can frame it', async () => {
    const { context, page } = await openPage({});
    const { url } = await startLogin(context, gateway);
    const refused = page.waitForEvent('console', (message) => message.text().includes("frame-ancestors 'none'"));
    await page.goto(`http://127.0.0.1:${client.port}/`);
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('iframe'), { src: ${JSON.stringify(url)} }))`,
    );
    await refused;
    await context.close();
  });
});
