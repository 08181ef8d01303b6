// backend.mcp.authorization: defaults, constraints, and the rules that span fields.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseResource } from './parse-resource.ts';
import { fillTemplate, listProblems } from './testing/expect-problems.ts';

const template =
  '{apiVersion: gateway.proxy/v1alpha1, kind: ProxyPolicy, metadata: {name: a}, spec: {targetRefs: [{group: gateway.proxy, kind: ProxyBackend, name: b}], backend: {mcp: {authorization: {HERE}}}}}';

test('defaults', () => {
  const result = parseResource(fillTemplate(template, 'scopes: [{scopes: [mcp]}]'), { origin: 'file' });
  assert.ok(result.ok && result.kind === 'ProxyPolicy');
  assert.deepEqual(result.resource.spec.backend?.mcp.authorization, {
    action: 'Allow',
    scopes: [{ scopes: ['mcp'] }],
  });
});

const at = 'spec.backend.mcp.authorization';
const onlyCalls = `${at}.scopes[0].methods: must be absent or only tools/call when \`tools\` is set; write another entry for other methods`;
const cases: readonly (readonly [yaml: string, ...expected: string[]])[] = [
  ['', `${at}: must have at least one of policy, scopes`],
  ['policy: {matchExpressions: ["true"]}'],
  ['action: Deny, policy: {matchExpressions: [\'mcp.tool.name == "drop"\']}, scopes: [{scopes: [a]}]'],
  [
    'action: Deny, scopes: [{scopes: [a]}]',
    `${at}.action: has no effect without \`policy\`; remove it, scopes are always required`,
  ],
  ['scopes: []', `${at}.scopes: must have at least 1 entry, has 0`],
  ['scopes: [{}]', `${at}.scopes[0].scopes: required: a list`],
  ['scopes: [{scopes: []}]', `${at}.scopes[0].scopes: must have at least 1 entry, has 0`],
  [
    'scopes: [{scopes: ["a b"]}]',
    `${at}.scopes[0].scopes[0]: must be a scope: printable characters without spaces, quotes and backslashes`,
  ],
  ['scopes: [{tools: ["ticket_*"], scopes: [a]}]'],
  ['scopes: [{methods: [tools/call], tools: ["ticket_*"], scopes: [a]}]'],
  ['scopes: [{methods: [resources/read, prompts/get], scopes: [a]}]'],
  ['scopes: [{methods: [tools/list], tools: [a], scopes: [a]}]', onlyCalls],
  ['scopes: [{methods: [tools/call, prompts/get], tools: [a], scopes: [a]}]', onlyCalls],
  ['scopes: [{tools: [], scopes: [a]}]', `${at}.scopes[0].tools: must have at least 1 entry, has 0`],
  ['scopes: [{tools: [""], scopes: [a]}]', `${at}.scopes[0].tools[0]: must not be empty`],
  ['scopes: [{methods: [], scopes: [a]}]', `${at}.scopes[0].methods: must have at least 1 entry, has 0`],
  [
    'scopes: [{methods: ["tools/call "], scopes: [a]}]',
    `${at}.scopes[0].methods[0]: is not a method of MCP; did you mean tools/call?`,
  ],
  [
    'scopes: [{methods: ["x y z"], scopes: [a]}]',
    `${at}.scopes[0].methods[0]: must be a method such as tools/call: printable ASCII without spaces`,
  ],
  [
    'scopes: [{methods: [tools/list, Tools/Call, tool/call], scopes: [a]}]',
    `${at}.scopes[0].methods[1]: is not a method of MCP; did you mean tools/call?`,
    `${at}.scopes[0].methods[2]: is not a method of MCP; did you mean tools/call?`,
  ],
  ['scopes: [{methods: [acme/export], scopes: [a]}]'],
  ['scopes: [{method: [tools/call], scopes: [a]}]', `${at}.scopes[0].method: unknown field; did you mean \`methods\`?`],
];

describe('backend.mcp.authorization', () => {
  for (const [yaml, ...expected] of cases)
    test(expected.length === 0 ? `good: ${yaml}` : expected.join('; '), () =>
      assert.deepEqual(listProblems(fillTemplate(template, yaml)), expected),
    );

  test('an object that Kubernetes has accepted is served: a method that looks misspelled may be an extension', () => {
    const raw = fillTemplate(template, 'scopes: [{methods: [tool/call], scopes: [a]}]');
    assert.deepEqual(listProblems(raw, 'kubernetes'), []);
  });
});
