// A table that becomes a list of cards on a narrow screen: every cell carries the name of its column.
import { escapeHtml } from '../../base/escape-html.ts';

/** The cells of a row, as HTML; an empty one is left out of its card. */
export type CardRow = readonly string[];

/** Makes the table. `caption` is for those who hear it. */
export function formatCardTable(caption: string, columns: readonly string[], rows: readonly CardRow[]): string {
  const head = columns.map((name) => `<th scope="col">${escapeHtml(name)}</th>`).join('');
  const body = rows.map(
    (cells) =>
      `<tr>${cells.map((cell, index) => `<td data-label="${escapeHtml(columns[index] ?? '')}">${cell === '' ? '' : `<div>${cell}</div>`}</td>`).join('')}</tr>`,
  );
  return `<table class="cards"><caption class="hidden">${escapeHtml(caption)}</caption>
<thead><tr>${head}</tr></thead>
<tbody>
${body.join('\n')}
</tbody></table>`;
}

/** Lines of one cell. */
export function formatLines(lines: readonly string[]): string {
  return lines.length === 1 ? lines[0]! : `<ul class="plain">${lines.map((line) => `<li>${line}</li>`).join('')}</ul>`;
}
