// The claims of a test token, from the flags of `token new`: what is written wins over the file. Pure.
import { isJsonObject, readJsonObject, type JsonObject } from '../../base/json-object.ts';

/** What was asked for. */
export interface ClaimFlags {
  readonly sub: string | undefined;
  readonly aud: readonly string[];
  readonly scope: string | undefined;
  /** NAME=VALUE, each. */
  readonly claim: readonly string[];
  /** The text of --claims. */
  readonly file: string | undefined;
}

/** The claims, or everything that is wrong with the flags. */
export type ReadClaims =
  | { readonly ok: true; readonly claims: JsonObject }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Whoever a test is about. */
const defaultSubject = 'test-user';

/** Claims that decide how long the token lasts and who made it. */
const ownClaims: ReadonlyMap<string, string> = new Map([
  ['iss', 'it says that this is a test token'],
  ['exp', '--lifetime sets it'],
  ['iat', 'it is the present time'],
  ['nbf', 'it is the present time'],
  ['jti', 'it is random'],
]);

/** Reads them. */
export function readClaimFlags({ sub, aud, scope, claim, file }: ClaimFlags): ReadClaims {
  const problems: string[] = [];
  const fromFile = readFile(file, problems);
  const written = new Map<string, unknown>();
  for (const text of claim) {
    const at = text.indexOf('=');
    const name = text.slice(0, at);
    if (at < 1) problems.push(`--claim must be NAME=VALUE, such as --claim team=blue, not ${JSON.stringify(text)}`);
    else if (written.has(name))
      problems.push(`--claim has ${name} twice; for a list write --claim '${name}=["a","b"]'`);
    else written.set(name, readValue(text.slice(at + 1)));
  }
  const flags: JsonObject = {
    ...(sub !== undefined && { sub }),
    ...(aud.length > 0 && { aud: aud.length === 1 ? aud[0] : aud }),
    ...(scope !== undefined && { scope }),
  };
  for (const name of Object.keys(flags))
    if (written.has(name)) problems.push(`--${name} and --claim ${name}=... are the same; use one of them`);
  for (const [name, why] of ownClaims) {
    if (written.has(name)) problems.push(`--claim cannot set ${name}: ${why}`);
    if (Object.hasOwn(fromFile, name)) problems.push(`--claims cannot set ${name}: ${why}; take it out of the file`);
  }
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, claims: { sub: defaultSubject, ...fromFile, ...Object.fromEntries(written), ...flags } };
}

function readFile(text: string | undefined, problems: string[]): JsonObject {
  if (text === undefined) return {};
  const read = readJsonObject(text);
  if (read.ok && isJsonObject(read.value)) return read.value;
  problems.push('--claims must name a file with one JSON object, such as {"sub": "alice", "groups": ["staff"]}');
  return {};
}

/** JSON where it is JSON, and otherwise the text itself. */
function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
