import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { filterLists, mayHoldItems } from './filter-list.ts';
import { mayHoldUpdate } from './resource-update.ts';

const asked: string[] = [];
const judge = (kind: string, name: string): boolean => {
  asked.push(`${kind} ${name}`);
  return kind === 'resource' && name === 'file:///open';
};
const filter = (text: string): unknown => filterLists(text, { judge, listRequests: undefined });
const toLatin1 = (text: string): string => Buffer.from(text).toString('latin1');

const method = '"method":"notifications/resources/updated"';
const open = `{"jsonrpc":"2.0",${method},"params":{"uri":"file:///open"}}`;
const hidden = open.replace('open', 'hidden');

describe('a notice about a resource', () => {
  test('passes when its resource may be read', () => {
    asked.length = 0;
    assert.deepEqual(filter(open), { kind: 'unchanged' });
    assert.deepEqual(asked, ['resource file:///open']);
  });

  test('is left out when not', () => {
    assert.deepEqual(filter(hidden), { kind: 'changed', text: '', problem: undefined });
    assert.deepEqual(filter(`[${hidden},${open}]`), { kind: 'changed', text: `[${open}]`, problem: undefined });
  });

  for (const [title, text] of [
    ['no params', `{${method}}`],
    ['params that are a list', `{${method},"params":["file:///open"]}`],
    ['no uri', `{${method},"params":{}}`],
    ['a uri that is no text', `{${method},"params":{"uri":["file:///open"]}}`],
    ['two uris', `{${method},"params":{"uri":"file:///hidden","uri":"file:///open"}}`],
    ['a uri in another case', `{${method},"params":{"URI":"file:///open"}}`],
    ['two params', `{${method},"params":{"uri":"file:///open"},"params":{"uri":"file:///hidden"}}`],
    ['params in another case', `{${method},"Params":{"uri":"file:///open"}}`],
    ['two methods', `{"method":"ping",${method},"params":{"uri":"file:///open"}}`],
    ['a method in another case', `{"Method":"notifications/resources/updated","params":{"uri":"file:///open"}}`],
  ] as const)
    test(`is left out, with a note, when it has ${title}`, () => {
      const filtered = filter(text) as { kind: string; text: string; problem: string };
      assert.deepEqual([filtered.kind, filtered.text], ['changed', '']);
      assert.match(filtered.problem, /can be read in two ways, or names none/);
    });

  test("other messages with a uri are nobody's business", () => {
    asked.length = 0;
    for (const other of [
      '{"method":"notifications/resources/list_changed","params":{"uri":"file:///hidden"}}',
      '{"method":"notifications/message","params":{"data":"notifications/resources/updated","uri":"file:///hidden"}}',
      '{"id":1,"result":{"method":"notifications/resources/updated","uri":"file:///hidden"}}',
    ])
      assert.deepEqual(filter(other), { kind: 'unchanged' }, other);
    assert.deepEqual(asked, []);
  });

  test('property: it is found and left out however its letters are written', () => {
    const write = (text: string): fc.Arbitrary<string> =>
      fc.tuple(...Array.from(text, (letter) => fc.tuple(fc.constant(letter), fc.nat(9)))).map((letters) =>
        letters
          .map(([letter, way]) => {
            const code = letter.charCodeAt(0).toString(16).padStart(4, '0');
            if (way === 0) return `\\u${code}`;
            if (way === 1) return `\\u${code.toUpperCase()}`;
            return letter === '/' && way < 6 ? '\\/' : letter;
          })
          .join(''),
      );
    fc.assert(
      fc.property(
        write('method'),
        write('notifications/resources/updated'),
        write('params'),
        write('uri'),
        write('file:///hidden'),
        (...[key, name, params, uri, value]) => {
          const text = `{"${key}":"${name}","${params}":{"${uri}":"${value}"}}`;
          assert.ok(mayHoldItems(toLatin1(text)), text);
          assert.deepEqual(filter(text), { kind: 'changed', text: '', problem: undefined }, text);
        },
      ),
    );
  });

  test('spellings that only a lenient reader takes for it are found as well', () => {
    for (const name of [
      'Notifications/Resources/Updated',
      'notifications/re\u017fource\u017f/updated',
      'notifications\\/resources\\/updated',
    ]) {
      const text = `{"method":"${name}","params":{"uri":"file:///hidden"}}`;
      assert.ok(mayHoldUpdate(toLatin1(text)), name);
      assert.deepEqual(filter(text), { kind: 'changed', text: '', problem: undefined }, name);
    }
    assert.equal(mayHoldUpdate('{"method":"notifications/progress","params":{}}'), false);
  });
});
