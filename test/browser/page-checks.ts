// What holds for every page that people see: accessible by axe's rules, nothing wider than the screen, and a picture of it in every appearance.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { appearances, type OpenedPage, openPage, takeScreenshot } from './chromium.ts';

const axeSource = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

interface AxeViolation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly string[];
}

/** No violation of any of axe's rules, best practices included. */
export async function checkAccessible(page: Page): Promise<void> {
  // The pages' policies forbid foreign scripts; the debugger may still run one.
  await page.evaluate(axeSource);
  const violations = await page.evaluate<AxeViolation[]>(
    `axe.run().then(({ violations }) => violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map((node) => node.html + ' ' + node.failureSummary) })))`,
  );
  assert.deepEqual(violations, [], `axe at ${page.url()}`);
}

/** Nothing is cut off or has to be scrolled sideways. */
export async function checkFits(page: Page): Promise<void> {
  const [needed, given] = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  );
  assert.ok(needed <= given, `${page.url()} is ${needed} pixels wide on a screen of ${given}`);
}

/** Both, and a picture. */
export async function checkLook(page: Page, name: string): Promise<void> {
  await checkFits(page);
  await checkAccessible(page);
  await takeScreenshot(page, name);
}

/** Visits with every appearance; `visit` goes through the pages and calls `look` at each. The console has to stay silent. */
export async function checkAppearances(
  browser: Browser,
  visit: (page: Page, look: (name: string) => Promise<void>) => Promise<void>,
  accept: (complaint: string) => boolean = () => false,
): Promise<void> {
  for (const [appearance, options] of Object.entries(appearances)) {
    const opened: OpenedPage = await openPage(browser, options);
    await visit(opened.page, (name) => checkLook(opened.page, `${name}-${appearance}`));
    assert.deepEqual(
      opened.complaints.filter((complaint) => !accept(complaint)),
      [],
      appearance,
    );
    await opened.close();
  }
}
