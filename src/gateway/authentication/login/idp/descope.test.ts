import assert from 'node:assert/strict';
import { test } from 'node:test';
import { descope } from './descope.ts';

const server = 'https://api.descope.com/v1/apps/agentic/P1/M1';

test('metadata is below the path of the MCP server', () => {
  assert.deepEqual(descope.metadataUrls!(server), [
    `${server}/.well-known/oauth-authorization-server`,
    `${server}/.well-known/openid-configuration`,
  ]);
});

test('the server speaks for tokens of its project, and of no other', () => {
  assert.equal(descope.acceptsIssuer!('https://api.descope.com/v1/apps/P1', server), true);
  assert.equal(descope.acceptsIssuer!('https://api.descope.com/v1/apps/P2', server), false);
  assert.equal(descope.acceptsIssuer!('https://auth.example/v1/apps/P1', server), false);
  assert.equal(descope.acceptsIssuer!('https://api.descope.com/P1', server), false);
});
