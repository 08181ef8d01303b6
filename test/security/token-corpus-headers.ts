// Hostile tokens: extensions that must be understood (crit), types, compression, nesting. All with a good signature.
import { deflateRawSync } from 'node:zlib';
import { forgeToken, signAs } from '../kit/forge-token.ts';
import { encodePart } from '../kit/test-issuer.ts';
import type { AcceptableToken, HostileToken } from './token-corpus-entry.ts';
import { forgeLike, goodClaims, goodHeader, keys } from './token-corpus-issuer.ts';

const signer = signAs('ES256', keys.ec.privateKey);

export function createHeaderTokens(nowSeconds: number): HostileToken[] {
  return [...createCriticalTokens(nowSeconds), ...createTypedTokens(nowSeconds), ...createNestedTokens(nowSeconds)];
}

/** RFC 7515 4.1.11, CVE-2026-35042: whoever does not understand an extension must refuse the token. */
function createCriticalTokens(nowSeconds: number): HostileToken[] {
  const headers: [string, object][] = [
    ['an unknown extension', { crit: ['x-mine'], 'x-mine': true }],
    ['an extension that is not there', { crit: ['x-mine'] }],
    ['exp, which is none', { crit: ['exp'], exp: 1 }],
    ['b64', { crit: ['b64'], b64: false }],
    ['b64 that changes nothing', { crit: ['b64'], b64: true }],
    ['alg, which is registered', { crit: ['alg'] }],
    ['kid, which is registered', { crit: ['kid'] }],
    ['crit itself', { crit: ['crit'] }],
    ['typ and kid', { crit: ['typ', 'kid'] }],
    ['nothing: an empty list', { crit: [] }],
    ['a text', { crit: 'x-mine', 'x-mine': true }],
    ['an empty text', { crit: '' }],
    ['null', { crit: null }],
    ['false', { crit: false }],
    ['a number', { crit: 0 }],
    ['an object', { crit: { 'x-mine': true } }],
    ['a list of numbers', { crit: [1] }],
    ['a list of lists', { crit: [['x-mine']] }],
    ['the same twice', { crit: ['x-mine', 'x-mine'], 'x-mine': 1 }],
    ['an empty name', { crit: [''], '': 1 }],
    ['a URI', { crit: ['https://example.com/ext'], 'https://example.com/ext': 1 }],
    ['__proto__', { crit: ['__proto__'] }],
    ['a hundred names', { crit: Array.from({ length: 100 }, (_, index) => `x${index}`) }],
  ];
  return headers.map(([name, extra]) => ({
    name: `crit is ${name}`,
    token: forgeLike(nowSeconds, { header: { ...goodHeader, ...extra } }),
    reason: 'token_unsupported_header',
  }));
}

/** RFC 8725 3.11: a token of one kind is not taken for another. */
function createTypedTokens(nowSeconds: number): HostileToken[] {
  const types: unknown[] = [
    'dpop+jwt',
    'logout+jwt',
    'secevent+jwt',
    'token-introspection+jwt',
    'oauth-authz-req+jwt',
    'client-authentication+jwt',
    'entity-statement+jwt',
    'id_token+jwt',
    'vc+sd-jwt',
    'rt+jwt',
    'JWE',
    'JOSE',
    'JOSE+JSON',
    'JWT ',
    ' at+jwt',
    'at+jwt\u0000',
    'at +jwt',
    'at+jwt; charset=utf-8',
    'application/',
    'application/application/jwt',
    'text/jwt',
    'at+jwt,JWT',
    '*/*',
    '',
    null,
    true,
    0,
    ['JWT'],
    { typ: 'JWT' },
  ];
  return types.map((typ) => ({
    name: `typ ${JSON.stringify(typ)}`,
    token: forgeLike(nowSeconds, { header: { ...goodHeader, typ } }),
    reason: 'token_wrong_type',
  }));
}

function createNestedTokens(nowSeconds: number): HostileToken[] {
  const good = forgeLike(nowSeconds, {});
  const claims = JSON.stringify(goodClaims(nowSeconds));
  const plain = forgeToken({ header: { alg: 'none' }, claims, signer: () => Buffer.alloc(0) });
  const cases: [string, object, string | Buffer][] = [
    ['a good token in a good token', { cty: 'JWT' }, good],
    ['a good token in a good token, not announced', {}, good],
    ['an unsigned token in a good token', { cty: 'JWT' }, plain],
    ['a token as a JSON text', { cty: 'JWT' }, JSON.stringify(good)],
    ['a list with a token', { cty: 'JWT' }, JSON.stringify([good])],
    ['claims compressed', { zip: 'DEF' }, deflateRawSync(claims)],
    ['claims compressed, a bomb', { zip: 'DEF' }, deflateRawSync(Buffer.alloc(4_000_000, 0x20))],
    ['claims in base64 once more', {}, Buffer.from(claims).toString('base64')],
    ['claims in a form', { cty: 'application/x-www-form-urlencoded' }, 'iss=https%3A%2F%2Fidp.example.com&sub=alice'],
    ['claims in CBOR', { cty: 'application/cwt' }, Buffer.from('a16373756265616c696365', 'hex')],
    ['claims in XML', { cty: 'text/xml' }, '<sub>alice</sub>'],
  ];
  const rawInput = `${encodePart({ ...goodHeader, b64: false })}.${claims}`;
  return [
    ...cases.map(([name, extra, payload]): HostileToken => ({
      name,
      token: forgeLike(nowSeconds, { header: { ...goodHeader, ...extra }, claims: payload }),
      reason: 'token_malformed',
    })),
    {
      // RFC 7797 without the crit that it demands: signed over the claims as they are.
      name: 'b64 false without crit, signed over the bare claims',
      token: forgeLike(nowSeconds, { header: { ...goodHeader, b64: false }, signer: () => signer(rawInput) }),
      reason: 'token_bad_signature',
    },
    {
      name: 'b64 false without crit, bare claims in the middle',
      // The dots of the issuer make more than three parts of it.
      token: `${rawInput}.${signer(rawInput).toString('base64url')}`,
      reason: 'token_malformed',
    },
  ];
}

/** RFC 7515 section 4: header parameters that are not understood are ignored. */
export function createAcceptableHeaders(nowSeconds: number): AcceptableToken[] {
  const header = (extra: object): string => forgeLike(nowSeconds, { header: { ...goodHeader, ...extra } });
  const why = 'RFC 7515 section 4: parameters that are not understood are ignored; the signature covers them';
  return [
    { name: 'typ in another case', token: header({ typ: 'AT+JWT' }), why: 'RFC 7515 4.1.9: media types have no case' },
    { name: 'typ JWT', token: header({ typ: 'JWT' }), why: 'older issuers know nothing else' },
    { name: 'cty without nesting', token: header({ cty: 'JWT' }), why: 'RFC 7519 5.2: not recommended, not forbidden' },
    { name: 'zip where nothing is compressed', token: header({ zip: 'DEF' }), why },
    { name: 'b64 true without crit', token: header({ b64: true }), why },
    { name: 'a foreign jwk, jku and x5c beside our own signature', token: header({ jwk: {}, jku: 'x', x5c: [] }), why },
    { name: 'a nonce in the header (Microsoft Graph)', token: header({ nonce: 'abc' }), why },
  ];
}
