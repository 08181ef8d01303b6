import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VerifiedToken } from '../../authentication/token/verified-token.ts';
import type { RequestContext } from '../../request/request-context.ts';
import { findOwner } from './speaker.ts';

function tokenOf(issuer: string, subject?: string, claims: VerifiedToken['claims'] = {}): VerifiedToken {
  return { issuer, subject, claims, scopes: undefined, expiresAtMs: 0 };
}

function owner(
  caller?: VerifiedToken,
  bound?: { readonly issuer: string; readonly subject: string },
): string | undefined {
  return findOwner({ caller, mcp: bound && { session: bound } } as unknown as RequestContext);
}

test('callers are told apart by issuer and subject, or by the client where there is no subject', () => {
  const owners = [
    owner(tokenOf('https://a', 'alice')),
    owner(tokenOf('https://a', 'bob')),
    owner(tokenOf('https://b', 'alice')),
    owner(tokenOf('https://a', undefined, { client_id: 'alice' })),
    owner(tokenOf('https://a', undefined, { azp: 'bob' })),
  ];
  assert.equal(new Set(owners).size, owners.length);
  assert.equal(owners.includes(undefined), false);
  assert.equal(owner(tokenOf('https://a', 'alice', { client_id: 'c' })), owners[0]);
  assert.equal(owner(tokenOf('https://a')), undefined);
  assert.equal(owner(), undefined);
});

test('one token is one caller, whichever identity its session is bound to', () => {
  const token = tokenOf('https://a', 'alice');
  const bound = { issuer: 'https://idp', subject: 'alice' };
  const plain = owner(token);
  assert.equal(owner(token), plain);
  assert.equal(owner(token, bound), owner(undefined, bound));
  assert.notEqual(owner(token, bound), plain);
  assert.notEqual(owner(token, { ...bound, subject: 'bob' }), owner(token, bound));
  assert.equal(owner(token), plain);
});

test('who has the identity of nobody is no one caller: sessions at servers are not shared by strangers', () => {
  const nobody = { issuer: '', subject: '' };
  assert.equal(owner(undefined, nobody), undefined);
  assert.equal(owner(tokenOf('https://a'), nobody), undefined);
});
