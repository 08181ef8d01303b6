// The spellings of a resource's URI. Rules compare texts, but the SDKs of servers look up the parsed URL, so that
// `file:///public/../secret` reads `file:///secret`. When one spelling is denied, all are.

const dotSegment = /(?:[/\\]|%2f|%5c)\.{1,2}(?=[/\\?#]|%2f|%5c|$)/i;
const separator = /\\|%2f|%5c/gi;

/** The URI as it was sent, then the other spellings under which a server may look for it; mostly there is none. */
export function listSpellings(uri: string): readonly string[] {
  const written = URL.parse(uri);
  if (written === null) return [uri];
  const spellings = new Set([uri, decodePlain(written.href)]);
  for (const spelling of spellings) {
    // The parser keeps encoded dot segments, but a server that decodes them would resolve them.
    if (!dotSegment.test(spelling)) continue;
    const walked = URL.parse(spelling.replace(separator, '/'));
    if (walked !== null) spellings.add(decodePlain(walked.href));
  }
  return [...spellings];
}

/** Characters that mean the same encoded or not (RFC 3986 section 6.2.2.2), and the braces of templates. */
function decodePlain(href: string): string {
  return href.replace(/%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7[1-9bde])/gi, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  );
}
