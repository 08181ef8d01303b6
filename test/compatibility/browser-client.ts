// Chromium with a page that is an MCP client (the current SDK), on an origin of its own: logins, consent and CORS as browsers have them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { startChromium } from '../browser/chromium.ts';
import { type AuthSetup, isBroker } from '../idp/auth-setups.ts';
import { testUsers } from '../idp/test-users.ts';
import { deadlineMs } from '../kit/wait-for.ts';

/** The page, and the browser that shows it. */
export interface BrowserClient {
  /** Where the page is served. */
  readonly origin: string;
  /** The version of the browser. */
  readonly version: string;
  /** From the 401 to a tool call and a refreshed token, in a fresh profile. */
  walkJourney(url: string, setup: AuthSetup): Promise<void>;
  /** Logs in as far as that goes, and checks that the page ends with an error. */
  walkInVain(url: string): Promise<void>;
  close(): Promise<void>;
}

/** Starts both. */
export async function startBrowserClient(): Promise<BrowserClient> {
  const browser = await startChromium();
  const html = await createPage();
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://page');
    if (pathname === '/' || pathname === '/callback')
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html);
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    version: browser.version(),
    walkJourney: (url, setup) => walkJourney(browser, origin, url, setup),
    walkInVain: async (url) => {
      const { outcome } = await visit(browser, origin, url);
      assert.notEqual(outcome.error, undefined, JSON.stringify(outcome));
    },
    async close() {
      await browser.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Outcome {
  readonly error?: string;
  readonly tools?: readonly string[];
  readonly first?: string;
  readonly second?: string;
  readonly isNewToken?: boolean;
  readonly savedTokens?: number;
  readonly statuses: readonly string[];
}

async function walkJourney(browser: Browser, origin: string, url: string, setup: AuthSetup): Promise<void> {
  const { outcome, gatewayPages } = await visit(browser, origin, url);
  assert.equal(outcome.error, undefined, JSON.stringify(outcome));
  assert.equal(outcome.statuses[0], `POST ${new URL(url).pathname} 401`);
  assert.equal(gatewayPages, isBroker(setup) ? 1 : 0, 'pages of the gateway');
  assert.ok(outcome.tools?.includes('ticket_list'));
  assert.match(outcome.first ?? '', /2000 m/);
  if (!setup.refreshes) return;
  assert.match(outcome.second ?? '', /3000 m/);
  assert.equal(outcome.savedTokens, 2, 'refreshed once');
  assert.equal(outcome.isNewToken, true);
}

/** Opens the page and does what a person does, up to what the page shows in the end. */
async function visit(
  browser: Browser,
  origin: string,
  url: string,
): Promise<{ readonly outcome: Outcome; readonly gatewayPages: number }> {
  const context = await browser.newContext();
  context.setDefaultTimeout(deadlineMs);
  try {
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    const requests = followRequests(page);
    let gatewayPages = 0;
    // Not until it is loaded: the page leaves for the login by itself, and may do so before.
    await page.goto(`${origin}/?url=${encodeURIComponent(url)}`, { waitUntil: 'commit' });
    for (;;) {
      // Whatever comes next is a page that asks something, or the end.
      const next = page.locator(
        'input[type=password], body[data-state=done], button:not([type=button]), input[type=submit]',
      );
      await next
        .first()
        .waitFor({ state: 'attached' })
        .catch(async (error: unknown) => {
          const shown = await page.locator('body').innerText();
          throw new Error([`stuck at ${page.url()}: ${shown}`, ...faults, ...requests.list()].join('\n'), {
            cause: error,
          });
        });
      // The browser's own page has buttons, too.
      if (page.url().startsWith('chrome-error:'))
        throw new Error(['a page did not load', ...requests.list()].join('\n'));
      if (page.url().startsWith(`${origin}/`)) break;
      if (page.url().startsWith(new URL(url).origin)) gatewayPages += 1;
      await answer(page);
    }
    const text = await page.locator('#outcome').textContent();
    assert.deepEqual(faults, []);
    return { outcome: JSON.parse(text ?? '') as Outcome, gatewayPages };
  } finally {
    await context.close();
  }
}

/** What a page that is stuck waits for, and what it complained about. */
function followRequests(page: Page): { list(): string[] } {
  const open = new Set<string>();
  const complaints: string[] = [];
  page.on('request', (request) => open.add(`${request.method()} ${request.url()}`));
  page.on('requestfinished', (request) => open.delete(`${request.method()} ${request.url()}`));
  page.on('requestfailed', (request) => {
    const what = `${request.method()} ${request.url()}`;
    open.delete(what);
    complaints.push(`failed: ${what}: ${request.failure()?.errorText}`);
  });
  page.on('console', (message) => complaints.push(`console: ${message.text()}`));
  return { list: () => [...[...open].map((what) => `not answered: ${what}`), ...complaints] };
}

async function answer(page: Page): Promise<void> {
  const password = page.locator('input[type=password]');
  // A form is there before its page is loaded: the next event that is waited for must be of the page after it, or the form is sent twice.
  await page.waitForLoadState('load');
  const moved = page.waitForEvent('framenavigated');
  if ((await password.count()) > 0) {
    const user = testUsers[0]!;
    // Dex asks for an address.
    const address = page.locator('input[name=login]');
    if ((await address.count()) > 0) await address.fill(`${user.id}@example.com`);
    else await page.locator('input[name=username]').fill(user.id);
    await password.fill(user.password);
    await password.press('Enter');
  } else {
    for (const box of await page.getByRole('checkbox').all()) await box.check();
    await page.getByRole('button', { name: /^(allow|yes|accept|continue|grant|submit consent)/i }).click();
  }
  await moved;
}

const script = new URL('browser-client.js', import.meta.url);

/**
 * The page with the client in it: one document, as every further request is one that can fail. Chromium fails all requests that wait for a connection, loopback or not,
 * whenever the machine gets or loses a network link (ERR_NETWORK_CHANGED), and a script whose import is missing never runs and never says so.
 */
async function createPage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(script)],
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
    write: false,
  });
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>MCP client</title>
<link rel="icon" href="data:,">
<body><pre id="outcome"></pre></body>
<script type="module">${outputFiles[0]!.text}</script>
</html>
`;
}
