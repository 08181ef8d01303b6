import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { PathModifierSchema } from '../../ir/gen/config_pb.ts';
import { mapMcpPath, rewritePath } from './url-rewrite.ts';

const prefix = (value: string) => create(PathModifierSchema, { modifier: { case: 'replacePrefixMatch', value } });
const full = (value: string) => create(PathModifierSchema, { modifier: { case: 'replaceFullPath', value } });

describe('ReplacePrefixMatch', () => {
  // The table of HTTPPathModifier in the specification. The router hands over prefixes without their trailing slash.
  const table: readonly (readonly [string, string, string, string])[] = [
    ['/foo/bar', '/foo', '/xyz', '/xyz/bar'],
    ['/foo/bar', '/foo', '/xyz/', '/xyz/bar'],
    ['/foo', '/foo', '/xyz', '/xyz'],
    ['/foo/', '/foo', '/xyz', '/xyz/'],
    ['/foo/bar', '/foo', '', '/bar'],
    ['/foo/', '/foo', '', '/'],
    ['/foo', '/foo', '', '/'],
    ['/foo/', '/foo', '/', '/'],
    ['/foo', '/foo', '/', '/'],
    // Not in the table: the prefix '/'.
    ['/', '', '/xyz', '/xyz'],
    ['/foo', '', '/xyz', '/xyz/foo'],
    ['/foo', '', '/', '/foo'],
    ['/foo//bar', '/foo', '/xyz', '/xyz//bar'],
  ];
  for (const [path, matched, replacement, expected] of table) {
    test(`${path}, ${matched || '/'} -> ${replacement || "''"} is ${expected}`, () => {
      assert.equal(rewritePath(path, matched, prefix(replacement)), expected);
    });
  }
});

test('ReplaceFullPath replaces everything', () => {
  assert.equal(rewritePath('/foo/bar', '/foo', full('/xyz/')), '/xyz/');
  assert.equal(rewritePath('/foo/bar', undefined, full('/xyz')), '/xyz');
});

describe('mapMcpPath', () => {
  const table: readonly (readonly [string, string | undefined, string, string])[] = [
    ['/mcp', '/mcp', '/mcp', '/mcp'],
    ['/tickets', '/tickets', '/mcp', '/mcp'],
    ['/tickets', '/tickets', '/mcp/', '/mcp/'],
    ['/tickets/', '/tickets', '/mcp', '/mcp/'],
    ['/tickets/messages', '/tickets', '/mcp/', '/mcp/messages'],
    ['/tickets/messages', '/tickets', '/', '/messages'],
    ['/tickets', '/tickets', '/', '/'],
    ['/', '', '/mcp', '/mcp'],
    ['/x', '', '/mcp', '/mcp/x'],
    ['/v1/tickets', undefined, '/mcp', '/mcp'],
  ];
  for (const [path, matched, target, expected] of table) {
    test(`${path}, matched ${matched ?? 'by an expression'}, target ${target} is ${expected}`, () => {
      assert.equal(mapMcpPath(path, matched, target), expected);
    });
  }
});
