// The intersection of host names against the words of Gateway API: a host is served when both the listener and the route match it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { intersectHostname, intersectHostnames } from './hostnames.ts';

test('the examples of the specification', () => {
  assert.equal(intersectHostname('test.example.com', '*.example.com'), 'test.example.com');
  assert.equal(intersectHostname('*.example.com', 'foo.test.example.com'), 'foo.test.example.com');
  assert.equal(intersectHostname('*.example.com', 'example.com'), undefined);
  assert.equal(intersectHostname('*.example.com', 'test.example.net'), undefined);
  assert.equal(intersectHostname('*.example.com', '*.test.example.com'), '*.test.example.com');
  assert.equal(intersectHostname('*.example.com', '*.notexample.com'), undefined);
});

test('no hostname means any, on either side', () => {
  assert.deepEqual(intersectHostnames(undefined, []), []);
  assert.deepEqual(intersectHostnames('a.example.com', []), ['a.example.com']);
  assert.deepEqual(intersectHostnames('', ['b', 'a', 'b']), ['b', 'a']);
  assert.equal(intersectHostnames('a.example.com', ['b.example.com']), undefined);
});

const label = fc.constantFrom('a', 'b', 'ab');
const precise = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
const pattern = fc.oneof(
  precise,
  precise.map((host) => `*.${host}`),
);

function matches(host: string, rule: string): boolean {
  return rule.startsWith('*.') ? host.length > rule.length - 1 && host.endsWith(rule.slice(1)) : host === rule;
}

test('a host is in the intersection when it matches both, and only then', () => {
  fc.assert(
    fc.property(pattern, pattern, precise, (left, right, host) => {
      const both = intersectHostname(left, right);
      assert.equal(both, intersectHostname(right, left));
      assert.equal(both !== undefined && matches(host, both), matches(host, left) && matches(host, right));
    }),
  );
});
