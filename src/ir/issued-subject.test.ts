import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readIssuedSubject } from './issued-subject.ts';

test('a sub of a gateway is taken apart', () => {
  assert.deepEqual(readIssuedSubject('person:https%3A%2F%2Fgithub.com:583231'), {
    kind: 'person',
    idp: 'https://github.com',
    subject: '583231',
  });
  assert.deepEqual(readIssuedSubject(`person:${encodeURIComponent('https://idp.example/t:1')}:a%3Ab%20c`), {
    kind: 'person',
    idp: 'https://idp.example/t:1',
    subject: 'a:b c',
  });
});

for (const sub of [
  '',
  'alice',
  'person:a',
  'person:a:b:c',
  'person::b',
  'person:a:',
  'human:a:b',
  'person:%zz:b',
  'person:https%3a//x:b',
])
  test(`no gateway issues ${JSON.stringify(sub)}`, () => assert.equal(readIssuedSubject(sub), undefined));
