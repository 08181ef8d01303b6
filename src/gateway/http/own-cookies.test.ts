import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dropOwnCookies } from './own-cookies.ts';

test('cookies of the gateway are dropped, all others stay as they were written', () => {
  for (const [value, expected] of [
    ['a=1', 'a=1'],
    ['a=1; b="x;y"', 'a=1; b="x;y"'],
    ['mcp-gateway-login-x=s', undefined],
    ['__Host-mcp-gateway-login-x=s; __Host-mcp-gateway-consent=t', undefined],
    ['a=1; __Host-mcp-gateway-consent=t; b=2', 'a=1; b=2'],
    ['__Host-mcp-gateway-consent=t;b=2', 'b=2'],
    ['MCP-Gateway-login-x=s; a=1', 'a=1'],
    ['a=mcp-gateway-login', 'a=mcp-gateway-login'],
    ['x-mcp-gateway-a=1', 'x-mcp-gateway-a=1'],
    ['', ''],
  ] as const)
    assert.equal(dropOwnCookies(value), expected, value);
});
