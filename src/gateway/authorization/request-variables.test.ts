import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildContext } from '../../../test/integration/admin-fixture.ts';
import { compileExpression } from '../../cel/compile-expression.ts';
import { ambiguous, type ExpressionVariables } from '../../cel/expression.ts';
import { readRequestVariables } from './request-variables.ts';

function readHeaders(headers: readonly string[]): ExpressionVariables['request']['headers'] {
  return readRequestVariables(buildContext({}, { headers }), undefined).request.headers;
}

function readQuery(query: string): ExpressionVariables['request']['query'] {
  return readRequestVariables(buildContext({ query }), undefined).request.query;
}

/** What an expression says about a request; `error` when it cannot be evaluated. */
function evaluate(source: string, headers: readonly string[], query = ''): boolean | 'error' {
  const compiled = compileExpression(source, 'request');
  assert.ok(compiled.ok, JSON.stringify(compiled));
  const outcome = compiled.expression.evaluate(readRequestVariables(buildContext({ query }, { headers }), undefined));
  return outcome.ok ? outcome.value : 'error';
}

/** Without the missing prototype, which deepEqual would mind. */
const entries = (map: Readonly<Record<string, unknown>>): [string, unknown][] => Object.entries(map);

test('a request is what the gateway made of it, not what was sent', () => {
  const { jwt, request, source } = readRequestVariables(
    buildContext(
      { path: '/mcp', hostname: 'mcp.example', startedAtMs: 1_700_000_000_000 },
      { target: '/x/../mcp', remoteAddress: '192.0.2.7', scheme: 'https' },
    ),
    undefined,
  );
  const { method, path, host, scheme, time } = request;
  assert.deepEqual(
    { method, path, host, scheme, time },
    { method: 'POST', path: '/mcp', host: 'mcp.example', scheme: 'https', time: 1_700_000_000_000 },
  );
  assert.deepEqual(source, { address: '192.0.2.7' });
  assert.deepEqual(jwt, {});
});

test('claims are those of the token, and the same object every time', () => {
  const claims = { sub: 'alice' };
  const token = { issuer: '', subject: 'alice', claims, scopes: undefined, expiresAtMs: 0 };
  assert.equal(readRequestVariables(buildContext(), token).jwt, claims);
});

describe('headers', () => {
  test('have names in lower case, and one value each', () => {
    const headers = readHeaders(['X-Team', 'a', 'x-team', 'b', 'X-TEAM', '', 'Accept', '*/*']);
    assert.deepEqual(entries(headers), [
      ['x-team', 'a, b, '],
      ['accept', '*/*'],
    ]);
  });

  test('cookies of several fields are one list of cookies', () => {
    assert.deepEqual(entries(readHeaders(['cookie', 'a=1', 'cookie', 'b=2'])), [['cookie', 'a=1; b=2']]);
  });

  test('may have any name, also that of something every object has', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__PROTO__'];
    const headers = readHeaders(names.flatMap((name) => [name, `value of ${name}`]));
    assert.deepEqual(entries(headers), [
      ['__proto__', 'value of __proto__, value of __PROTO__'],
      ['constructor', 'value of constructor'],
      ['tostring', 'value of toString'],
      ['hasownproperty', 'value of hasOwnProperty'],
    ]);
    assert.equal(({} as Record<string, unknown>)['value'], undefined);
    assert.equal('constructor' in readHeaders([]), false);
    assert.equal('__proto__' in readHeaders([]), false);
  });

  test('expressions see what was sent, and nothing that every object has', () => {
    const sent = ['__proto__', 'x', 'Constructor', 'y'];
    assert.equal(evaluate('request.headers["__proto__"] == "x"', sent), true);
    assert.equal(evaluate('request.headers.constructor == "y"', sent), true);
    for (const name of ['__proto__', 'constructor', 'valueof', 'x-absent']) {
      assert.equal(evaluate(`request.headers["${name}"] == "x"`, []), 'error', name);
      assert.equal(evaluate(`"${name}" in request.headers`, []), false, name);
    }
    assert.equal(
      evaluate('request.headers["X-" + "Team"] == "a"', ['x-team', 'a']),
      'error',
      'names are in lower case',
    );
  });

  test('are read when somebody asks, once', () => {
    const { request } = readRequestVariables(buildContext({ query: '?a=1' }, { headers: ['a', 'b'] }), undefined);
    assert.equal(request.headers, request.headers);
    assert.equal(request.query, request.query);
  });
});

describe('query parameters', () => {
  test('are decoded as forms are', () => {
    assert.deepEqual(entries(readQuery('?a=1+2&b=%C3%A4%2B&c&d=&=e&%66=g&h=%zz')), [
      ['a', '1 2'],
      ['b', 'ä+'],
      ['c', ''],
      ['d', ''],
      ['', 'e'],
      ['f', 'g'],
      ['h', '%zz'],
    ]);
    assert.deepEqual(entries(readQuery('')), []);
    assert.deepEqual(entries(readQuery('?')), []);
    assert.deepEqual(entries(readQuery('?&&')), []);
  });

  test('that come several times have no value, however they are spelled', () => {
    assert.deepEqual(entries(readQuery('?a=1&b=2&%61=1&=&=')), [
      ['a', ambiguous],
      ['b', '2'],
      ['', ambiguous],
    ]);
    assert.equal(readQuery('?a=1&a=1')['a'], ambiguous, 'even when they agree');
    assert.equal(readQuery('?__proto__=1')['__proto__'], '1');
    assert.equal(readQuery('?__proto__=1&__proto__=2')['__proto__'], ambiguous);
  });

  test('expressions cannot read one that comes several times', () => {
    assert.equal(evaluate('request.query.team == "a"', [], '?team=a'), true);
    assert.equal(evaluate('request.query.team == "a b"', [], '?team=a+b'), true);
    assert.equal(evaluate('request.query.team == "a+b"', [], '?team=a%2Bb'), true);
    assert.equal(evaluate('request.query[""] == "x"', [], '?=x'), true);
    assert.equal(evaluate('request.query.team == "a"', [], '?team=a&team=a'), 'error');
    assert.equal(evaluate('request.query.team != "admin"', [], '?team=a&team=admin'), 'error');
    assert.equal(evaluate('request.query.other == "x"', [], '?team=a&team=b&other=x'), true);
    assert.equal(evaluate('request.query.constructor == "x"', []), 'error');
  });
});
