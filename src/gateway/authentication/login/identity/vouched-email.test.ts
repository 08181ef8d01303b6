import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standardPreset } from '../../../config/provider-preset.ts';
import { entra } from '../idp/entra.ts';
import { google } from '../idp/google.ts';
import { findVouchedEmail, judgeEmail } from './vouched-email.ts';

const verified = { email: 'Ada@Example.com', email_verified: true };

test('a verified address, in lower case', () => {
  assert.equal(findVouchedEmail(standardPreset, [verified]), 'ada@example.com');
  assert.equal(findVouchedEmail(standardPreset, [{ ...verified, email_verified: 'true' }]), 'ada@example.com');
});

test('any other statement does not vouch', () => {
  for (const statement of [false, 'false', null, undefined, 1, 'yes', {}, [true]])
    assert.equal(findVouchedEmail(standardPreset, [{ ...verified, email_verified: statement }]), undefined);
  assert.equal(findVouchedEmail(standardPreset, []), undefined);
});

test('each document speaks for its own address only', () => {
  const bare = { email: 'ada@example.com' };
  assert.equal(findVouchedEmail(standardPreset, [bare, { email_verified: true }]), undefined);
  assert.equal(findVouchedEmail(standardPreset, [{ email_verified: true }, bare]), undefined);
  assert.equal(
    findVouchedEmail(standardPreset, [bare, { email: 'b@example.com', email_verified: true }]),
    'b@example.com',
  );
});

test('an explicit no of the first document is not overruled', () => {
  assert.equal(findVouchedEmail(standardPreset, [{ ...verified, email_verified: false }, verified]), undefined);
  assert.equal(judgeEmail(standardPreset, { ...verified, email_verified: false }).kind, 'denied');
  assert.equal(judgeEmail(standardPreset, { email: 'ada@example.com' }).kind, 'unknown');
});

test('what two readers could understand differently is no address', () => {
  const odd = [
    'ada',
    '@example.com',
    'ada@',
    'a@b@example.com',
    '"ada@evil.example"@example.com',
    'ada <x@example.com>',
    'ada@example.com, b@evil.example',
    'ada@example.com\n',
    'ada\u0000@example.com',
    'ada@exam\u200bple.com',
    'ada(x)@example.com',
    '',
    `${'a'.repeat(250)}@example.com`,
    ['ada@example.com'],
    7,
  ];
  for (const email of odd)
    assert.equal(findVouchedEmail(standardPreset, [{ email, email_verified: true }]), undefined, String(email));
  assert.equal(
    findVouchedEmail(standardPreset, [{ email: "o'neil+x@example.com", email_verified: true }]),
    "o'neil+x@example.com",
  );
});

test('only ASCII is put into lower case: otherwise two addresses would become one', () => {
  assert.equal(
    findVouchedEmail(standardPreset, [{ email: '\u212aim@example.com', email_verified: true }]),
    '\u212aim@example.com',
  );
});

test('Google vouches for its own addresses and those of a Workspace', () => {
  const find = (document: object) => findVouchedEmail(google, [{ email_verified: true, ...document }]);
  assert.equal(find({ email: 'ada@gmail.com' }), 'ada@gmail.com');
  assert.equal(find({ email: 'ada@GoogleMail.com' }), 'ada@googlemail.com');
  assert.equal(find({ email: 'ada@example.com', hd: 'example.com' }), 'ada@example.com');
  assert.equal(find({ email: 'ada@example.com' }), undefined, 'an account with an address of somebody else');
  assert.equal(find({ email: 'ada@example.com', hd: '' }), undefined);
  assert.equal(find({ email: 'ada@gmail.com.evil.example' }), undefined);
  assert.equal(find({ email: 'ada@notgmail.com' }), undefined);
  assert.equal(find({ email: 'ada@gmail.com', email_verified: false }), undefined);
  assert.equal(find({ email: 'ada@example.com', hd: 'example.com', email_verified: false }), undefined);
});

test('Entra vouches where the owner of the domain is verified', () => {
  const find = (document: object) => findVouchedEmail(entra, [{ email: 'ada@example.com', ...document }]);
  for (const statement of [true, 'true', 1, '1']) assert.equal(find({ xms_edov: statement }), 'ada@example.com');
  for (const statement of [false, 'false', 0, '0', null, undefined])
    assert.equal(find({ xms_edov: statement }), undefined);
  assert.equal(find({ email_verified: true }), undefined);
});
