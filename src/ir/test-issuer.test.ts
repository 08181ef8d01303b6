import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTestIssuer, isTestIssuer } from './test-issuer.ts';

test('an issuer of test tokens is known in every spelling, and no other is', () => {
  for (const issuer of [
    formatTestIssuer('0123456789ab'),
    'https://test-token.mcp-gatehouse.invalid',
    'HTTPS://TEST-TOKEN.MCP-GATEHOUSE.INVALID./x',
    'http://user@test-token.mcp-gatehouse.invalid:8080/x',
    'test-token.mcp-gatehouse.invalid',
  ])
    assert.ok(isTestIssuer(issuer), issuer);
  for (const issuer of [
    'https://idp.example',
    'https://mcp-gatehouse.invalid/',
    'https://test-token.example/',
    'tests',
  ])
    assert.ok(!isTestIssuer(issuer), issuer);
});
