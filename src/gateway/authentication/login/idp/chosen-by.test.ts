import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findChoice } from './chosen-by.ts';

const policy = (issuer: string, metadataUrl = '', endpoint = '') =>
  ({ issuer, metadataUrl, registration: { endpoint } }) as Parameters<typeof findChoice>[1];

test('hosts that the operator named are the operator’s choice', () => {
  assert.equal(findChoice('https://idp.example/token', policy('https://idp.example/realms/a')), 'operator');
  assert.equal(findChoice('https://idp.example:8443/token', policy('https://idp.example')), 'operator');
  assert.equal(
    findChoice('https://meta.example/x', policy('https://idp.example', 'https://meta.example/y')),
    'operator',
  );
  assert.equal(
    findChoice('http://127.0.0.1:1/r', policy('https://idp.example', '', 'http://127.0.0.1:1/r')),
    'operator',
  );
});

test('endpoints of the policy are the operator’s choice', () => {
  const endpoints = {
    authorization: 'https://a.example/',
    token: 'https://t.example/',
    userinfo: 'http://127.0.0.1:1/u',
  };
  const named = { ...policy('https://idp.example'), endpoints } as Parameters<typeof findChoice>[1];
  for (const url of Object.values(endpoints)) assert.equal(findChoice(url, named), 'operator', url);
});

test('others are the provider’s, wherever they are', () => {
  for (const url of [
    'http://127.0.0.1:15000/config',
    'http://localhost/x',
    'https://other.example/token',
    'http://[::1]/',
    'https://sub.idp.example/',
  ])
    assert.equal(findChoice(url, policy('https://idp.example')), 'provider', url);
});

test('an identity provider on this machine may have its endpoints there', () => {
  for (const issuer of ['http://127.0.0.1:9000', 'http://localhost:9000/a', 'http://[::1]:1'])
    assert.equal(findChoice('http://127.0.0.1:9001/token', policy(issuer)), 'operator', issuer);
});
