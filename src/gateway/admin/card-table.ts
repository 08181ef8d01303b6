// A table that becomes a list of cards on a narrow screen: every cell carries the name of its column. Columns have fixed shares of the width, so that one long
// name cannot squeeze the others.
import { escapeHtml } from '../../base/escape-html.ts';

/** The shares that the style knows, in percent. */
type Share = 5 | 10 | 15 | 20 | 25 | 30 | 35 | 40 | 45 | 50 | 55 | 60;

/** A heading, and how much of the width its column has. */
export type CardColumn = readonly [name: string, share: Share];

/** Makes the table of rows, whose cells are HTML; an empty cell is left out of its card. `caption` is for those who hear it. */
export function formatCardTable(
  caption: string,
  columns: readonly CardColumn[],
  rows: readonly (readonly string[])[],
): string {
  const shares = columns.map(([, share]) => `<col class="share-${share}">`).join('');
  const head = columns.map(([name]) => `<th scope="col">${escapeHtml(name)}</th>`).join('');
  const body = rows.map((cells) => `<tr>${cells.map((cell, index) => formatCell(cell, columns[index])).join('')}</tr>`);
  return `<table class="cards"><caption class="hidden">${escapeHtml(caption)}</caption>
<colgroup>${shares}</colgroup>
<thead><tr>${head}</tr></thead>
<tbody>
${body.join('\n')}
</tbody></table>`;
}

function formatCell(cell: string, column: CardColumn | undefined): string {
  return `<td data-label="${escapeHtml(column?.[0] ?? '')}">${cell === '' ? '' : `<div>${cell}</div>`}</td>`;
}

/** Lines of one cell. */
export function formatLines(lines: readonly string[]): string {
  return lines.length === 1 ? lines[0]! : `<ul class="plain">${lines.map((line) => `<li>${line}</li>`).join('')}</ul>`;
}

/** For the style of pages. */
export const shareStyle: string = Array.from({ length: 12 }, (_, index) => (index + 1) * 5)
  .map((share) => `col.share-${share} { width: ${share}%; }`)
  .join(' ');
