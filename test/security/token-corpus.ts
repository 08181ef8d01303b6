// A corpus of hostile tokens in the manner of Wycheproof: each is good but for one thing, and has one right answer.
import { createAlgorithmTokens } from './token-corpus-algorithms.ts';
import { createAcceptableClaims, createClaimTokens } from './token-corpus-claims.ts';
import type { AcceptableToken, HostileToken } from './token-corpus-entry.ts';
import { createFormTokens } from './token-corpus-forms.ts';
import { createAcceptableHeaders, createHeaderTokens } from './token-corpus-headers.ts';
import { createAcceptableJson, createJsonTokens } from './token-corpus-json.ts';
import { createKeyTokens } from './token-corpus-keys.ts';
import { createAcceptableSignatures, createSignatureTokens } from './token-corpus-signatures.ts';

/** Everything that must be refused, by group. Tokens are made for this moment. */
export function createHostileTokens(nowSeconds: number): Readonly<Record<string, readonly HostileToken[]>> {
  return {
    algorithms: createAlgorithmTokens(nowSeconds),
    keys: createKeyTokens(nowSeconds),
    headers: createHeaderTokens(nowSeconds),
    forms: createFormTokens(nowSeconds),
    json: createJsonTokens(nowSeconds),
    claims: createClaimTokens(nowSeconds),
    signatures: createSignatureTokens(nowSeconds),
  };
}

/** What looks like it belongs into the corpus and does not: standards allow it, and nobody gains by it. */
export function createAcceptableTokens(nowSeconds: number): readonly AcceptableToken[] {
  return [
    ...createAcceptableHeaders(nowSeconds),
    ...createAcceptableJson(nowSeconds),
    ...createAcceptableClaims(nowSeconds),
    ...createAcceptableSignatures(nowSeconds),
  ];
}
