// A query parameter that carries a token: read and removed by the same parser (application/x-www-form-urlencoded), so that exactly the
// parameter that was read is removed, however its name is encoded.

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

/** A cheap check: a piece without the name and without an escape is another parameter. */
function mightHave(piece: string, name: string): boolean {
  return piece.startsWith(name) || piece.includes('%') || piece.includes('+');
}

/** Parsed with a separator in front: a leading '?' would be taken for the start of the query. */
function readPiece(piece: string): URLSearchParams {
  return new URLSearchParams(`&${piece}`);
}
