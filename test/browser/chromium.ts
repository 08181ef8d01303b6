// Debian's Chromium, driven by Playwright, as people have it: a desktop and a phone, in light and in dark.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { InstallationError } from '../../scripts/install-once.ts';
import { deadlineMs } from '../kit/wait-for.ts';

/** Less work: the same engine, with no windows around its pages. */
const shells = ['/usr/bin/chromium-headless-shell'];
const browsers = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** What a browser is started with. */
export interface ChromiumOptions {
  /** Names that lead to a port on loopback. Other names lead nowhere. */
  readonly hosts?: Readonly<Record<string, number>>;
  /** The browser that people have, where the shell would do as well. */
  readonly isWhole?: boolean;
}

function findChromium(isWhole: boolean): string {
  const named = process.env['CHROMIUM'];
  const places = named === undefined ? [...(isWhole ? [] : shells), ...browsers] : [named];
  const found = places.find((place) => existsSync(place));
  if (found !== undefined) return found;
  throw new InstallationError(
    `These tests need Chromium at ${places.join(' or ')} (Debian: apt-get install chromium), or its path in the environment variable CHROMIUM.`,
  );
}

/** Starts a browser. */
export async function startChromium({ hosts = {}, isWhole = false }: ChromiumOptions = {}): Promise<Browser> {
  const executablePath = findChromium(isWhole);
  const rules = [
    ...Object.entries(hosts).map(([name, port]) => `MAP ${name} 127.0.0.1:${port}`),
    'MAP * ~NOTFOUND',
    'EXCLUDE 127.0.0.1',
    'EXCLUDE localhost',
  ];
  return chromium.launch({
    executablePath,
    timeout: deadlineMs,
    args: [
      '--no-sandbox',
      '--disable-site-isolation-trials',
      '--renderer-process-limit=1',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-quic',
      `--host-resolver-rules=${rules.join(', ')}`,
    ],
  });
}

/** Screens and settings that every page has to look right with. */
export const appearances: Readonly<Record<string, BrowserContextOptions>> = {
  'desktop-light': { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  'desktop-dark': { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  'phone-light': { viewport: { width: 360, height: 780 }, colorScheme: 'light', isMobile: true, hasTouch: true },
  'phone-dark': { viewport: { width: 360, height: 780 }, colorScheme: 'dark', isMobile: true, hasTouch: true },
};

/** A profile of its own, with the deadline of all tests. */
export async function openContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(deadlineMs);
  context.setDefaultNavigationTimeout(deadlineMs);
  return context;
}

/** A page of a browser with cookies of its own, and what its console complained about. */
export interface OpenedPage {
  readonly page: Page;
  /** Errors and warnings of the console, and exceptions that nobody caught. */
  readonly complaints: string[];
  readonly close: () => Promise<void>;
}

/** Opens an empty page. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<OpenedPage> {
  const context = await openContext(browser, { viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') {
      complaints.push(`${message.text()} (${message.location().url})`);
    }
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { page, complaints, close: () => context.close() };
}

/** Where people want to have pictures, which replace those of the last run. Without it none are taken: they cost a fifth of what the pages do. */
export const screenshotFolder = process.env['SCREENSHOTS'];

/** Takes a picture of the whole page, where somebody wants one. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (screenshotFolder === undefined) return;
  mkdirSync(screenshotFolder, { recursive: true });
  await page.screenshot({ path: join(screenshotFolder, `${name}.png`), fullPage: true, animations: 'disabled' });
}
