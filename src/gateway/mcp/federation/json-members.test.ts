import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeMembers, findValue } from './json-members.ts';

test('a value at a path', () => {
  const text = ' {"a":{"b": [1, 2]},"c":"}"}';
  const at = (...path: string[]): string | undefined => {
    const place = findValue(text, path);
    return place && text.slice(place.start, place.end);
  };
  assert.equal(at('a', 'b'), '[1, 2]');
  assert.equal(at('c'), '"}"');
  assert.equal(at('c', 'd'), undefined);
  assert.equal(at('x'), undefined);
});

test('members come, go and are replaced; what stands around them stays', () => {
  const change = { add: { x: '1', b: '"new"' }, remove: new Set(['gone']) };
  assert.equal(
    changeMembers('{ "a" : 1.0, "in": {"gone":1,"b":[ ],"kept": {"gone":2}} , "z":null}', ['in'], change),
    '{ "a" : 1.0, "in": {"x":1,"b":"new","kept":{"gone":2}} , "z":null}',
  );
});

test('objects that are missing are made, but only for members that come', () => {
  assert.equal(changeMembers('{"a":1}', ['p', 'q'], { add: { x: '1' } }), '{"p":{"q":{"x":1}},"a":1}');
  assert.equal(changeMembers('{"p":{}}', ['p', 'q'], { add: { x: '1' } }), '{"p":{"q":{"x":1}}}');
  assert.equal(changeMembers('{"a":1}', ['p'], { remove: new Set(['x']) }), '{"a":1}');
  assert.equal(changeMembers('{"p":[1]}', ['p'], { add: { x: '1' } }), '{"p":[1]}');
});
