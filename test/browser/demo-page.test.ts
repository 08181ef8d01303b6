// The demo as people meet it: the login of Alice and of Bob, the tools that each of them sees, the rule and its live change, what the page says after Cancel,
// and every page in every appearance.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { runDemo, type StartedDemo } from '../integration/run-demo.ts';
import { waitFor } from '../kit/wait-for.ts';
import { openPage, startChromium } from './chromium.ts';
import { checkAppearances, checkLook } from './page-checks.ts';

let browser: Browser;
let demo: StartedDemo;

before(async () => {
  // First, so that a machine without it is told so and nothing else is left running.
  browser = await startChromium();
  demo = await runDemo();
  // A login whose first question meets a slow identity provider is refused, and the page says so.
  await waitFor('the gateway knows its identity provider', async () => {
    const answer = await fetch(`${demo.url}/.well-known/oauth-authorization-server/mcp`);
    await answer.arrayBuffer();
    return answer.ok;
  });
});
after(async () => {
  await Promise.all([browser?.close(), demo?.child.stop()]);
});

/** The browser notes every refusal by itself. The 401 is the first step of the flow; with 404, what became of a request is not known yet, and the page asks again. */
function isExpected(complaint: string): boolean {
  if (complaint.includes('status of 404')) return complaint.includes('/demo/reason.json?');
  return complaint.includes('status of 401') && complaint.includes('/mcp)');
}

/** Gets to the login page. On a busy machine the identity provider may not answer the gateway in time (503): whoever looks at the page clicks again. */
async function begin(page: Page, first = 'Alice'): Promise<void> {
  const loginPage = `http://127.0.0.1:${demo.ports['--idp-port']}/interaction/`;
  await page.goto(`${demo.url}/`);
  await waitFor(`the login page of ${first}`, async () => {
    await page.getByRole('button', { name: `Log in as ${first}` }).click();
    const refusal = page.locator('#result.bad');
    const isThere = page.waitForURL(`${loginPage}**`).then(() => true);
    if (await Promise.race([isThere, refusal.waitFor().then(() => false)]).catch(() => false)) return true;
    const told = await page.locator('#flow').innerText();
    assert.match(told, / 503 from /, `the page is stuck: ${told}`);
    return false;
  });
}

async function readResult(page: Page): Promise<string> {
  await page.waitForURL(`${demo.url}/`);
  const result = page.locator('#result:not(:empty)');
  await result.waitFor();
  return (await result.textContent()) ?? '';
}

/** Logs in, all the way to the person's tools. */
async function logIn(page: Page, first: string): Promise<void> {
  await begin(page, first);
  await page.getByRole('button', { name: `Log in as ${first}` }).click();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  assert.match(await readResult(page), new RegExp(`^It worked\\. ${first} `));
  await cardOf(page, first).getByText('logged in', { exact: true }).waitFor();
}

function cardOf(page: Page, first: string): Locator {
  return page.locator(`.person[data-name="${first}"]`);
}

/** Waits until the person sees exactly these tools. */
async function waitForTools(page: Page, first: string, tools: readonly string[]): Promise<void> {
  const names = cardOf(page, first).locator('.tools li > code');
  await waitFor(
    `${first} sees ${tools.join(', ')}`,
    async () => String(await names.allTextContents()) === String(tools),
  );
}

const officeTools = ['office_current_time', 'office_text_statistics', 'office_convert_units'];
const bobsTools = ['support_ticket_list', ...officeTools];
const allTools = [
  'support_ticket_list',
  'support_ticket_create',
  'support_ticket_close',
  'support_desk_report',
  ...officeTools,
];

describe('the demo in Chromium', () => {
  for (const { name, team, sub, groups, toolCount } of [
    { name: 'Alice Archer', team: 'support', sub: 'alice', groups: ['support', 'support-leads'], toolCount: 7 },
    { name: 'Bob Baker', team: 'sales', sub: 'bob', groups: ['sales'], toolCount: 4 },
  ]) {
    test(`the whole flow, clicked through as ${name}`, async () => {
      const { page, complaints, close } = await openPage(browser);
      await begin(page, name.split(' ')[0]);
      assert.equal(await page.title(), 'Log in - demo identity provider');
      await page.getByRole('button', { name: `Log in as ${name}` }).click();
      await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
      const consent = await page.locator('main').innerText();
      assert.ok(consent.includes(`Demo page wants to use ${demo.url}/mcp for you.`), consent);
      assert.ok(consent.includes(`You are logged in as ${name}.`), consent);
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      assert.equal(
        await readResult(page),
        `It worked. ${name} called office_convert_units through the gateway: 42 km = 26.09759007 mi`,
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
        `Listed ${toolCount} tools: tools/list`,
        'Called office_convert_units: tools/call',
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
      assert.partialDeepStrictEqual(claims, { sub, name, team, groups, aud: `${demo.url}/mcp`, scope: 'tickets' });
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

  test('Alice and Bob see different tools by the rule on the page, and a change of the rule arrives in both sessions', async () => {
    const { page, complaints, close } = await openPage(browser);
    await logIn(page, 'Alice');
    await logIn(page, 'Bob');
    await waitForTools(page, 'Alice', allTools);
    await waitForTools(page, 'Bob', bobsTools);
    await cardOf(page, 'Alice').getByText('Rule 1 allows everything, because the groups in her token').waitFor();
    await cardOf(page, 'Bob').getByText('Rule 1 does not match, because he is not in support-leads.').waitFor();
    const rule = page.locator('#rule');
    const first = (await rule.textContent())!;
    assert.match(first, /^kind: ProxyPolicy$/m);
    assert.match(first, /^ {10}- '"support-leads" in jwt\.groups'$/m);
    assert.doesNotMatch(first, /bob/);

    // The page is not loaded again: this mark would be gone.
    await page.evaluate("document.body.dataset.mark = 'still here'");
    await page.getByRole('button', { name: 'Let Bob close tickets' }).click();
    await waitForTools(page, 'Bob', ['support_ticket_list', 'support_ticket_close', ...officeTools]);
    assert.equal(await cardOf(page, 'Bob').locator('.tools li.added > code').textContent(), 'support_ticket_close');
    await cardOf(page, 'Bob')
      .getByText(/tools\/list_changed arrived at .*: support_ticket_close is new\.$/)
      .waitFor();
    await cardOf(page, 'Alice')
      .getByText(/tools\/list_changed arrived at .*: nothing changes for Alice\.$/)
      .waitFor();
    await waitForTools(page, 'Alice', allTools);
    await cardOf(page, 'Bob').getByText('and rule 3 allows him support_ticket_close.').waitFor();
    const expression = 'jwt.sub == "bob" && mcp.tool.name == "support_ticket_close"';
    assert.deepEqual(await rule.locator('mark').allTextContents(), [
      '          # 3. Bob may close tickets.\n',
      `          - '${expression}'\n`,
    ]);
    const config = await fetch(`http://127.0.0.1:${demo.ports['--admin-port']}/config`);
    assert.ok((await config.text()).includes(JSON.stringify(expression)), 'the text on the page is in force');

    await page.getByRole('button', { name: 'Give sales all ticket tools' }).click();
    await waitForTools(page, 'Bob', [
      'support_ticket_list',
      'support_ticket_create',
      'support_ticket_close',
      ...officeTools,
    ]);
    await page.getByRole('button', { name: 'Take it back' }).click();
    await waitForTools(page, 'Bob', bobsTools);
    await cardOf(page, 'Bob')
      .getByText(/: support_ticket_create is gone, support_ticket_close is gone\.$/)
      .waitFor();
    assert.equal(await rule.textContent(), first);
    assert.equal(await page.evaluate('document.body.dataset.mark'), 'still here');

    // Both are still there after a reload, and hear of changes from another tab.
    await page.reload();
    await waitForTools(page, 'Alice', allTools);
    await waitForTools(page, 'Bob', bobsTools);
    const other = await openPage(browser);
    await other.page.goto(`${demo.url}/`);
    await other.page.getByRole('button', { name: 'Let Bob close tickets' }).click();
    await waitForTools(page, 'Bob', ['support_ticket_list', 'support_ticket_close', ...officeTools]);
    await rule.locator('mark').first().waitFor();
    await other.page.getByRole('button', { name: 'Take it back' }).click();
    await waitForTools(page, 'Bob', bobsTools);
    await other.close();

    assert.deepEqual(
      complaints.filter((complaint) => !isExpected(complaint)),
      [],
    );
    await close();
  });

  test('a hidden tool, called by name: what Bob is told, and what the operator reads', async () => {
    const { page, close } = await openPage(browser);
    await logIn(page, 'Bob');
    const card = cardOf(page, 'Bob');
    await card.getByRole('button', { name: 'Call support_ticket_close all the same' }).click();
    await card.getByText(/^Denied: Bob called support_ticket_close for T-\d+\.$/).waitFor();
    assert.equal(await card.locator('.received').textContent(), '-32602 Unknown tool: support_ticket_close');
    assert.equal(
      await card.locator('.noted').textContent(),
      'item_hidden: no Allow rule matches: policy default/sample-tools',
    );
    const admin = `http://127.0.0.1:${demo.ports['--admin-port']}`;
    assert.match(
      (await card.locator('.call pre').textContent())!,
      new RegExp(`^npx mcp-gatehouse explain --request-id [\\w-]+ --admin ${admin}$`),
    );

    await page.getByRole('button', { name: 'Let Bob close tickets' }).click();
    await card.getByRole('button', { name: 'Call support_ticket_close', exact: true }).click();
    await card.getByText(/^Allowed: Bob called support_ticket_close/).waitFor();
    assert.match((await card.locator('.received').textContent())!, /^Closed T-\d+: Done by Bob\.$/);
    assert.equal(
      await card.locator('.noted').textContent(),
      'allowed by rule 3: jwt.sub == "bob" && mcp.tool.name == "support_ticket_close"',
    );
    await page.getByRole('button', { name: 'Take it back' }).click();
    await waitForTools(page, 'Bob', bobsTools);

    await card.getByRole('button', { name: 'Call support_ticket_close all the same' }).click();
    await card.getByText(/^Denied: /).waitFor();
    await card.getByRole('link', { name: 'This request in the admin pages' }).click();
    await page.waitForURL(`${admin}/requests/*`);
    const shown = await page.locator('main').innerText();
    assert.match(shown, /tools\/call, tool support_ticket_close/);
    assert.match(shown, /item_hidden/);
    await close();
  });

  test('an expired token is renewed; a login that is over is said to be so; after a log out nothing is left', async () => {
    const { page, close } = await openPage(browser);
    await logIn(page, 'Bob');
    const breakTokens = (...names: string[]): Promise<unknown> =>
      page.evaluate(`{
        const people = JSON.parse(sessionStorage.getItem('mcp-gatehouse-demo-people'));
        for (const name of ${JSON.stringify(names)}) people.accounts.bob[name] = 'expired';
        sessionStorage.setItem('mcp-gatehouse-demo-people', JSON.stringify(people));
      }`);
    await breakTokens('accessToken');
    await page.reload();
    await waitForTools(page, 'Bob', bobsTools);
    await breakTokens('accessToken', 'refreshToken');
    await page.reload();
    await cardOf(page, 'Bob').getByText('the login is over').waitFor();
    await begin(page, 'Bob');
    await page.getByText('You are logged in as Bob Baker.').waitFor();
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await waitForTools(page, 'Bob', bobsTools);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in as Bob' }).waitFor();
    assert.equal(await page.evaluate("sessionStorage.getItem('mcp-gatehouse-demo-people').includes('Token')"), false);
    await page.reload();
    await page.getByRole('button', { name: 'Log in as Bob' }).waitFor();
    await close();
  });

  test('a page of another site cannot change the rule', async () => {
    const { page, close } = await openPage(browser);
    await page.goto(`http://127.0.0.1:${demo.ports['--idp-port']}/.well-known/openid-configuration`);
    const outcome = await page.evaluate<string>(
      `fetch('${demo.url}/demo/rule', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"variant":"bob-closes"}' }).then((response) => String(response.status), () => 'blocked')`,
    );
    assert.equal(outcome, 'blocked');
    const rule = (await (await fetch(`${demo.url}/demo/rule`)).json()) as { variant: string };
    assert.equal(rule.variant, 'leads-only');
    await close();
  });

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
    await page.getByRole('button', { name: 'Log out' }).click();
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
    await page.getByRole('button', { name: 'Log in as Alice' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/interaction\//);
    await page.keyboard.press('Tab');
    assert.match(await page.evaluate<string>('document.activeElement.textContent'), /^Log in as Alice/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
    await page.waitForLoadState('load');
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
    await page.getByRole('button', { name: 'Log in as Alice' }).click();
    await page.getByRole('heading', { name: 'Log in', exact: true }).waitFor();
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
    await page.clock.install();
    await page.goto(`${demo.url}/`);
    // The button says so for two seconds, which must not pass before somebody looks.
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.getByRole('button', { name: 'Copy the lines for Claude Code' }).click();
    await page.getByText('Copied').waitFor();
    await page.clock.runFor(2_000);
    assert.equal(await page.getByText('Copied').count(), 0);
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
    assert.equal(await page.locator('#parts li').count(), 4);
    assert.match((await page.locator('#rule').textContent())!, /action: Allow/);
    await page.getByText(`claude mcp add --transport http demo ${demo.url}/mcp`).waitFor();
    await close();
  });

  test('every page, on a desktop and on a phone, in light and in dark', async () => {
    await checkAppearances(
      browser,
      async (page, look) => {
        await page.goto(`${demo.url}/`);
        await page.locator('.state.good').nth(3).waitFor();
        await look('demo-before');
        await begin(page);
        await look('demo-login');
        await page.getByRole('button', { name: 'Log in as Alice' }).click();
        await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
        await look('demo-consent');
        await page.getByRole('button', { name: 'Allow', exact: true }).click();
        await readResult(page);
        await waitForTools(page, 'Alice', allTools);
        await page.locator('.state.good').nth(3).waitFor();
        await look('demo-after');
        for (const details of await page.locator('#steps details').all()) await details.locator('summary').click();
        await look('demo-after-open');
        await logIn(page, 'Bob');
        await cardOf(page, 'Bob').getByRole('button', { name: 'Call support_ticket_close all the same' }).click();
        await cardOf(page, 'Bob').getByText('Denied: Bob called support_ticket_close').waitFor();
        await page.locator('.state.good').nth(3).waitFor();
        await look('demo-denied');
        await page.getByRole('button', { name: 'Let Bob close tickets' }).click();
        await waitForTools(page, 'Bob', ['support_ticket_list', 'support_ticket_close', ...officeTools]);
        await cardOf(page, 'Alice').getByText('nothing changes for Alice').waitFor();
        await look('demo-changed');
        await page.getByRole('button', { name: 'Take it back' }).click();
        await waitForTools(page, 'Bob', bobsTools);
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
    await page.locator('.state.good').nth(3).waitFor();
    assert.deepEqual(await page.locator('#parts strong').allTextContents(), [
      'Gateway',
      'Identity provider',
      'Help desk',
      'Office',
    ]);
    assert.equal(await own.child.stop(), 0);
    await page.locator('.state.bad').nth(3).waitFor();
    assert.deepEqual(await page.locator('.state').allTextContents(), Array(4).fill('not reachable'));
    await checkLook(page, 'demo-stopped');
    await page.getByRole('button', { name: 'Log in as Alice' }).click();
    await page.getByText('Is the demo still running?').waitFor();
    await close();
  });
});
