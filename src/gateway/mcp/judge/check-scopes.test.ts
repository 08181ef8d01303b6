import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  createContext,
  createResource,
  createRoute,
  createToken,
  valueOf,
} from '../../authentication/testing/auth-fixture.ts';
import { findMissingScopes, listNeededScopes, type ScopeCheck, type ScopedUse } from './check-scopes.ts';
import { createRules } from '../testing/message-fixture.ts';

const { scopes } = createRules({
  scopes: [
    { scopes: ['all'] },
    { methods: ['tools/call'], scopes: ['call'] },
    { methods: ['tools/call'], tools: ['ticket_close*', 'wipe'], scopes: ['write', 'call'] },
    { tools: ['*secret*'], scopes: ['secret'] },
    { methods: ['prompts/get', 'resources/read'], scopes: ['read'] },
  ],
});

const call = (tool: string): ScopedUse => ({ method: 'tools/call', tool });
const plain = (method: string): ScopedUse => ({ method, tool: undefined });

describe('the scopes that messages need', () => {
  for (const [name, uses, needed] of [
    ['a request without a message', [undefined], 'all'],
    ['a list', [plain('tools/list')], 'all'],
    ['a call', [call('echo')], 'all call'],
    ['a call that fits several entries', [call('ticket_close_now')], 'all call write'],
    ['a name that ends earlier', [call('ticket_clos')], 'all call'],
    ['a name that begins later', [call('x_ticket_close')], 'all call'],
    ['a whole name', [call('wipe')], 'all call write'],
    ['not a part of it', [call('wiper')], 'all call'],
    ['stars around', [call('my_secret_tool')], 'all call secret'],
    ['a star for nothing', [call('secret')], 'all call secret'],
    ['another method', [plain('prompts/get')], 'all read'],
    ['several messages together', [call('wipe'), plain('resources/read'), undefined], 'all call write read'],
    ['none', [], ''],
  ] as const)
    test(name, () => assert.equal(listNeededScopes(scopes, uses).join(' '), needed));
});

describe('a token that lacks some', () => {
  function check(parts: Partial<ScopeCheck>, needed: readonly string[], headers: readonly string[] = []): string {
    const { context } = createContext({ headers });
    context.route = createRoute(false);
    const denial = findMissingScopes({ context, token: undefined, resource: undefined, ...parts }, needed);
    if (denial === undefined) return 'fine';
    const challenge = valueOf(denial.responseHeaders, 'www-authenticate') ?? 'no challenge';
    const readable = valueOf(denial.responseHeaders, 'access-control-expose-headers');
    return [denial.reason, challenge, ...(readable === undefined ? [] : [readable])].join(' | ');
  }
  const resource = createResource({ message: { requiredScopes: ['mcp', 'tickets:read'] } });
  const token = createToken({ scopes: new Set(['mcp', 'tickets:read']) });

  for (const [name, parts, needed, headers, expected] of [
    ['needs nothing', {}, [], [], 'fine'],
    ['has them', { token }, ['tickets:read'], [], 'fine'],
    [
      'is told all that the operation needs, and where to log in',
      { token, resource },
      ['tickets:read', 'tickets:write'],
      [],
      'insufficient_scope | Bearer error="insufficient_scope", resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp", scope="mcp tickets:read tickets:write"',
    ],
    [
      'is told so without MCP authentication, too',
      { token },
      ['tickets:write'],
      [],
      'insufficient_scope | Bearer error="insufficient_scope", scope="tickets:write"',
    ],
    [
      'carries no scopes at all: no step-up would help',
      { token: createToken({ scopes: undefined }), resource },
      ['a'],
      [],
      'token_without_scopes | no challenge',
    ],
    [
      'is not there at all',
      { resource },
      ['a'],
      [],
      'missing_token | Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp", scope="mcp tickets:read a"',
    ],
    ['is not there, without MCP authentication', {}, ['a'], [], 'missing_token | Bearer scope="a"'],
    [
      'is of a script, which must be able to read the challenge',
      { token },
      ['a'],
      ['Origin', 'https://app.example'],
      'insufficient_scope | Bearer error="insufficient_scope", scope="a" | WWW-Authenticate, Mcp-Session-Id',
    ],
  ] as const)
    test(name, () => assert.equal(check(parts, needed, headers), expected));
});
