import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { maxTokenLength, readCompactToken } from './read-compact-token.ts';
import { encodePart } from '../../../../test/kit/test-issuer.ts';

const header = encodePart({ alg: 'ES256', kid: 'k' });
const claims = encodePart({ iss: 'https://idp.example.com' });
const signature = encodePart(Buffer.alloc(64, 7));

function expectRefusal(token: string, reason: string): void {
  const result = readCompactToken(token);
  assert.equal(result.ok ? 'accepted' : result.reason, reason, token.slice(0, 80));
  if (!result.ok) {
    assert.match(result.detail, /^[\x20-\x7e]+$/);
    assert.doesNotMatch(
      result.detail,
      /["\\=]/,
      'it goes into a quoted parameter that clients read with loose expressions',
    );
  }
}

describe('the form of a token', () => {
  test('a well-formed token is taken apart', () => {
    const result = readCompactToken(`${header}.${claims}.${signature}`);
    assert.ok(result.ok);
    assert.deepEqual(result.token, {
      algorithm: 'ES256',
      keyId: 'k',
      claims: { iss: 'https://idp.example.com' },
      signingInput: `${header}.${claims}`,
      signature: Buffer.alloc(64, 7),
    });
  });

  for (const [name, token] of [
    ['empty', ''],
    ['opaque', 'x'],
    ['two parts', `${header}.${claims}`],
    ['four parts', `${header}.${claims}.${signature}.`],
    ['five parts: encrypted', `${header}.a.b.c.d`],
    ['six parts', `${header}.a.b.c.d.e`],
    ['many dots', '.'.repeat(1_000)],
    ['empty header', `.${claims}.${signature}`],
    ['empty claims', `${header}..${signature}`],
    ['padding', `${header}.${claims}.${signature}==`],
    ['base64, not base64url', `${header}.${claims}.${signature.slice(0, -2)}+/`],
    ['white space in front', ` ${header}.${claims}.${signature}`],
    ['line end', `${header}.${claims}.${signature}\n`],
    ['bits left over in the signature', `${header}.${claims}.AB`],
    ['impossible length', `${header}.${claims}.A`],
    ['header is an array', `${encodePart([])}.${claims}.${signature}`],
    ['header is a string', `${encodePart('"a"')}.${claims}.${signature}`],
    ['header is no JSON', `${encodePart('{')}.${claims}.${signature}`],
    ['claims are an array', `${header}.${encodePart([])}.${signature}`],
    ['claims are null', `${header}.${encodePart('null')}.${signature}`],
    ['claims are no JSON', `${header}.${encodePart('iss')}.${signature}`],
    ['header twice alg', `${encodePart('{"alg":"ES256","alg":"none"}')}.${claims}.${signature}`],
    ['claims twice sub', `${header}.${encodePart('{"sub":"a","s\\u0075b":"b"}')}.${signature}`],
    ['nested key twice', `${header}.${encodePart('{"a":{"b":1,"b":2}}')}.${signature}`],
    ['__proto__', `${header}.${encodePart('{"__proto__":{}}')}.${signature}`],
    ['deep', `${header}.${encodePart(`{"a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`)}.${signature}`],
    ['byte order mark', `${header}.${encodePart('\uFEFF{}')}.${signature}`],
    ['not UTF-8', `${header}.${encodePart(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))}.${signature}`],
    ['half a surrogate pair', `${header}.${encodePart('{"sub":"\\ud800"}')}.${signature}`],
    ['half a surrogate pair behind a backslash', `${header}.${encodePart('{"sub":"\\\\\\uDFFF"}')}.${signature}`],
    ['half a surrogate pair in a key', `${encodePart('{"alg":"ES256","\\udc00":1}')}.${claims}.${signature}`],
    ['kid is a number', `${encodePart({ alg: 'ES256', kid: 1 })}.${claims}.${signature}`],
    ['kid is null', `${encodePart({ alg: 'ES256', kid: null })}.${claims}.${signature}`],
  ] as const) {
    test(`malformed: ${name}`, () => expectRefusal(token, 'token_malformed'));
  }

  test('whole surrogate pairs, and texts about halves, are texts like any other', () => {
    for (const text of ['{"sub":"\\ud83d\\ude00"}', '{"sub":"\\\\ud800"}', '{"sub":"\\u00e9"}']) {
      assert.equal(readCompactToken(`${header}.${encodePart(text)}.${signature}`).ok, true, text);
    }
  });

  test('size is judged before anything is parsed', () => {
    expectRefusal('.'.repeat(maxTokenLength + 1), 'token_too_large');
    expectRefusal('.'.repeat(maxTokenLength), 'token_malformed');
  });

  for (const alg of [
    'none',
    'None',
    'nOnE',
    'HS256',
    'HS384',
    'HS512',
    'rs256',
    'ES256K',
    'RSA-OAEP',
    '',
    'toString',
  ]) {
    test(`algorithm not accepted: ${JSON.stringify(alg)}`, () => {
      expectRefusal(`${encodePart({ alg })}.${claims}.${signature}`, 'token_unsupported_algorithm');
      expectRefusal(`${encodePart({ alg })}.${claims}.`, 'token_unsupported_algorithm');
    });
  }

  test('algorithm missing or of another type', () => {
    for (const value of [{}, { alg: 1 }, { alg: ['ES256'] }, { alg: null }, { ALG: 'ES256' }]) {
      expectRefusal(`${encodePart(value)}.${claims}.${signature}`, 'token_unsupported_algorithm');
    }
  });

  test('crit: no extension is known, so whatever it lists is refused', () => {
    for (const crit of [['b64'], ['exp'], ['x'], [], 'x', null, {}]) {
      const token = `${encodePart({ alg: 'ES256', crit, b64: false, x: 1 })}.${claims}.${signature}`;
      expectRefusal(token, 'token_unsupported_header');
    }
  });

  test('typ: told in one spelling', () => {
    const spellings = { JWT: 'jwt', 'AT+JWT': 'at+jwt', 'application/at+jwt': 'at+jwt', 'application/jwt': 'jwt' };
    for (const [typ, type] of Object.entries(spellings)) {
      const read = readCompactToken(`${encodePart({ alg: 'ES256', typ })}.${claims}.${signature}`);
      assert.equal(read.ok && read.token.type, type);
    }
    const read = readCompactToken(`${encodePart({ alg: 'ES256' })}.${claims}.${signature}`);
    assert.equal(read.ok && read.token.type, undefined);
  });

  test('typ: access tokens only', () => {
    for (const typ of ['JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt', 'application/jwt', undefined]) {
      assert.equal(
        readCompactToken(`${encodePart({ alg: 'ES256', typ })}.${claims}.${signature}`).ok,
        true,
        typ ?? 'absent',
      );
    }
    for (const typ of ['dpop+jwt', 'logout+jwt', 'id+jwt', 'secevent+jwt', 'JOSE', '', 1, null, ['JWT']]) {
      expectRefusal(`${encodePart({ alg: 'ES256', typ })}.${claims}.${signature}`, 'token_wrong_type');
    }
  });

  test('noise never throws', () => {
    const noise = fc.oneof(fc.string(), fc.array(fc.base64String(), { minLength: 3, maxLength: 3 }));
    fc.assert(
      fc.property(noise, (value) => {
        assert.equal(readCompactToken(typeof value === 'string' ? value : value.join('.')).ok, false);
      }),
    );
  });
});
