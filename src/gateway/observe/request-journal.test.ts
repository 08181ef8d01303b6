import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { buildContext, buildRoute } from '../../../test/integration/admin-fixture.ts';
import type { Decision } from '../request/decision.ts';
import { noPolicies } from '../config/compile/compile-policies.ts';
import type { RuleOutcome } from '../config/rule-set.ts';
import type { PolicyProvenance } from '../config/policy-level.ts';
import type { RequestContext } from '../request/request-context.ts';
import { createRequestJournal, type RequestJournal, type RequestJournalLimits } from './request-journal.ts';

const reference = {
  policy: 'default/team',
  level: 'HTTPRoute',
  target: 'HTTPRoute default/tickets',
  action: 'Deny',
  index: 1,
  source: 'jwt.team == "x"',
} as const;

const outcome: RuleOutcome = {
  ...reference,
  value: 'error',
  problem: 'no such key: team',
  saw: [{ attribute: 'jwt.team', value: 'absent' }],
};

const allowed: Decision = {
  step: 'traffic.jwtAuthentication',
  policy: 'default/jwt',
  mode: 'Strict',
  outcome: 'allow',
  reason: undefined,
  detail: undefined,
  decidedBy: undefined,
  rules: [],
};

const denied: Decision = {
  step: 'traffic.authorization',
  policy: 'default/team',
  mode: '',
  outcome: 'deny',
  reason: 'rbac_denied',
  detail: 'policy default/team, Deny, matchExpressions[1] matches',
  decidedBy: reference,
  rules: [outcome],
};

const token = {
  issuer: 'https://idp.example.com',
  subject: 'alice',
  claims: { azp: 'editor', secret: 'S3CRET' },
  scopes: undefined,
  expiresAtMs: 0,
};

function record(journal: RequestJournal, id: string, decisions: readonly Decision[] = [allowed]): void {
  finish(journal, buildContext({ requestId: id, decisions }));
}

function finish(journal: RequestJournal, context: RequestContext): void {
  journal.start(context);
  journal.finish(context, true, 0, 0);
}

const listIds = (journal: RequestJournal): string[] => journal.list().map(({ id }) => id);

describe('the journal', () => {
  test('has the whole of a request that policies judged', () => {
    const journal = createRequestJournal();
    finish(
      journal,
      buildContext({
        requestId: 'id-1',
        startedAtMs: Date.parse('2026-08-01T12:00:00Z'),
        startedAt: performance.now() - 5,
        query: '?access_token=S3CRET',
        status: 403,
        reason: 'rbac_denied',
        detail: 'Bearer eyJhbGciOi.eyJzdWIi.c2ln was refused',
        route: buildRoute('default/tickets', { ruleName: 'main', ruleIndex: 2 }),
        caller: token,
        mcpMessage: { method: 'resources/read', item: { kind: 'resource', name: 'file:///a?key=S3CRET' }, count: 2 },
        decisions: [allowed, denied],
      }),
    );
    const { milliseconds, ...entry } = journal.find('id-1')!;
    assert.ok(milliseconds >= 5);
    const rule = {
      policy: 'default/team',
      level: 'HTTPRoute',
      target: 'HTTPRoute default/tickets',
      action: 'Deny',
      index: 1,
      expression: 'jwt.team == "x"',
    };
    assert.deepEqual(entry, {
      id: 'id-1',
      time: '2026-08-01T12:00:00.000Z',
      method: 'POST',
      host: 'mcp.example',
      path: '/mcp',
      status: 403,
      reason: 'rbac_denied',
      detail: 'Bearer [redacted] was refused',
      refused: true,
      listener: 'default/gw/http',
      route: { key: 'default/tickets/0', httpRoute: 'default/tickets', ruleName: 'main', ruleIndex: 2 },
      backend: 'ProxyBackend/default/tickets',
      endpoint: '127.0.0.1:3001',
      caller: { subject: 'alice', issuer: 'https://idp.example.com', clientId: 'editor' },
      message: { method: 'resources/read', kind: 'resource', item: 'file:///a', count: 2 },
      decisions: [
        {
          step: 'traffic.jwtAuthentication',
          policy: 'default/jwt',
          level: null,
          target: null,
          mode: 'Strict',
          outcome: 'allow',
          reason: null,
          detail: null,
          decidedBy: null,
          rules: [],
          omittedRules: 0,
        },
        {
          step: 'traffic.authorization',
          policy: 'default/team',
          level: 'HTTPRoute',
          target: 'HTTPRoute default/tickets',
          mode: null,
          outcome: 'deny',
          reason: 'rbac_denied',
          detail: 'policy default/team, Deny, matchExpressions[1] matches',
          decidedBy: rule,
          rules: [
            {
              ...rule,
              value: 'error',
              problem: 'no such key: team',
              saw: [{ attribute: 'jwt.team', value: 'absent' }],
            },
          ],
          omittedRules: 0,
        },
      ],
      omittedDecisions: 0,
    });
    assert.doesNotMatch(JSON.stringify(journal.list()), /S3CRET|eyJ/);
    // It is what travels to `explain`: nothing is lost as JSON.
    assert.deepEqual(JSON.parse(JSON.stringify(journal.list())), journal.list());
  });

  test('has null for what was never known', () => {
    const journal = createRequestJournal();
    const unknown = { route: undefined, listener: undefined, backend: undefined, endpoint: undefined };
    finish(journal, buildContext({ ...unknown, decisions: [allowed] }));
    const { route, listener, backend, endpoint, caller, message, reason, detail, refused } = journal.list()[0]!;
    assert.deepEqual(
      { route, listener, backend, endpoint, caller, message, reason, detail, refused },
      {
        route: null,
        listener: null,
        backend: null,
        endpoint: null,
        caller: null,
        message: null,
        reason: null,
        detail: null,
        refused: false,
      },
    );
  });

  test('tells where a policy is attached that has no expressions, when that is one place', () => {
    const place = { field: 'traffic.jwtAuthentication', policy: 'default/jwt', overriddenBy: undefined } as const;
    const onGateway = { ...place, level: 'Gateway', target: 'Gateway default/gw' } as const;
    const onRoute = { ...place, level: 'HTTPRoute', target: 'HTTPRoute default/tickets' } as const;
    const overridden = { ...onGateway, overriddenBy: onRoute };
    const read = (provenance: readonly PolicyProvenance[], decision: Decision): unknown[] => {
      const journal = createRequestJournal();
      const route = buildRoute('default/tickets', { policies: { ...noPolicies, provenance } });
      finish(journal, buildContext({ route, decisions: [decision] }));
      const { level, target } = journal.list()[0]!.decisions[0]!;
      return [level, target];
    };
    assert.deepEqual(read([onGateway], allowed), ['Gateway', 'Gateway default/gw']);
    assert.deepEqual(read([overridden, onRoute], allowed), ['HTTPRoute', 'HTTPRoute default/tickets']);
    assert.deepEqual(read([onGateway, onRoute], allowed), [null, null]);
    assert.deepEqual(read([onGateway], { ...allowed, policy: 'default/other' }), [null, null]);
    assert.deepEqual(read([], { ...allowed, step: 'backend.mcp.authentication' }), [
      'ProxyBackend',
      'ProxyBackend default/tickets',
    ]);
  });

  test('tells what was refused: also what is answered as if it were not there, and not what a preflight is answered', () => {
    const journal = createRequestJournal();
    const respond = (reason: Decision['reason']): Decision => ({ ...allowed, outcome: 'respond', reason });
    for (const decisions of [[allowed], [allowed, denied], [respond('item_hidden')], [respond(undefined)]])
      record(journal, 'x', decisions);
    assert.deepEqual(
      journal.list().map(({ refused }) => refused),
      [false, true, true, false],
    );
  });

  test('leaves out requests that no policy judged', () => {
    const journal = createRequestJournal();
    record(journal, 'plain', []);
    assert.deepEqual(journal.list(), []);
    assert.equal(journal.find('plain'), undefined);
  });

  test('lists the latest first and forgets the oldest', () => {
    const journal = createRequestJournal({ maxRequests: 3 });
    for (const id of ['a', 'b', 'c', 'd', 'e']) record(journal, id);
    assert.deepEqual(listIds(journal), ['e', 'd', 'c']);
    assert.equal(journal.find('a'), undefined);
    assert.equal(journal.find('d')?.id, 'd');
  });

  test('keeps the order among those that passed and those that were refused', () => {
    const journal = createRequestJournal();
    for (const id of ['a', 'b', 'c', 'd']) record(journal, id, id === 'b' || id === 'd' ? [denied] : [allowed]);
    assert.deepEqual(listIds(journal), ['d', 'c', 'b', 'a']);
  });

  test('neither a busy hour nor a flood of bad requests pushes out all of the others', () => {
    for (const [few, many] of [
      [denied, allowed],
      [allowed, denied],
    ] as const) {
      const journal = createRequestJournal({ maxRequests: 10 });
      for (let index = 0; index < 8; index += 1) record(journal, `few-${index}`, [few]);
      for (let index = 0; index < 5_000; index += 1) record(journal, `many-${index}`, [many]);
      const ids = listIds(journal);
      assert.equal(ids.length, 10);
      assert.equal(ids[0], 'many-4999');
      assert.deepEqual(
        ids.filter((id) => id.startsWith('few')),
        ['few-7', 'few-6', 'few-5', 'few-4', 'few-3'],
      );
    }
  });

  test('holds a thousand, unless it is told otherwise', () => {
    const journal = createRequestJournal();
    for (let index = 0; index < 2_500; index += 1) record(journal, String(index), [index % 7 === 0 ? denied : allowed]);
    assert.equal(journal.list().length, 1_000);
    assert.equal(journal.list()[0]!.id, '2499');
  });
});

describe('an entry is bounded', () => {
  function describeOne(decisions: readonly Decision[], limits: Partial<RequestJournalLimits>) {
    const journal = createRequestJournal(limits);
    record(journal, 'x', decisions);
    return journal.list()[0]!;
  }

  test('in texts', () => {
    const journal = createRequestJournal();
    const long = 'x'.repeat(100_000);
    finish(
      journal,
      buildContext({
        path: `/${long}`,
        hostname: long,
        detail: long,
        caller: { ...token, subject: long, issuer: long, claims: { client_id: long } },
        decisions: [{ ...denied, detail: long, rules: [] }],
      }),
    );
    assert.ok(JSON.stringify(journal.list()).length < 10_000);
  });

  test('in decisions: the first and the last stay', () => {
    const decisions = Array.from({ length: 10 }, (_, index) => ({ ...allowed, policy: `default/${index}` }));
    const entry = describeOne(decisions, { maxDecisions: 4 });
    assert.deepEqual(
      entry.decisions.map(({ policy }) => policy),
      ['default/0', 'default/1', 'default/8', 'default/9'],
    );
    assert.equal(entry.omittedDecisions, 6);
  });

  test('in what expressions saw', () => {
    const saw = [{ attribute: 'jwt.sub', value: 'x'.repeat(93) }];
    const rules = Array.from({ length: 20 }, (_, index) => ({ ...outcome, problem: undefined, index, saw }));
    const entry = describeOne([allowed, { ...denied, rules }], { maxSeenCharacters: 550 });
    assert.deepEqual(
      entry.decisions.map(({ rules: kept, omittedRules }) => [kept.length, omittedRules]),
      [
        [0, 0],
        [5, 15],
      ],
    );
  });
});

test('nothing of a request is kept alive but what is shown', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const journal = createRequestJournal();
  const collected = new Set<number>();
  const registry = new FinalizationRegistry<number>((number) => collected.add(number));
  const count = 50;
  const makeRequest = (index: number): void => {
    const claims = { sub: 'alice', client_id: 'editor' };
    const caller = { ...token, claims };
    const headers = ['authorization', `Bearer ${index}`];
    // Of a configuration that is gone by now.
    const route = buildRoute('default/tickets');
    const context = buildContext(
      { requestId: `id-${index}`, caller, route, decisions: [allowed, denied] },
      { headers },
    );
    for (const [at, held] of [context, context.exchange, caller, claims, headers, route].entries())
      registry.register(held, index * 6 + at);
    finish(journal, context);
  };
  for (let index = 0; index < count; index += 1) makeRequest(index);
  // Finalizers run in their own time; the engine may hold on to the very last objects a little longer.
  const enough = count * 6 - 12;
  for (let tries = 0; tries < 200; tries += 1) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
    if (collected.size >= enough) break;
  }
  assert.equal(journal.list().length, count);
  assert.ok(collected.size >= enough, `${collected.size} of ${count * 6}`);
});
