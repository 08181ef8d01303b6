import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { buildContext } from '../../../test/integration/admin-fixture.ts';
import { type Expression, type ExpressionVariables, type McpVariables } from '../../cel/expression.ts';
import { type TokenLocation, TokenLocationSchema } from '../../ir/gen/config_pb.ts';
import { listOutcomes } from './describe-outcomes.ts';
import { readRequestVariables } from './request-variables.ts';
import type { RuleSet } from '../config/rule-set.ts';
import { expressionOf, ruleOf, rulesOf } from './testing/rules-of-values.ts';

const secretToken = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.c2ln';

const claims = {
  sub: 'alice',
  groups: ['support', 'all'],
  address: { city: 'Bern', door_secret: 'S3CRET' },
  note: `with ${secretToken} in it`,
  long: 'x'.repeat(5_000),
  nothing: null,
};

const headers = [
  'X-Team',
  'support',
  'Authorization',
  'Bearer S3CRET',
  'Cookie',
  'S3CRET',
  'X-Api-Key',
  'S3CRET',
  'X-Door',
  'S3CRET',
  'Mcp-Session-Id',
  'S3CRET',
];
const query = '?team=support&access_token=S3CRET&key=S3CRET&door=S3CRET&twice=1&twice=2';

const token = { issuer: '', subject: 'alice', claims, scopes: undefined, expiresAtMs: 0 };
const mcp: McpVariables = {
  method: 'tools/call',
  protocolVersion: '2025-06-18',
  tool: { name: 'close', arguments: { id: 7, password: 'S3CRET' } },
  sessionId: 'S3CRET',
};
const variables: ExpressionVariables = {
  ...readRequestVariables(buildContext({ query, startedAtMs: Date.UTC(2026, 7, 1) }, { headers }), token),
  mcp,
};

function reading(...reads: string[][]): RuleSet {
  const expression: Expression = { ...expressionOf('true'), reads };
  return { deny: [], require: [], allow: [ruleOf('p', 'Allow', [expression])], allowOverrides: [] };
}

/** What one expression that reads this attribute is said to have seen. */
function see(path: string[], tokenLocation?: TokenLocation): string {
  const [outcome] = listOutcomes({ rules: reading(path), variables, tokenLocation });
  assert.equal(outcome!.saw.length, 1);
  return `${outcome!.saw[0]!.attribute} = ${outcome!.saw[0]!.value}`;
}

describe('what an expression saw', () => {
  test('is the attributes that it reads, with their values', () => {
    assert.equal(see(['jwt', 'sub']), 'jwt.sub = "alice"');
    assert.equal(see(['jwt', 'groups']), 'jwt.groups = ["support","all"]');
    assert.equal(see(['jwt', 'address', 'city']), 'jwt.address.city = "Bern"');
    assert.equal(see(['jwt', 'nothing']), 'jwt.nothing = null');
    assert.equal(see(['jwt', 'team']), 'jwt.team = absent');
    assert.equal(see(['jwt', 'sub', 'name']), 'jwt.sub.name = absent');
    assert.equal(see(['jwt', 'constructor']), 'jwt.constructor = absent');
    assert.equal(see(['request', 'method']), 'request.method = "POST"');
    assert.equal(see(['request', 'headers', 'x-team']), 'request.headers["x-team"] = "support"');
    assert.equal(see(['request', 'query', 'team']), 'request.query.team = "support"');
    assert.equal(see(['request', 'query', 'twice']), 'request.query.twice = sent several times');
    assert.equal(see(['request', 'time']), 'request.time = 2026-08-01T00:00:00.000Z');
    assert.equal(see(['source', 'address']), 'source.address = "127.0.0.1"');
    assert.equal(see(['mcp', 'tool', 'name']), 'mcp.tool.name = "close"');
  });

  test('is short', () => {
    assert.match(see(['jwt', 'long']), /^jwt\.long = "x{255}\.\.\.$/);
    const reads = Array.from({ length: 200 }, (_, index) => ['jwt', `claim${index}`]);
    assert.equal(listOutcomes({ rules: reading(...reads), variables })[0]!.saw.length, 16);
  });

  test('never is a credential, by its name or by its look', () => {
    assert.equal(see(['request', 'headers', 'authorization']), 'request.headers.authorization = [redacted]');
    assert.equal(see(['request', 'query', 'access_token']), 'request.query.access_token = [redacted]');
    assert.equal(see(['mcp', 'sessionId']), 'mcp.sessionId = [redacted]');
    assert.equal(see(['jwt', 'note']), 'jwt.note = "with [redacted] in it"');
    assert.equal(see(['jwt', 'address']), 'jwt.address = {"city":"Bern","door_secret":"[redacted]"}');
    assert.equal(see(['mcp', 'tool', 'arguments']), 'mcp.tool.arguments = {"id":7,"password":"[redacted]"}');
    const hidden = /S3CRET|eyJ/;
    for (const path of [['cookie'], ['x-api-key'], ['mcp-session-id']])
      assert.doesNotMatch(see(['request', 'headers', ...path]), hidden);
    assert.doesNotMatch(see(['request', 'query', 'key']), hidden);
  });

  test('nor what is where the tokens of the route are, whatever that is called', () => {
    const header = create(TokenLocationSchema, { location: { case: 'header', value: { name: 'x-door', prefix: '' } } });
    const parameter = create(TokenLocationSchema, { location: { case: 'queryParameter', value: 'door' } });
    for (const [path, location] of [
      [['request', 'headers', 'x-door'], header],
      [['request', 'headers'], header],
      [['request'], header],
      [['request', 'query', 'door'], parameter],
      [['request', 'query'], parameter],
    ] as const) {
      // Only what the location adds: the rest is hidden by name.
      const seen = see([...path], location);
      const name = location === header ? 'x-door' : 'door';
      assert.doesNotMatch(seen, new RegExp(`${name}":"S3CRET|${name}(?:"\\])? = "?S3CRET`), seen);
    }
    assert.match(see(['request', 'headers', 'x-door']), /S3CRET/, 'elsewhere it is a header like any other');
  });

  test('of a whole map has all of it that may be shown', () => {
    assert.equal(
      see(['request', 'query']),
      'request.query = {"team":"support","access_token":"[redacted]","key":"[redacted]","door":"S3CRET","twice":"sent several times"}',
    );
  });
});

describe('outcomes', () => {
  test('are in the order in which expressions are asked: Deny, Require, Allow', () => {
    const rules = rulesOf([
      { action: 'Allow', values: ['true'] },
      { action: 'Require', values: ['false', 'error'] },
      { action: 'Deny', values: ['false'] },
    ]);
    assert.deepEqual(
      listOutcomes({ rules, variables }).map(({ action, index, value, problem }) => [action, index, value, problem]),
      [
        ['Deny', 0, false, undefined],
        ['Require', 0, false, undefined],
        ['Require', 1, 'error', 'no such key: team'],
        ['Allow', 0, true, undefined],
      ],
    );
  });

  test('of what does not concern the message are skipped, and saw nothing', () => {
    const application = { applies: () => false, skippedAllows: true };
    const [outcome] = listOutcomes({ rules: reading(['jwt', 'sub']), variables, application });
    assert.equal(outcome!.value, 'skipped');
    assert.deepEqual(outcome!.saw, []);
  });
});
