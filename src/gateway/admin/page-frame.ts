// What the admin pages have in common: the frame of a page with its navigation, in light and dark, and the headers that say what it may do.
import { createHash } from 'node:crypto';
import { escapeHtml } from '../../base/escape-html.ts';
import { shareStyle } from './card-table.ts';
import type { PlainAnswer } from './plain-server.ts';

const style = `
:root { color-scheme: light dark; --line: #c8ccd0; --link: #0b57d0; --soft: #5a6068; --back: #fff; --card: #f6f7f9; --ink: #16191d; --good: #146c2e; --bad: #b3261e; --wait: #7a4a00; --good-back: #dcf2e2; --wait-back: #fbe9c6; --open-back: #b3261e; --open-ink: #fff; --quiet-back: #e3e6ea; --quiet-ink: #3c4248; }
@media (prefers-color-scheme: dark) { :root { --line: #3c4248; --link: #8ab4f8; --soft: #a4abb3; --back: #14171a; --card: #1d2125; --ink: #e6e8ea; --good: #6dd58c; --bad: #f2b8b5; --wait: #f0c26a; --good-back: #14361f; --wait-back: #3d2d0b; --open-back: #c5221f; --open-ink: #fff; --quiet-back: #333a40; --quiet-ink: #d5dadf; } }
* { box-sizing: border-box; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; color: var(--ink); background: var(--back); overflow-wrap: anywhere; }
body > main { max-width: 42rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
body.wide > main, body.wide > header > nav { max-width: 76rem; }
body > header { border-bottom: 1px solid var(--line); background: var(--card); }
body > header > nav { max-width: 42rem; margin: 0 auto; padding: 0 1rem; }
nav ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0 1.25rem; }
nav a { display: block; padding: .7rem 0 .55rem; text-decoration: none; border-bottom: .2rem solid transparent; }
nav a:hover { text-decoration: underline; }
nav a[aria-current] { color: var(--ink); font-weight: 600; border-color: var(--link); }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0; }
p.soft, .soft { color: var(--soft); }
p.version { color: var(--soft); margin: 0 0 1.5rem; }
a { color: var(--link); }
dl { border-top: 1px solid var(--line); margin: 0; }
dl > div { border-bottom: 1px solid var(--line); padding: .6rem 0; display: grid; grid-template-columns: 9rem 1fr; gap: 1rem; }
dt, code, pre { font-family: ui-monospace, monospace; }
code { font-size: .9em; overflow-wrap: anywhere; }
pre { font-size: .85rem; line-height: 1.45; margin: 0; padding: .9rem; white-space: pre-wrap; overflow-wrap: anywhere; border-top: 1px solid var(--line); }
dd { margin: 0; }
form { margin: 1.5rem 0; display: flex; gap: .6rem; align-items: center; flex-wrap: wrap; }
input, select, button { font: inherit; padding: .25rem .7rem; min-height: 2.2rem; box-sizing: border-box; }
input { flex: 1 1 16rem; min-width: 0; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
details { border: 1px solid var(--line); border-radius: .5rem; background: var(--card); margin: .7rem 0; overflow: hidden; }
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
.badges { display: flex; flex-wrap: wrap; gap: .3rem .5rem; align-items: baseline; }
.badge { display: inline-block; border-radius: .3rem; padding: 0 .45rem; font-size: .9rem; font-weight: 600; white-space: nowrap; }
.badge.good { background: var(--good-back); color: var(--good); }
.badge.wait { background: var(--wait-back); color: var(--wait); }
.badge.bad { background: var(--open-back); color: var(--open-ink); }
.badge.quiet { background: var(--quiet-back); color: var(--quiet-ink); }
ul.counts { list-style: none; margin: 1rem 0 0; padding: 0; display: grid; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); gap: .7rem; }
ul.counts > li { border: 1px solid var(--line); border-radius: .5rem; background: var(--card); padding: .6rem .9rem; }
ul.counts > li.alarm { border-color: var(--bad); border-width: 2px; padding: calc(.6rem - 1px) calc(.9rem - 1px); }
ul.counts a { color: inherit; text-decoration: none; } ul.counts a:hover { text-decoration: underline; }
ul.counts strong { display: block; font-size: 1.15rem; line-height: 1.3; }
ol.numbered { padding-left: 1.8rem; } ol.numbered > li { margin: .5rem 0; }
li.detail { padding-left: 1.2rem; }
ul.plain { list-style: none; margin: 0; padding: 0; }
ul.servers { list-style: none; margin: 0; padding: .5rem .9rem; }
ul.problems { margin: .5rem 0; padding-left: 1.2rem; }
.notice { border-left: .3rem solid var(--bad); padding: .4rem .9rem; background: var(--card); margin: 1rem 0; }
.bar { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; margin: 1rem 0; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
table.cards { width: 100%; border-collapse: collapse; table-layout: fixed; }
${shareStyle}
table.cards th { text-align: left; font-weight: 600; font-size: .9rem; color: var(--soft); padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
table.cards td { vertical-align: top; padding: .5rem .9rem .5rem 0; border-bottom: 1px solid var(--line); }
table.cards td:last-child, table.cards th:last-child { padding-right: 0; }
table.cards td p { margin: .15rem 0 0; }
table.cards td form { margin: 0; }
table.cards .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
table.live time { font-variant-numeric: tabular-nums; white-space: nowrap; }
@media (max-width: 48rem) {
  table.cards, table.cards tbody, table.cards tr, table.cards td { display: block; }
  table.cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table.cards tr { border: 1px solid var(--line); border-radius: .5rem; background: var(--card); margin: .7rem 0; padding: .4rem .9rem; }
  table.cards td, table.cards td:last-child { display: grid; grid-template-columns: 6.5rem 1fr; gap: .6rem; padding: .2rem 0; border: 0; }
  table.cards td::before { content: attr(data-label); color: var(--soft); font-size: .9rem; }
  table.cards td > * { grid-column: 2; min-width: 0; }
  table.cards td:empty { display: none; }
  table.cards .number { text-align: left; }
}
@media (max-width: 38rem) {
  nav ul { gap: 0 1rem; padding: .2rem 0; }
  nav a { padding: .35rem 0 .25rem; }
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
const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

/** For a page with a script of this server, which may ask this server. */
const scriptedPolicy = `${policy}; script-src 'self'; connect-src 'self'`;

/** The pages that all others lead to. */
const places = [
  ['/', 'Overview'],
  ['/routes', 'Routes'],
  ['/flows', 'Logins'],
  ['/requests', 'Requests'],
  ['/live', 'Live'],
  ['/config', 'Config'],
  ['/metrics', 'Metrics'],
] as const;

interface PageOptions {
  /** Its place among the pages; undefined: the page leads nowhere. */
  readonly current?: (typeof places)[number][0];
  readonly wide?: boolean;
  readonly hasScript?: boolean;
}

/** A whole page around its content, which is HTML already. */
export function answerPage(title: string, content: string, options: PageOptions = {}): PlainAnswer {
  const { current, wide = false, hasScript = false } = options;
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    headers: {
      'content-security-policy': hasScript ? scriptedPolicy : policy,
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
    },
    body: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body${wide ? ' class="wide"' : ''}>
${current === undefined ? '' : formatNavigation(current)}<main>
${content}
</main>
</body>
</html>
`,
  };
}

function formatNavigation(current: string): string {
  const items = places.map(
    ([path, name]) => `<li><a href="${path}"${path === current ? ' aria-current="page"' : ''}>${name}</a></li>`,
  );
  return `<header><nav aria-label="Pages"><ul>${items.join('')}</ul></nav></header>
`;
}

/** A moment as people read it, with the exact one for machines. */
export function formatMoment(ms: number): string {
  const iso = new Date(ms).toISOString();
  return `<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}Z</time>`;
}

/** "3 min": how long something lasted, in the largest unit that is not zero. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
