// A query parameter that carries a token: found and taken out by the same reading (application/x-www-form-urlencoded), so that what was
// read is what is gone, however its name is spelled.

/** All values of the parameter. `query` with its '?', or empty. */
export function listParameterValues(query: string, name: string): string[] {
  const values: string[] = [];
  for (const piece of splitQuery(query)) {
    if (!mightHave(piece, name)) continue;
    for (const [found, value] of readPiece(piece)) if (found === name) values.push(value);
  }
  return values;
}

/** The query without the parameter; everything else keeps its bytes. */
export function withoutParameter(query: string, name: string): string {
  const pieces = splitQuery(query);
  const kept = pieces.filter((piece) => !mightHave(piece, name) || !readPiece(piece).has(name));
  if (kept.length === pieces.length) return query;
  return kept.length === 0 ? '' : `?${kept.join('&')}`;
}

function splitQuery(query: string): string[] {
  return query.length < 2 ? [] : query.slice(1).split('&');
}

/** Cheap: a piece that neither has the name nor an escape is another one. */
function mightHave(piece: string, name: string): boolean {
  return piece.startsWith(name) || piece.includes('%') || piece.includes('+');
}

/** With the separator in front: a '?' at the beginning would be taken for that of the query. */
function readPiece(piece: string): URLSearchParams {
  return new URLSearchParams(`&${piece}`);
}
