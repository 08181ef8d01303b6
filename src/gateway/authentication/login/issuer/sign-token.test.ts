import assert from 'node:assert/strict';
import { verify } from 'node:crypto';
import { test } from 'node:test';
import { registeredClaims } from '../../../../base/registered-claims.ts';
import { createTestKey } from '../../testing/issuer-fixture.ts';
import { createClaims, signToken, type TokenContent } from './sign-token.ts';

const content: TokenContent = {
  issuer: 'https://mcp.example.com/mcp',
  resource: 'https://mcp.example.com/mcp',
  clientId: 'client',
  idp: 'https://idp.example.com',
  person: {
    subject: 'alice',
    claims: { email: 'a@example.com', groups: ['staff'] },
    email: undefined,
    organizations: [],
  },
  claims: ['email', 'missing'],
  issuedAtMs: 1_700_000_000_999,
  lifetimeMs: 900_000,
};

test('a token has the claims of RFC 9068, and of the person only those that are listed', () => {
  const { jti, ...claims } = createClaims(content);
  assert.match(String(jti), /^[\w-]{36}$/);
  assert.deepEqual(claims, {
    email: 'a@example.com',
    iss: 'https://mcp.example.com/mcp',
    sub: 'person:https%3A%2F%2Fidp.example.com:alice',
    aud: 'https://mcp.example.com/mcp',
    exp: 1_700_000_900,
    iat: 1_700_000_000,
    client_id: 'client',
    idp: 'https://idp.example.com',
  });
  assert.notEqual(createClaims(content)['jti'], jti);
});

test('no claim of the identity provider takes the place of one that the gateway sets or leaves out', () => {
  const claims = Object.fromEntries(registeredClaims.map((name) => [name, 'forged']));
  const made = createClaims({ ...content, claims: registeredClaims, person: { ...content.person, claims } });
  assert.equal(JSON.stringify(made).includes('forged'), false);
});

test('the subject tells identity providers and people apart, whatever characters they have', () => {
  const subjectOf = (idp: string, subject: string): unknown =>
    createClaims({ ...content, idp, person: { ...content.person, subject } })['sub'];
  const all = [
    ['https://a', 'b:c'],
    ['https://a:b', 'c'],
    ['https://a', 'b%3Ac'],
    ['https://a/b', 'c'],
    ['https://a', '/b:c'],
  ].map(([idp = '', subject = '']) => subjectOf(idp, subject));
  assert.equal(new Set(all).size, all.length);
});

test('the signature is ES256 in the form of JWS, and the header names type and key', () => {
  const key = createTestKey();
  const token = signToken(key, { a: 1 });
  const [header = '', payload = '', signature = ''] = token.split('.');
  assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), {
    alg: 'ES256',
    typ: 'at+jwt',
    kid: key.kid,
  });
  const bytes = Buffer.from(signature, 'base64url');
  assert.equal(bytes.length, 64);
  const options = { key: key.publicKey, dsaEncoding: 'ieee-p1363' } as const;
  assert.equal(verify('sha256', Buffer.from(`${header}.${payload}`), options, bytes), true);
});
