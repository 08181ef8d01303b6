import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  appendAuthorizationServer,
  appendOpenidConfiguration,
  insertAuthorizationServer,
  insertOpenidConfiguration,
} from './metadata-urls.ts';

test('the name goes between host and path, or after the path; a slash at the end goes away', () => {
  for (const issuer of ['https://idp.example.com/realms/mcp', 'https://idp.example.com/realms/mcp/']) {
    assert.equal(
      insertAuthorizationServer(issuer),
      'https://idp.example.com/.well-known/oauth-authorization-server/realms/mcp',
    );
    assert.equal(
      insertOpenidConfiguration(issuer),
      'https://idp.example.com/.well-known/openid-configuration/realms/mcp',
    );
    assert.equal(
      appendOpenidConfiguration(issuer),
      'https://idp.example.com/realms/mcp/.well-known/openid-configuration',
    );
    assert.equal(
      appendAuthorizationServer(issuer),
      'https://idp.example.com/realms/mcp/.well-known/oauth-authorization-server',
    );
  }
});

test('without a path all forms are one', () => {
  for (const issuer of ['https://idp.example.com:8443', 'https://idp.example.com:8443/']) {
    assert.equal(
      insertAuthorizationServer(issuer),
      'https://idp.example.com:8443/.well-known/oauth-authorization-server',
    );
    assert.equal(appendOpenidConfiguration(issuer), insertOpenidConfiguration(issuer));
  }
});
