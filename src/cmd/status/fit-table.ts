// A table that fits a terminal: what can be shortened is, what is least needed goes first, and marks and names stay.
import { escapeControls, type Palette } from '../../base/terminal.ts';

/** One column. */
export interface Column {
  readonly title: string;
  /** The narrowest it may become; undefined: it is never cut. */
  readonly least?: number;
  /** Goes when shortening is not enough, the highest number first; undefined: it stays. */
  readonly leaves?: number;
}

/** One cell. */
export interface TableCell {
  readonly text: string;
  readonly color?: keyof Palette | undefined;
}

const gap = 2;

/** Lines of a table, the titles first. `width` undefined: as wide as it gets. */
export function fitTable(
  columns: readonly Column[],
  rows: readonly (readonly TableCell[])[],
  width: number | undefined,
  palette: Palette,
): string[] {
  const escaped = rows.map((row) => row.map((cell) => ({ ...cell, text: escapeControls(cell.text) })));
  const natural = columns.map(({ title }, index) =>
    escaped.reduce((widest, row) => Math.max(widest, row[index]?.text.length ?? 0), title.length),
  );
  const fitted = fitWidths(columns, natural, width);
  const lines = [columns.map(({ title }): TableCell => ({ text: title, color: 'dim' })), ...escaped];
  return lines.map((row) => {
    const cells: { readonly cell: TableCell; readonly width: number }[] = [];
    for (const [index, each] of fitted.entries())
      if (each !== undefined) cells.push({ cell: row[index] ?? { text: '' }, width: each });
    const last = cells.findLastIndex(({ cell }) => cell.text !== '');
    return cells
      .slice(0, last + 1)
      .map(({ cell, width: wide }, index) => {
        const text = cutCell(cell.text, wide);
        const painted = cell.color === undefined || text === '' ? text : palette[cell.color](text);
        return index === last ? painted : `${painted}${' '.repeat(wide - text.length)}`;
      })
      .join(' '.repeat(gap));
  });
}

/** Undefined: the column goes. */
function fitWidths(
  columns: readonly Column[],
  natural: readonly number[],
  width: number | undefined,
): readonly (number | undefined)[] {
  const widths: (number | undefined)[] = [...natural];
  if (width === undefined) return widths;
  const measure = (): number => {
    const present = widths.filter((each) => each !== undefined);
    return present.reduce((sum, each) => sum + each, 0) + gap * (present.length - 1);
  };
  const leave = columns
    .map(({ leaves }, index) => ({ leaves, index }))
    .filter((each): each is { leaves: number; index: number } => each.leaves !== undefined)
    .toSorted((left, right) => right.leaves - left.leaves);
  for (;;) {
    shrink(columns, widths, measure() - width);
    if (measure() <= width) return widths;
    const next = leave.shift();
    if (next === undefined) return widths;
    widths[next.index] = undefined;
    // There is room again for what was cut.
    for (const [index, each] of natural.entries()) if (widths[index] !== undefined) widths[index] = each;
  }
}

/** Takes from the widest column first, one character at a time, so that the long ones end up equally long. */
function shrink(columns: readonly Column[], widths: (number | undefined)[], excess: number): void {
  for (let left = excess; left > 0; left -= 1) {
    let widest: number | undefined;
    for (const [index, { least }] of columns.entries()) {
      const own = widths[index];
      if (own === undefined || least === undefined || own <= least) continue;
      if (widest === undefined || own > widths[widest]!) widest = index;
    }
    if (widest === undefined) return;
    widths[widest] = widths[widest]! - 1;
  }
}

function cutCell(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** Breaks a text into lines between words; a word that is too long stays whole. */
export function wrapText(text: string, width: number | undefined): string[] {
  if (width === undefined) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
