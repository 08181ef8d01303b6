// In whose name a request is explained: a token from a file or from standard input, claims that are taken as verified, or anonymously.
import { type JsonObject, readJsonObject } from '../../base/json-object.ts';
import { readText } from '../../sources/files/read-text.ts';
import { cleanToken, readTokenInput, type TokenInput } from '../token/read-token-input.ts';

export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly text: string }
  | { readonly kind: 'claims'; readonly claims: JsonObject };

type ReadCredential =
  | { readonly ok: true; readonly credential: Credential }
  | { readonly ok: false; readonly problem: string };

const maxFileBytes = 1024 * 1024;

/** Reads --token or --claims. */
export async function readCredential(
  { token, claims }: { readonly token: string | undefined; readonly claims: string | undefined },
  input: TokenInput,
): Promise<ReadCredential> {
  if (token !== undefined && claims !== undefined)
    return { ok: false, problem: 'give --token or --claims, not both: one of them says who is asking' };
  if (token !== undefined) return readToken(token, input);
  if (claims !== undefined) return readClaims(claims);
  return { ok: true, credential: { kind: 'none' } };
}

async function readToken(path: string, input: TokenInput): Promise<ReadCredential> {
  if (looksLikeToken(path))
    return {
      ok: false,
      problem: '--token takes a file, or - for standard input: a token on the command line stays in the shell history',
    };
  const read = path === '-' ? await readTokenInput(input) : await readText(path, maxFileBytes);
  if (!read.ok) return { ok: false, problem: path === '-' ? read.message : `--token: ${path} ${read.message}` };
  const cleaned = cleanToken(read.value);
  if (!cleaned.ok)
    return { ok: false, problem: `--token: ${path === '-' ? 'standard input' : path} ${cleaned.problem}` };
  return { ok: true, credential: { kind: 'token', text: cleaned.token } };
}

async function readClaims(path: string): Promise<ReadCredential> {
  const read = await readText(path, maxFileBytes);
  if (!read.ok) return { ok: false, problem: `--claims: ${path} ${read.message}` };
  const claims = readJsonObject(read.value, { refuseDuplicateKeys: true });
  if (!claims.ok) return { ok: false, problem: `--claims: ${path} ${claims.problem}` };
  return { ok: true, credential: { kind: 'claims', claims: claims.value } };
}

/** A JSON Web Token begins with an encoded brace. */
export function looksLikeToken(text: string): boolean {
  return /^(?:Bearer\s+)?eyJ[\w-]*\./i.test(text);
}
