// URIs that two parsers could resolve differently. A rule compares the text of `mcp.resource.uri`, but a server opens the result of its own parser: decoded once or
// twice, with empty segments merged, dot segments resolved, parameters or the query cut off. Where a rule reads the URI, such a URI cannot be judged.

/** The deepest nesting of percent-encodings. */
const maxDepth = 3;

/** `{+path}`, `{?q}`: a template is expanded before it is resolved. */
const templateExpression = /\{[^{}]*\}/g;

/** Schemes whose URIs have a host, whatever is between the colon and the host's name (WHATWG URL, special schemes). */
const hostedSchemes = new Set(['http', 'https', 'ws', 'wss', 'ftp']);

/** What is ambiguous about a URI, to complete "a uri that ..."; undefined: there is one way to read it. */
export function findAmbiguity(uri: string): string | undefined {
  let text = uri.replace(templateExpression, 'x');
  for (let depth = 0; depth <= maxDepth; depth += 1) {
    const folded = text.normalize('NFKC');
    const problem = findProblem(text, depth > 0) ?? (folded === text ? undefined : findProblem(folded, true));
    if (problem !== undefined) return problem;
    if (!text.includes('%')) return undefined;
    const decoded = decode(text);
    // A decoded `100%25` ends in a literal %, which is not ambiguous.
    if (decoded === undefined)
      return depth === 0 || /%[\da-f]{2}/i.test(text) ? 'has an invalid percent-encoding' : undefined;
    if (decoded === text) return undefined;
    text = decoded;
  }
  return 'is percent-encoded several times';
}

/** Undefined: it is not the encoding of any text. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function findProblem(text: string, isDecoded: boolean): string | undefined {
  // eslint-disable-next-line no-control-regex
  if (/[\0-\x1F\x7F-\x9F\u2028\u2029]/.test(text)) return 'has control characters';
  if (/^\s|\s$/.test(text)) return 'begins or ends with a space';
  if (text.includes('\\')) return 'has a backslash';
  const [, scheme, rest] = /^([a-z][a-z\d+.-]*):(.*)$/is.exec(text) ?? [];
  // Not a URI but a plain name; a server that reads it as a path would still resolve dot segments.
  if (scheme === undefined || rest === undefined) return findPathProblem(text, isDecoded);
  return findAuthorityProblem(scheme.toLowerCase(), rest, isDecoded);
}

function findAuthorityProblem(scheme: string, rest: string, isDecoded: boolean): string | undefined {
  // Undefined: there is none, as in `ticket:42`.
  const authority = rest.startsWith('//') ? rest.slice(2).split(/[/?#]/, 1)[0]! : undefined;
  const path = authority === undefined ? rest : rest.slice(2 + authority.length);
  if (scheme === 'file') {
    if (authority !== '' || !path.startsWith('/')) return 'is a file without file:///';
    if (/[?#]/.test(path)) return 'is a file with a query or a fragment';
    if (path.includes('|')) return 'has a | in the path of a file';
  }
  if (hostedSchemes.has(scheme) && (authority === undefined || authority === '')) return 'has no host after its scheme';
  if (authority !== undefined && authority !== '') {
    if (authority.includes('@')) return 'has a user in front of its host';
    if (/:(?:$|.*\D)/.test(authority.replace(/^\[[^\]]*\]/, ''))) return 'has a port that is not a number';
    if (authority.includes('%')) return 'has an encoded host';
    if (hostedSchemes.has(scheme) && !/^[\x21-\x7E]+$/.test(authority)) return 'has a host that is not ASCII';
  }
  return findPathProblem(path, isDecoded);
}

function findPathProblem(text: string, isDecoded: boolean): string | undefined {
  const end = text.search(/[?#]/);
  const path = end === -1 ? text : text.slice(0, end);
  const tail = end === -1 ? '' : text.slice(end + 1);
  if (path.includes('//')) return 'has an empty segment';
  if (path.includes(';')) return 'has path parameters (;)';
  if (hasDotSegment(path)) return 'has dot segments';
  if (hasDotSegment(tail.replaceAll(/[?#&=;]/g, '/'))) return 'has dot segments after ? or #';
  // An encoded separator is a separator to one parser and a literal character to another.
  if (isDecoded) return undefined;
  if (/%2f|%5c/i.test(path)) return 'has an encoded separator';
  return undefined;
}

function hasDotSegment(path: string): boolean {
  return /(?:^|\/)\.{1,2}(?:\/|$)/.test(path);
}
