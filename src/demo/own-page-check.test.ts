import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findForeignChange, findForeignRead } from './own-page-check.ts';

const own = {
  host: '127.0.0.1:3000',
  origin: 'http://127.0.0.1:3000',
  'content-type': 'application/json',
  'sec-fetch-site': 'same-origin',
};

describe('requests of pages', () => {
  test("the demo's own page may change the rule, under both names", () => {
    assert.equal(findForeignChange(own, 3000), undefined);
    assert.equal(
      findForeignChange({ ...own, host: 'localhost:3000', origin: 'http://localhost:3000' }, 3000),
      undefined,
    );
    assert.equal(findForeignChange({ ...own, 'content-type': 'application/json; charset=utf-8' }, 3000), undefined);
  });

  for (const [name, change] of Object.entries({
    'another site': { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    'another site, in a browser without Sec-Fetch-Site': {
      origin: 'https://evil.example',
      'sec-fetch-site': undefined,
    },
    'another port of this machine': { origin: 'http://127.0.0.1:8080', 'sec-fetch-site': 'same-site' },
    'the other name of this machine': { origin: 'http://localhost:3000', 'sec-fetch-site': undefined },
    'a sandboxed frame': { origin: 'null', 'sec-fetch-site': undefined },
    'no origin': { origin: undefined },
    'a name that leads to loopback (DNS rebinding)': { host: 'evil.example:3000', origin: 'http://evil.example:3000' },
    'no host': { host: undefined },
    'a form': { 'content-type': 'application/x-www-form-urlencoded' },
    'a form that looks like JSON': { 'content-type': 'text/plain' },
    'no type': { 'content-type': undefined },
  })) {
    test(`refused: ${name}`, () => {
      assert.equal(typeof findForeignChange({ ...own, ...change }, 3000), 'string');
    });
  }

  test('reading needs the host, and no request of another site', () => {
    assert.equal(findForeignRead({ host: 'localhost:3000' }, 3000), undefined);
    assert.equal(findForeignRead({ host: '127.0.0.1:3000', 'sec-fetch-site': 'same-origin' }, 3000), undefined);
    assert.equal(
      findForeignRead({ host: 'evil.example:3000' }, 3000),
      'The demo is served at 127.0.0.1:3000 and localhost:3000 only.',
    );
    assert.equal(
      findForeignRead({ host: '127.0.0.1:3000', 'sec-fetch-site': 'cross-site' }, 3000),
      'The demo does not accept requests from pages of other sites.',
    );
  });
});
