import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkLocalRequest } from './local-request.ts';

function check(headers: Record<string, string>, method = 'GET', localAddress = '127.0.0.1'): string | undefined {
  return checkLocalRequest({ method, headers, socket: { localAddress } })?.reason;
}

describe('Host', () => {
  for (const host of [
    'localhost',
    'LOCALHOST:15000',
    '127.0.0.1:15000',
    '127.1.2.3',
    '[::1]:15000',
    'admin.localhost',
  ]) {
    test(`${host} may`, () => assert.equal(check({ host }), undefined));
  }
  for (const host of [
    '',
    'evil.example',
    'evil.example:15000',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '[::2]',
    'a@localhost',
    'localhost:x',
  ]) {
    test(`${host || 'nothing'} may not`, () => assert.equal(check({ host }), 'host_not_allowed'));
  }
  test('the very address of the socket may', () => {
    assert.equal(check({ host: '10.0.0.1:15000' }, 'GET', '10.0.0.1'), undefined);
    assert.equal(check({ host: '10.0.0.1:15000' }, 'GET', '::ffff:10.0.0.1'), undefined);
  });
});

describe('Origin', () => {
  const host = 'localhost:15000';
  test('of the page itself may', () =>
    assert.equal(check({ host, origin: 'http://localhost:15000' }, 'POST'), undefined));
  for (const origin of [
    'https://evil.example',
    'null',
    'http://localhost:3000',
    'http://localhost',
    'https://localhost:15000',
    'http://127.0.0.1:15000',
  ]) {
    test(`${origin} may not`, () => assert.equal(check({ host, origin }), 'origin_not_allowed'));
  }
});

describe('fetch metadata', () => {
  const host = 'localhost:15000';
  test('another site may not fetch', () => {
    assert.equal(check({ host, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }), 'origin_not_allowed');
    assert.equal(check({ host, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }), 'origin_not_allowed');
  });
  test('a link may lead here, a frame or a form may not', () => {
    const link = { host, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    assert.equal(check({ ...link, 'sec-fetch-dest': 'document' }), undefined);
    assert.equal(check({ ...link, 'sec-fetch-dest': 'iframe' }), 'origin_not_allowed');
    assert.equal(check({ ...link, 'sec-fetch-dest': 'document' }, 'POST'), 'origin_not_allowed');
  });
  test('the page itself may', () => {
    assert.equal(check({ host, 'sec-fetch-site': 'same-origin' }, 'PUT'), undefined);
    assert.equal(check({ host, 'sec-fetch-site': 'none' }), undefined);
  });
});
