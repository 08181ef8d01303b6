// The first page of the admin port: a list of all pages, and the log level.
import { type LogLevel, logLevels } from '../../base/log.ts';
import { escapeHtml } from '../../base/escape-html.ts';
import { answerPage } from './page-frame.ts';
import type { PlainAnswer } from './plain-server.ts';

const pages = [
  ['/flows', 'The last logins of MCP clients, step by step, and why one was refused', '/flows?format=json', 'as JSON'],
  ['/requests', 'What policies decided about the last requests, and by which rule', '/requests?format=json', 'as JSON'],
  ['/routes', 'What is served, in the order in which matches are tried', '/routes?format=json', 'as JSON'],
  ['/config', 'The configuration in force, with secrets redacted', undefined, undefined],
  ['/loglevel', 'How much is logged; PUT changes it', undefined, undefined],
] as const;

/** The page. */
export function answerIndexPage(version: string, level: LogLevel): PlainAnswer {
  const rows = pages.map(([path, text, other, otherText]) => {
    const more = other === undefined ? '' : ` (<a href="${other}">${otherText}</a>)`;
    return `<div><dt><a href="${path}">${path}</a></dt><dd>${text}${more}</dd></div>`;
  });
  const options = logLevels.map((name) => `<option${name === level ? ' selected' : ''}>${name}</option>`);
  return answerPage(
    'mcp-gatehouse admin',
    `<h1>mcp-gatehouse admin</h1>
<p class="version">Version ${escapeHtml(version)}</p>
<dl>
${rows.join('\n')}
</dl>
<form method="post" action="/loglevel">
<label for="level">Log level</label>
<select id="level" name="level">${options.join('')}</select>
<button>Change</button>
</form>`,
  );
}
