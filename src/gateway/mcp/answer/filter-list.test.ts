import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { ListMethod } from '../read/list-methods.ts';
import type { ItemKind } from '../read/read-item.ts';
import { filterLists, findOnlyId, formatUnreadable, type ListExpectation, mayHoldItems } from './filter-list.ts';

/** Everything but what has `hidden` in its name. */
const judge = (_kind: ItemKind, name: string): boolean => !name.includes('hidden');

function expecting(requests?: Readonly<Record<string, ListMethod>>): ListExpectation {
  return { judge, listRequests: requests === undefined ? undefined : new Map(Object.entries(requests)) };
}

const anyStream = expecting();

/** What the client gets; `=` for a text that stays as it is. */
function filter(text: string, expectation = anyStream): string {
  const filtered = filterLists(text, expectation);
  if (filtered.kind === 'unchanged') return '=';
  return filtered.kind === 'changed' ? filtered.text : `unreadable: ${filtered.problem}`;
}

const answer = (result: string, id = '1'): string => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;

describe('the lists of a message', () => {
  const lists: [title: string, result: string, expected: string][] = [
    ['tools', '{"tools":[{"name":"a"},{"name":"hidden"},{"name":"b"}]}', '{"tools":[{"name":"a"},{"name":"b"}]}'],
    ['prompts', '{"prompts":[{"name":"hidden"},{"name":"b"}]}', '{"prompts":[{"name":"b"}]}'],
    [
      'resources by their uri, not by their name',
      '{"resources":[{"uri":"x://hidden","name":"a"},{"uri":"x://a","name":"hidden"}]}',
      '{"resources":[{"uri":"x://a","name":"hidden"}]}',
    ],
    [
      'templates by their uriTemplate',
      '{"resourceTemplates":[{"uriTemplate":"x://hidden/{id}","name":"a"},{"uriTemplate":"x://{id}"}]}',
      '{"resourceTemplates":[{"uriTemplate":"x://{id}"}]}',
    ],
    ['nothing is left', '{"tools":[{"name":"hidden"}]}', '{"tools":[]}'],
    [
      'everything else stays as it was written',
      '{ "nextCursor" : "x", "tools": [ {"name":"a", "n": 1.0, "big": 12345678901234567890} , {"name":"hidden"} ],\n"_meta":{"tools":[{"name":"hidden"}]}, "ttlMs": 5e3 }',
      '{ "nextCursor" : "x", "tools": [{"name":"a", "n": 1.0, "big": 12345678901234567890}],\n"_meta":{"tools":[{"name":"hidden"}]}, "ttlMs": 5e3 }',
    ],
    [
      'several lists in one result',
      '{"tools":[{"name":"hidden"}],"prompts":[{"name":"a"}],"resources":[{"uri":"hidden:"}]}',
      '{"tools":[],"prompts":[{"name":"a"}],"resources":[]}',
    ],
    [
      'entries that have no name of their own',
      '{"tools":[{},{"name":7},{"name":null},"a",null,[],["name"],{"Name":"a"},{"name":"a","NAME":"a"},{"name":"a","name":"a"},{"title":"a"},{"name":"ok"}]}',
      '{"tools":[{"name":"ok"}]}',
    ],
    [
      'a key twice where nobody judges',
      '{"tools":[{"name":"a","inputSchema":{"type":1,"type":2}},{"name":"hidden"}]}',
      '{"tools":[{"name":"a","inputSchema":{"type":1,"type":2}}]}',
    ],
    [
      'names in escapes',
      String.raw`{"tools":[{"name":"\u0068idden"},{"\u006eame":"b"}]}`,
      String.raw`{"tools":[{"\u006eame":"b"}]}`,
    ],
    ['lists whose key is escaped', String.raw`{"t\u006fols":[{"name":"hidden"}]}`, String.raw`{"t\u006fols":[]}`],
    [
      'what one caller sees is not for all',
      '{"tools":[{"name":"a"}],"ttlMs":1,"cacheScope":"public"}',
      '{"tools":[{"name":"a"}],"ttlMs":1,"cacheScope":"private"}',
    ],
    ['in whatever order', '{"cacheScope":"public","tools":[{"name":"hidden"}]}', '{"cacheScope":"private","tools":[]}'],
  ];
  for (const [title, result, expected] of lists) {
    test(title, () => {
      assert.equal(filter(answer(result)), answer(expected));
      assert.equal(filter(answer(result), expecting({})), answer(expected), 'also when nobody asked for a list');
      assert.equal(filter(` [${answer(result)} , ${answer('{}', '2')}]`), `[${answer(expected)},${answer('{}', '2')}]`);
    });
  }

  const others: [title: string, text: string][] = [
    ['a list of which all is shown', answer('{"tools":[{"name":"a"}],"cacheScope":"private"}')],
    ['an empty list', answer('{"tools":[]}')],
    [
      'a request of the server with tools',
      '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"tools":[{"name":"hidden"}]}}',
    ],
    [
      'the same with a key twice',
      '{"jsonrpc":"2.0","id":1,"id":2,"method":"x","params":{"tools":[{"name":"hidden"}]}}',
    ],
    ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x","data":{"tools":[{"name":"hidden"}]}}}'],
    ['capabilities', answer('{"capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{}}}')],
    ['structured content', answer('{"content":[],"structuredContent":{"tools":[{"name":"hidden"}]}}')],
    ['tools that are no list', answer('{"tools":{"listChanged":true},"Prompts":3}')],
    ['a result that is no object', answer('[{"tools":[{"name":"hidden"}]}]')],
    ['a public result that is no list', answer('{"contents":[],"cacheScope":"public"}')],
    ['no message', '"tools"'],
    ['an array of anything', '[1,"tools",null,[]]'],
    ['an empty array', '[]'],
  ];
  for (const [title, text] of others) test(`untouched: ${title}`, () => assert.equal(filter(text), '='));

  test('a list of which all is shown stays even if it was asked for', () => {
    assert.equal(filter(answer('{"tools":[{"name":"a"}]}'), expecting({ '1': 'tools/list' })), '=');
    assert.equal(filter(answer('{}'), expecting({ '1': 'tools/list' })), '=');
  });
});

describe('what can be read in two ways', () => {
  const hidden = '"tools":[{"name":"hidden"}]';
  const bad: [title: string, text: string][] = [
    ['two lists', answer(`{${hidden},"tools":[]}`)],
    ['a list after something else of that name', answer(`{"tools":[{"name":"a"}],"tools":{}}`)],
    ['another case', answer(`{"Tools":[{"name":"hidden"}]}`)],
    ['another s', answer('{"tool\u017f":[{"name":"hidden"}]}')],
    ['beside the real one', answer(`{"tools":[],"TOOLS":[{"name":"hidden"}]}`)],
    ['two results', `{"jsonrpc":"2.0","id":1,"result":{},"result":{${hidden}}}`],
    ['a result in another case', `{"jsonrpc":"2.0","id":1,"RESULT":{${hidden}}}`],
  ];
  for (const [title, text] of bad) {
    test(`${title}: an error stands in its place`, () => {
      const filtered = filterLists(text, anyStream);
      assert.equal(filtered.kind, 'changed');
      assert.equal(filtered.kind === 'changed' && filtered.text, formatUnreadable('1'));
      assert.match((filtered.kind === 'changed' && filtered.problem) || '', /^the upstream sent .* in two ways$/);
      assert.equal(filter(`[${text},${answer('{}')}]`), `[${formatUnreadable('1')},${answer('{}')}]`);
    });
  }

  const nameless: [title: string, text: string][] = [
    ['two ids', `{"id":1,"id":2,"result":{${hidden}}}`],
    ['an id in another case', `{"id":1,"ID":2,"result":{${hidden}}}`],
    ['no id', `{"result":{${hidden}}}`],
    ['an id of null', `{"id":null,"result":{${hidden}}}`],
    ['an id that is an object', `{"id":{},"result":{${hidden}}}`],
    ['a request and an answer at once', `{"id":1,"method":"x","result":{${hidden}}}`],
  ];
  for (const [title, text] of nameless) {
    test(`${title}: it is left out, or answers the one list that was asked for`, () => {
      assert.equal(filter(text), '');
      assert.equal(filter(`[${text},${answer('{}')}]`), `[${answer('{}')}]`);
      assert.equal(filter(text, expecting({ '"a"': 'tools/list' })), formatUnreadable('"a"'));
      assert.equal(filter(text, expecting({ '1': 'tools/list', '2': 'prompts/list' })), '');
    });
  }

  test('a list that was asked for has the form of one', () => {
    for (const tools of ['{}', 'null', '"a"', '1'])
      assert.equal(filter(answer(`{"tools":${tools}}`), expecting({ '1': 'tools/list' })), formatUnreadable('1'));
    assert.equal(filter(answer('{"tools":{}}'), expecting({ '1': 'prompts/list' })), '=');
  });

  test('no JSON at all', () => {
    for (const text of [
      '',
      '{',
      `${answer(`{${hidden}}`)} x`,
      `{"id":1,"result":{${hidden},}}`,
      `{"id":1,"result":{'tools':[]}}`,
      '\ufeff{}',
    ])
      assert.match(filter(text), /^unreadable: the upstream sent a list that is not JSON$/);
  });

  test('the id of the only list', () => {
    assert.equal(findOnlyId(expecting({ '7': 'tools/list' })), '7');
    assert.equal(findOnlyId(expecting({ '7': 'tools/list', '8': 'tools/list' })), undefined);
    assert.equal(findOnlyId(expecting({})), undefined);
    assert.equal(findOnlyId(anyStream), undefined);
    assert.deepEqual(JSON.parse(formatUnreadable('"x"')), {
      jsonrpc: '2.0',
      id: 'x',
      error: { code: -32603, message: 'The gateway could not read this list, so it does not pass it on.' },
    });
  });
});

describe('properties', () => {
  const members = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const;
  const keys = { tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate' } as const;
  const entry = fc.oneof(
    fc.record(
      { name: fc.string(), uri: fc.string(), uriTemplate: fc.string(), x: fc.jsonValue() },
      { requiredKeys: [] },
    ),
    fc.jsonValue({ maxDepth: 1 }),
  );

  test('exactly what the judge lets pass is left, in order', () => {
    fc.assert(
      fc.property(
        fc.record(
          { ...Object.fromEntries(members.map((member) => [member, fc.array(entry)])), other: fc.jsonValue() },
          { requiredKeys: [] },
        ),
        fc.func<[ItemKind, string], boolean>(fc.boolean()),
        (result, verdict) => {
          const text = answer(JSON.stringify(result));
          const filtered = filterLists(text, { judge: verdict, listRequests: undefined });
          const seen = JSON.parse(filtered.kind === 'changed' ? filtered.text : text) as {
            result: Record<string, unknown>;
          };
          const expected = JSON.parse(JSON.stringify(result)) as Record<string, unknown>;
          for (const member of members) {
            const list = expected[member];
            if (!Array.isArray(list)) continue;
            const kind: ItemKind = member === 'tools' ? 'tool' : member === 'prompts' ? 'prompt' : 'resource';
            expected[member] = (list as unknown[]).filter((each) => {
              const name: unknown =
                typeof each === 'object' && each !== null && !Array.isArray(each)
                  ? (each as Record<string, unknown>)[keys[member]]
                  : undefined;
              return typeof name === 'string' && Object.hasOwn(each as object, keys[member]) && verdict(kind, name);
            });
          }
          assert.deepEqual(seen.result, expected);
        },
      ),
    );
  });

  /** The same text, with some characters written as escapes or in another case. */
  const spelled = (text: string): fc.Arbitrary<string> =>
    fc
      .tuple(
        ...Array.from(text, (letter) =>
          fc.constantFrom(
            letter,
            letter.toUpperCase(),
            letter === 's' ? '\u017f' : letter,
            `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
          ),
        ),
      )
      .map((letters) => letters.join(''));

  for (const member of members) {
    test(`no spelling of ${member} gets past the search`, () => {
      fc.assert(
        fc.property(spelled(member), fc.string(), (key, other) => {
          const text = `{"id":1,"result":{${JSON.stringify(other)}:1,"${key}":[{"name":"hidden","uri":"hidden:","uriTemplate":"hidden:"}]}}`;
          assert.ok(mayHoldItems(Buffer.from(text).toString('latin1')), text);
          assert.ok(!filter(text).includes('hidden'), text);
        }),
      );
    });
  }

  test('most of what is no list is not read', () => {
    for (const text of [
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":2}}',
      '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the tools and prompts of the resource"}]}}',
      'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n',
    ])
      assert.equal(mayHoldItems(text), false, text);
  });
});
