// Hostile tokens: header and claims that are no JSON, or that two readers of JSON would read differently. All with a good signature.
import type { AcceptableToken, HostileToken } from './token-corpus-entry.ts';
import { audience, forgeLike, goodClaims, goodHeader, issuer } from './token-corpus-issuer.ts';

export function createJsonTokens(nowSeconds: number): HostileToken[] {
  const header = JSON.stringify(goodHeader);
  const claims = JSON.stringify(goodClaims(nowSeconds));
  return [
    ...[...listBroken(header), ...listOddHeaders(header)].map(([name, text]): HostileToken => ({
      name: `header: ${name}`,
      token: forgeLike(nowSeconds, { header: text }),
      reason: 'token_malformed',
    })),
    ...[...listBroken(claims), ...listOddClaims(claims)].map(([name, text]): HostileToken => ({
      name: `claims: ${name}`,
      token: forgeLike(nowSeconds, { claims: text }),
      reason: 'token_malformed',
    })),
  ];
}

type Document = [name: string, content: string | Buffer];

/** Wrong in itself, whatever it says. */
function listBroken(good: string): Document[] {
  const open = good.slice(0, -1);
  const bytes = Buffer.from(good);
  const withBytes = (hex: string): Buffer =>
    Buffer.concat([Buffer.from(`${open},"x":"`), Buffer.from(hex, 'hex'), Buffer.from('"}')]);
  return [
    ['only a space', ' '],
    ['null', 'null'],
    ['true', 'true'],
    ['a number', '1'],
    ['a text', '"x"'],
    ['a text with the document in it', JSON.stringify(good)],
    ['a list', '[]'],
    ['a list with the document in it', `[${good}]`],
    ['not closed', open],
    ['closed twice', `${good}}`],
    ['the document twice', `${good}${good}`],
    ['the document twice, with a line end between', `${good}\n${good}`],
    ['garbage behind', `${good}x`],
    ['NUL behind', `${good}\u0000`],
    ['a comma at the end', `${open},}`],
    ['a comment', `${open}/* */}`],
    ['a comment to the end of the line', `${good}// x`],
    ['single quotes', good.replaceAll('"', "'")],
    ['a key without quotes', `${open},x:1}`],
    ['NaN', `${open},"x":NaN}`],
    ['Infinity', `${open},"x":Infinity}`],
    ['-Infinity', `${open},"x":-Infinity}`],
    ['undefined', `${open},"x":undefined}`],
    ['a number in hex', `${open},"x":0x10}`],
    ['a number with a leading zero', `${open},"x":010}`],
    ['a number with a plus', `${open},"x":+1}`],
    ['a number with a dot at its end', `${open},"x":1.}`],
    ['a number with a dot in front', `${open},"x":.5}`],
    ['a text with a line end in it', `${open},"x":"a\nb"}`],
    ['a text with NUL in it', `${open},"x":"a\u0000b"}`],
    ['an escape that does not exist', `${open},"x":"\\x41"}`],
    ['half an escape', `${open},"x":"\\u00"}`],
    ['a text without an end', `${open},"x":"a}`],
    ['half a surrogate pair, escaped', `${open},"x":"\\ud800"}`],
    ['half a surrogate pair in a key', `${open},"\\udfff":1}`],
    ['a surrogate pair the wrong way round', `${open},"x":"\\udc00\\ud800"}`],
    ['a byte order mark', `\uFEFF${good}`],
    ['UTF-16', Buffer.from(good, 'utf16le')],
    ['UTF-16 with its mark', Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from(good, 'utf16le')])],
    ['a byte that is not UTF-8', withBytes('ff')],
    ['Latin-1', withBytes('e9')],
    ['UTF-8 too long', withBytes('c0a2')],
    ['UTF-8 cut off', withBytes('e282')],
    ['a surrogate in UTF-8', withBytes('eda080')],
    ['UTF-8 beyond Unicode', withBytes('f4908080')],
    ['cut in the middle', bytes.subarray(0, bytes.length >> 1)],
    ['33 lists deep', `${open},"x":${'['.repeat(33)}${']'.repeat(33)}}`],
    ['33 objects deep', `${open},"x":${'{"a":'.repeat(33)}1${'}'.repeat(33)}}`],
    ['4,000 lists deep', `${open},"x":${'['.repeat(4_000)}${']'.repeat(4_000)}}`],
    ['1,500 objects deep', `${open},"x":${'{"a":'.repeat(1_500)}1${'}'.repeat(1_500)}}`],
    ['4,000 lists that do not end', `${open},"x":${'['.repeat(4_000)}`],
    ['__proto__', `${open},"__proto__":{"admin":true}}`],
    ['__proto__ escaped', `${open},"__proto\\u005f_":{"admin":true}}`],
    ['__proto__ further in', `${open},"x":{"__proto__":{"admin":true}}}`],
    ['__proto__ in a list', `${open},"x":[{"__proto__":null}]}`],
    ['the same key twice', `${open},"x":1,"x":2}`],
    ['the same key twice, once escaped', `${open},"x":1,"\\u0078":2}`],
    ['the same key twice, white space in front of the colon', `${open},"x":1,"x" \t\r\n:2}`],
    ['the same key twice further in', `${open},"x":{"a":1,"a":2}}`],
    ['the same key twice in a list', `${open},"x":[{"a":1,"a":1}]}`],
    ['the same empty key twice', `${open},"":1,"":2}`],
    ['the same key twice with the same value', `${open},"x":1,"x":1}`],
    ['the same key twice, a surrogate pair once escaped', `${open},"\u{1F600}":1,"\\ud83d\\ude00":2}`],
  ];
}

/** What the token could mean to two readers, in the header. */
function listOddHeaders(good: string): Document[] {
  const open = good.slice(0, -1);
  return [
    ['alg twice, none behind', `${open},"alg":"none"}`],
    ['alg twice, none in front', `{"alg":"none",${good.slice(1)}`],
    ['alg twice, once escaped', `${open},"\\u0061lg":"none"}`],
    ['kid twice', `${open},"kid":"rsa"}`],
    ['typ twice', `${open},"typ":"dpop+jwt"}`],
    ['crit twice', `${open},"crit":[],"crit":["x"]}`],
  ];
}

/** The same in the claims. */
function listOddClaims(good: string): Document[] {
  const open = good.slice(0, -1);
  return [
    ['iss twice', `${open},"iss":"https://attacker.example.com"}`],
    ['iss twice, ours behind', `{"iss":"https://attacker.example.com",${good.slice(1)}`],
    ['aud twice', `${open},"aud":${JSON.stringify(audience)}}`],
    ['sub twice', `${open},"sub":"root"}`],
    ['sub twice, once escaped', `${open},"s\\u0075b":"root"}`],
    ['exp twice', `${open},"exp":1}`],
    ['scope twice', `${open},"scope":"tickets:write"}`],
    ['groups twice', `${open},"groups":["users"],"groups":["admins"]}`],
  ];
}

/** JSON has white space and escapes; they are not ours to forbid (RFC 8259). */
export function createAcceptableJson(nowSeconds: number): AcceptableToken[] {
  const claims = goodClaims(nowSeconds);
  const why = 'RFC 8259: the same document; it is signed as it is';
  return [
    { name: 'claims on several lines', token: forgeLike(nowSeconds, { claims: JSON.stringify(claims, null, 2) }), why },
    {
      name: 'a header with white space around it',
      token: forgeLike(nowSeconds, { header: ` ${JSON.stringify(goodHeader)}\n` }),
      why,
    },
    {
      name: 'iss escaped',
      token: forgeLike(nowSeconds, { claims: JSON.stringify(claims).replace(issuer, issuer.replaceAll('/', '\\/')) }),
      why,
    },
    {
      name: 'a surrogate pair that is whole',
      token: forgeLike(nowSeconds, { claims: JSON.stringify(claims).replace('alice', '\\ud83d\\ude00') }),
      why,
    },
    {
      name: 'a text that speaks of half a surrogate pair',
      token: forgeLike(nowSeconds, { claims: { ...claims, note: '\\ud800' } }),
      why: 'a backslash and five letters are letters',
    },
    {
      name: 'claims called constructor and toString',
      token: forgeLike(nowSeconds, { claims: { ...claims, constructor: { prototype: { admin: true } }, toString: 1 } }),
      why: 'claims are looked up as own members only',
    },
    {
      name: '28 lists deep',
      token: forgeLike(nowSeconds, { claims: { ...claims, x: JSON.parse('['.repeat(28) + ']'.repeat(28)) } }),
      why: 'within the limit',
    },
  ];
}
