// A long line for a terminal: broken between words, with what follows indented, so that lines begin where they can be told apart.

// oxlint-disable-next-line no-control-regex -- colours take no column
const colors = /\u001b\[\d+m/g;

/** Breaks a line that is longer than `width` columns. A word that is too long stays whole: it may be a URL or a path that somebody copies. */
export function wrapLine(line: string, width: number, indent: number): string {
  if (countColumns(line) <= width) return line;
  let text = '';
  let column = 0;
  // Words, each with the spaces in front of it.
  for (const piece of line.match(/ *[^ ]+/g) ?? []) {
    const columns = countColumns(piece);
    if (text !== '' && column + columns > width) {
      const word = piece.trimStart();
      text += `\n${' '.repeat(indent)}${word}`;
      column = indent + countColumns(word);
    } else {
      text += piece;
      column += columns;
    }
  }
  return text;
}

function countColumns(text: string): number {
  return text.replaceAll(colors, '').length;
}
