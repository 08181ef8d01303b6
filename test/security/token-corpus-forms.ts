// Hostile tokens: serializations, numbers of parts, and spellings of base64url. One token has one spelling.
import { maxTokenLength } from '../../src/gateway/authentication/token/read-compact-token.ts';
import { encodePart } from '../kit/test-issuer.ts';
import type { HostileToken } from './token-corpus-entry.ts';
import { forgeLike, goodClaims, goodHeader } from './token-corpus-issuer.ts';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

export function createFormTokens(nowSeconds: number): HostileToken[] {
  return [
    ...createPartTokens(nowSeconds),
    ...createBase64Tokens(nowSeconds),
    ...createSerializations(nowSeconds),
    ...createLongTokens(nowSeconds),
  ].map(([name, token, reason = 'token_malformed']) => ({ name, token, reason }));
}

type FormCase = [name: string, token: string, reason?: HostileToken['reason']];

function createPartTokens(nowSeconds: number): FormCase[] {
  const good = forgeLike(nowSeconds, {});
  const [header, claims, signature] = good.split('.') as [string, string, string];
  return [
    ['nothing', ''],
    ['one letter', 'x'],
    ['an opaque token', 'ya29.a0AfH6SMBx-opaque'],
    ['one part: the header', header],
    ['one dot', '.'],
    ['two dots', '..'],
    ['three dots', '...'],
    ['four dots', '....'],
    ['five dots', '.....'],
    ['sixteen thousand dots', '.'.repeat(16_000)],
    ['two parts', `${header}.${claims}`],
    ['two parts, the claims in front', `${claims}.${signature}`],
    ['four parts, the last empty', `${good}.`],
    ['four parts, the first empty', `.${good}`],
    ['four parts, the header twice', `${header}.${good}`],
    ['four parts, the signature twice', `${good}.${signature}`],
    ['five parts, as in JWE', `${header}.${claims}.${signature}.${claims}.${signature}`],
    ['five parts, all but three empty', `${good}..`],
    ['six parts: two tokens', `${good}.${good}`],
    ['two tokens without a dot between', `${good}${good}`],
    ['an empty header', `.${claims}.${signature}`],
    ['empty claims', `${header}..${signature}`],
    ['header and claims exchanged', `${claims}.${header}.${signature}`, 'token_unsupported_algorithm'],
    ['claims and signature exchanged', `${header}.${signature}.${claims}`],
    ['no signature', `${header}.${claims}.`, 'token_bad_signature'],
    ['the header three times', `${header}.${header}.${header}`, 'token_wrong_issuer'],
    ['dots of another script', good.replaceAll('.', '\uff0e')],
    ['dots encoded for a URL', good.replaceAll('.', '%2e')],
    ['commas for dots', good.replaceAll('.', ',')],
    ['the scheme once more', `Bearer ${good}`],
    ['in quotes', `"${good}"`],
    ['in angle brackets', `<${good}>`],
    ['a disclosure behind it (SD-JWT)', `${good}~`],
    ['disclosures behind it (SD-JWT)', `${good}~WyJzYWx0Iiwic3ViIiwicm9vdCJd~`],
  ];
}

function createBase64Tokens(nowSeconds: number): FormCase[] {
  // Lengths that leave bits over at the end of every part: 64 bytes of signature do, header and claims are made to.
  const good = forgeLike(nowSeconds, {
    header: padJson(goodHeader),
    claims: padJson(goodClaims(nowSeconds)),
  });
  const parts = good.split('.') as [string, string, string];
  const names = ['header', 'claims', 'signature'] as const;
  const cases: FormCase[] = [];
  for (const [index, name] of names.entries()) {
    const change = (edit: (part: string) => string): string =>
      parts.map((part, at) => (at === index ? edit(part) : part)).join('.');
    // Where the characters are base64url all the same: bytes that are no JSON, or another signature.
    const afterDecoding = name === 'signature' ? 'token_bad_signature' : 'token_malformed';
    cases.push(
      [`${name} padded with =`, change((part) => `${part}=`)],
      [`${name} padded with ==`, change((part) => `${part}==`)],
      [`${name} padded for a URL`, change((part) => `${part}%3D%3D`)],
      [`${name} with one character more`, change((part) => `${part}A`), afterDecoding],
      [`${name} with a space in front`, change((part) => ` ${part}`)],
      [`${name} with a space behind`, change((part) => `${part} `)],
      [`${name} with a space in the middle`, change((part) => `${part.slice(0, 8)} ${part.slice(8)}`)],
      [`${name} with a line end`, change((part) => `${part}\n`)],
      [`${name} in two lines`, change((part) => `${part.slice(0, 40)}\r\n${part.slice(40)}`)],
      [`${name} with a tab`, change((part) => `${part}\t`)],
      [`${name} with NUL behind`, change((part) => `${part}\u0000`)],
      [`${name} with + for -`, change((part) => `+${part.slice(1)}`)],
      [`${name} with / for _`, change((part) => `/${part.slice(1)}`)],
      [`${name} with a look-alike letter`, change((part) => `\u0435${part.slice(1)}`)],
      [`${name} with a letter of full width`, change((part) => `\uff25${part.slice(1)}`)],
      [
        `${name} with a character that is 256 more`,
        change((part) => String.fromCharCode(part.charCodeAt(0) + 256) + part.slice(1)),
      ],
      [`${name} with a comma`, change((part) => `${part.slice(0, 4)},${part.slice(4)}`)],
      [`${name} with its last bits set`, change(setSpareBit)],
      [`${name} in hex`, change((part) => Buffer.from(part, 'base64url').toString('hex')), afterDecoding],
    );
  }
  return cases;
}

/** Bytes of JSON whose length leaves bits over in base64: not a multiple of three. */
function padJson(value: object): string {
  const text = JSON.stringify(value);
  return Buffer.byteLength(text) % 3 === 0 ? `${text} ` : text;
}

/** The last character carries bits that belong to no byte; careless decoders drop them. */
function setSpareBit(part: string): string {
  const last = alphabet.indexOf(part.at(-1)!);
  return `${part.slice(0, -1)}${alphabet[last ^ 1]}`;
}

function createSerializations(nowSeconds: number): FormCase[] {
  const good = forgeLike(nowSeconds, {});
  const [header, claims, signature] = good.split('.') as [string, string, string];
  const flattened = { payload: claims, protected: header, signature };
  const general = { payload: claims, signatures: [{ protected: header, signature }] };
  const jwe = { alg: 'RSA-OAEP', enc: 'A256GCM', kid: 'rsa' };
  return [
    ['flattened JSON', JSON.stringify(flattened)],
    ['general JSON', JSON.stringify(general)],
    ['flattened JSON in base64url', encodePart(flattened)],
    [
      'JSON with two signatures',
      JSON.stringify({ ...general, signatures: [{ header: { alg: 'none' }, signature: '' }, ...general.signatures] }),
    ],
    ['JSON with an unprotected header', JSON.stringify({ ...flattened, header: { alg: 'none' } })],
    [
      'a JWE, compact',
      `${encodePart(jwe)}.${encodePart('key')}.${encodePart('iv')}.${encodePart('text')}.${encodePart('tag')}`,
    ],
    [
      'a JWE with dir and empty key',
      `${encodePart({ alg: 'dir', enc: 'A128GCM' })}..${encodePart('iv')}.${encodePart('text')}.${encodePart('tag')}`,
    ],
    [
      'a JWE cut to three parts',
      `${encodePart(jwe)}.${encodePart('key')}.${encodePart('iv')}`,
      'token_unsupported_algorithm',
    ],
    ['a detached payload (RFC 7515 F)', `${header}..${signature}`],
    ['a PASETO', 'v4.public.eyJzdWIiOiJhbGljZSJ9AAAA'],
    ['a macaroon', 'MDAxY2xvY2F0aW9uIGh0dHA6Ly9leGFtcGxlLmNvbS8K'],
    ['an API key', 'sk-test-0123456789abcdef'],
    ['SAML', Buffer.from('<saml:Assertion/>').toString('base64')],
  ];
}

function createLongTokens(nowSeconds: number): FormCase[] {
  const ofLength = (length: number): string => {
    const claims = goodClaims(nowSeconds);
    const bare = forgeLike(nowSeconds, { claims: { ...claims, p: '' } });
    let padding = Math.floor(((length - bare.length) * 3) / 4);
    for (;;) {
      const token = forgeLike(nowSeconds, { claims: { ...claims, p: 'x'.repeat(padding) } });
      if (token.length >= length) return token;
      padding += 1;
    }
  };
  return [
    ['good but for its length: just over the limit', ofLength(maxTokenLength + 1), 'token_too_large'],
    ['good but for its length: 64 KiB', ofLength(65_536), 'token_too_large'],
    ['17 KiB of letters', 'A'.repeat(17_408), 'token_too_large'],
    ['17 KiB of dots', '.'.repeat(17_408), 'token_too_large'],
    ['a good token and 16 KiB of padding', `${forgeLike(nowSeconds, {})}${'='.repeat(16_384)}`, 'token_too_large'],
    ['1 MiB', 'e'.repeat(1_048_576), 'token_too_large'],
  ];
}
