// The decision table: rules at every combination of levels, through translation, compilation and the request path, against an evaluator that
// was written from the documented words alone.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { silentLog } from '../../src/base/log.ts';
import { compile } from '../../src/gateway/config/compile/compile.ts';
import type { RuntimeConfig } from '../../src/gateway/config/runtime-config.ts';
import type { Decision } from '../../src/gateway/request/decision.ts';
import { createRequestHandler } from '../../src/gateway/handle-request.ts';
import type { RuleAction } from '../../src/gateway/config/rule-set.ts';
import {
  judgeByTheWords,
  type WrittenRule,
  type WrittenValue,
} from '../../src/gateway/authorization/testing/judge-by-the-words.ts';
import type { RequestContext } from '../../src/gateway/request/request-context.ts';
import { collectResources } from '../../src/translate/testdata/collect-resources.ts';
import { translate } from '../../src/translate/translate.ts';
import { buildExchange } from './admin-fixture.ts';
import { resource } from './gateway-fixture.ts';

const levels = ['Gateway', 'listener', 'HTTPRoute', 'rule'] as const;
type Level = (typeof levels)[number];
const choices = [undefined, 'Allow', 'Deny', 'Require'] as const;

/** What every level says: nothing, or a rule. */
type Combination = Readonly<Record<Level, WrittenRule | undefined>>;

/** Every combination of levels and actions: 256 of them. Values are drawn, by a fixed seed, twice for each. */
const combinations: readonly Combination[] = drawCombinations(2);

function drawCombinations(draws: number): Combination[] {
  let actions: (RuleAction | undefined)[][] = [[]];
  while (actions[0]!.length < levels.length)
    actions = actions.flatMap((row) => choices.map((choice) => [...row, choice]));
  const values = fc.array(fc.constantFrom<WrittenValue>('true', 'false', 'error'), { minLength: 1, maxLength: 3 });
  const drawn = fc.sample(fc.tuple(values, values, values, values), {
    numRuns: actions.length * draws,
    seed: 20_260_801,
  });
  return drawn.map((row, at) => {
    const says = levels.map((level, index) => {
      const action = actions[at % actions.length]![index];
      return [level, action === undefined ? undefined : { action, values: row[index]! }] as const;
    });
    return Object.fromEntries(says) as Combination;
  });
}

/** Texts for every value. The requests below have no token, the method GET, and a parameter that comes twice. */
const texts: Readonly<Record<'true' | 'false' | 'error', readonly string[]>> = {
  true: ['true', 'request.method == "GET"', 'request.path.startsWith("/")', '!has(jwt.team)', '"a" in ["a", "b"]'],
  false: ['false', 'request.method == "DELETE"', 'has(jwt.team)', 'request.host == "elsewhere.test"'],
  error: ['jwt.team == "x"', 'request.headers["x-absent"] == "y"', 'request.query.twice == "1"', 'jwt.a.b == 1'],
};

function writeExpressions({ values }: WrittenRule, seed: number): string[] {
  return values.map((value, index) => {
    const fitting = texts[value as keyof typeof texts];
    return fitting[(seed + index) % fitting.length]!;
  });
}

const portOf = (at: number): number => 20_000 + at;

/** Each combination has a Gateway with two listeners and an HTTPRoute with two rules; policies are for one of each. */
function writeResources(combination: Combination, at: number): object[] {
  const listener = (name: string): object => ({ name, protocol: 'HTTP', port: portOf(at), hostname: `${name}.test` });
  const rule = (name: string): object => ({
    name,
    matches: [{ path: { type: 'PathPrefix', value: `/${name}` } }],
    backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'server' }],
  });
  const targets: Record<Level, object> = {
    Gateway: { kind: 'Gateway', name: `g${at}` },
    listener: { kind: 'Gateway', name: `g${at}`, sectionName: 'protected' },
    HTTPRoute: { kind: 'HTTPRoute', name: `r${at}` },
    rule: { kind: 'HTTPRoute', name: `r${at}`, sectionName: 'protected' },
  };
  const policies = levels.flatMap((level, index) => {
    const written = combination[level];
    if (written === undefined) return [];
    const matchExpressions = writeExpressions(written, at + index);
    return resource('gateway.proxy/v1alpha1', 'ProxyPolicy', `${level.toLowerCase()}-${at}`, {
      spec: {
        targetRefs: [{ group: 'gateway.networking.k8s.io', ...targets[level] }],
        traffic: { authorization: { action: written.action, policy: { matchExpressions } } },
      },
    });
  });
  return [
    resource('gateway.networking.k8s.io/v1', 'Gateway', `g${at}`, {
      spec: { gatewayClassName: 'proxy', listeners: [listener('protected'), listener('open')] },
    }),
    resource('gateway.networking.k8s.io/v1', 'HTTPRoute', `r${at}`, {
      spec: { parentRefs: [{ name: `g${at}` }], rules: [rule('protected'), rule('open')] },
    }),
    ...policies,
  ];
}

interface Served {
  readonly forwarded: boolean;
  readonly status: number;
  readonly body: string;
  readonly decisions: readonly Decision[];
}

/** One request through the request path, from its first step to its answer. */
async function serve(runtime: RuntimeConfig, at: number, host: string, path: string): Promise<Served> {
  const end = Promise.withResolvers<{ readonly status: number; readonly body: string; readonly forwarded: boolean }>();
  let context: RequestContext | undefined;
  const handler = createRequestHandler({
    getConfig: () => runtime,
    forward: () => end.resolve({ forwarded: true, status: 0, body: '' }),
    observers: [{ start: (given) => (context = given), finish: () => {} }],
    log: silentLog,
    random: () => 0,
  });
  const exchange = buildExchange({
    method: 'GET',
    target: `${path}?twice=1&twice=2`,
    authority: host,
    localPort: portOf(at),
    hasBody: false,
    onClose: () => {},
    respond: (status, _headers, body) => end.resolve({ forwarded: false, status, body: String(body) }),
  });
  handler(exchange, runtime.ports.get(`|${portOf(at)}`)!);
  return { ...(await end.promise), decisions: context!.decisions };
}

/** For people who read a failure. */
function describeCombination(combination: Combination): string {
  const says = levels.map((level) => {
    const written = combination[level];
    return `${level}: ${written === undefined ? '-' : `${written.action}(${written.values.join(', ')})`}`;
  });
  return says.join('; ');
}

describe('the decision table', () => {
  let runtime: RuntimeConfig;
  before(() => {
    const documents = [
      resource('gateway.proxy/v1alpha1', 'ProxyBackend', 'server', {
        spec: { mcp: { targets: [{ name: 'server', static: { host: '127.0.0.1', port: 9, path: '/mcp' } }] } },
      }),
      ...combinations.flatMap(writeResources),
    ];
    const resources = collectResources(documents, 'file');
    assert.deepEqual(resources.invalid, []);
    const compiled = compile(translate(resources).configuration);
    assert.deepEqual(compiled.problems, []);
    runtime = compiled.runtime;
  });

  test('has every combination of levels and actions, with enough of every verdict', () => {
    assert.equal(combinations.length, 512);
    assert.ok(new Set(combinations.map(describeCombination)).size > 400);
    const allowed = combinations.filter((each) => judgeByTheWords(listRules(each, true, true))).length;
    assert.ok(allowed > 30 && allowed < 480, `${allowed} are allowed`);
  });

  /** The rules that concern a request. */
  function listRules(combination: Combination, listener: boolean, rule: boolean): WrittenRule[] {
    const concerned: Level[] = [
      'Gateway',
      ...(listener ? ['listener' as const] : []),
      'HTTPRoute',
      ...(rule ? ['rule' as const] : []),
    ];
    return concerned.flatMap((level) => combination[level] ?? []);
  }

  for (const [listener, rule] of [
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ] as const) {
    const where = `on the listener ${listener ? 'with' : 'without'} rules, by the rule ${rule ? 'with' : 'without'} them`;
    test(`agrees with the words ${where}`, async () => {
      for (const [at, combination] of combinations.entries()) {
        const name = `${at}: ${describeCombination(combination)}`;
        const rules = listRules(combination, listener, rule);
        const served = await serve(
          runtime,
          at,
          listener ? 'protected.test' : 'open.test',
          rule ? '/protected' : '/open',
        );
        const expected = judgeByTheWords(rules);
        assert.equal(served.forwarded, expected, name);
        if (rules.length === 0) {
          assert.deepEqual(served.decisions, [], name);
          continue;
        }
        const [decision, ...others] = served.decisions;
        assert.deepEqual(others, [], name);
        assert.equal(decision!.step, 'traffic.authorization');
        assert.equal(decision!.outcome, expected ? 'allow' : 'deny', name);
        if (expected) {
          assert.deepEqual(decision!.rules, [], name);
          continue;
        }
        assert.equal(served.status, 403);
        assert.equal((JSON.parse(served.body) as Record<string, unknown>)['error'], 'rbac_denied', name);
        // Every expression of every rule was asked, and came to what was written.
        const written = rules.flatMap(({ action, values }) =>
          values.map((value, index) => `${action}/${index} ${value}`),
        );
        const noted = decision!.rules.map(({ action, index, value }) => `${action}/${index} ${String(value)}`);
        assert.deepEqual(noted.toSorted(), written.toSorted(), name);
      }
    });
  }
});
