import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { listElementFields, listLoopConstants, listStringConstants } from './expression-mentions.ts';

describe('string constants of an expression', () => {
  for (const [source, constants] of [
    ['true', []],
    ['mcp.method == "a/b"', ['a/b']],
    [`mcp.method in ['a', "b", r"c\\d", '''e''']`, ['a', 'b', 'c\\d', 'e']],
    ['"a\\u0062" == jwt.sub || "a" + "c" == "ac"', ['ab', 'a', 'c', 'ac']],
    ['jwt["https://x/groups"].exists(g, g == "admin")', ['https://x/groups', 'admin']],
    ['{"k": "v"}[jwt.sub] == "w" ? "x" == "y" : false', ['k', 'v', 'w', 'x', 'y']],
    ['b"bytes" == b"other" && 1 == 2 && jwt.sub == ""', ['']],
    ['jwt.sub == "a" // "b"\n', ['a']],
  ] as const)
    test(source, () => assert.deepEqual([...listStringConstants(source)].toSorted(), [...constants].toSorted()));
});

describe('fields of elements', () => {
  for (const [source, fields] of [
    ['jwt.a == "x" && mcp.tool.arguments.b == 1', []],
    ['mcp.tool.arguments.list.exists(e, e.path == "x")', ['path']],
    ['mcp.tool.arguments.list.all(e, e["p"].q != 1 && has(e.r))', ['p', 'q', 'r']],
    ['jwt.groups.exists(g, g == "x")', []],
    ['jwt.a.filter(e, e.on).map(e, e.name).exists(n, n == "a")', ['on', 'name']],
    ['jwt.a.exists(e, e.list.exists(f, f.deep == e.other))', ['list', 'deep', 'other']],
  ] as const)
    test(source, () => assert.deepEqual([...listElementFields(source)].toSorted(), [...fields].toSorted()));
});

describe('what loops compare their elements with', () => {
  for (const [source, constants] of [
    ['jwt.a == "x" && "y" in jwt.b', []],
    ['mcp.tool.arguments.exists(key, key == "force") && jwt.a == "x"', ['force']],
    ['jwt.a.all(e, e in ["x", "y"]) || jwt["z"].exists(e, jwt.b.exists(f, f == "w"))', ['x', 'y', 'w']],
  ] as const)
    test(source, () => assert.deepEqual([...listLoopConstants(source)].toSorted(), [...constants].toSorted()));
});
