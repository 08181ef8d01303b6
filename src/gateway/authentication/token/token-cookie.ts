// A cookie that carries a token (RFC 6265 5.4): read and removed by the same parser, so that exactly the cookie that was read is removed.

/** All values of the cookie, of all Cookie fields (HTTP/2 sends several, RFC 9113 8.2.3). Names are exact. */
export function listCookieValues(headers: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    // The length alone rules out nearly all fields.
    if (!isCookieField(headers[i]!) || !headers[i + 1]!.includes(name)) continue;
    for (const pair of headers[i + 1]!.split(';'))
      if (isCookie(pair, name)) values.push(unquote(pair.slice(pair.indexOf('=') + 1).trim()));
  }
  return values;
}

/** The fields without all occurrences of the cookie; all other bytes are kept. An empty field is removed. */
export function withoutCookie(headers: readonly string[], name: string): readonly string[] {
  let kept: string[] | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    const value = headers[i + 1]!;
    if (!isCookieField(headers[i]!) || !value.includes(name)) {
      kept?.push(headers[i]!, value);
      continue;
    }
    const pairs = value.split(';');
    const others = pairs.filter((pair) => !isCookie(pair, name));
    if (others.length === pairs.length) {
      kept?.push(headers[i]!, value);
      continue;
    }
    kept ??= headers.slice(0, i);
    // The pair that is first now had a space behind the semicolon.
    const rest = others.join(';').trimStart();
    if (rest !== '') kept.push(headers[i]!, rest);
  }
  return kept ?? headers;
}

function isCookieField(name: string): boolean {
  return name.length === 6 && name.toLowerCase() === 'cookie';
}

function isCookie(pair: string, name: string): boolean {
  const at = pair.indexOf('=');
  return at !== -1 && pair.slice(0, at).trim() === name;
}

/** RFC 6265 4.1.1: the quotes are around the value, not part of it. */
function unquote(value: string): string {
  return value.length >= 2 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
}
