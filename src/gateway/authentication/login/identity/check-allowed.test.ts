import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { IdentityAllowSchema } from '../../../../ir/gen/config_pb.ts';
import type { PersonIdentity } from '../../../config/token-issuer.ts';
import { checkAllowed } from './check-allowed.ts';

const ada: PersonIdentity = {
  subject: 'Ada-1',
  claims: {},
  email: 'ada@example.com',
  organizations: ['Acme', 'group/sub'],
};

function isAllowed(
  allow: MessageInitShape<typeof IdentityAllowSchema>,
  changes: Partial<PersonIdentity> = {},
): boolean {
  return checkAllowed({ ...ada, ...changes }, create(IdentityAllowSchema, allow));
}

test('without lists everybody gets in, with empty ones nobody', () => {
  assert.equal(checkAllowed(ada, undefined), true);
  assert.equal(isAllowed({}), false);
});

test('any list suffices', () => {
  assert.equal(isAllowed({ subjects: ['x', 'Ada-1'] }), true);
  assert.equal(isAllowed({ domains: ['other.example'], organizations: ['acme'] }), true);
  assert.equal(isAllowed({ emails: ['ada@example.com'], subjects: ['x'] }), true);
});

test('domains are exact', () => {
  assert.equal(isAllowed({ domains: ['example.com'] }), true);
  assert.equal(isAllowed({ domains: ['Example.COM'] }), true);
  assert.equal(isAllowed({ domains: ['com', 'xample.com', 'a.example.com', 'example.com.', ''] }), false);
  assert.equal(isAllowed({ domains: ['example.com'] }, { email: 'ada@eng.example.com' }), false);
  assert.equal(isAllowed({ domains: ['example.com'] }, { email: 'ada@notexample.com' }), false);
});

test('without an email that the identity provider vouches for, domains and emails let nobody in', () => {
  assert.equal(isAllowed({ domains: ['example.com'], emails: ['ada@example.com'] }, { email: undefined }), false);
});

test('organizations in any case, whole names', () => {
  assert.equal(isAllowed({ organizations: ['ACME'] }), true);
  assert.equal(isAllowed({ organizations: ['Group/Sub'] }), true);
  assert.equal(isAllowed({ organizations: ['group', 'sub', 'acm', 'acme '] }), false);
});

test('subjects exactly', () => {
  assert.equal(isAllowed({ subjects: ['ada-1', 'Ada-1 ', 'Ada'] }), false);
});

test('only ASCII letters have a case: the Kelvin sign is no k', () => {
  assert.equal(isAllowed({ domains: ['kim.example'] }, { email: 'a@\u212aim.example' }), false);
  assert.equal(isAllowed({ organizations: ['kim'] }, { organizations: ['\u212aim'] }), false);
});
