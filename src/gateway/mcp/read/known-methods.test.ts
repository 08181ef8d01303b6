import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { mcpMethods } from '../../../api/mcp-methods.ts';
import { isKnownMethod, isRequestMethod } from './known-methods.ts';

const asRequest = (method: string, version?: string): boolean =>
  isKnownMethod({ kind: 'request', id: 1, method, params: {} }, version);
const asNotification = (method: string, version?: string): boolean =>
  isKnownMethod({ kind: 'notification', method, params: {} }, version);

const legacy = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const versions = [...legacy, '2026-07-28'];

describe('requests by version', () => {
  for (const [method, having] of [
    ['tools/list', versions],
    ['tools/call', versions],
    ['prompts/list', versions],
    ['prompts/get', versions],
    ['resources/list', versions],
    ['resources/templates/list', versions],
    ['resources/read', versions],
    ['completion/complete', versions],
    ['initialize', legacy],
    ['ping', legacy],
    ['logging/setLevel', legacy],
    ['resources/subscribe', legacy],
    ['resources/unsubscribe', legacy],
    ['tasks/list', ['2025-11-25']],
    ['tasks/result', ['2025-11-25']],
    ['tasks/get', ['2025-11-25', '2026-07-28']],
    ['tasks/cancel', ['2025-11-25', '2026-07-28']],
    ['tasks/update', ['2026-07-28']],
    ['server/discover', ['2026-07-28']],
    ['subscriptions/listen', ['2026-07-28']],
    // These go the other way.
    ['sampling/createMessage', []],
    ['elicitation/create', []],
    ['roots/list', []],
  ] as const)
    test(method, () => {
      const expected: readonly string[] = having;
      for (const version of versions) assert.equal(asRequest(method, version), expected.includes(version), version);
      assert.equal(
        asRequest(method),
        expected.some((version) => version < '2026'),
        'without a header',
      );
      assert.equal(asRequest(method, '2027-01-01'), expected.includes('2026-07-28'), 'a later version');
      assert.equal(isRequestMethod(method), expected.length > 0);
      assert.equal(asNotification(method), false);
    });
});

describe('notifications by version', () => {
  for (const [method, having] of [
    ['notifications/cancelled', versions],
    ['notifications/progress', versions],
    ['notifications/initialized', legacy],
    ['notifications/roots/list_changed', legacy],
    ['notifications/tasks/status', ['2025-11-25']],
    ['notifications/message', []],
    ['notifications/tools/list_changed', []],
  ] as const)
    test(method, () => {
      const expected: readonly string[] = having;
      for (const version of versions)
        assert.equal(asNotification(method, version), expected.includes(version), version);
      assert.equal(asRequest(method), false);
      assert.equal(isRequestMethod(method), false);
    });
});

describe('other spellings are other methods', () => {
  for (const method of [
    'Tools/Call',
    'TOOLS/CALL',
    'tools//call',
    '/tools/call',
    'tools/call/',
    'tools/call ',
    ' tools/call',
    'tools/call\0',
    'tools/call\n',
    'tools\\call',
    'tools.call',
    'tools/./call',
    'tools/c\u0430ll',
    'toolſ/call',
    'constructor',
    '__proto__',
    '',
  ])
    test(JSON.stringify(method), () => {
      for (const version of [...versions, undefined, 'x']) assert.equal(asRequest(method, version), false);
    });
});

test('what the configuration takes for a method of MCP some version has', () => {
  for (const method of mcpMethods)
    assert.ok(
      [...versions, undefined].some((version) => asRequest(method, version) || asNotification(method, version)),
      method,
    );
});

test('the schema of the SDK knows no other client requests of 2025-11-25', () => {
  // Its own list, by direction.
  const types = readFileSync(
    new URL('../../../../node_modules/@modelcontextprotocol/sdk/dist/esm/types.js', import.meta.url),
    'utf8',
  );
  const union = /export const ClientRequestSchema = z\.union\(\[([^\]]*)\]\)/.exec(types)?.[1];
  assert.ok(union !== undefined);
  const methods = [...union.matchAll(/(\w+)RequestSchema/g)].map(([, name]) => {
    const definition = types.slice(types.indexOf(`export const ${name}RequestSchema =`));
    return /method: z\.literal\('([^']+)'\)/.exec(definition)![1]!;
  });
  assert.ok(methods.length >= 15, methods.join());
  for (const method of methods) assert.ok(asRequest(method, '2025-11-25'), method);
});
