// Keeps credentials out of log lines. It works on the finished line, so that no field, error text or child binding gets around it.

const replacement = '[redacted]';

/** Names whose value is a credential wherever they appear: header fields, JSON members, OAuth and query parameters. */
const secretName =
  /^(?:.*[-_])?(?:authorization|cookie|token|secret|password|passwd|api[-_]?key|private[-_]?key|assertion|code[-_]?verifier|signature)$/;

/** The same for parameters of a URL or form, where an authorization code and a bare signature travel as well. */
const secretParameter = /([?&;#]|^)([\w.~%-]+)=([^&;#\s"'<>]*)/g;
const secretParameterNames = new Set(['code', 'key', 'sig', 'pwd', 'pass', 'jwt']);

/** Not the words of a sentence such as "bearer token": credentials have a capital, a digit or length. */
const schemeCredentials = new RegExp(
  String.raw`\b((?:${['bearer', 'basic', 'dpop', 'negotiate'].map(inAnyCase).join('|')})\s+)(?:(?=[\w.~+/-]*[A-Z0-9_=.])[\w.~+/=-]{3,}|[\w.~+/=-]{16,})`,
  'g',
);
const jsonWebToken = /\beyJ[\w-]{6,}\.[\w-]+(?:\.[\w-]*)*/g;
const urlPassword = /(\/\/[^/\s:@"]*:)[^/\s@"]+@/g;
const privateKeyBlock = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g;

/** In lower case, and at least one of them is in everything that the slow path below could change. */
const suspiciousWords =
  /authorization|cookie|token|secret|passw|[?&;#](?:code|key|sig|pwd|pass|jwt)=|api[-_]?key|private[-_ ]?key|assertion|verifier|signature|bearer|basic|dpop|negotiate|eyj|@/;

/** A word as an expression that ignores its case. `(?i:...)` would need Node 23, and the published package is for Node 22. */
function inAnyCase(word: string): string {
  return word.replaceAll(/./g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

/** Most lines pass here, and cost nothing more. */
function isSuspicious(text: string): boolean {
  // Lower case first: an expression that ignores case is several times slower.
  return suspiciousWords.test(text.toLowerCase());
}

/** Tells whether a header, member or parameter of this name holds a credential. */
export function isSecretName(name: string): boolean {
  const spelled = name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
  return secretName.test(spelled);
}

/** The same for a parameter of a query or form. */
export function isSecretParameter(name: string): boolean {
  return isSecretName(name) || secretParameterNames.has(name.toLowerCase());
}

/** Replaces credentials inside a text: authorization schemes, JWTs, URL passwords, secret parameters, private keys. */
export function redactText(text: string): string {
  if (!isSuspicious(text)) return text;
  return text
    .replaceAll(privateKeyBlock, replacement)
    .replaceAll(schemeCredentials, `$1${replacement}`)
    .replaceAll(jsonWebToken, replacement)
    .replaceAll(urlPassword, `$1${replacement}@`)
    .replaceAll(secretParameter, (whole, before: string, name: string, value: string) =>
      value !== '' && (isSecretName(name) || (before !== '' && secretParameterNames.has(name.toLowerCase())))
        ? `${before}${name}=${replacement}`
        : whole,
    );
}

/** Whether redactText leaves the text as it is. */
export function hasNoCredentials(text: string): boolean {
  return redactText(text) === text;
}

/** Redacts every string of a JSON value, and whole values under a secret name. Also knows flat header lists: [name, value, ...]. */
export function redactValue(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) {
    return value.map((item, index) => {
      const previous: unknown = index % 2 === 1 ? value[index - 1] : undefined;
      return typeof previous === 'string' && isSecretName(previous) ? replacement : redactValue(item);
    });
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => [
      name,
      isSecretName(name) && member !== null && member !== undefined && typeof member !== 'boolean'
        ? replacement
        : redactValue(member),
    ]),
  );
}

/** Redacts one serialised log line (a JSON object). A line that is clean comes back as it is. */
export function redactLine(line: string): string {
  if (!isSuspicious(line)) return line;
  try {
    return `${JSON.stringify(redactValue(JSON.parse(line)))}\n`;
  } catch {
    // Not a JSON line after all: still never let a credential through.
    return redactText(line);
  }
}
