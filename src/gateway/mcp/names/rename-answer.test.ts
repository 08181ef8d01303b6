import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { FederationTarget } from '../../config/federation-config.ts';
import { effort } from '../../../../test/kit/effort.ts';
import { renameAnswer, renameListItem, renameQuestion } from './rename-answer.ts';

const target = { name: 'tickets', prefix: 'tix' } as FederationTarget;
const answer = (result: string): string => `{"jsonrpc":"2.0","id":1,"result":${result}}`;

test('entries of lists', () => {
  const cases = [
    ['tools/list', '{"name":"close","title":"name"}', '{"name":"tix_close","title":"name"}'],
    [
      'tools/list',
      '{"name":"show","_meta":{"ui":{"resourceUri":"ui://board","visibility":["app"]},"ui/resourceUri":"ui://board"}}',
      '{"name":"tix_show","_meta":{"ui":{"resourceUri":"ui://tix/board","visibility":["app"]},"ui/resourceUri":"ui://tix/board"}}',
    ],
    [
      'tools/list',
      '{"name":"a","inputSchema":{"name":"b","uri":"c:d"}}',
      '{"name":"tix_a","inputSchema":{"name":"b","uri":"c:d"}}',
    ],
    ['prompts/list', '{ "name" : "greet" }', '{ "name" : "tix_greet" }'],
    ['resources/list', '{"name":"n","uri":"file:///a"}', '{"name":"n","uri":"tix+file:///a"}'],
    [
      'resources/templates/list',
      '{"uriTemplate":"file:///{a}","name":"n"}',
      '{"uriTemplate":"tix+file:///{a}","name":"n"}',
    ],
    // Of a name that is there twice no reading is left as the server wrote it.
    ['tools/list', '{"name":"a","na\\u006de":"b"}', '{"name":"tix_a","na\\u006de":"tix_b"}'],
  ] as const;
  for (const [method, own, seen] of cases) assert.equal(renameListItem(own, method, target, 'always'), seen);
});

test('results: links, resources, prompts, tasks', () => {
  const cases = [
    [
      'tools/call',
      '{"content":[{"type":"text","text":"file:///a"},{"type":"resource_link","uri":"file:///a","name":"n"},{"type":"resource","resource":{"uri":"x:b","text":"uri"}}],"structuredContent":{"uri":"x:c","taskId":"1"}}',
      '{"content":[{"type":"text","text":"file:///a"},{"type":"resource_link","uri":"tix+file:///a","name":"n"},{"type":"resource","resource":{"uri":"tix+x:b","text":"uri"}}],"structuredContent":{"uri":"x:c","taskId":"1"}}',
    ],
    ['tools/call', '{"task":{"taskId":"7","status":"working"}}', '{"task":{"taskId":"tix_7","status":"working"}}'],
    ['tools/call', '{"resultType":"task","taskId":"7"}', '{"resultType":"task","taskId":"tix_7"}'],
    ['tasks/get', '{"taskId":"7","status":"completed"}', '{"taskId":"tix_7","status":"completed"}'],
    ['tasks/list', '{"tasks":[{"taskId":"7"},{"taskId":"8"}]}', '{"tasks":[{"taskId":"tix_7"},{"taskId":"tix_8"}]}'],
    [
      'resources/read',
      '{"contents":[{"uri":"file:///a","text":"x"}]}',
      '{"contents":[{"uri":"tix+file:///a","text":"x"}]}',
    ],
    [
      'prompts/get',
      '{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"x:a"}}},{"role":"user","content":[{"type":"resource_link","uri":"x:b"}]}]}',
      '{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"tix+x:a"}}},{"role":"user","content":[{"type":"resource_link","uri":"tix+x:b"}]}]}',
    ],
    [
      'completion/complete',
      '{"completion":{"values":["file:///a"]},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7"}}}',
      '{"completion":{"values":["file:///a"]},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"tix_7"}}}',
    ],
    [
      'tools/call',
      '{"content":[{"type":"resource_link","uri":"a/b"}]}',
      '{"content":[{"type":"resource_link","uri":"a/b"}]}',
    ],
  ] as const;
  for (const [method, own, seen] of cases)
    assert.equal(renameAnswer(answer(own), method, target, 'always'), answer(seen));
});

test('what has come of a task of the extension, and what it waits for', () => {
  const tasks = [
    [
      '{"taskId":"7","status":"completed","result":{"content":[{"type":"text","text":"x:a"},{"type":"resource_link","uri":"x:a"},{"type":"resource","resource":{"uri":"x:b"}}],"structuredContent":{"uri":"x:c","taskId":"7"},"_meta":{"ui":{"resourceUri":"ui://a"}}}}',
      '{"taskId":"tix_7","status":"completed","result":{"content":[{"type":"text","text":"x:a"},{"type":"resource_link","uri":"tix+x:a"},{"type":"resource","resource":{"uri":"tix+x:b"}}],"structuredContent":{"uri":"x:c","taskId":"7"},"_meta":{"ui":{"resourceUri":"ui://tix/a"}}}}',
    ],
    [
      '{"taskId":"7","status":"failed","error":{"code":-32602,"message":"x:a","data":{"uri":"x:a"}}}',
      '{"taskId":"tix_7","status":"failed","error":{"code":-32602,"message":"x:a","data":{"uri":"tix+x:a"}}}',
    ],
    [
      `{"taskId":"7","status":"input_required","inputRequests":${asked('x:')}}`,
      `{"taskId":"tix_7","status":"input_required","inputRequests":${asked('tix+x:')}}`,
    ],
  ] as const;
  for (const [own, seen] of tasks) {
    assert.equal(renameAnswer(answer(own), 'tasks/get', target, 'always'), answer(seen));
    const wrap = (params: string): string => `{"jsonrpc":"2.0","method":"notifications/tasks","params":${params}}`;
    assert.equal(renameQuestion(wrap(own), 'notifications/tasks', target, 'always'), wrap(seen));
  }
});

test('what a result asks the client for', () => {
  const wrap = (requests: string): string =>
    answer(`{"resultType":"input_required","inputRequests":${requests},"requestState":"x:uri"}`);
  for (const method of ['tools/call', 'prompts/get', 'resources/read', 'tasks/get'])
    assert.equal(renameAnswer(wrap(asked('x:')), method, target, 'always'), wrap(asked('tix+x:')), method);
});

/** Questions with links: of a sampling they are the server's, of anything else they are not known to be. */
function asked(scheme: 'x:' | 'tix+x:'): string {
  const link = `{"type":"resource_link","uri":"${scheme}a"}`;
  const results = `[{"type":"tool_result","toolUseId":"1","content":[${link}],"structuredContent":{"uri":"x:a"}}]`;
  const meta = `{"ui":{"resourceUri":"${scheme}b"}}`;
  const sampling = `{"params":{"messages":[{"role":"user","content":${link}},{"role":"user","content":${results}}],"_meta":${meta}},"method":"sampling/createMessage"}`;
  const other = `{"method":"elicitation/create","params":{"message":"x:uri","url":"x:u","messages":[{"content":{"uri":"x:a"}}],"_meta":${meta}}}`;
  return `{"uri":${sampling},"taskId":${other},"roots":{"method":"roots/list"},"none":7}`;
}

test('errors name the resource as the client did', () => {
  const own = '{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"x","data":{"uri":"file:///a"}}}';
  assert.equal(renameAnswer(own, 'resources/read', target, 'always'), own.replace('file:', 'tix+file:'));
});

test('what a server says on its own', () => {
  const cases = [
    ['notifications/resources/updated', '{"uri":"file:///a"}', '{"uri":"tix+file:///a"}'],
    ['notifications/tasks/status', '{"taskId":"7","status":"working"}', '{"taskId":"tix_7","status":"working"}'],
    [
      'sampling/createMessage',
      '{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"x:a"}}}]}',
      '{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"tix+x:a"}}}]}',
    ],
    [
      'sampling/createMessage',
      '{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[{"type":"resource_link","uri":"x:a"}]}]}]}',
      '{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[{"type":"resource_link","uri":"tix+x:a"}]}]}]}',
    ],
    [
      'elicitation/create',
      '{"message":"uri","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7"}}}',
      '{"message":"uri","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"tix_7"}}}',
    ],
    ['notifications/message', '{"level":"info","data":{"uri":"x:a"}}', '{"level":"info","data":{"uri":"x:a"}}'],
  ] as const;
  for (const [method, own, seen] of cases) {
    const wrap = (params: string): string => `{"jsonrpc":"2.0","method":"${method}","params":${params}}`;
    assert.equal(renameQuestion(wrap(own), method, target, 'always'), wrap(seen));
  }
});

test('without prefixes only tasks change', () => {
  const own = answer('{"content":[{"type":"resource_link","uri":"x:b"}],"task":{"taskId":"7"}}');
  assert.equal(renameAnswer(own, 'tools/call', target, 'never'), own.replace('"7"', '"tix_7"'));
});

test('nothing else of an answer changes', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom('tools/call', 'prompts/get', 'resources/read', 'ping'), (json, method) => {
      const text = answer(`{"structuredContent":${json},"other":${json}}`);
      assert.equal(renameAnswer(text, method, target, 'always'), text);
    }),
    { numRuns: effort(1_000) },
  );
});
