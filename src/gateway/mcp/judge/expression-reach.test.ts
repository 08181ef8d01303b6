import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileExpression } from '../../../cel/compile-expression.ts';
import type { Expression } from '../../../cel/expression.ts';
import { concernsBareRequest, concernsItem, concernsPlainMessage, readReach } from './expression-reach.ts';

function compile(source: string): Expression {
  const compiled = compileExpression(source, 'mcp');
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.problem.message);
  return compiled.expression;
}

/** The letters of what it reads: tool, prompt, resource, method, arguments. */
function print(source: string): string {
  const { tool, prompt, resource, method, arguments: given } = readReach(compile(source));
  return [tool && 't', prompt && 'p', resource && 'r', method && 'm', given && 'a'].filter(Boolean).join('');
}

describe('what expressions read of a message', () => {
  for (const [source, reach] of [
    ['jwt.sub == "a"', ''],
    ['"x" in jwt.groups && request.method == "POST"', ''],
    ['mcp.sessionId != ""', ''],
    ['mcp.protocolVersion >= "2025-06-18"', ''],
    ['mcp.method == "tools/call"', 'm'],
    ['mcp.tool.name == "a"', 't'],
    ['mcp.tool.name.startsWith("a")', 't'],
    ['"a" == jwt.sub || mcp.tool.name == "a" && mcp.method == "tools/call"', 'tm'],
    ['mcp.prompt.name == "a"', 'p'],
    ['mcp.resource.uri.startsWith("file:")', 'r'],
    ['mcp.tool.arguments.x == 1', 'ta'],
    ['mcp.target.name == "a"', 'tpr'],
    ['has(mcp.target)', 'tpr'],
    ['mcp.target.name == "a" && mcp.tool.name == "b"', 't'],
    ['mcp.target.name == "a" && mcp.target.prompt == "b"', 'p'],
    ['mcp.target.tool == "a"', 't'],
    ['mcp.target.uri == "a"', 'r'],
    ['has(mcp.tool.arguments.x)', 'ta'],
    ['mcp.tool.arguments.x == 1 || mcp.prompt.name == "a"', 'tpa'],
  ] as const)
    test(source, () => assert.equal(print(source), reach));

  test('reading a whole is reading its parts', () => {
    const read = (...path: string[]): string => {
      const outcome = { ok: true, value: true } as const;
      return JSON.stringify(readReach({ source: '', scope: 'mcp', reads: [path], evaluate: () => outcome }));
    };
    const items = { tool: true, prompt: true, resource: true, uri: true, target: true };
    const all = { ...items, method: true, arguments: true, item: true };
    assert.equal(read('mcp'), JSON.stringify(all));
    assert.equal(
      read('mcp', 'tool'),
      JSON.stringify({ ...all, prompt: false, resource: false, uri: false, target: false, method: false }),
    );
  });

  test('whose item it is says nothing about its URI', () => {
    assert.equal(readReach(compile('mcp.target.name == "a"')).uri, false);
    assert.equal(readReach(compile('mcp.target.uri == "a"')).uri, true);
  });

  test('is found out once', () => {
    const expression = compile('mcp.method == "a"');
    assert.equal(readReach(expression), readReach(expression));
  });
});

describe('which expressions are asked', () => {
  for (const [source, tool, prompt, resource, plain, bare] of [
    ['jwt.sub == "a"', true, true, true, true, true],
    ['mcp.protocolVersion == "a"', true, true, true, true, true],
    ['mcp.method == "a"', true, true, true, true, false],
    ['mcp.tool.name == "a"', true, false, false, false, false],
    ['mcp.prompt.name == "a"', false, true, false, false, false],
    ['mcp.resource.uri == "a"', false, false, true, false, false],
    ['mcp.tool.name == "a" || mcp.prompt.name == "a"', true, true, false, false, false],
    ['mcp.tool.name == "a" && mcp.method == "tools/call"', true, false, false, false, false],
  ] as const)
    test(source, () => {
      const expression = compile(source);
      assert.deepEqual(
        [
          concernsItem(expression, 'tool'),
          concernsItem(expression, 'prompt'),
          concernsItem(expression, 'resource'),
          concernsPlainMessage(expression),
          concernsBareRequest(expression),
        ],
        [tool, prompt, resource, plain, bare],
      );
    });
});
