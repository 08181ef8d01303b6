// Patterns of names: `*` matches any characters; every other character is literal, also the dot in `a.b`.

/** Whether a name matches any of the patterns. */
export function compileNamePatterns(patterns: readonly string[]): (name: string) => boolean {
  const names = new Set(patterns.filter((pattern) => !pattern.includes('*')));
  const wild = patterns.filter((pattern) => pattern.includes('*')).map((pattern) => pattern.split('*'));
  return (name) => names.has(name) || wild.some((pieces) => matchesPieces(name, pieces));
}

/** The first piece is a prefix, the last a suffix, the others follow in between, each at its earliest position: one pass without backtracking. */
function matchesPieces(name: string, pieces: readonly string[]): boolean {
  const first = pieces[0]!;
  const last = pieces.at(-1)!;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return at <= name.length - last.length;
}
