// The admin port in a browser: the overview with its form, the flow inspector with logins that worked and requests that were refused, and the request journal.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { oidcProviderSetups } from '../idp/auth-setups.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { FlowClient, listTools, postMcp } from '../idp/flow-client.ts';
import { type ProtectedSystem, startProtectedSystem } from '../idp/protected-system.ts';
import { waitFor } from '../kit/wait-for.ts';
import { openPage, startChromium } from './chromium.ts';
import { initialize } from './client-site.ts';
import { checkAppearances } from './page-checks.ts';

let browser: Browser;
let system: ProtectedSystem;
let admin: string;
let authorized: FlowClient;
let refusedId: string;

const hostileName = '<b onclick="alert(1)">Client</b>';

before(async () => {
  // First, so that a machine without it is told so and nothing else is left running.
  browser = await startChromium();
  system = await startProtectedSystem({ startIdp: (callback) => oidcProviderSetups[0]!.start(callback) });
  admin = `http://127.0.0.1:${system.gateway.adminPort}`;
  authorized = await new FlowClient(system.url).connect(new BrowserAgent());
  assert.equal((await authorized.post(initialize)).status, 200);
  await (
    await new FlowClient(system.url).prepare({ client_name: hostileName })
  ).logIn(new BrowserAgent(), {
    cancelsLogin: true,
  });
  const refused = await postMcp(system.url, listTools, { authorization: 'Bearer not.a.token', 'user-agent': 'curl/8' });
  assert.equal(refused.status, 401);
  refusedId = String(refused.json()['request_id']);
});
after(async () => {
  await Promise.all([browser?.close(), system?.close()]);
});

describe('the admin pages in Chromium', () => {
  test('on a desktop and on a phone, in light and in dark', async () => {
    await checkAppearances(browser, async (page, look) => {
      await page.goto(`${admin}/`);
      await look('admin-index');
      await page.getByRole('link', { name: 'Logins', exact: true }).click();
      await page.getByRole('heading', { name: 'Logins of MCP clients' }).waitFor();
      await look('admin-flows');
      const closed = page.locator('details:not([open]) > summary');
      const openAll = (): Promise<true> =>
        waitFor('everything is open', async () => {
          if ((await closed.count()) === 0) return true;
          await closed.first().click();
          return false;
        });
      await openAll();
      await look('admin-flows-open');
      await page.goto(`${admin}/flows?q=nothing-like-that`);
      await look('admin-flows-none');
      await page.goto(`${admin}/requests`);
      await look('admin-requests');
      await openAll();
      await look('admin-requests-open');
      await page.goto(`${admin}/requests/${refusedId}`);
      await look('admin-request');
    });
  });

  test('the inspector finds a refused request by the request id that the client saw, and shows the reason', async () => {
    const { page, complaints, close } = await openPage(browser);
    await page.goto(`${admin}/flows`);
    await page.getByLabel('Look for').fill(refusedId);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(/\/flows\?q=/);
    const flows = page.locator('details');
    assert.equal(await flows.count(), 1);
    const text = await flows.first().innerText();
    assert.ok(text.includes(refusedId), text);
    assert.match(text, /refused/);
    assert.match(text, /→ 401/);
    assert.ok((await flows.locator('code.bad').count()) > 0, text);
    assert.deepEqual(complaints, []);
    await close();
  });

  test('the inspector shows a login that worked from the challenge to the access, and no secret of it', async () => {
    const { page, close } = await openPage(browser);
    await page.goto(`${admin}/flows?state=authorized`);
    const flow = page.locator('details').first();
    const titles = await flow.locator('ol.steps > li > span:nth-child(2)').allTextContents();
    assert.deepEqual(titles.slice(0, 4), [
      'No token yet: 401 with the challenge (RFC 9728 5.1)',
      'Resource metadata (RFC 9728)',
      'Authorization server metadata (RFC 8414)',
      'Registration (RFC 7591)',
    ]);
    assert.ok(titles.includes('Token (RFC 6749 4.1.3)'), titles.join(', '));
    const html = await page.content();
    for (const secret of [authorized.tokens!.access_token, authorized.tokens!.refresh_token!, authorized.clientId]) {
      assert.ok(!html.includes(secret));
    }
    await close();
  });

  test('what clients call themselves is text, never markup', async () => {
    const { page, close } = await openPage(browser);
    await page.goto(`${admin}/flows?q=onclick`);
    assert.equal(await page.locator('details').count(), 1);
    assert.equal(await page.locator('[onclick]').count(), 0);
    assert.ok((await page.locator('details').innerText()).includes(hostileName));
    await close();
  });

  test('the journal finds a refused request by its id, and says which policy refused it and why', async () => {
    const { page, complaints, close } = await openPage(browser);
    await page.goto(`${admin}/requests`);
    await page.getByLabel('Look for').fill(refusedId);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(/\/requests\?q=/);
    const requests = page.locator('details');
    assert.equal(await requests.count(), 1);
    const text = await requests.first().innerText();
    for (const part of [refusedId, 'refused', 'MCP authentication', 'Strict', 'token_malformed'])
      assert.ok(text.includes(part), `${part} in ${text}`);
    assert.deepEqual(complaints, []);
    await close();
  });

  test('a flow opens and closes by keyboard', async () => {
    const { page, close } = await openPage(browser);
    await page.goto(`${admin}/flows`);
    const last = page.locator('details').last();
    await last.locator('summary').focus();
    await page.keyboard.press('Enter');
    await last.locator('ol.steps').waitFor({ state: 'visible' });
    await page.keyboard.press('Enter');
    await last.locator('ol.steps').waitFor({ state: 'hidden' });
    await close();
  });

  test('the form changes the log level, and comes back to its page', async () => {
    const { page, complaints, close } = await openPage(browser);
    await page.goto(`${admin}/`);
    assert.equal(await page.getByLabel('Log level').inputValue(), 'info');
    await page.getByLabel('Log level').selectOption('debug');
    // The address is the same afterwards, and the form is filled in before: only another page is an answer.
    const moved = page.waitForEvent('framenavigated');
    await page.getByRole('button', { name: 'Change' }).click();
    await moved;
    assert.equal(page.url(), `${admin}/`);
    await page.getByRole('heading', { name: 'mcp-gatehouse admin' }).waitFor();
    assert.equal(await page.getByLabel('Log level').inputValue(), 'debug');
    assert.deepEqual(complaints, []);
    await close();
  });

  test('every link of the overview leads somewhere', async () => {
    const { page, close } = await openPage(browser);
    await page.goto(`${admin}/`);
    const links = await page
      .getByRole('link')
      .evaluateAll((elements) => elements.map((element) => (element as unknown as { href: string }).href));
    assert.ok(links.length >= 5);
    for (const link of links) {
      // A link to a part of the page that is shown has no answer of its own.
      const answer = await page.goto(link);
      if (answer !== null) assert.equal(answer.status(), 200, link);
      const id = new URL(link).hash.slice(1);
      if (id !== '') assert.equal(await page.locator(`[id="${id}"]`).count(), 1, link);
    }
    await close();
  });
});
