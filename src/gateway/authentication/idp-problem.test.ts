import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainIdpProblem } from './idp-problem.ts';

const cases: readonly [detail: string | undefined, said: RegExp | undefined][] = [
  [undefined, undefined],
  ['keys were never loaded', undefined],
  [
    'no metadata of https://a/ (https://a/x: the document names the issuer "https://a" and not "https://a/"; https://a/y: answers 404)',
    /another issuer.*a trailing slash matters/,
  ],
  ['no metadata of https://a (https://a/x: the document has no token_endpoint)', /metadata that cannot be used/],
  ['no metadata of https://a (https://a/x: answers 404; https://a/y: answers 404)', /no metadata where the issuer/],
  ['no metadata of https://a (https://a/x did not answer within 5 s; https://a/y: answers 404)', /in time/],
  ['no metadata of https://a (https://a/x cannot be reached: ECONNREFUSED; https://a/y: answers 404)', undefined],
  ['no metadata of https://a (https://a/x: answers 502)', undefined],
];

for (const [detail, said] of cases) {
  test(`in public: ${detail}`, () => {
    const found = explainIdpProblem(detail);
    if (said === undefined) assert.equal(found, undefined);
    else assert.match(found ?? '', said);
    // Addresses are the operator's.
    assert.doesNotMatch(found ?? '', /https?:/);
  });
}
