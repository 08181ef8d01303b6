// The demo as people meet it: the page, the login of Alice and of Bob, what it says after Cancel, and every page in every appearance.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { runDemo, type StartedDemo } from '../integration/run-demo.ts';
import { openPage, screenshotFolder, startChromium } from './chromium.ts';
import { checkAppearances, checkLook } from './page-checks.ts';

let browser: Browser;
let demo: StartedDemo;

before(async () => {
  // First, so that a machine without it is told so and nothing else is left running.
  browser = await startChromium();
  demo = await runDemo();
});
after(async () => {
  await Promise.all([browser?.close(), demo?.child.stop()]);
  console.log(`Pictures: ${screenshotFolder}`);
});

/** The browser notes every 401 by itself. This one is the first step of the flow. */
function isExpected(complaint: string): boolean {
  return complaint.includes('status of 401') && complaint.includes('/mcp)');
}

async function begin(page: Page): Promise<void> {
  await page.goto(`${demo.url}/`);
  await page.getByRole('button', { name: 'Log in and talk MCP' }).click();
  await page.waitForURL(`http://127.0.0.1:${demo.ports['--idp-port']}/interaction/**`);
}

async function readResult(page: Page): Promise<string> {
  await page.waitForURL(`${demo.url}/`);
  const result = page.locator('#result:not(:empty)');
  await result.waitFor();
  return (await result.textContent()) ?? '';
}

describe('the demo in Chromium', () => {
  for (const { name, team, sub } of [
    { name: 'Alice Archer', team: 'support', sub: 'alice' },
    { name: 'Bob Baker', team: 'sales', sub: 'bob' },
  ]) {
    test(`the whole flow, clicked through as ${name}`, async () => {
      const { page, complaints, close } = await openPage(browser);
      await begin(page);
      assert.equal(await page.title(), 'Log in - demo identity provider');
      await page.getByRole('button', { name: `Log in as ${name}` }).click();
      await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
      const consent = await page.locator('main').innerText();
      assert.ok(consent.includes(`Demo page wants to use ${demo.url}/mcp for you.`), consent);
      assert.ok(consent.includes(`You are logged in as ${name}.`), consent);
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      assert.equal(
        await readResult(page),
        `It worked. ${name} called convert_units through the gateway: 42 km = 26.09759007 mi`,
      );
      // Whoever reads the page with a screen reader or a keyboard is where the news is.
      assert.equal(await page.evaluate('document.activeElement.id'), 'result');
      const steps = page.locator('#steps > li');
      assert.deepEqual(await steps.locator('.title strong').allTextContents(), [
        'Refused without a token',
        'Asked what is protected',
        'Asked how to log in',
        'Registered as a client',
        'Went to the login page, with PKCE',
        'Came back with a code',
        `Got a token for ${name}`,
        'Refreshed it once, to show that this works',
        'Talked MCP with the token: initialize',
        'Listed 7 tools: tools/list',
        'Called convert_units: tools/call',
        'Ended the MCP session',
      ]);
      assert.deepEqual(await steps.locator('.request').allTextContents(), [
        'POST /mcp → 401',
        'GET /.well-known/oauth-protected-resource/mcp → 200',
        'GET /.well-known/oauth-authorization-server/mcp → 200',
        'POST /.oauth/mcp/register → 201',
        'GET /.oauth/mcp/authorize',
        'GET /demo/callback',
        'POST /.oauth/mcp/token → 200',
        'POST /.oauth/mcp/token → 200',
        'POST /mcp → 200',
        'POST /mcp → 200',
        'POST /mcp → 200',
        'DELETE /mcp → 200',
      ]);
      await steps.nth(6).getByText('Details').click();
      const claims = JSON.parse((await steps.nth(6).locator('pre').textContent())!) as Record<string, unknown>;
      assert.partialDeepStrictEqual(claims, { sub, name, team, aud: `${demo.url}/mcp`, scope: 'tickets' });
      assert.deepEqual(
        complaints.filter((complaint) => !isExpected(complaint)),
        [],
      );
      assert.equal(complaints.length, 1, 'the 401 of the first step, once');

      // Still there after a reload, and nothing is done twice.
      await page.reload();
      assert.equal(await page.locator('#steps > li').count(), 12);
      assert.match(await readResult(page), /^It worked/);
      await close();
    });
  }

  test('Cancel at the login: the page says what happened, and the next try works', async () => {
    const { page, complaints, close } = await openPage(browser);
    await begin(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    assert.match(
      await readResult(page),
      /^You chose Cancel, so the answer was access_denied and no token was given out\./,
    );
    await checkLook(page, 'demo-cancelled');
    assert.equal(await page.locator('#steps > li').count(), 5);
    await begin(page);
    await page.getByRole('button', { name: 'Log in as Alice' }).click();
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    assert.match(await readResult(page), /^It worked/);
    assert.deepEqual(
      complaints.filter((complaint) => !isExpected(complaint)),
      [],
    );
    await close();
  });

  test('Cancel at the consent: the page says what happened', async () => {
    const { page, close } = await openPage(browser);
    await begin(page);
    await page.getByRole('button', { name: 'Log in as Bob' }).click();
    await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    assert.match(await readResult(page), /^You chose Cancel/);
    await close();
  });

  test('whoever is logged in already is asked for consent alone, and can become somebody else there', async () => {
    const { page, close } = await openPage(browser);
    await begin(page);
    await page.getByRole('button', { name: 'Log in as Alice' }).click();
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    assert.match(await readResult(page), /Alice Archer called/);
    await begin(page);
    await page.getByText('You are logged in as Alice Archer.').waitFor();
    await page.getByRole('button', { name: 'Log in as somebody else' }).click();
    await page.getByRole('button', { name: 'Log in as Bob' }).click();
    await page.getByText('You are logged in as Bob Baker.').waitFor();
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    assert.match(await readResult(page), /Bob Baker called/);
    await close();
  });

  test('the keyboard is enough', async () => {
    const { page, close } = await openPage(browser);
    await page.goto(`${demo.url}/`);
    await page.getByRole('button', { name: 'Log in and talk MCP' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/interaction\//);
    await page.keyboard.press('Tab');
    assert.match(await page.evaluate<string>('document.activeElement.textContent'), /^Log in as Alice/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Allow');
    await page.keyboard.press('Enter');
    assert.match(await readResult(page), /^It worked/);
    await close();
  });

  test('under the name localhost it works as well', async () => {
    const { page, close } = await openPage(browser);
    const url = `http://localhost:${demo.ports['--port']}`;
    await page.goto(`${url}/`);
    await page.getByRole('button', { name: 'Log in and talk MCP' }).click();
    await page.getByRole('button', { name: 'Log in as Alice' }).click();
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.waitForURL(`${url}/`);
    await page.locator('#result.good').waitFor();
    await close();
  });

  test('an answer that nobody waits for is refused, and its code does not stay in the address', async () => {
    const { page, close } = await openPage(browser);
    await page.goto(`${demo.url}/demo/callback?code=stolen&state=unknown`);
    assert.match(await readResult(page), /^This did not work\. This login was not begun in this tab/);
    await checkLook(page, 'demo-foreign-answer');
    await close();
  });

  test('the lines for clients can be copied', async () => {
    const { page, close } = await openPage(browser, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(`${demo.url}/`);
    await page.getByRole('button', { name: 'Copy the lines for Claude Code' }).click();
    await page.getByText('Copied').waitFor();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    assert.equal(copied, `claude mcp add --transport http demo ${demo.url}/mcp`);
    await close();
  });

  test('the link to the inspector leads to the login that was just made', async () => {
    const { page, close } = await openPage(browser);
    await begin(page);
    await page.getByRole('button', { name: 'Log in as Alice' }).click();
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await readResult(page);
    await page.getByRole('link', { name: 'in the flow inspector' }).click();
    await page.getByRole('heading', { name: 'Logins of MCP clients' }).waitFor();
    assert.match(await page.locator('details').first().innerText(), /authorized Demo page at/);
    await close();
  });

  test('without JavaScript the page still explains', async () => {
    const { page, close } = await openPage(browser, { javaScriptEnabled: false });
    await page.goto(`${demo.url}/`);
    assert.equal(await page.locator('#parts li').count(), 3);
    await page.getByText(`claude mcp add --transport http demo ${demo.url}/mcp`).waitFor();
    await close();
  });

  test('every page, on a desktop and on a phone, in light and in dark', async () => {
    await checkAppearances(
      browser,
      async (page, look) => {
        await page.goto(`${demo.url}/`);
        await page.locator('.state.good').nth(2).waitFor();
        await look('demo-before');
        await begin(page);
        await look('demo-login');
        await page.getByRole('button', { name: 'Log in as Alice' }).click();
        await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
        await look('demo-consent');
        await page.getByRole('button', { name: 'Allow', exact: true }).click();
        await readResult(page);
        await page.locator('.state.good').nth(2).waitFor();
        await look('demo-after');
        for (const details of await page.locator('#steps details').all()) await details.locator('summary').click();
        await look('demo-after-open');
      },
      isExpected,
    );
  });

  test("the identity provider's error pages", async () => {
    const issuer = `http://127.0.0.1:${demo.ports['--idp-port']}`;
    await checkAppearances(
      browser,
      async (page, look) => {
        const unknown = await page.goto(`${issuer}/auth?client_id=nobody&response_type=code`);
        assert.equal(unknown!.status(), 400);
        assert.match(await page.locator('main').innerText(), /This did not work\s+Client is invalid\./);
        await look('demo-idp-unknown-client');
        const over = await page.goto(`${issuer}/interaction/of-somebody-else`);
        assert.equal(over!.status(), 400);
        assert.match(
          await page.locator('main').innerText(),
          /This login is over, or it was begun in another browser\./,
        );
        await look('demo-idp-over');
      },
      (complaint) => complaint.includes('status of 400'),
    );
  });

  test('the state of a part that goes away is shown', async () => {
    const own = await runDemo();
    const { page, close } = await openPage(browser);
    await page.goto(`${own.url}/`);
    await page.locator('.state.good').nth(2).waitFor();
    assert.deepEqual(await page.locator('#parts strong').allTextContents(), [
      'Gateway',
      'Identity provider',
      'Sample MCP server',
    ]);
    assert.equal(await own.child.stop(), 0);
    await page.locator('.state.bad').nth(2).waitFor();
    assert.deepEqual(await page.locator('.state').allTextContents(), Array(3).fill('not reachable'));
    await checkLook(page, 'demo-stopped');
    await page.getByRole('button', { name: 'Log in and talk MCP' }).click();
    await page.getByText('Is the demo still running?').waitFor();
    await close();
  });
});
