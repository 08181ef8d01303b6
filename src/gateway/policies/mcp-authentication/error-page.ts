// The page for a login that cannot go on and cannot be sent back either: when the client or its redirect URI is in doubt, a redirect
// would deliver the user to whoever made the link (RFC 6749 4.1.2.1, RFC 9700 4.11).
import type { RawHeaders } from '../../listen/exchange.ts';
import { type Reason, reasons } from '../../reasons.ts';
import { cleanText, escapeHtml, renderPage } from './html-page.ts';
import type { OAuthAnswer, OAuthRequest } from './oauth-endpoint.ts';

/** What the page says. */
export interface PageError {
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
}

/** Answers with the page. */
export function answerErrorPage({ context }: OAuthRequest, error: PageError): OAuthAnswer {
  const { status, description } = reasons[error.reason];
  const title = 'This login cannot go on';
  const page = renderPage(
    title,
    `<h1>${title}</h1>
<p>${escapeHtml(error.message ?? description)}</p>
<p class="soft">${escapeHtml(error.advice)}</p>
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
