// The consent page before a login: anyone may register a client, and the IdP may not ask at all, or ask about the shared client. All
// information about the client is unverified except the redirect target, so the page highlights that.
import { escapeHtml } from '../../../../base/escape-html.ts';
import { cleanText, type HtmlPage, renderPage } from './html-page.ts';
import { describeRedirectTarget, isLoopbackRedirect, isOwnedRedirect } from '../redirect-uri.ts';

/** What the page shows. */
interface ConsentQuestion {
  /** As the client calls itself. */
  readonly clientName: string | undefined;
  /** Host of the client_id, for a client that is known by its metadata document. */
  readonly clientHost: string | undefined;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  /** A name that the operator gave to the resource. */
  readonly resourceName: string | undefined;
  readonly resource: string;
  /** Path of the endpoint that takes the answer. */
  readonly action: string;
  /** The sealed transaction: it is bound to the browser's cookie, so no other site can send this form. */
  readonly transaction: string;
}

/** Renders the page. */
export function renderConsentPage(question: ConsentQuestion): HtmlPage {
  const name = cleanText(question.clientName ?? '', 80);
  const shownName = name === '' ? 'An application without a name' : `“${name}”`;
  const resourceName =
    cleanText(question.resourceName ?? '', 80) || (URL.parse(question.resource)?.host ?? question.resource);
  const scopes = question.scopes.map((scope) => `<li>${escapeHtml(cleanText(scope, 200))}</li>`).join('');
  return renderPage(
    `Allow access to ${resourceName}?`,
    `<h1>Allow access to <bdi>${escapeHtml(resourceName)}</bdi>?</h1>
<p>An application asks to use it in your name. You will log in on the next page.</p>
<section aria-labelledby="to">
<h2 id="to">After the login it sends you to</h2>
<p class="big"><bdi>${escapeHtml(describeRedirectTarget(question.redirectUri))}</bdi></p>
<p class="soft">${escapeHtml(explainRedirect(question.redirectUri))}</p>
</section>
<section aria-labelledby="who">
<h2 id="who">The application calls itself</h2>
<p class="big"><bdi>${escapeHtml(shownName)}</bdi></p>
<p class="soft">${escapeHtml(explainName(question.clientHost))}</p>
</section>
<section aria-labelledby="scopes">
<h2 id="scopes">It asks for</h2>
${scopes === '' ? '<p>Nothing in particular: what your account allows by default.</p>' : `<ul role="list">${scopes}</ul>`}
</section>
<section aria-labelledby="resource">
<h2 id="resource">At this address</h2>
<p><bdi>${escapeHtml(question.resource)}</bdi></p>
</section>
<p class="note">Allow it only if you started this login yourself, just now, in that application.</p>
<form method="post" action="${escapeHtml(question.action)}">
<input type="hidden" name="transaction" value="${escapeHtml(question.transaction)}">
<button type="submit" name="decision" value="deny">Cancel</button>
<button type="submit" name="decision" value="approve" class="primary">Allow</button>
</form>`,
  );
}

function explainRedirect(uri: string): string {
  if (isLoopbackRedirect(uri)) return 'That is a program on the device that you use now.';
  if (isOwnedRedirect(uri)) return 'That is a website. Whoever runs it receives the access that you allow.';
  return 'That is an app on the device that you use now.';
}

function explainName(clientHost: string | undefined): string {
  if (clientHost === undefined) return 'This name is not verified.';
  return `This name is not verified. The application is described by ${clientHost}.`;
}
