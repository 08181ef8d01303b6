// The servers of a federation on the admin pages, in a browser: one that is well, one that is down, and one that nobody can use.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { initialize, post, request } from '../integration/federation-fixture.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { waitFor } from '../kit/wait-for.ts';
import { startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, startFederationServer } from '../mcp/federation-servers.ts';
import { openPage, startChromium } from './chromium.ts';
import { checkAppearances } from './page-checks.ts';
import { readPage } from './varied-gateway.ts';

const hostileName = '<b onclick="alert(1)">Desk</b>';

let browser: Browser;
let tickets: FederationServer;
let gateway: GatewayRun;

before(async () => {
  browser = await startChromium();
  tickets = await startFederationServer({
    name: hostileName,
    era: 'both',
    tools: [{ name: 'list' }, { name: 'close' }, { name: 'purge' }],
  });
  const [deadPort] = (await findFreePorts(1)) as [number];
  gateway = await startFederatedGateway({
    targets: {
      tickets: { url: tickets.url, settings: { prefix: 'tix', tools: { exclude: ['purge'] } } },
      'customer-records': { url: `http://127.0.0.1:${deadPort}/mcp`, settings: { failureMode: 'FailOpen' } },
    },
  });
  const session = await initialize(gateway);
  await post(gateway, request('tools/list', {}), { session });
  await waitFor('one is up and one is down', async () => {
    const page = await readPage(gateway);
    return page.includes('>up<') && page.includes('>down<');
  });
});
after(async () => {
  await Promise.all([browser?.close(), gateway?.stop(), tickets?.close()]);
});

describe('servers of a federation in Chromium', () => {
  test('on the overview, among the routes and in the configuration; on a desktop and on a phone, in light and in dark', async () => {
    const admin = `http://127.0.0.1:${gateway.adminPort}`;
    await checkAppearances(browser, async (page, look) => {
      await page.goto(`${admin}/`);
      await look('federation-home');
      await page.goto(`${admin}/routes`);
      await look('federation-routes');
      await page.goto(`${admin}/config`);
      await look('federation-config');
    });
  });

  test('the one that is down comes first, and what servers call themselves is text', async () => {
    const { page, complaints, close } = await openPage(browser);
    await page.goto(`http://127.0.0.1:${gateway.adminPort}/`);
    const rows = page.locator('table', { has: page.getByText('Servers of federations') }).locator('tbody tr');
    const texts = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
    assert.match(
      texts[0]!,
      /^customer-records names customer-records_… 127.0.0.1:\d+ ejected .*down .*ago: [\d.:]+ connect ECONNREFUSED/,
    );
    assert.match(texts[1]!, /^tickets names tix_… .* MCP 2025-11-25 2 up$/);
    assert.ok(texts[1]!.includes(hostileName), texts.join('\n'));
    assert.equal(await page.locator('[onclick]').count(), 0);
    await page.getByRole('link', { name: 'customer-records' }).click();
    await page.waitForURL(/#servers$/);
    assert.deepEqual(complaints, []);
    await close();
  });
});
