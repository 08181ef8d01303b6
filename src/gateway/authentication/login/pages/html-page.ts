// The frame of all login pages: no scripts, no external content, readable in light and dark mode and on a phone.
import { createHash } from 'node:crypto';
import { escapeHtml } from '../../../../base/escape-html.ts';
import type { RawHeaders } from '../../../http/exchange.ts';

const style = `
:root { color-scheme: light dark; --back: #f3f4f6; --card: #fff; --ink: #16191d; --soft: #565d66; --line: #d5d9de; --accent: #0b57d0; --on-accent: #fff; --note: #fdf3dc; --note-ink: #5c3d00; }
@media (prefers-color-scheme: dark) { :root { --back: #101214; --card: #1a1d21; --ink: #e8eaed; --soft: #a9b0b8; --line: #3a4047; --accent: #8ab4f8; --on-accent: #0b1f3f; --note: #33290f; --note-ink: #f5d48a; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; min-height: 100dvh; display: grid; place-items: center; padding: 1.25rem 1rem; font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--ink); background: var(--back); }
main { width: 100%; max-width: 30rem; padding: 1.75rem; border: 1px solid var(--line); border-radius: 1rem; background: var(--card); }
h1 { margin: 0 0 .75rem; font-size: 1.375rem; line-height: 1.3; overflow-wrap: anywhere; }
h2 { margin: 0 0 .25rem; font-size: .875rem; font-weight: 600; color: var(--soft); }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
section { padding: .9rem 0; border-top: 1px solid var(--line); }
section p, section ul { margin: 0; }
.big { font-size: 1.125rem; font-weight: 600; }
.soft { color: var(--soft); font-size: .9375rem; }
.note { padding: .75rem .9rem; border-radius: .6rem; background: var(--note); color: var(--note-ink); font-size: .9375rem; }
ul { padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: .4rem; }
li { padding: .1rem .55rem; border: 1px solid var(--line); border-radius: .5rem; font: .9rem/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
a { color: var(--accent); }
form { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.1rem; }
button { flex: 1 1 9rem; min-height: 2.9rem; padding: .5rem 1rem; border: 1px solid var(--line); border-radius: .6rem; font: inherit; font-weight: 600; color: var(--ink); background: var(--card); cursor: pointer; }
button.primary { border-color: var(--accent); color: var(--on-accent); background: var(--accent); }
button:hover { filter: brightness(.95); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
.id { margin: 1.25rem 0 0; font-size: .8125rem; color: var(--soft); }
@media (max-width: 30rem) { body { place-items: start center; } main { padding: 1.25rem; } }
@media (forced-colors: active) { button { border: 1px solid ButtonText; } }
`;

const styleHash = createHash('sha256').update(style).digest('base64');

/**
 * Nothing can run, load or frame. There is no form-action: browsers apply it to the redirects after a form too, and those lead to the
 * IdP and on to the client. Referrer-Policy is not no-referrer, which would take the Origin from the form. There is no
 * Cross-Origin-Opener-Policy: browser-based clients open the login in a window of their own and wait for it.
 */
const pageHeaders: RawHeaders = [
  'content-type',
  'text/html; charset=utf-8',
  'cache-control',
  'no-store',
  'content-security-policy',
  `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; frame-ancestors 'none'`,
  'x-frame-options',
  'DENY',
  'x-content-type-options',
  'nosniff',
  'referrer-policy',
  'same-origin',
];

/** A page, and the headers that it has to be sent with. */
export interface HtmlPage {
  readonly headers: RawHeaders;
  readonly body: string;
}

/** A whole page around its content, which is HTML already. */
export function renderPage(title: string, content: string): HtmlPage {
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`;
  return { headers: pageHeaders, body };
}

/**
 * Cleans an untrusted text for display on one line: shortened, without control characters and without bidirectional overrides, which could
 * make it read as something else.
 */
export function cleanText(text: string, maxLength: number): string {
  const line = text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length <= maxLength ? line : `${line.slice(0, maxLength).trimEnd()}…`;
}
