// Expressions of policies: each must compile, in the place where it stands.
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { fillTemplate, listProblems } from './testing/expect-problems.ts';

const traffic =
  '{apiVersion: gateway.proxy/v1alpha1, kind: ProxyPolicy, metadata: {name: a}, spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: g}], traffic: {authorization: {policy: {matchExpressions: [HERE]}}}}}';
const backend =
  '{apiVersion: gateway.proxy/v1alpha1, kind: ProxyPolicy, metadata: {name: a}, spec: {targetRefs: [{group: gateway.proxy, kind: ProxyBackend, name: b}], backend: {mcp: {authorization: {policy: {matchExpressions: [HERE]}}}}}}';

function run(template: string, at: string, cases: readonly (readonly [yaml: string, ...expected: string[]])[]): void {
  for (const [yaml, ...expected] of cases)
    test(expected.length === 0 ? `good: ${yaml}` : `${yaml} -> ${expected.join('; ')}`, () =>
      assert.deepEqual(
        listProblems(fillTemplate(template, yaml)),
        expected.map((problem) => `${at}${problem}`),
      ),
    );
}

describe('expressions over requests', () => {
  run(traffic, 'spec.traffic.authorization.policy.matchExpressions', [
    [`'"support" in jwt.groups'`],
    [`'jwt.admin'`],
    [`"jwt.team == 'a' &&\\n  request.method == 'GET'"`],
    [`'jwt.team = "a"'`, '[0]: line 1, column 10: "=" has no meaning here; write == to compare'],
    [
      `'true', "true &&\\n  request.methd == 'GET'"`,
      '[1]: line 2, column 11: request has no field "methd"; did you mean method?',
    ],
    [`'request.method'`, '[0]: line 1, column 1: the expression gives a string, not true or false'],
    [
      `'mcp.method == "tools/call"'`,
      '[0]: line 1, column 1: mcp is only available in rules over MCP messages (backend.mcp.authorization)',
    ],
    [
      `'a', 'true', 'b'`,
      '[0]: line 1, column 1: there is no variable "a"; there are jwt, request and source',
      '[2]: line 1, column 1: there is no variable "b"; there are jwt, request and source',
    ],
    [`''`, '[0]: must not be empty'],
    [`'   '`, '[0]: line 1, column 4: expected a value, found the end'],
    ['1', '[0]: must be a string, not a number: put it in quotes'],
  ]);
});

describe('expressions over MCP messages', () => {
  run(backend, 'spec.backend.mcp.authorization.policy.matchExpressions', [
    [`'mcp.method == "tools/call"'`],
    [`'!has(mcp.tool) || "support" in jwt.groups'`],
    [`'mcp.tools.name == "x"'`, '[0]: line 1, column 5: mcp has no field "tools"; did you mean tool?'],
  ]);
});
