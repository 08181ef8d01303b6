import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findChangedLists } from './list-changed-rules.ts';
import { createRules, type WrittenRules } from '../testing/message-fixture.ts';

const allow = (...expressions: string[]): WrittenRules => ({ action: 'Allow', expressions });
const deny = (...expressions: string[]): WrittenRules => ({ action: 'Deny', expressions });
const require = (...expressions: string[]): WrittenRules => ({ action: 'Require', expressions });
const scopes: WrittenRules = { scopes: [{ tools: ['a'], scopes: ['x'] }] };
const toolA = 'mcp.tool.name == "a"';
const toolB = 'mcp.tool.name == "b"';
const promptA = 'mcp.prompt.name == "a"';
const resourceA = 'mcp.resource.uri == "a"';

describe('which lists change with the rules', () => {
  const changes: [before: WrittenRules | undefined, after: WrittenRules | undefined, lists: string][] = [
    [undefined, undefined, ''],
    [undefined, deny(toolA), 'tools'],
    [deny(toolA), undefined, 'tools'],
    [deny(toolA), deny(toolB), 'tools'],
    [deny(toolA), deny(toolA, promptA), 'prompts'],
    [deny(toolA), require(toolA), 'tools'],
    [require(resourceA), require(resourceA, resourceA), ''],
    [deny(toolA, toolB), deny(toolB, toolA), ''],
    [deny(toolA), deny(toolA), ''],
    // Where there is an Allow, what none speaks for is closed.
    [undefined, allow(toolA), 'tools prompts resources'],
    [allow(toolA), undefined, 'tools prompts resources'],
    [allow(toolA), allow(toolB), 'tools'],
    [allow(toolA, toolB), allow(toolA), 'tools'],
    [allow(toolA), deny(toolA), 'tools prompts resources'],
    // What is said of everything is said of every list.
    [undefined, deny('jwt.sub == "a"'), 'tools prompts resources'],
    [deny('jwt.sub == "a"'), deny('jwt.sub == "b"'), 'tools prompts resources'],
    [undefined, deny('mcp.method == "tools/call"'), 'tools prompts resources'],
    // Scopes hide nothing.
    [undefined, scopes, ''],
    [scopes, deny(toolA), 'tools'],
    [deny(toolA), { ...deny(toolA), ...scopes }, ''],
  ];
  for (const [before, after, lists] of changes) {
    const name = (rules: WrittenRules | undefined): string => (rules === undefined ? 'none' : JSON.stringify(rules));
    test(`${name(before)} -> ${name(after)}: ${lists || 'nothing'}`, () => {
      const [from, to] = [before, after].map((written) => (written === undefined ? undefined : createRules(written)));
      assert.equal(findChangedLists(from, to).join(' '), lists);
      assert.equal(findChangedLists(to, from).join(' '), lists, 'and back');
      assert.deepEqual(findChangedLists(from, from), []);
    });
  }
});
