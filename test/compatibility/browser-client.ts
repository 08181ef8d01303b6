// Chromium with a page that is an MCP client (the current SDK), on an origin of its own: logins, consent and CORS as browsers have them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { access, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { type AuthSetup, isBroker } from '../idp/auth-setups.ts';
import { testUsers } from '../idp/test-users.ts';

/** Thrown when there is no Chromium. The message is one line that says what to do. */
export class ChromiumUnavailableError extends Error {
  readonly code = 'CHROMIUM_UNAVAILABLE';
}

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

/** Where Chromium is, in order of preference. CHROMIUM_PATH names another place. */
const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

async function findChromium(): Promise<string> {
  const named = process.env['CHROMIUM_PATH'];
  for (const place of named === undefined ? places : [named]) {
    if (
      await access(place).then(
        () => true,
        () => false,
      )
    )
      return place;
  }
  throw new ChromiumUnavailableError(
    'The compatibility suite needs Chromium (Debian: apt-get install chromium), or its path in CHROMIUM_PATH.',
  );
}

/** Starts both. */
export async function startBrowserClient(): Promise<BrowserClient> {
  const executablePath = await findChromium();
  const server = createServer((request, response) => {
    servePath(new URL(request.url ?? '/', 'http://page').pathname).then(
      ({ type, content }) => response.writeHead(200, { 'content-type': type }).end(content),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
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
  // Slow is fine, stuck is not.
  context.setDefaultTimeout(120_000);
  try {
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    const requests = followRequests(page);
    let gatewayPages = 0;
    await page.goto(`${origin}/?url=${encodeURIComponent(url)}`);
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
          throw new Error([`stuck at ${page.url()}: ${shown}`, ...requests.list()].join('\n'), { cause: error });
        });
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

const packages: Readonly<Record<string, string>> = {
  '@modelcontextprotocol/client': '@modelcontextprotocol/client/dist/index.mjs',
  '@modelcontextprotocol/client/_shims': '@modelcontextprotocol/client/dist/shimsBrowser.mjs',
  '@modelcontextprotocol/core/internal': '@modelcontextprotocol/core/dist/internal.mjs',
  eventsource: 'eventsource/dist/index.js',
  'eventsource-parser': 'eventsource-parser/dist/index.js',
  'eventsource-parser/stream': 'eventsource-parser/dist/stream.js',
  jose: 'jose/dist/webapi/index.js',
  'pkce-challenge': 'pkce-challenge/dist/index.browser.js',
  'zod/v4': 'zod/v4/index.js',
};

const imports = Object.fromEntries(Object.entries(packages).map(([name, file]) => [name, `/node_modules/${file}`]));

const html = `<!doctype html>
<html lang="en">
<title>MCP client</title>
<link rel="icon" href="data:,">
<script type="importmap">${JSON.stringify({ imports })}</script>
<script type="module" src="/browser-client.js"></script>
<body><pre id="outcome"></pre></body>
</html>
`;

const script = new URL('browser-client.js', import.meta.url);
const modules = new URL('../../node_modules/', import.meta.url);

async function servePath(path: string): Promise<{ readonly type: string; readonly content: string | Buffer }> {
  if (path === '/' || path === '/callback') return { type: 'text/html; charset=utf-8', content: html };
  if (path === '/browser-client.js') return { type: 'text/javascript', content: await readFile(script) };
  const file = new URL(path.slice('/node_modules/'.length), modules);
  if (!path.startsWith('/node_modules/') || !file.href.startsWith(modules.href) || !/^\.m?js$/.test(extname(path))) {
    throw new Error('not a module');
  }
  return { type: 'text/javascript', content: await readFile(file) };
}
