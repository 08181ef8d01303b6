// A regular expression that RE2 refuses is widened, never narrowed: whatever it could have matched is still the rule's to answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RE2JS } from '@bufbuild/re2';
import * as fc from 'fast-check';
import { translateMatches } from './route-matches.ts';
import { effort } from '../../test/kit/effort.ts';

function widen(value: string): string {
  const { matches, problems } = translateMatches([{ path: { type: 'RegularExpression', value } }]);
  assert.equal(problems.length, 1, value);
  return matches[0]?.path?.value ?? '';
}

test('the literal beginning is kept, and nothing that a quantifier or an alternative makes optional', () => {
  assert.equal(widen('/admin/(x'), '/admin/(?s).*');
  assert.equal(widen('^/admin/(x'), '/admin/(?s).*');
  assert.equal(widen('/admin?('), '/admi(?s).*');
  assert.equal(widen('/a{2}('), '/(?s).*');
  assert.equal(widen('/a+('), '/a(?s).*');
  assert.equal(widen('a|b('), '(?s).*');
  assert.equal(widen('(?i)a('), '(?s).*');
  assert.equal(widen('/v1.0/('), '/v1(?s).*');
});

test('the wide expression is at least as long, for longer ones take precedence', () => {
  const broken = '/admin/[a-z]+/[0-9]+/(x';
  assert.ok(widen(broken).length >= broken.length && widen(broken).length < broken.length + 4);
  assert.ok(RE2JS.compile(widen(broken)).testExact('/admin/a/1/x'));
});

test('a valid expression stays as it is', () => {
  const { matches, problems } = translateMatches([{ path: { type: 'RegularExpression', value: '/v[0-9]+/.*' } }]);
  assert.deepEqual(problems, []);
  assert.equal(matches[0]?.path?.value, '/v[0-9]+/.*');
});

const piece = fc.constantFrom(
  '/',
  'a',
  'b',
  '1',
  'a?',
  'b*',
  'a+',
  '[ab]',
  '.',
  'a{2}',
  '(a|b)',
  '|',
  '-',
  '%41',
  '\\d',
  '\\.',
);
const path = fc
  .array(fc.constantFrom('/', 'a', 'b', '1', '-', '.', 'A'), { maxLength: 6 })
  .map((parts) => parts.join(''));

test('what a valid beginning matches, the widened form of its broken continuation matches too', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 5 }), path, path, (pieces, head, tail) => {
      const beginning = pieces.join('');
      // The beginning with nothing after it is one of the things that the author may have meant by the broken expression.
      const meant = RE2JS.compile(beginning);
      if (!meant.matches(head)) return;
      const widened = RE2JS.compile(widen(`${beginning}(`));
      assert.ok(widened.matches(head), `${beginning} matched ${head}`);
      assert.ok(!beginning.includes('|') ? widened.matches(head + tail) : true);
    }),
    { numRuns: effort(2_000) },
  );
});
