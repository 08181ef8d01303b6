// The page for a login that failed and cannot be redirected either: when the client or its redirect URI is not verified, a redirect could
// send the user to an attacker (RFC 6749 4.1.2.1, RFC 9700 4.11).
import type { RawHeaders } from '../../../http/exchange.ts';
import { type Reason, reasons } from '../../../http/reasons.ts';
import { escapeHtml } from '../../../../base/escape-html.ts';
import { cleanText, renderPage } from './html-page.ts';
import { type AuthorizationFailure, formatWayBack, type WayBack } from './login-redirect.ts';
import type { OAuthAnswer, OAuthRequest } from '../oauth-endpoint.ts';
import { describeRedirectTarget } from '../redirect-uri.ts';

/** What the page says. */
interface PageError {
  readonly reason: Reason;
  /** In place of the reason's own status. */
  readonly status?: number;
  /** In place of the reason's own sentence. */
  readonly message?: string;
  /** What the user can do about it. */
  readonly advice: string;
  /** For the operator only. */
  readonly detail: string;
  readonly headers?: RawHeaders;
  /** Where the user may go from here. */
  readonly link?: { readonly url: string; readonly text: string };
}

/** Answers with the page. */
export function answerErrorPage({ context }: OAuthRequest, error: PageError): OAuthAnswer {
  const { status, description } = reasons[error.reason];
  const title = 'This login cannot go on';
  const page = renderPage(
    title,
    `<h1>${title}</h1>
<p>${escapeHtml(error.message ?? description)}</p>
<p class="soft">${escapeHtml(error.advice)}</p>${renderLink(error.link)}
<p class="id">Request id ${escapeHtml(context.requestId)}</p>`,
  );
  return {
    status: error.status ?? status,
    headers: [...page.headers, ...(error.headers ?? [])],
    body: page.body,
    reason: error.reason,
    detail: cleanText(error.detail, 500),
  };
}

function renderLink(link: PageError['link']): string {
  return link === undefined
    ? ''
    : `\n<p><a href="${escapeHtml(link.url)}" rel="noreferrer">${escapeHtml(link.text)}</a></p>`;
}

/**
 * Replaces a redirect for a client that the user has not consented to: an attacker could otherwise use the gateway as an open redirector
 * (RFC 9700 4.11.2). The way back is a link that shows its target.
 */
export function answerReturnPage(
  request: OAuthRequest,
  back: WayBack,
  failure: AuthorizationFailure,
  { reason, detail }: { readonly reason: Reason; readonly detail: string },
): OAuthAnswer {
  const target = cleanText(describeRedirectTarget(back.redirectUri), 200);
  // An unavailable IdP is not the application's fault; the reason has its own description.
  const isOurs = failure.error === 'temporarily_unavailable';
  const problem = failure.error_description ?? failure.error;
  return answerErrorPage(request, {
    reason,
    ...(isOurs ? {} : { message: `The application asked for something that cannot be done: ${problem}.` }),
    advice: `If you started this login yourself, go back to ${target}. Otherwise close this page.`,
    detail,
    link: { url: formatWayBack(request, back, failure), text: `Go back to ${target}` },
  });
}
