import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RawHeaders } from '../../http/exchange.ts';
import type { AnswerExpectation } from './answer-expectation.ts';
import type { ListMethod } from '../read/list-methods.ts';
import type { ItemKind } from '../read/read-item.ts';
import { createAnswerFilter } from './filter-answer.ts';
import { createRules } from '../testing/message-fixture.ts';

const rules = createRules({ action: 'Deny', expressions: ['mcp.tool.name == "hidden"'] });
const judge = (_kind: ItemKind, name: string): boolean => !name.includes('hidden');
const base: AnswerExpectation = { rules, judge, listRequests: undefined, injected: [], isBatch: false };

/** What was asked. */
const get = base;
const asking = (...ids: string[]): AnswerExpectation => ({
  ...base,
  listRequests: new Map(ids.map((id): [string, ListMethod] => [id, 'tools/list'])),
});
const list = asking('1');
const call = asking();
const refused = '{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"Unknown tool: x"}}';
const batch: AnswerExpectation = { ...asking(), injected: [refused], isBatch: true };
const listBatch: AnswerExpectation = { ...asking('1'), injected: [refused], isBatch: true };

const limits = { maxBodyBytes: 1_000, maxEventBytes: 1_000 };

function treat(expectation: AnswerExpectation, status: number, headers: RawHeaders): string {
  const treatment = createAnswerFilter(expectation, limits)(status, headers);
  return treatment.kind === 'refuse' ? `refuse: ${treatment.detail}` : treatment.kind;
}

const json = ['Content-Type', 'application/json'];
const events = ['content-type', 'text/event-stream; charset=utf-8'];
const html = ['content-type', 'text/html'];
const gzip = ['Content-Encoding', 'gzip'];

describe('what becomes of an answer, by its head', () => {
  const encoded = 'refuse: the upstream sent a list with a content-encoding that it was not asked for';
  const table: [title: string, expectation: AnswerExpectation, status: number, headers: string[], treatment: string][] =
    [
      ['a JSON answer to a list', list, 200, json, 'collect'],
      ['JSON by another name', list, 200, ['content-type', 'application/vnd.mcp+json;x=y'], 'collect'],
      ['a JSON answer to a call', call, 200, json, 'pass'],
      ['compressed: nobody looks at it', call, 200, [...json, ...gzip], 'pass'],
      ['a JSON answer to a GET', get, 200, json, 'collect'],
      ['events of a list', list, 200, events, 'stream'],
      ['events of a call', call, 200, events, 'stream'],
      ['events of a GET', get, 200, events, 'stream'],
      ['events of an error', call, 500, events, 'stream'],
      ['compressed events', call, 200, [...events, ...gzip], encoded],
      ['a compressed list', list, 200, [...json, ...gzip], encoded],
      ['a compressed error of a list', list, 400, [...json, 'content-encoding', 'br'], encoded],
      ['not compressed', list, 200, [...json, 'content-encoding', 'identity'], 'collect'],
      ['two content types', call, 200, [...json, ...events], 'refuse: the upstream named several content types'],
      ['a list of another type', list, 200, html, 'collect'],
      ['a list of no type', list, 200, [], 'collect'],
      ['a call of another type', call, 200, html, 'pass'],
      ['a page on a GET', get, 200, html, 'pass'],
      ['a GET of no type', get, 200, [], 'collect'],
      ['an error page', list, 502, html, 'pass'],
      ['an error without a type', list, 404, [], 'pass'],
      ['an error in JSON', list, 400, json, 'collect'],
      ['an error of a call', call, 400, json, 'pass'],
      ['accepted', call, 202, [], 'pass'],
      ['accepted on the older transport', list, 202, [], 'collect'],
      ['no content', list, 204, [], 'pass'],
      ['not modified', list, 304, json, 'pass'],
      ['moved', list, 307, html, 'pass'],
      [
        'a list that is announced too large',
        list,
        200,
        [...json, 'content-length', '1001'],
        'refuse: a list of more than 1000 bytes cannot be filtered',
      ],
      ['a list that is just small enough', list, 200, [...json, 'content-length', '1000'], 'collect'],
      ['a large answer to a call', call, 200, [...json, 'content-length', '1001'], 'pass'],
      ['the rest of a batch', batch, 200, json, 'collect'],
      ['the rest of a batch as events', batch, 200, events, 'stream'],
      ['nothing of a batch is answered', batch, 202, [], 'collect'],
      ['the same, said otherwise', batch, 204, [], 'collect'],
      ['a batch that is refused by the server', batch, 400, json, 'pass'],
      ['a compressed rest of a batch', batch, 200, [...json, ...gzip], encoded],
    ];
  for (const [title, expectation, status, headers, expected] of table)
    test(title, () => assert.equal(treat(expectation, status, headers), expected));
});

/** "=" for an answer that stays, "! ..." for one that cannot be passed on, "200 ..." for one of the gateway's own. */
function collect(expectation: AnswerExpectation, status: number, headers: RawHeaders, body: string | Buffer): string {
  const treatment = createAnswerFilter(expectation)(status, headers);
  assert.ok(treatment.kind === 'collect');
  const filtered = treatment.filter(Buffer.from(body));
  if (!filtered.ok) return `! ${filtered.detail}`;
  if (filtered.changed === undefined) return '=';
  return `${filtered.changed.isNew ? '200 ' : ''}${Buffer.from(filtered.changed.body).toString()}`;
}

describe('a whole body', () => {
  const tools = (...names: string[]): string =>
    `{"jsonrpc":"2.0","id":1,"result":{"tools":[${names.map((name) => `{"name":"${name}"}`).join(',')}]}}`;
  const twice = '{"id":1,"result":{"tools":[{"name":"hidden"}],"tools":[]}}';
  const table: [
    title: string,
    expectation: AnswerExpectation,
    status: number,
    headers: string[],
    body: string | Buffer,
    expected: string,
  ][] = [
    ['a list', list, 200, json, tools('a', 'hidden'), tools('a')],
    ['a list with nothing hidden', list, 200, json, tools('a'), '='],
    ['an error', list, 200, json, '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}', '='],
    [
      'an error with another status',
      list,
      400,
      json,
      '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}',
      '=',
    ],
    ['a list with the status of an error', list, 400, json, tools('hidden'), tools()],
    ['nothing', list, 200, json, '', '='],
    ['no JSON, and no list either', list, 200, json, 'oops', '='],
    ['half a list', list, 200, json, tools('a').slice(0, -1), '! the upstream sent a list that is not JSON'],
    [
      'a list that can be read in two ways',
      list,
      200,
      json,
      twice,
      '! the upstream sent a list of tools that can be read in two ways',
    ],
    [
      'not UTF-8',
      list,
      200,
      json,
      Buffer.concat([Buffer.from(tools('a')), Buffer.from([0xff])]),
      '! the upstream sent a list that is not UTF-8',
    ],
    [
      'UTF-16',
      list,
      200,
      json,
      Buffer.from(tools('hidden'), 'utf16le'),
      '! the upstream sent a list that is not UTF-8',
    ],
    ['a byte order mark', list, 200, json, `\ufeff${tools('a', 'hidden')}`, tools('a')],
    ['a list on a GET', get, 200, json, tools('hidden'), tools()],
    [
      'a batch',
      asking('1', '2'),
      200,
      json,
      `[${tools('hidden')}, {"id":2,"result":{}}]`,
      `[${tools()},{"id":2,"result":{}}]`,
    ],
    [
      'a batch of which one cannot be read',
      asking('1', '2'),
      200,
      json,
      `[{"id":2,"result":{}},${twice}]`,
      '[{"id":2,"result":{}},{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"The gateway could not read this list, so it does not pass it on."}}]',
    ],
    ['answers of the gateway in a batch', listBatch, 200, json, `[${tools('hidden')}]`, `[${tools()},${refused}]`],
    ['in an empty batch', batch, 200, json, ' [ ] ', `[${refused}]`],
    ['beside a single answer', batch, 200, json, ' {"id":1,"result":{}}\n', `[{"id":1,"result":{}},${refused}]`],
    ['instead of nothing', batch, 200, json, '', `200 [${refused}]`],
    ['instead of nothing of no type', batch, 200, [], '', `200 [${refused}]`],
    ['instead of "accepted"', batch, 202, [], 'Accepted', `200 [${refused}]`],
    [
      'not beside what is no message',
      batch,
      200,
      json,
      '"x"',
      '! the upstream answered a batch with something that is not a message',
    ],
    ['not beside what is no JSON', batch, 200, json, '[', '! the upstream sent a list that is not JSON'],
    [
      'not beside a page',
      batch,
      200,
      html,
      '<p>',
      '! the upstream answered with a content type that cannot be filtered',
    ],
    [
      'a page in place of a list',
      list,
      200,
      html,
      '<p>',
      '! the upstream answered with a content type that cannot be filtered',
    ],
    [
      'a list that says it is a page',
      list,
      200,
      html,
      tools('a'),
      '! the upstream answered with a content type that cannot be filtered',
    ],
    ['nothing in place of a list', list, 200, html, '', '='],
    ['"accepted" on the older transport', list, 202, [], 'Accepted', '='],
    ['a list that says it is accepted', list, 202, [], ` \n${tools('hidden')}`, tools()],
    ['a list after much white space', list, 202, [], ' '.repeat(2_000) + tools('hidden'), tools()],
    ['a word on a GET', get, 200, [], 'hello', '='],
    ['a list of no type on a GET', get, 200, [], tools('hidden'), tools()],
  ];
  for (const [title, expectation, status, headers, body, expected] of table)
    test(title, () => assert.equal(collect(expectation, status, headers, body), expected));
});
