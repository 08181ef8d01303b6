// A person with a browser, as a script: cookies (RFC 6265bis), redirects, forms, and what a browser refuses to do. Drives logins and consent pages.
import { request } from 'undici';
import { CookieJar } from './cookie-jar.ts';
import { type HtmlForm, readForms } from './html-forms.ts';
import { testUsers } from './test-users.ts';

/** A page that was shown. */
export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly html: string;
  readonly forms: readonly HtmlForm[];
}

/** Where a visit ended: at a page, or at the address that the client waits at. */
export type Arrival = { readonly at: 'page'; readonly page: Page } | { readonly at: 'client'; readonly url: URL };

/** What the person does at pages that ask. */
export interface Person {
  /** Default alice. */
  readonly user?: string;
  /** At pages that ask for consent, of the gateway and of the identity provider. Default allow. */
  readonly consent?: 'allow' | 'deny';
  /** Cancels where the password is asked for. */
  readonly cancelsLogin?: boolean;
}

/** The browser, or what is on its screen, prevents going on. */
export class BrowserBlockedError extends Error {
  readonly code = 'BROWSER_BLOCKED';
}

const maxSteps = 30;

/** One browser with its cookies. */
export class BrowserAgent {
  readonly jar = new CookieJar();
  /** Every page shown, in order. */
  readonly pages: Page[] = [];
  /** Every address asked, in order. */
  readonly history: URL[] = [];

  /** Goes to an address; stops at a page or at an address that starts with `clientRedirectUri`. */
  visit(url: string | URL, clientRedirectUri: string): Promise<Arrival> {
    return this.#follow({ url: new URL(url), method: 'GET', body: undefined, from: undefined }, clientRedirectUri);
  }

  /** Submits a form of a page with one of its buttons, and with boxes ticked. */
  submit(
    page: Page,
    form: HtmlForm,
    values: Record<string, string>,
    clientRedirectUri: string,
    ticked: HtmlForm['checkboxes'] = [],
  ): Promise<Arrival> {
    const body = new URLSearchParams({ ...form.fields, ...values });
    for (const { name, value } of ticked) body.append(name, value);
    const url = new URL(form.action, page.url);
    if (form.method === 'GET') {
      url.search = body.toString();
      return this.#follow({ url, method: 'GET', body: undefined, from: page }, clientRedirectUri);
    }
    return this.#follow({ url, method: 'POST', body: body.toString(), from: page }, clientRedirectUri);
  }

  /** Follows an authorization request through every page up to the client's redirect URI, which is returned with its query. */
  async authorize(url: string | URL, clientRedirectUri: string, person: Person = {}): Promise<URL> {
    let arrival = await this.visit(url, clientRedirectUri);
    for (let step = 0; step < maxSteps; step += 1) {
      if (arrival.at === 'client') return arrival.url;
      arrival = await this.answer(arrival.page, clientRedirectUri, person);
    }
    throw new BrowserBlockedError(`no end after ${maxSteps} pages`);
  }

  /** Does what the person does at a page that asks something. */
  answer(page: Page, clientRedirectUri: string, person: Person = {}): Promise<Arrival> {
    const form = page.forms[0];
    const wayBack = /<a href="([^"]+)"[^>]*>Go back to /.exec(page.html)?.[1];
    if (form === undefined && wayBack !== undefined)
      return this.visit(wayBack.replaceAll('&amp;', '&').replaceAll('&#39;', "'"), clientRedirectUri);
    if (form === undefined) {
      throw new BrowserBlockedError(`a page without a form, ${page.status} at ${page.url.href}:\n${page.html}`);
    }
    if ('password' in form.fields) {
      const user = testUsers.find(({ id }) => id === (person.user ?? 'alice'))!;
      // Dex asks for an address.
      const name = 'login' in form.fields ? { login: `${user.id}@example.com` } : { username: user.id };
      const login = { ...name, password: user.password };
      const button = pickButton(form, person.cancelsLogin === true ? 'deny' : 'allow');
      return this.submit(page, form, { ...login, ...button }, clientRedirectUri);
    }
    for (const each of page.forms) {
      const button = pickButton(each, person.consent ?? 'allow');
      // Whoever allows, allows everything that is asked for.
      const ticked = person.consent === 'deny' ? [] : each.checkboxes;
      if (button !== undefined) return this.submit(page, each, button, clientRedirectUri, ticked);
    }
    throw new BrowserBlockedError(`no button to ${person.consent ?? 'allow'} at ${page.url.href}:\n${page.html}`);
  }

  async #follow(first: Navigation, clientRedirectUri: string): Promise<Arrival> {
    let { url, method, body } = first;
    let from = first.from?.url;
    const allowedActions = first.from === undefined ? undefined : readFormAction(first.from);
    const origin = first.from === undefined ? undefined : describeOrigin(first.from);
    for (let step = 0; step < maxSteps; step += 1) {
      // Chromium applies form-action to every redirect that follows the submission, too.
      if (allowedActions !== undefined && !allowedActions(url)) {
        throw new BrowserBlockedError(
          `Content-Security-Policy form-action of ${first.from!.url.href} forbids ${url.href}`,
        );
      }
      if (isClientAddress(url, clientRedirectUri)) return { at: 'client', url };
      if (url.protocol !== 'http:' && url.protocol !== 'https:') {
        throw new BrowserBlockedError(`a redirect to ${url.href}`);
      }
      this.history.push(url);
      const crossSitePost = method === 'POST' && from !== undefined && from.hostname !== url.hostname;
      const cookie = this.jar.format(url, { crossSitePost });
      const answer = await request(url, {
        method,
        headers: {
          accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
          'accept-language': 'en',
          'sec-fetch-dest': 'document',
          'sec-fetch-mode': 'navigate',
          ...(cookie === '' ? {} : { cookie }),
          ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
          ...(method === 'POST' && origin !== undefined ? { origin } : {}),
        },
        body: body ?? null,
        // A connection each: one that a test cuts in between is no failure, as a browser would try again.
        reset: true,
        headersTimeout: 60_000,
        bodyTimeout: 60_000,
      });
      this.jar.store(url, answer.headers['set-cookie']);
      const html = await answer.body.text();
      const { location } = answer.headers;
      if (answer.statusCode >= 300 && answer.statusCode < 400 && typeof location === 'string') {
        from = url;
        url = new URL(location, url);
        if (answer.statusCode !== 307 && answer.statusCode !== 308) {
          method = 'GET';
          body = undefined;
        }
        continue;
      }
      const page = { url, status: answer.statusCode, headers: answer.headers, html, forms: readForms(html) };
      this.pages.push(page);
      return { at: 'page', page };
    }
    throw new BrowserBlockedError(`too many redirects, last to ${url.href}`);
  }
}

interface Navigation {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly body: string | undefined;
  readonly from: Page | undefined;
}

function isClientAddress(url: URL, clientRedirectUri: string): boolean {
  const client = new URL(clientRedirectUri);
  return url.protocol === client.protocol && url.host === client.host && url.pathname === client.pathname;
}

/** Fetch: with the policy no-referrer, a form is posted with `Origin: null`. */
function describeOrigin(page: Page): string {
  return page.headers['referrer-policy'] === 'no-referrer' ? 'null' : page.url.origin;
}

function readFormAction(page: Page): ((url: URL) => boolean) | undefined {
  const policy = page.headers['content-security-policy'];
  const directive = /(?:^|;)\s*form-action\s+([^;]*)/i.exec(String(policy ?? ''))?.[1];
  if (directive === undefined) return undefined;
  const sources = directive.trim().split(/\s+/);
  return (url) =>
    sources.some((source) => {
      if (source === "'self'") return url.origin === page.url.origin;
      if (source === '*') return true;
      if (/^[a-z][\w+.-]*:$/i.test(source)) return url.protocol === source;
      return URL.canParse(source) && new URL(source).origin === url.origin;
    });
}

const words = {
  allow: /\b(allow|approve|grant|submit consent|accept|authorize|continue|confirm|agree|yes|log ?in|sign ?in)\b/i,
  deny: /\b(deny|cancel|refuse|reject|decline|no)\b/i,
};

function pickButton(form: HtmlForm, wish: 'allow' | 'deny'): Record<string, string> | undefined {
  const found =
    form.buttons.find((button) => words[wish].test(button.value)) ??
    form.buttons.find((button) => words[wish].test(button.text));
  if (found === undefined) return undefined;
  return found.name === '' ? {} : { [found.name]: found.value };
}
