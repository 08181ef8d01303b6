// The first page of the admin port: what there is, and the log level. Works without scripts, in light and dark.
import { createHash } from 'node:crypto';
import { type LogLevel, logLevels } from '../../base/log.ts';

const style = `
:root { color-scheme: light dark; --line: #c8ccd0; --link: #0b57d0; --soft: #5a6068; }
@media (prefers-color-scheme: dark) { :root { --line: #3c4248; --link: #8ab4f8; --soft: #a4abb3; } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0; }
p.version { color: var(--soft); margin: 0 0 1.5rem; }
a { color: var(--link); }
dl { border-top: 1px solid var(--line); margin: 0; }
dl > div { border-bottom: 1px solid var(--line); padding: .6rem 0; display: grid; grid-template-columns: 9rem 1fr; gap: 1rem; }
dt { font-family: ui-monospace, monospace; }
dd { margin: 0; }
form { margin-top: 1.5rem; display: flex; gap: .6rem; align-items: center; flex-wrap: wrap; }
select, button { font: inherit; padding: .25rem .7rem; min-height: 2.2rem; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
`;

const styleHash = createHash('sha256').update(style).digest('base64');

/** Nothing but the page's own style and form: no script can run here, and nobody can frame it. */
export const indexPageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
};

const pages = [
  ['/routes', 'What is served, in the order in which matches are tried', '/routes?format=json', 'as JSON'],
  ['/config', 'The configuration in force, with secrets redacted', undefined, undefined],
  ['/loglevel', 'How much is logged; PUT changes it', undefined, undefined],
] as const;

/** The page as HTML. */
export function formatIndexPage(version: string, level: LogLevel): string {
  const rows = pages.map(([path, text, other, otherText]) => {
    const more = other === undefined ? '' : ` (<a href="${other}">${otherText}</a>)`;
    return `<div><dt><a href="${path}">${path}</a></dt><dd>${text}${more}</dd></div>`;
  });
  const options = logLevels.map((name) => `<option${name === level ? ' selected' : ''}>${name}</option>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mcp-gateway admin</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>mcp-gateway admin</h1>
<p class="version">Version ${escapeHtml(version)}</p>
<dl>
${rows.join('\n')}
</dl>
<form method="post" action="/loglevel">
<label for="level">Log level</label>
<select id="level" name="level">${options.join('')}</select>
<button>Change</button>
</form>
</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
