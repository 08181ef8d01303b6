// What is known about an expression for requests without a token.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findAnonymousOutcomes } from './anonymous-outcomes.ts';
import { compileExpression } from './compile-expression.ts';
import type { ExpressionVariables } from './expression.ts';

/** Each with its outcomes: T it can be true, F it can be false, nothing: it always fails. */
const cases: readonly (readonly [source: string, outcomes: '' | 'T' | 'F' | 'TF'])[] = [
  ['true', 'T'],
  ['false', 'F'],
  // claims
  ['jwt.sub == "a"', ''],
  ['jwt.sub != "a"', ''],
  ['!(jwt.sub == "a")', ''],
  ['has(jwt.sub)', 'F'],
  ['!has(jwt.sub)', 'T'],
  ['has(jwt.sub.x)', ''],
  ['"sub" in jwt', 'F'],
  ['"admin" in jwt.groups', ''],
  ['!("admin" in jwt.groups)', ''],
  ['size(jwt) > 0', 'F'],
  ['jwt.size() == 0', 'T'],
  ['jwt == {}', 'T'],
  ['jwt.all(k, k == "x")', 'T'],
  ['jwt.exists(k, k == "sub")', 'F'],
  ['jwt["https://x/team"].startsWith("a")', ''],
  ['jwt.sub == "a" || true', 'T'],
  ['jwt.sub == "a" && false', 'F'],
  ['has(jwt.sub) ? jwt.sub == "a" : true', 'T'],
  ['has(jwt.sub) && jwt.sub == "a"', 'F'],
  ['!has(jwt.sub) || jwt.sub == "a"', 'T'],
  // the request: anything is possible
  ['request.path == "/health"', 'TF'],
  ['request.method in ["GET", "HEAD"]', 'TF'],
  ['source.address == "10.0.0.1"', 'TF'],
  ['request.headers["x-key"] == "secret"', 'TF'],
  ['has(request.headers.cookie)', 'TF'],
  ['request.time > timestamp("2026-01-01T00:00:00Z")', 'TF'],
  // both
  ['request.path == "/health" || jwt.sub == "a"', 'T'],
  ['request.path == "/health" && jwt.sub == "a"', 'F'],
  ['request.path == "/health" ? true : jwt.sub == "a"', 'T'],
  ['request.path == "/health" ? jwt.admin : jwt.sub == "a"', ''],
  ['has(jwt.sub) && request.path == "/a"', 'F'],
  ['request.headers["x-user"] == jwt.sub', ''],
  ['!(request.path == jwt.path)', ''],
  ['request.path in jwt.paths', ''],
  ['request.path.startsWith(jwt.prefix)', ''],
  ['request.path.startsWith("/" + jwt.sub)', ''],
  ['[request.path].exists(p, p in jwt.paths)', 'F'],
  ['["a", request.path].exists_one(p, p in jwt.paths)', 'F'],
  ['[request.path].all(p, p in jwt.paths)', 'TF'],
  ['["a", "b"].exists(g, g in jwt.groups)', ''],
  ['["a", "b"].all(g, g in jwt.groups)', ''],
  ['jwt.groups.exists(g, g == request.path)', ''],
  // names of macros that hide others
  ['[request.path].exists(jwt, jwt == "/a")', 'TF'],
  ['["x"].exists(request, request == "x")', 'T'],
  ['[jwt].exists(request, request.sub == "x")', ''],
];

describe('outcomes without a token', () => {
  for (const [source, outcomes] of cases)
    test(source, () => {
      const { canBeTrue, canBeFalse } = findAnonymousOutcomes(source, 'request');
      assert.equal(`${canBeTrue ? 'T' : ''}${canBeFalse ? 'F' : ''}`, outcomes);
    });

  test('a text that does not compile can be anything', () => {
    assert.deepEqual(findAnonymousOutcomes('jwt.', 'request'), { canBeTrue: true, canBeFalse: true });
  });
});

test('no request has an outcome that was excluded', () => {
  for (const [source] of cases) {
    const compiled = compileExpression(source, 'request');
    assert.ok(compiled.ok, source);
    const possible = findAnonymousOutcomes(source, 'request');
    for (const variables of listRequests()) {
      const outcome = compiled.expression.evaluate(variables);
      if (!outcome.ok) continue;
      assert.ok(outcome.value ? possible.canBeTrue : possible.canBeFalse, `${source} is ${outcome.value}`);
    }
  }
});

function* listRequests(): Generator<ExpressionVariables> {
  for (const method of ['GET', 'POST'])
    for (const path of ['/health', '/a', 'x'])
      for (const headers of [{}, { 'x-key': 'secret', 'x-user': '', cookie: 'a=b' }])
        for (const time of [0, 4_000_000_000_000])
          yield {
            jwt: {},
            request: { method, path, host: 'h', scheme: 'http', headers, query: {}, time },
            source: { address: '10.0.0.1' },
          };
}
