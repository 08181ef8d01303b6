// The admin overview in a browser: what is open and what is wrong, routes, configuration, and requests as they end. Its pictures are those of the docs.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { waitFor } from '../kit/wait-for.ts';
import { openPage, screenshotFolder, startChromium } from './chromium.ts';
import { checkAccessible, checkAppearances, checkFits } from './page-checks.ts';
import { shrinkPng } from './small-png.ts';
import { startVariedGateway, type VariedGateway } from './varied-gateway.ts';

let browser: Browser;
let varied: VariedGateway;
let admin: string;

before(async () => {
  browser = await startChromium();
  varied = await startVariedGateway();
  admin = `http://127.0.0.1:${varied.gateway.adminPort}`;
});
after(async () => {
  await Promise.all([browser?.close(), varied?.close()]);
});

const call = { method: 'tools/call', params: { name: 'find_pages', arguments: { text: 'hidden-argument' } } };

/** Requests of every sort, the last one first on the page. */
async function sendRequests(page: Page): Promise<void> {
  await page.getByText('watching', { exact: true }).waitFor();
  const rows = page.locator('#requests tr');
  const known = await rows.count();
  await varied.post('/search', { method: 'initialize' });
  await varied.post('/nowhere?token=hidden-query', { method: 'ping' });
  await varied.post('/tickets', { method: 'tools/list' });
  await varied.post('/wiki', { method: 'tools/list' });
  await varied.post('/wiki', call);
  await waitFor('all of them are there', async () => (await rows.count()) === known + 5);
}

describe('the overview in Chromium', () => {
  test('all pages on a desktop and on a phone, in light and in dark', async () => {
    await checkAppearances(browser, async (page, look) => {
      await page.goto(`${admin}/`);
      await look('overview-home');
      await page.getByRole('link', { name: 'Routes', exact: true }).click();
      await page.getByRole('heading', { name: 'Routes', exact: true }).waitFor();
      await look('overview-routes');
      await page.getByRole('link', { name: 'Config', exact: true }).click();
      await page.getByRole('heading', { name: 'Configuration', exact: true }).waitFor();
      await page.locator('summary', { hasText: 'default/tickets-login' }).click();
      await look('overview-config');
      await page.getByRole('link', { name: 'Live', exact: true }).click();
      await sendRequests(page);
      await look('overview-live');
    });
  });

  test('it says what is open, what is ejected, and what is closed and why', async () => {
    const { page, complaints, close } = await openPage(browser);
    await page.goto(`${admin}/`);
    await page.getByText('2 of 7 routes are OPEN').waitFor();
    const rows = page.locator('table', { has: page.getByText('Routes and what protects them') }).locator('tbody tr');
    const texts = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
    const find = (place: string): string => texts.find((text) => text.includes(place)) ?? '';
    assert.match(find('/wiki/*'), /^OPEN/);
    assert.match(find('/search/*'), /^OPEN/);
    assert.match(find('/tickets/*'), /^login default\/tickets-login rules default\/ticket-tools/);
    assert.match(find('/reports/*'), /^JWT default\/machines rules default\/machines/);
    assert.match(find('/billing/*'), /^closed default\/invoices answers 500 policy_invalid/);
    assert.match(find('/docs/*'), /^redirect/);
    const text = (await page.locator('main').innerText()).replaceAll(/\s+/g, ' ');
    assert.match(text, /ejected \d+ s ago: connect ECONNREFUSED/);
    assert.match(text, /last fetch failed: no metadata of http/);
    assert.match(text, /2026-11 ES256 part of the policy/);
    assert.deepEqual(complaints, []);
    await close();
  });

  test('requests appear as they end, without their secrets; a pause ends the watching, and goes on afterwards', async () => {
    const { page, complaints, close } = await openPage(browser);
    await page.goto(`${admin}/live`);
    await sendRequests(page);
    const rows = page.locator('#requests tr');
    const latest = (await rows.first().innerText()).replaceAll(/\s+/g, ' ');
    assert.match(latest, /200 POST \/wiki tools\/call find_pages default\/wiki rule 0/);
    const html = await page.content();
    for (const hidden of ['hidden-argument', 'hidden-query']) assert.ok(!html.includes(hidden), hidden);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('paused', { exact: true }).waitFor();
    const known = await rows.count();
    await varied.post('/wiki', call);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('watching', { exact: true }).waitFor();
    await varied.post('/wiki', { method: 'resources/list' });
    await waitFor('the next one is there', async () => (await rows.count()) > known);
    assert.equal(await rows.count(), known + 1);
    await page.getByRole('button', { name: 'Clear' }).click();
    assert.equal(await rows.count(), 0);
    assert.deepEqual(complaints, []);
    await close();
  });

  test('names of clients are text, never markup', async () => {
    const { page, complaints, close } = await openPage(browser);
    await page.goto(`${admin}/live`);
    await page.getByText('watching', { exact: true }).waitFor();
    const name = '<img src=x onerror=alert(1)>';
    await varied.post('/wiki', { method: 'tools/call', params: { name } });
    await page.locator('#requests').getByText(name).waitFor();
    assert.equal(await page.locator('#requests img').count(), 0);
    assert.deepEqual(complaints, []);
    await close();
  });

  /** `UPDATE_SCREENSHOTS=1` puts them into the docs. */
  test('the pictures of the docs are small', async () => {
    const isKept = process.env['UPDATE_SCREENSHOTS'] === '1';
    const folder = isKept ? join(import.meta.dirname, '../../docs/images') : screenshotFolder;
    if (folder !== undefined) mkdirSync(folder, { recursive: true });
    const screens = { desktop: { width: 1280, height: 960 }, phone: { width: 390, height: 844 } };
    for (const [screen, viewport] of Object.entries(screens)) {
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page, close } = await openPage(browser, { viewport, colorScheme, isMobile: screen === 'phone' });
        const take = async (name: string): Promise<void> => {
          await checkFits(page);
          await checkAccessible(page);
          const end = await page.evaluate<number>('document.querySelector("main").getBoundingClientRect().bottom');
          const height = Math.min(viewport.height, Math.ceil(end));
          const clip = { x: 0, y: 0, width: viewport.width, height };
          const small = shrinkPng(await page.screenshot({ animations: 'disabled', clip }));
          assert.ok(small.length < 150_000, `${name} has ${small.length} bytes`);
          if (folder !== undefined) writeFileSync(join(folder, `admin-${name}-${screen}-${colorScheme}.png`), small);
        };
        await page.goto(`${admin}/`);
        await take('home');
        if (colorScheme === 'light') {
          await page.goto(`${admin}/routes`);
          await take('routes');
          await page.goto(`${admin}/live`);
          await sendRequests(page);
          await take('live');
          await page.goto(`${admin}/config#kind-ProxyPolicy`);
          await page.locator('summary', { hasText: 'default/machines' }).click();
          await take('config');
        }
        await close();
      }
    }
  });
});
