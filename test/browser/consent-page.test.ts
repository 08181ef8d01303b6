// The gateway's own pages during a login: the consent page of Shared registration, and the error pages of logins that cannot go on.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { oidcProviderSetups } from '../idp/auth-setups.ts';
import { FlowClient } from '../idp/flow-client.ts';
import { type ProtectedSystem, startProtectedSystem } from '../idp/protected-system.ts';
import { testUsers } from '../idp/test-users.ts';
import { waitFor } from '../kit/wait-for.ts';
import { appearances, openPage, startChromium } from './chromium.ts';
import { clientHtml, initialize, type Site, startSite } from './client-site.ts';
import { checkAppearances, checkLook } from './page-checks.ts';

const webClient = 'https://client.example/callback';

let browser: Browser;
let system: ProtectedSystem;
let nativeSite: Site;
let webSite: Site;

before(async () => {
  const shared = oidcProviderSetups.find(({ isShared }) => isShared)!;
  webSite = await startSite(clientHtml, 'client.example');
  browser = await startChromium({ hosts: { 'client.example': webSite.port } });
  nativeSite = await startSite(clientHtml);
  system = await startProtectedSystem({
    startIdp: (callback) => shared.start(callback),
    authentication: { resourceMetadata: { resourceName: 'Ticket desk' } },
  });
});
after(async () => {
  await Promise.all([browser?.close(), system?.close(), nativeSite?.close(), webSite?.close()]);
});

/** A client that has registered and is about to send the user to the login. */
function prepareClient(metadata: Record<string, unknown> = {}, redirectUri?: string): Promise<FlowClient> {
  const client = new FlowClient(system.url, redirectUri ?? `http://127.0.0.1:${nativeSite.port}/callback`);
  return client.prepare(metadata);
}

const heading = { name: 'Allow access to Ticket desk?' };

async function askConsent(page: Page, client: FlowClient): Promise<void> {
  const answer = await page.goto(client.formatAuthorizationUrl().href);
  assert.equal(answer!.status(), 200);
  await page.getByRole('heading', heading).waitFor();
}

/** Goes through the pages of the test's identity provider, which stand for anybody's. It asks for consent every time. */
async function passIdp(page: Page, { isKnown = false } = {}): Promise<void> {
  await page.waitForURL(`${system.idp.issuer}/**`);
  if (!isKnown) {
    const [alice] = testUsers;
    await page.locator('[name=username]').fill(alice!.id);
    await page.locator('[name=password]').fill(alice!.password);
    await page.getByRole('button', { name: 'Log in' }).click();
  }
  await page.getByRole('button', { name: 'Allow' }).click();
}

async function readArrival(page: Page, client: FlowClient): Promise<URL> {
  await page.waitForURL((url) => url.href.startsWith(client.redirectUri));
  const url = new URL(page.url());
  assert.equal(url.searchParams.get('state'), client.state);
  return url;
}

async function checkTokenWorks(client: FlowClient, arrival: URL): Promise<void> {
  await client.redeem(arrival);
  const answer = await client.post(initialize);
  assert.equal(answer.status, 200, answer.body);
}

describe('the consent page', () => {
  test('Allow leads to the login and back to the client with a code', async () => {
    const { page, complaints, close } = await openPage(browser);
    const client = await prepareClient({ client_name: 'Nice client' });
    await askConsent(page, client);
    const text = await page.locator('main').innerText();
    assert.match(text, new RegExp(`127\\.0\\.0\\.1:${nativeSite.port}\\s+That is a program on the device`));
    assert.ok(text.includes('“Nice client”'), text);
    assert.ok(text.includes('This name is not verified.'), text);
    assert.ok(text.includes('tickets:read'), text);
    assert.ok(text.includes(system.url), text);
    await page.getByRole('button', { name: 'Allow' }).click();
    await passIdp(page);
    await checkTokenWorks(client, await readArrival(page, client));
    // The test's identity provider has no icon, which is not the gateway's business.
    const { origin } = new URL(system.url);
    assert.deepEqual(
      complaints.filter((complaint) => complaint.includes(origin)),
      [],
    );
    await close();
  });

  test('Cancel tells the client so, and the identity provider hears nothing', async () => {
    const { page, close } = await openPage(browser);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const client = await prepareClient();
    await askConsent(page, client);
    await page.getByRole('button', { name: 'Cancel' }).click();
    const arrival = await readArrival(page, client);
    assert.equal(arrival.searchParams.get('error'), 'access_denied');
    assert.equal(arrival.searchParams.get('iss'), client.server!.issuer);
    assert.equal(arrival.searchParams.get('code'), null);
    assert.deepEqual(
      asked.filter((url) => url.startsWith(system.idp.issuer)),
      [],
    );
    await close();
  });

  test('a web client is asked for once; a second client with the same name and address is asked for again', async () => {
    const { page, close } = await openPage(browser, { ignoreHTTPSErrors: true });
    const first = await prepareClient({ client_name: 'Web client' }, webClient);
    await askConsent(page, first);
    await page.getByRole('button', { name: 'Allow' }).click();
    await passIdp(page);
    await checkTokenWorks(first, await readArrival(page, first));

    // The gateway remembers the consent, and sends the browser right on to the identity provider.
    await page.goto(first.formatAuthorizationUrl().href);
    await passIdp(page, { isKnown: true });
    assert.ok((await readArrival(page, first)).searchParams.has('code'));

    const second = await prepareClient({ client_name: 'Web client' }, webClient);
    assert.notEqual(second.clientId, first.clientId);
    await askConsent(page, second);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await readArrival(page, second);

    // More than was allowed is asked for again, too.
    await page.goto(first.formatAuthorizationUrl({ scope: 'tickets:read tickets:write' }).href);
    await page.getByRole('heading', heading).waitFor();
    await close();
  });

  test('a program on the device is asked for every time', async () => {
    const { page, close } = await openPage(browser);
    const client = await prepareClient();
    for (let round = 0; round < 2; round += 1) {
      await askConsent(page, client);
      await page.getByRole('button', { name: 'Allow' }).click();
      await passIdp(page, { isKnown: round > 0 });
      assert.ok((await readArrival(page, client)).searchParams.has('code'));
    }
    await close();
  });

  test('needs no JavaScript', async () => {
    const { page, close } = await openPage(browser, { javaScriptEnabled: false });
    const client = await prepareClient();
    await askConsent(page, client);
    await page.getByRole('button', { name: 'Allow' }).click();
    await passIdp(page);
    await checkTokenWorks(client, await readArrival(page, client));
    await close();
  });

  test('the keyboard is enough, Cancel comes first, and the focus is seen', async () => {
    const { page, close } = await openPage(browser);
    const client = await prepareClient();
    await askConsent(page, client);
    const describeFocus = (): Promise<[string, string]> =>
      page.evaluate('[document.activeElement.textContent, getComputedStyle(document.activeElement).outlineStyle]');
    await page.keyboard.press('Tab');
    assert.deepEqual(await describeFocus(), ['Cancel', 'solid']);
    await page.keyboard.press('Tab');
    assert.deepEqual(await describeFocus(), ['Allow', 'solid']);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${system.idp.issuer}/**`);
    await close();
  });

  test('on a desktop and on a phone, in light and in dark', async () => {
    const [client, web] = [await prepareClient({ client_name: 'Nice client' }), await prepareClient({}, webClient)];
    await checkAppearances(browser, async (page, look) => {
      await askConsent(page, client);
      await look('consent-program');
      await askConsent(page, web);
      assert.match(await page.locator('main').innerText(), /client\.example\s+That is a website/);
      await look('consent-website');
    });
  });

  const hostileNames: Readonly<Record<string, string>> = {
    long: 'A client with a very long name '.repeat(8).trim(),
    unbroken: 'M'.repeat(200),
    markup: '</p><script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">',
    'turned-around': 'Nice \u202Eelpmaxe.live\u202C\u200B\u2066client',
    'many-marks': `Z${'\u0335\u0321\u0362'.repeat(40)}algo`,
    quotes: `"' onclick="document.title='owned'" x='`,
  };
  for (const [kind, name] of Object.entries(hostileNames)) {
    test(`a name that means harm is shown as text and stays in its place: ${kind}`, async () => {
      const client = await prepareClient({ client_name: name });
      const { page, complaints, close } = await openPage(browser, appearances['phone-light']);
      await askConsent(page, client);
      assert.equal(await page.title(), 'Allow access to Ticket desk?');
      assert.equal(await page.locator('main script, main img, main [onclick]').count(), 0);
      const shown = (await page.locator('section[aria-labelledby=who] .big').textContent()) ?? '';
      for (const invisible of ['\u202E', '\u202C', '\u2066', '\u200B']) assert.ok(!shown.includes(invisible));
      assert.ok(shown.length <= 90, `${shown.length} characters`);
      await checkLook(page, `consent-name-${kind}`);
      assert.deepEqual(complaints, []);
      await close();
    });
  }

  test('cannot be framed', async (t) => {
    const client = await prepareClient();
    const url = client.formatAuthorizationUrl().href;
    const evil = await startSite(
      `<!doctype html><title>Win a prize</title><link rel="icon" href="data:,"><iframe src="${url.replaceAll('&', '&amp;')}"></iframe>`,
    );
    t.after(() => evil.close());
    const { page, complaints, close } = await openPage(browser);
    const answer = page.waitForResponse((response) => response.url() === url);
    // Another site than 127.0.0.1, as far as the browser is concerned.
    await page.goto(`http://localhost:${evil.port}/`);
    const headers = (await answer).headers();
    assert.equal(headers['x-frame-options'], 'DENY');
    assert.match(headers['content-security-policy']!, /frame-ancestors 'none'/);
    assert.equal(headers['cache-control'], 'no-store');
    await page.waitForLoadState('load');
    assert.equal(await page.frameLocator('iframe').getByRole('button', { name: 'Allow' }).count(), 0);
    await waitFor('the console tells why', () => complaints.some((complaint) => /frame/i.test(complaint)), {
      describe: () => complaints,
    });
    await close();
  });

  test("another site cannot answer in the user's name", async (t) => {
    // The attacker has a page of its own login, and has the victim's browser send its form.
    const attacker = await openPage(browser);
    const client = await prepareClient({ client_name: 'Attacker' });
    await askConsent(attacker.page, client);
    const form = attacker.page.locator('form');
    const action = await form.evaluate<string, never>((element) => (element as unknown as { action: string }).action);
    const transaction = await form.locator('[name=transaction]').inputValue();
    await attacker.close();
    const evil = await startSite(`<!doctype html><title>Win a prize</title><link rel="icon" href="data:,">
<form method="post" action="${action}"><input name="transaction" value="${transaction}"><button name="decision" value="approve">Win</button></form>`);
    t.after(() => evil.close());

    const victim = await openPage(browser);
    await askConsent(victim.page, await prepareClient());
    await victim.page.goto(`http://localhost:${evil.port}/`);
    await victim.page.getByRole('button', { name: 'Win' }).click();
    await victim.page.getByRole('heading', { name: 'This login cannot go on' }).waitFor();
    await victim.close();
  });
});

describe('logins that cannot go on', () => {
  test('a callback in another browser is refused with a page, and still works in its own, once', async () => {
    const own = await openPage(browser);
    const client = await prepareClient();
    await askConsent(own.page, client);
    await own.page.getByRole('button', { name: 'Allow' }).click();
    // The browser goes back while another server stands in the gateway's place, so that the gateway has not seen the answer yet.
    const callback = new URL('/.oauth/tickets/callback', system.url).href;
    system.front.pointTo(nativeSite.port);
    await passIdp(own.page);
    await own.page.waitForURL(`${callback}?**`);
    const seen = own.page.url();
    system.front.pointTo(system.gateway.port);

    await checkAppearances(
      browser,
      async (page, look) => {
        const answer = await page.goto(seen);
        assert.equal(answer!.status(), 400);
        assert.equal(new URL(page.url()).origin, new URL(system.url).origin, 'an error page, not a redirect');
        await page.getByRole('heading', { name: 'This login cannot go on' }).waitFor();
        await look('error-other-browser');
      },
      (complaint) => complaint.includes('status of 400'),
    );

    await own.page.goto(seen);
    await checkTokenWorks(client, await readArrival(own.page, client));
    await own.page.goto(seen);
    await own.page.getByRole('heading', { name: 'This login cannot go on' }).waitFor();
    await own.close();
  });

  test('an unknown client and a wrong redirect URI get a page, never a redirect', async () => {
    const client = await prepareClient();
    const cases = {
      'unknown-client': { client_id: 'somebody-unknown' },
      'wrong-redirect': { redirect_uri: 'https://evil.example/callback' },
      'no-redirect': { redirect_uri: undefined, client_id: undefined },
    };
    await checkAppearances(
      browser,
      async (page, look) => {
        for (const [name, changes] of Object.entries(cases)) {
          const answer = await page.goto(client.formatAuthorizationUrl(changes).href);
          assert.equal(answer!.status(), 400, name);
          assert.equal(answer!.request().redirectedFrom(), null);
          await page.getByRole('heading', { name: 'This login cannot go on' }).waitFor();
          assert.match(await page.locator('.id').innerText(), /^Request id \S{8,}$/);
          const headers = answer!.headers();
          assert.equal(headers['x-frame-options'], 'DENY');
          assert.equal(headers['location'], undefined);
          await look(`error-${name}`);
        }
      },
      (complaint) => complaint.includes('status of 400'),
    );
  });

  test('the Back button after Cancel does not bring an old answer to life', async () => {
    const { page, close } = await openPage(browser);
    const client = await prepareClient();
    await askConsent(page, client);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await readArrival(page, client);
    await page.goBack();
    // Never stored, so asked for anew: a fresh question with a fresh cookie.
    await page.getByRole('heading', heading).waitFor();
    await checkLook(page, 'consent-back');
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${system.idp.issuer}/**`);
    await close();
  });
});
