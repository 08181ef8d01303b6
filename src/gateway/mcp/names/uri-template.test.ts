import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { effort } from '../../../../test/kit/effort.ts';
import { compileUriTemplate } from './uri-template.ts';

for (const [template, yes, no] of [
  [
    'file:///{path}',
    ['file:///a', 'file:///', 'file:///a%2Fb?c#d'],
    ['file:///a/b', 'file://x/a', 'File:///a', 'file'],
  ],
  ['file:///{+path}', ['file:///a/b', 'file:///'], ['http:///a']],
  ['a:{x}/b{y}', ['a:1/b2', 'a:/b', 'a:b/bb'], ['a:1/2', 'a:1/b2/b3', 'a:/b/b']],
  ['a:{+x}/b{y}', ['a:1/b/b1', 'a:/b/b'], ['a:1/b/c']],
  ['a:b{/x}', ['a:b', 'a:b/c'], ['a:bc', 'a:b/c/d']],
  ['a:b{/x*}', ['a:b/c/d'], ['a:bc']],
  ['a:b{/x,y}', ['a:b/c/d'], []],
  ['a:b{.x}', ['a:b', 'a:b.c', 'a:b.c.d'], ['a:bc', 'a:b.c/d']],
  ['a:b{;x}c', ['a:b;x=1c', 'a:bc'], ['a:bx=1c']],
  ['a:b{?x,y}', ['a:b', 'a:b?x=1&y=/2'], ['a:b&x=1', 'a:bx']],
  ['a:b?c=1{&x}', ['a:b?c=1', 'a:b?c=1&x=2'], ['a:b?c=1x']],
  ['a:b{#x}', ['a:b', 'a:b#c/d'], ['a:bc']],
  ['a:{x}{y}z', ['a:z', 'a:zzz', 'a:qz'], ['a:', 'a:z/']],
] as const)
  test(`${template} matches ${yes.join(' ')}, and not ${no.join(' ')}`, () => {
    const matches = compileUriTemplate(template)!;
    for (const uri of yes) assert.equal(matches(uri), true, uri);
    for (const uri of no) assert.equal(matches(uri), false, uri);
  });

for (const template of [
  'file:///a',
  '{+anything}',
  '{scheme}:x',
  'a/{b}',
  'a:{',
  'a:}',
  'a:{}',
  'a:{x',
  'a:{x{y}}',
  'a:{=x}',
  'a:{|x}',
  `a:${'{x}/'.repeat(17)}`,
  `a:{x}${'y'.repeat(512)}`,
])
  test(`${template.slice(0, 30)} matches nothing`, () => assert.equal(compileUriTemplate(template), undefined));

test('a long URI matches nothing', () => {
  const matches = compileUriTemplate('a:{+x}')!;
  assert.equal(matches(`a:${'x'.repeat(2_046)}`), true);
  assert.equal(matches(`a:${'x'.repeat(2_047)}`), false);
});

test('the worst template comes to an end', () => {
  const matches = compileUriTemplate(`a:${'{+x}aaaaaaaaaaaaaaaaaaaaaaaaa'.repeat(15)}b`)!;
  const uri = `a:${'a'.repeat(2_046)}`;
  // Backtracking would not come to an end.
  for (let i = 0; i < 100; i += 1) assert.equal(matches(uri), false);
});

test('what a template expands to matches it', () => {
  const value = fc.stringMatching(/^[A-Za-z0-9._~-]{0,6}$/);
  const text = fc.stringMatching(/^[a-z/:?=-]{0,5}$/);
  const forms = [
    (name: string, word: string) => [`{${name}}`, word],
    (name: string, word: string) => [`{+${name}}`, `${word}/${word}`],
    (name: string, word: string) => [`{#${name}}`, `#${word}`],
    (name: string, word: string) => [`{.${name}}`, `.${word}`],
    (name: string, word: string) => [`{/${name}}`, `/${word}`],
    (name: string, word: string) => [`{;${name}}`, `;${name}=${word}`],
    (name: string, word: string) => [`{?${name}}`, `?${name}=${word}`],
    (name: string, word: string) => [`{&${name}}`, `&${name}=${word}`],
  ] as const;
  fc.assert(
    fc.property(fc.array(fc.tuple(text, fc.constantFrom(...forms), value), { minLength: 1, maxLength: 8 }), (parts) => {
      const expanded = parts.map(([before, form, word]) => {
        const [template, uri] = form('v', word);
        return [before + template, before + uri];
      });
      const matches = compileUriTemplate(`x:${expanded.map(([template]) => template).join('')}`);
      assert.equal(matches?.(`x:${expanded.map(([, uri]) => uri).join('')}`), true);
    }),
    { numRuns: effort(5_000, 500) },
  );
});
