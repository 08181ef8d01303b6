// The recipes of docs/claim-rules.md: each policy is loaded as an operator would load it, and judges the cases that stand below it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { parseResource } from '../src/api/parse-resource.ts';
import type { ProxyPolicy } from '../src/api/proxy-policy.ts';
import type { ExpressionVariables } from '../src/cel/expression.ts';
import { collectRules, compileRules } from '../src/gateway/config/compile/compile-authorization.ts';
import {
  type Caller,
  isListed,
  judgeBareRequest,
  judgeItemMessage,
  judgePlainMessage,
} from '../src/gateway/mcp/judge/judge-message.ts';
import { createRules as createMessageRules } from '../src/gateway/mcp/testing/message-fixture.ts';
import type { Item } from '../src/gateway/mcp/read/read-item.ts';
import { decideRules } from '../src/gateway/authorization/decide-rules.ts';
import { readRequestVariables } from '../src/gateway/authorization/request-variables.ts';
import { createContext, createToken } from '../src/gateway/authentication/testing/auth-fixture.ts';
import { createRules } from '../src/translate/policies/authorization.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const page = readFileSync(join(root, 'docs/claim-rules.md'), 'utf8');

type Verdict = 'allowed' | 'denied' | 'listed' | 'hidden';

/** What a line of cases may say; everything has the default that the page names. */
interface Case {
  readonly method?: string;
  readonly path?: string;
  readonly host?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly time?: string;
  readonly source?: string;
  readonly jwt?: Readonly<Record<string, unknown>>;
  readonly mcp?: {
    readonly method?: string;
    readonly protocolVersion?: string;
    readonly sessionId?: string;
    readonly tool?: { readonly name: string; readonly arguments?: Readonly<Record<string, never>> };
    readonly prompt?: { readonly name: string };
    readonly resource?: { readonly uri: string };
  };
}

const recipes = [
  ...page.matchAll(/^### (.+)\n(?:(?!```|^#)[\s\S])*```yaml\n([\s\S]*?)```\n```cases\n([\s\S]*?)```/gm),
].map(([, name, policy, cases]) => ({
  name: name!,
  policy: policy!,
  cases: cases!
    .trim()
    .split('\n')
    .map((line) => {
      const written = /^(allowed|denied|listed|hidden) +(\{.*)$/.exec(line);
      assert.ok(written !== null, `not a case: ${line}`);
      return { line, verdict: written[1] as Verdict, situation: parse(written[2]!) as Case };
    }),
}));

function load(yaml: string): ProxyPolicy {
  const result = parseResource(parse(yaml), { origin: 'file' });
  assert.ok(result.ok, result.ok ? '' : JSON.stringify(result.problems));
  assert.ok(result.kind === 'ProxyPolicy');
  return result.resource;
}

function describeRequest({ method, path, host, headers, query, time, source, jwt }: Case): ExpressionVariables {
  const { context } = createContext({
    ...(method !== undefined && { method }),
    ...(path !== undefined && { path }),
    ...(query !== undefined && { query: `?${query}` }),
    headers: Object.entries(headers ?? {}).flat(),
    remoteAddress: source ?? '203.0.113.7',
  });
  context.hostname = host ?? 'mcp.example.com';
  const startedAtMs = Date.parse(time ?? '2026-03-02T10:00:00Z');
  assert.ok(!Number.isNaN(startedAtMs));
  return readRequestVariables({ ...context, startedAtMs }, createToken({ claims: jwt ?? {} }));
}

function judgeRequest({ spec }: ProxyPolicy, situation: Case): Verdict {
  const rule = compileRules(
    createRules(spec.traffic!.authorization!),
    { policy: 'default/recipe', level: 'HTTPRoute', target: 'HTTPRoute default/tickets' },
    'request',
  );
  return decideRules(collectRules([rule])!, describeRequest(situation)).allowed ? 'allowed' : 'denied';
}

function judgeMessage({ spec }: ProxyPolicy, asked: Verdict, situation: Case): Verdict {
  const { action, policy } = spec.backend!.mcp.authorization!;
  const { mcp = {} } = situation;
  const caller: Caller = {
    rules: createMessageRules({ action, expressions: policy!.matchExpressions }),
    variables: describeRequest(situation),
    sessionId: mcp.sessionId ?? '',
  };
  const version = mcp.protocolVersion ?? '2025-11-25';
  const item = findItem(mcp);
  if (asked === 'listed' || asked === 'hidden') {
    assert.ok(item !== undefined, 'lists have items');
    return isListed(caller, version, item.kind, item.name) ? 'listed' : 'hidden';
  }
  const usingMethods = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const;
  const judgement =
    item !== undefined
      ? judgeItemMessage(caller, mcp.method ?? usingMethods[item.kind], version, item)
      : mcp.method === undefined
        ? judgeBareRequest(caller, version)
        : judgePlainMessage(caller, mcp.method, version);
  return judgement.decision.allowed ? 'allowed' : 'denied';
}

function findItem({ tool, prompt, resource }: NonNullable<Case['mcp']>): Item | undefined {
  if (tool !== undefined) return { kind: 'tool', name: tool.name, arguments: tool.arguments };
  if (prompt !== undefined) return { kind: 'prompt', name: prompt.name };
  return resource === undefined ? undefined : { kind: 'resource', name: resource.uri };
}

for (const { name, policy, cases } of recipes) {
  describe(name, () => {
    const loaded = load(policy);
    for (const { line, verdict, situation } of cases)
      test(line, () => {
        const isOverRequests = loaded.spec.traffic !== undefined;
        assert.equal(
          isOverRequests ? judgeRequest(loaded, situation) : judgeMessage(loaded, verdict, situation),
          verdict,
        );
      });
    test('lets somebody pass and somebody not', () => {
      const verdicts = new Set(cases.map(({ verdict }) => verdict));
      assert.ok(verdicts.has('allowed') && verdicts.has('denied'));
    });
  });
}

test('every recipe of the page is here', () => {
  const headings = [...page.slice(page.indexOf('\n## Recipes')).matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
  assert.deepEqual(
    recipes.map(({ name }) => name),
    headings,
  );
  assert.ok(recipes.length >= 20, `${recipes.length} recipes`);
  assert.ok(recipes.flatMap(({ cases }) => cases).length >= 100);
});

// The tables "ANY and ALL" of the page, in code that knows nothing of the gateway's.
describe('the tables of the page', () => {
  const row = (label: string, within: string): readonly string[] => {
    const line = within.split('\n').find((each) => each.startsWith(`| ${label}`));
    assert.ok(line !== undefined, label);
    return line.split('|').map((cell) => cell.trim());
  };
  const truth = page.slice(page.indexOf('| an expression gives |'));
  const outcomes = [
    ['true', 'true'],
    ['false', 'false'],
    ['a problem', 'jwt.absent'],
  ] as const;
  for (const [label, expression] of outcomes) {
    for (const [column, action] of [
      [2, 'Allow'],
      [3, 'Deny'],
      [4, 'Require'],
    ] as const) {
      const cell = row(label, truth)[column]!;
      test(`${label} in ${action}: ${cell}`, () => {
        const rule = compileRules(
          createRules({ action, policy: { matchExpressions: [expression] } }),
          { policy: 'default/table', level: 'Gateway', target: 'Gateway default/g' },
          'request',
        );
        const { allowed } = decideRules(collectRules([rule])!, describeRequest({}));
        // An Allow that does not match leaves nothing that does.
        const passes = action === 'Allow' ? cell === 'match' : cell !== '**denied**';
        assert.equal(allowed, passes);
      });
    }
  }
  for (const [action, quantity] of [
    ['Allow', 'ANY'],
    ['Deny', 'ANY'],
    ['Require', 'ALL'],
  ] as const)
    test(`several expressions in ${action}: ${quantity}`, () => {
      assert.match(row(`\`${action}\``, page)[2]!, new RegExp(`^${quantity} `));
      const rule = compileRules(
        createRules({ action, policy: { matchExpressions: ['false', 'true'] } }),
        { policy: 'default/table', level: 'Gateway', target: 'Gateway default/g' },
        'request',
      );
      assert.equal(decideRules(collectRules([rule])!, describeRequest({})).allowed, action === 'Allow');
    });
});
