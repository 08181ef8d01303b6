import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decodeFieldValue, findDisagreement } from './header-agreement.ts';
import type { Message } from './message.ts';

const modern = '2026-07-28';
const call = (params: Record<string, unknown> = { name: 'weather' }, method = 'tools/call'): Message => ({
  kind: 'request',
  id: 1,
  method,
  params,
});
const meta = (version: string): Record<string, unknown> => ({ 'io.modelcontextprotocol/protocolVersion': version });

describe('headers that agree', () => {
  for (const [name, headers, message, version] of [
    ['method and name', ['Mcp-Method', 'tools/call', 'Mcp-Name', 'weather'], call(), modern],
    ['in any case of the field names', ['MCP-METHOD', 'tools/call', 'mcp-name', 'weather'], call(), modern],
    [
      'a uri',
      ['Mcp-Method', 'resources/read', 'Mcp-Name', 'file:///a b'],
      call({ uri: 'file:///a b' }, 'resources/read'),
      modern,
    ],
    ['a task', ['Mcp-Method', 'tasks/get', 'Mcp-Name', 't1'], call({ taskId: 't1' }, 'tasks/get'), modern],
    [
      'encoded',
      ['Mcp-Method', 'tools/call', 'Mcp-Name', '=?base64?SGVsbG8sIOS4lueVjA==?='],
      call({ name: 'Hello, 世界' }),
      modern,
    ],
    [
      'encoded although it need not be',
      ['Mcp-Method', 'tools/call', 'Mcp-Name', '=?base64?d2VhdGhlcg==?='],
      call(),
      modern,
    ],
    [
      'a name that looks encoded',
      ['Mcp-Method', 'tools/call', 'Mcp-Name', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
      call({ name: '=?base64?literal?=' }),
      modern,
    ],
    ['a method without a name', ['Mcp-Method', 'tools/list'], call({}, 'tools/list'), modern],
    ['older versions need none', [], call(), '2025-11-25'],
    ['nor does a request without a version', [], call(), undefined],
    ['a notification needs none', [], { kind: 'notification', method: 'notifications/cancelled', params: {} }, modern],
    [
      'parameters are the server’s business',
      ['Mcp-Method', 'tools/call', 'Mcp-Name', 'weather', 'Mcp-Param-City', 'x'],
      call(),
      modern,
    ],
    [
      'the version in the message',
      ['Mcp-Method', 'tools/call', 'Mcp-Name', 'weather'],
      call({ name: 'weather', _meta: meta(modern) }),
      modern,
    ],
    ['a custom method with a name', ['Mcp-Method', 'x/y', 'Mcp-Name', 'a'], call({ name: 'a' }, 'x/y'), '2025-11-25'],
    ['an answer without any', [], { kind: 'response' }, '2025-11-25'],
  ] as const)
    test(name, () => assert.equal(findDisagreement(headers, version, [message], false), undefined));
});

describe('headers that do not', () => {
  const both = (method: string, name: string): string[] => ['Mcp-Method', method, 'Mcp-Name', name];
  for (const [name, headers, message, version, problem] of [
    [
      'another method',
      both('tools/list', 'weather'),
      call(),
      modern,
      'The Mcp-Method header does not match the method of the message.',
    ],
    [
      'another case',
      both('Tools/Call', 'weather'),
      call(),
      modern,
      'The Mcp-Method header does not match the method of the message.',
    ],
    [
      'an encoded method',
      both('=?base64?dG9vbHMvY2FsbA==?=', 'weather'),
      call(),
      modern,
      'The Mcp-Method header does not match the method of the message.',
    ],
    [
      'a list',
      both('tools/call, tools/call', 'weather'),
      call(),
      modern,
      'The Mcp-Method header does not match the method of the message.',
    ],
    [
      'an empty method',
      both('', 'weather'),
      call(),
      modern,
      'The Mcp-Method header does not match the method of the message.',
    ],
    [
      'also in older versions',
      ['Mcp-Method', 'tools/list'],
      call(),
      '2025-06-18',
      'The Mcp-Method header does not match the method of the message.',
    ],
    [
      'and without a version',
      ['Mcp-Method', 'tools/list'],
      call(),
      undefined,
      'The Mcp-Method header does not match the method of the message.',
    ],
    [
      'another name',
      both('tools/call', 'news'),
      call(),
      modern,
      'The Mcp-Name header does not match the name in the message.',
    ],
    [
      'another case of the name',
      both('tools/call', 'Weather'),
      call(),
      modern,
      'The Mcp-Name header does not match the name in the message.',
    ],
    [
      'an empty name',
      both('tools/call', ''),
      call(),
      modern,
      'The Mcp-Name header does not match the name in the message.',
    ],
    [
      'the uri in place of the name',
      both('tools/call', 'u'),
      call({ name: 'weather', uri: 'u' }),
      modern,
      'The Mcp-Name header does not match the name in the message.',
    ],
    [
      'a name that the message lacks',
      both('tools/list', 'weather'),
      call({}, 'tools/list'),
      modern,
      'The Mcp-Name header does not match the name in the message.',
    ],
    [
      'a name of an older version',
      ['Mcp-Name', 'news'],
      call(),
      '2025-03-26',
      'The Mcp-Name header does not match the name in the message.',
    ],
    [
      'another encoded name',
      both('tools/call', '=?base64?bmV3cw==?='),
      call(),
      modern,
      'The Mcp-Name header does not match the name in the message.',
    ],
    [
      'marks in another case',
      both('tools/call', '=?BASE64?d2VhdGhlcg==?='),
      call(),
      modern,
      'The Mcp-Name header does not match the name in the message.',
    ],
    [
      'no Base64',
      both('tools/call', '=?base64?d2VhdGhlcg?='),
      call(),
      modern,
      'The Mcp-Name header cannot be decoded.',
    ],
    [
      'Base64 of a URL',
      both('tools/call', '=?base64?_-8=?='),
      call(),
      modern,
      'The Mcp-Name header cannot be decoded.',
    ],
    ['no UTF-8', both('tools/call', '=?base64?/w==?='), call(), modern, 'The Mcp-Name header cannot be decoded.'],
    [
      'no ASCII',
      both('tools/call', 'w\u00e9ather'),
      call({ name: 'w\u00e9ather' }),
      modern,
      'The Mcp-Name header cannot be decoded.',
    ],
    ['no method', ['Mcp-Name', 'weather'], call(), modern, 'The Mcp-Method header is missing.'],
    ['no name', ['Mcp-Method', 'tools/call'], call(), modern, 'The Mcp-Name header is missing.'],
    [
      'two methods',
      ['Mcp-Method', 'tools/call', 'mcp-method', 'tools/call', 'Mcp-Name', 'weather'],
      call(),
      modern,
      'The Mcp-Method header was sent more than once.',
    ],
    [
      'two spellings',
      [...both('tools/call', 'weather'), 'Mcp_Method', 'ping'],
      call(),
      modern,
      'The Mcp-Method header was sent more than once.',
    ],
    [
      'two names',
      [...both('tools/call', 'weather'), 'MCP-NAME', 'news'],
      call(),
      modern,
      'The Mcp-Name header was sent more than once.',
    ],
    [
      'one with an underscore',
      ['Mcp_Method', 'tools/list'],
      call(),
      '2025-11-25',
      'The Mcp-Method header does not match the method of the message.',
    ],
    [
      'another version in the message',
      both('tools/call', 'weather'),
      call({ name: 'weather', _meta: meta('2025-11-25') }),
      modern,
      'The MCP-Protocol-Version header and the message name different versions.',
    ],
    [
      'a version in the message only',
      both('tools/call', 'weather'),
      call({ name: 'weather', _meta: meta(modern) }),
      undefined,
      'The MCP-Protocol-Version header is missing.',
    ],
    [
      'an answer',
      ['Mcp-Method', 'tools/call'],
      { kind: 'response' },
      '2025-11-25',
      'A response has no method that Mcp-Method or Mcp-Name could repeat.',
    ],
    [
      'a notification',
      ['Mcp-Method', 'ping'],
      { kind: 'notification', method: 'notifications/cancelled', params: {} },
      modern,
      'The Mcp-Method header does not match the method of the message.',
    ],
  ] as const)
    test(name, () => assert.equal(findDisagreement(headers, version, [message], false), problem));

  test('a batch has no header that could speak for all of it', () => {
    const batch = [call(), call({ name: 'news' })];
    const problem = 'A batch has no method that Mcp-Method or Mcp-Name could repeat.';
    assert.equal(findDisagreement([], '2025-03-26', batch, true), undefined);
    assert.equal(findDisagreement(['Mcp-Method', 'tools/call'], '2025-03-26', batch, true), problem);
    assert.equal(findDisagreement(['Mcp-Name', 'weather'], undefined, [call()], true), problem);
    const claiming = [call(), call({ name: 'a', _meta: meta(modern) })];
    assert.equal(findDisagreement([], undefined, claiming, true), 'The MCP-Protocol-Version header is missing.');
  });
});

describe('values of the specification', () => {
  for (const [value, decoded] of [
    ['us-west1', 'us-west1'],
    ['=?base64?SGVsbG8sIOS4lueVjA==?=', 'Hello, 世界'],
    ['=?base64?IHBhZGRlZCA=?=', ' padded '],
    ['=?base64?bGluZTEKbGluZTI=?=', 'line1\nline2'],
    ['=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=', '=?base64?literal?='],
    ['=?base64??=', ''],
    ['=?base64?', '=?base64?'],
    ['', ''],
  ] as const)
    test(value, () => assert.equal(decodeFieldValue(value), decoded));
});
