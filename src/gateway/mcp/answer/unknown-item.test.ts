import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeUnknownItem } from './unknown-item.ts';

describe('as servers answer for what they do not have', () => {
  const notFound = (code: number): object => ({ code, message: 'Resource not found', data: { uri: 'u' } });
  for (const [kind, name, method, version, error] of [
    ['tool', 'a', 'tools/call', '2024-11-05', { code: -32602, message: 'Unknown tool: a' }],
    ['tool', 'a', 'tools/call', '2026-07-28', { code: -32602, message: 'Unknown tool: a' }],
    ['prompt', 'p', 'prompts/get', '2025-06-18', { code: -32602, message: 'Unknown prompt: p' }],
    ['prompt', 'p', 'completion/complete', '2025-06-18', { code: -32602, message: 'Unknown prompt: p' }],
    ['resource', 'u', 'resources/read', '2024-11-05', notFound(-32002)],
    ['resource', 'u', 'resources/read', '2025-11-25', notFound(-32002)],
    ['resource', 'u', 'resources/subscribe', '2025-03-26', notFound(-32002)],
    ['resource', 'u', 'resources/read', '2026-07-28', notFound(-32602)],
    ['resource', 'u', 'subscriptions/listen', '2026-07-28', notFound(-32602)],
    ['resource', 'u', 'completion/complete', '2025-03-26', notFound(-32602)],
  ] as const)
    test(`${method} of a ${kind} in ${version}`, () =>
      assert.deepEqual(describeUnknownItem({ kind, name }, method, version), error));
});
