import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { readString, replaceParts, skipSpace, walkValue, walkElements, walkMembers } from './json-text.ts';
import { anyText } from '../../test/kit/any-text.ts';

/** The members of the object in a text: key, and text of the value. Every second one is passed over without saying where it ends. */
function readMembers(text: string, start: number): [key: string, value: string][] {
  const members: [string, string][] = [];
  const end = walkMembers(text, start, (key, at) => {
    const valueEnd = walkValue(text, at);
    members.push([key, text.slice(at, valueEnd)]);
    return members.length % 2 === 0 ? undefined : valueEnd;
  });
  assert.equal(end, start + text.slice(start).trimEnd().length);
  return members;
}

function readElements(text: string, start: number): string[] {
  const elements: string[] = [];
  const end = walkElements(text, start, (at) => {
    const valueEnd = walkValue(text, at);
    elements.push(text.slice(at, valueEnd));
    return elements.length % 2 === 0 ? undefined : valueEnd;
  });
  assert.equal(end, start + text.slice(start).trimEnd().length);
  return elements;
}

/** A JSON text of the value with white space wherever it is allowed. */
function write(value: unknown, space: () => string): string {
  if (Array.isArray(value)) {
    const elements = value.map((element) => space() + write(element, space) + space());
    return `[${elements.join(',') || space()}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(
      ([key, member]) => `${space()}${JSON.stringify(key)}${space()}:${space()}${write(member, space)}${space()}`,
    );
    return `{${members.join(',') || space()}}`;
  }
  return JSON.stringify(value);
}

function* cycle(spaces: readonly string[]): Generator<string, never> {
  for (let i = 0; ; i += 1) yield spaces[i % spaces.length]!;
}

const anySpace = fc.array(fc.constantFrom('', ' ', '\n', '\t\r\n'), { minLength: 1, maxLength: 7 });

function spread(value: unknown, spaces: readonly string[]): string {
  const source = cycle(spaces);
  return write(value, () => source.next().value);
}

describe('spans of a JSON text', () => {
  test('property: the members of an object, with their values', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), anySpace, (value, spaces) => {
        const text = spread(value, spaces);
        const members = readMembers(text, skipSpace(text, 0));
        assert.deepEqual(
          members.map(([key, member]) => [key, JSON.parse(member) as unknown]),
          Object.entries(JSON.parse(text) as object),
        );
      }),
    );
  });

  test('property: the elements of an array', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), anySpace, (value, spaces) => {
        const text = ` ${spread(value, spaces)}`;
        const elements = readElements(text, skipSpace(text, 0));
        assert.deepEqual(
          elements.map((element) => JSON.parse(element) as unknown),
          JSON.parse(text),
        );
      }),
    );
  });

  test('keys that come twice, escaped keys, strings full of quotes and brackets, long numbers', () => {
    const number = `0.${'1'.repeat(100)}`;
    const text = String.raw`{"a":1,"a":"]}\"{[\\","\u0061":{"a":[{}]},"b":${number} ,"":-1e5}`;
    assert.deepEqual(readMembers(text, 0), [
      ['a', '1'],
      ['a', String.raw`"]}\"{[\\"`],
      ['a', '{"a":[{}]}'],
      ['b', number],
      ['', '-1e5'],
    ]);
  });

  test('property: a string is what JSON.parse says', () => {
    fc.assert(
      fc.property(anyText(), (value) => {
        const text = JSON.stringify(value);
        assert.equal(readString(text, 0, walkValue(text, 0)), value);
      }),
    );
  });

  test('parts are replaced in place', () => {
    const parts = [
      { start: 0, end: 1, text: 'A' },
      { start: 2, end: 2, text: '-' },
      { start: 4, end: 6, text: '' },
    ];
    assert.equal(replaceParts('abcdef', parts), 'Ab-cd');
    assert.equal(replaceParts('abc', []), 'abc');
  });

  test('property: of any text the walk comes to an end', () => {
    const piece = fc.constantFrom('{', '}', '[', ']', ':', ',', '"', '\\', ' ', '1', '"a"', '\\"', '"a":');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 15 }), (pieces) => {
        const text = pieces.join('');
        for (let start = 0; start < text.length; start += 1) {
          const end = walkValue(text, start);
          assert.ok(end >= start && end <= text.length);
          walkElements(text, start, () => undefined);
          try {
            walkMembers(text, start, () => undefined);
          } catch (error) {
            // A key with an escape that does not exist.
            assert.ok(error instanceof SyntaxError);
          }
        }
      }),
    );
  });
});
