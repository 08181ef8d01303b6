// Interns names that nearly every head has: each is the same string every time, so nothing is cut out of the head for it, and a map lookup
// is cheap because the string's hash is known.

const lowerCaseNames = [
  'accept',
  'accept-encoding',
  'accept-language',
  'authorization',
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'cookie',
  'date',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'location',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'origin',
  'referer',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'server',
  'set-cookie',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'user-agent',
  'vary',
  'via',
  'www-authenticate',
  'x-accel-buffering',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-powered-by',
  'x-request-id',
];

const slots = 1_024;
const names: (string | undefined)[] = Array.from({ length: slots });

/** The two spellings in use: HTTP/2 and most libraries write lower case, others Title-Case. */
export function spellName(lowerCase: string): readonly [lowerCase: string, titleCase: string] {
  return [lowerCase, lowerCase.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())];
}

/** The common names in both spellings. */
export const commonNames: readonly string[] = lowerCaseNames.flatMap(spellName);

for (const name of commonNames) remember(name);

const lowerCaseOf: ReadonlyMap<string, string> = new Map(commonNames.map((name) => [name, name.toLowerCase()]));

/** A name in lower case. */
export function toLowerCaseName(name: string): string {
  return lowerCaseOf.get(name) ?? name.toLowerCase();
}

/** Stores a name in its slot. If two names share a slot, the first stays. */
function remember(name: string): void {
  let hash = 0;
  for (let at = 0; at < name.length; at++) hash = addToHash(hash, name.charCodeAt(at));
  names[hash & (slots - 1)] ??= name;
}

/** The hash of a name with one more character. */
export function addToHash(hash: number, code: number): number {
  return (Math.imul(hash, 31) + code) | 0;
}

/** The name in the text from `start` to `end`, whose hash is given. */
export function takeName(text: string, start: number, end: number, hash: number): string {
  const name = names[hash & (slots - 1)];
  return name !== undefined && name.length === end - start && text.startsWith(name, start)
    ? name
    : text.slice(start, end);
}
