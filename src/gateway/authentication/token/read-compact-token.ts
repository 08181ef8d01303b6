// Parses a token strictly (RFC 7515 compact serialization, RFC 7519): each token has only one encoding, and all parsers agree on its content.
import { isAlgorithm, type Algorithm } from './algorithms.ts';
import { type JsonObject, readJsonObject } from '../../../base/json-object.ts';
import { findHalfCharacter } from '../../../base/read-json.ts';
import { rememberTexts } from '../../../base/text-memory.ts';
import type { CompactToken } from './compact-token.ts';
import { refuseToken, showValue } from './refusal.ts';
import type { TokenRefusal } from './verified-token.ts';

/** Longer tokens are refused without parsing. */
export const maxTokenLength = 16_384;

type ReadTokenResult = { readonly ok: true; readonly token: CompactToken } | TokenRefusal;

const accessTokenTypes = new Set(['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']);
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads header and claims. `jku`, `x5u`, `x5c` and an embedded `jwk` are ignored: keys come only from the issuer. */
export function readCompactToken(text: string): ReadTokenResult {
  if (text.length > maxTokenLength) {
    return refuseToken('token_too_large', `The token is longer than ${maxTokenLength} characters.`);
  }
  const parts = text.split('.', 6);
  const [headerPart, claimsPart, signaturePart] = parts;
  if (parts.length !== 3 || headerPart === undefined || claimsPart === undefined || signaturePart === undefined) {
    return refuseToken('token_malformed', describeWrongParts(parts.length));
  }
  const header = readHeader(headerPart);
  if (!header.ok) return header;
  const claims = readPart(claimsPart, 'payload');
  if (!claims.ok) return claims;
  const signature = decodeBase64url(signaturePart);
  if (signature === undefined) return refuseToken('token_malformed', 'The signature of the token is not base64url.');
  return {
    ok: true,
    token: {
      algorithm: header.algorithm,
      keyId: header.keyId,
      ...(header.type !== undefined && { type: header.type }),
      claims: claims.value,
      signingInput: text.slice(0, headerPart.length + 1 + claimsPart.length),
      signature,
    },
  };
}

type ReadHeader = ({ readonly ok: true } & Pick<CompactToken, 'algorithm' | 'keyId' | 'type'>) | TokenRefusal;

/** Cached: the tokens of an issuer have only a few different headers. */
const readHeader = rememberTexts((part): ReadHeader => {
  const header = readPart(part, 'header');
  if (!header.ok) return header;
  const { alg, kid, typ } = header.value;
  const refusal = checkHeader(header.value);
  if (refusal !== undefined) return refusal;
  const type = (typ as string | undefined)?.toLowerCase().replace(/^application\//, '');
  return { ok: true, algorithm: alg as Algorithm, keyId: kid as string | undefined, type };
});

function describeWrongParts(count: number): string {
  if (count === 1) return 'The token is not a JSON Web Token but an opaque one.';
  if (count === 5) return 'The token is encrypted (JWE); only signed tokens are accepted.';
  return 'The token does not have three parts.';
}

function checkHeader(header: JsonObject): TokenRefusal | undefined {
  const { alg, crit, kid, typ } = header;
  if (!isAlgorithm(alg)) {
    return refuseToken(
      'token_unsupported_algorithm',
      'The token is signed with an algorithm that is not accepted.',
      `alg is ${showValue(alg)}`,
    );
  }
  // Whatever it lists, this engine implements no extension (RFC 7515 4.1.11).
  if (crit !== undefined) {
    return refuseToken(
      'token_unsupported_header',
      'The token requires an extension that is not supported (crit).',
      `crit is ${showValue(crit)}`,
    );
  }
  if (kid !== undefined && typeof kid !== 'string') {
    return refuseToken('token_malformed', 'The key id (kid) of the token is not a string.');
  }
  if (typ !== undefined && (typeof typ !== 'string' || !accessTokenTypes.has(typ.toLowerCase()))) {
    return refuseToken(
      'token_wrong_type',
      'The token is of another type than an access token (typ).',
      `typ is ${showValue(typ)}`,
    );
  }
  return undefined;
}

function readPart(part: string, name: string): { readonly ok: true; readonly value: JsonObject } | TokenRefusal {
  const bytes = decodeBase64url(part);
  if (bytes === undefined) return refuseToken('token_malformed', `The ${name} of the token is not base64url.`);
  let text: string;
  try {
    text = strictUtf8.decode(bytes);
  } catch {
    return refuseToken('token_malformed', `The ${name} of the token is not UTF-8.`);
  }
  const read = readJsonObject(text, { refuseDuplicateKeys: true });
  if (!read.ok) return refuseToken('token_malformed', `The ${name} of the token ${read.problem}.`);
  // Two different subjects would become the same one (RFC 7493 2.1).
  if (findHalfCharacter(text, read.value) !== undefined) {
    return refuseToken('token_malformed', `The ${name} of the token has an unpaired surrogate in it.`);
  }
  return read;
}

/** Strict base64url: Node skips invalid characters and accepts several encodings of the last character. */
function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}
