// What the admin pages have in common: the frame of a page without scripts, in light and dark, and the headers that keep it so.
import { createHash } from 'node:crypto';
import { escapeHtml } from '../../base/escape-html.ts';
import type { PlainAnswer } from './plain-server.ts';

const style = `
:root { color-scheme: light dark; --line: #c8ccd0; --link: #0b57d0; --soft: #5a6068; --back: #fff; --card: #f6f7f9; --ink: #16191d; --good: #146c2e; --bad: #b3261e; --wait: #7a4a00; }
@media (prefers-color-scheme: dark) { :root { --line: #3c4248; --link: #8ab4f8; --soft: #a4abb3; --back: #14171a; --card: #1d2125; --ink: #e6e8ea; --good: #6dd58c; --bad: #f2b8b5; --wait: #f0c26a; } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink); background: var(--back); }
body.wide { max-width: 64rem; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; }
p.soft, .soft { color: var(--soft); }
p.version { color: var(--soft); margin: 0 0 1.5rem; }
a { color: var(--link); }
dl { border-top: 1px solid var(--line); margin: 0; }
dl > div { border-bottom: 1px solid var(--line); padding: .6rem 0; display: grid; grid-template-columns: 9rem 1fr; gap: 1rem; }
dt, code { font-family: ui-monospace, monospace; }
code { font-size: .9em; overflow-wrap: anywhere; }
dd { margin: 0; }
form { margin: 1.5rem 0; display: flex; gap: .6rem; align-items: center; flex-wrap: wrap; }
input, select, button { font: inherit; padding: .25rem .7rem; min-height: 2.2rem; box-sizing: border-box; }
input { flex: 1 1 16rem; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
details { border: 1px solid var(--line); border-radius: .5rem; background: var(--card); margin: .7rem 0; }
summary { cursor: pointer; padding: .6rem .9rem; }
summary .time { float: right; color: var(--soft); font-variant-numeric: tabular-nums; }
.state { font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); } .wait { color: var(--wait); }
details dl { margin: 0 .9rem; }
details dl { padding: .4rem 0; }
details dl > div { padding: .1rem 0; grid-template-columns: 7rem 1fr; border: 0; }
details dt { font-family: inherit; color: var(--soft); }
details dd { overflow-wrap: anywhere; }
ol.steps { list-style: none; margin: .2rem 0 0; padding: 0; border-top: 1px solid var(--line); }
ol.steps > li { display: grid; grid-template-columns: 1.4rem 1fr auto; gap: 0 .6rem; padding: .55rem .9rem; border-bottom: 1px solid var(--line); }
ol.steps > li:last-child { border-bottom: 0; }
ol.steps .mark { font-weight: 700; text-align: center; }
ol.steps .time { color: var(--soft); font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
ol.steps p { margin: .15rem 0 0; grid-column: 2 / -1; overflow-wrap: anywhere; }
ol.steps p.rule { margin-top: .6rem; }
@media (max-width: 38rem) {
  input { flex-basis: 100%; }
  body > main > dl > div { grid-template-columns: 1fr; gap: 0; }
  summary .time { float: none; display: block; }
  ol.steps > li { grid-template-columns: 1.4rem 1fr; }
  ol.steps .time { grid-column: 2; text-align: left; }
}
`;

const styleHash = createHash('sha256').update(style).digest('base64');

/**
 * Allows only the page's own style and form: no script can run, and no page can frame it. Referrer-Policy is not no-referrer, because
 * browsers would then send the form with `Origin: null`, which is refused as foreign.
 */
const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
};

/** A whole page around its content, which is HTML already. */
export function answerPage(title: string, content: string, options: { readonly wide?: boolean } = {}): PlainAnswer {
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    headers: pageHeaders,
    body: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body${options.wide === true ? ' class="wide"' : ''}>
<main>
${content}
</main>
</body>
</html>
`,
  };
}
