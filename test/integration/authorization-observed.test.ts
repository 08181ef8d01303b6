// What the operator is told about decisions: in the access log, in the metrics, and at the admin port.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { JournaledRequest } from '../../src/gateway/observe/journaled-request.ts';
import { checkDenial, idOf, issuer, type RuledGateway, startRuledGateway, team } from './authorization-fixture.ts';
import { readSeries } from './gateway-fixture.ts';
import type { GatewayRun } from '../kit/run-gateway.ts';

let ruled: RuledGateway;
let gateway: GatewayRun;
const get: RuledGateway['get'] = (...given) => ruled.get(...given);
const getWith: RuledGateway['getWith'] = (...given) => ruled.getWith(...given);
const findLine: RuledGateway['findLine'] = (answer) => ruled.findLine(answer);
const findRequest: RuledGateway['findRequest'] = (answer) => ruled.findRequest(answer);

before(async () => {
  ruled = await startRuledGateway();
  gateway = ruled.gateway;
});
after(() => ruled?.close());

describe('the operator is told', () => {
  test('the log names the caller, the policy and the rule', async () => {
    const allowed = await findLine(await getWith('/strict', { team: 'support', client_id: 'cli' }));
    const { subject, issuer: from, client_id, policy, rule: by, reason } = allowed;
    assert.deepEqual(
      { subject, from, client_id, policy, by, reason },
      {
        subject: 'alice',
        from: issuer,
        client_id: 'cli',
        policy: 'default/strict',
        by: 'default/strict/Allow/1',
        reason: undefined,
      },
    );
    const denied = await findLine(await getWith('/mcp/admin', { team: 'support', sub: 'b\u001b[2Job\n' }));
    assert.equal(denied['subject'], 'b\u001b[2Job\n');
    assert.equal(denied['client_id'], 'editor');
    assert.equal(denied['rule'], 'default/mcp/Require/0');
    assert.equal(
      denied['detail'],
      'policy default/mcp, Require, matchExpressions[0] does not hold: request.path != "/mcp/admin"',
    );
    const poor = await findLine(await getWith('/mcp', { scope: 'other' }));
    assert.deepEqual(
      [poor['reason'], poor['subject'], poor['policy']],
      ['insufficient_scope', 'alice', 'default/mcp-auth'],
    );
    const expired = await findLine(await get('/strict'));
    assert.deepEqual(
      [expired['reason'], expired['subject'], expired['policy']],
      ['missing_token', undefined, 'default/strict-jwt'],
    );
    assert.ok(!gateway.readOutput().includes('\u001b'), 'no control character gets to a terminal');
  });

  test('in the metrics: every decision, by policy, step, mode, outcome and reason', async () => {
    const read = async (labels: string): Promise<number> =>
      (await readSeries(gateway, 'mcp_gateway_policy_decisions_total')).get(`{${labels}}`) ?? 0;
    const series = {
      jwtAllowed:
        'policy="default/strict-jwt",step="traffic.jwtAuthentication",mode="Strict",outcome="allow",reason=""',
      jwtDenied:
        'policy="default/strict-jwt",step="traffic.jwtAuthentication",mode="Strict",outcome="deny",reason="missing_token"',
      jwtPassed:
        'policy="default/optional-jwt",step="traffic.jwtAuthentication",mode="Optional",outcome="allow",reason="missing_token"',
      rulesAllowed: 'policy="default/strict",step="traffic.authorization",mode="",outcome="allow",reason=""',
      rulesDenied: 'policy="default/strict",step="traffic.authorization",mode="",outcome="deny",reason="rbac_denied"',
      mcpAllowed: 'policy="default/mcp-auth",step="backend.mcp.authentication",mode="Strict",outcome="allow",reason=""',
      mcpDenied:
        'policy="default/mcp-auth",step="backend.mcp.authentication",mode="Strict",outcome="deny",reason="missing_token"',
      mcpScope:
        'policy="default/mcp-auth",step="backend.mcp.authentication",mode="Strict",outcome="deny",reason="insufficient_scope"',
    };
    const readAll = async (): Promise<Record<string, number>> =>
      Object.fromEntries(
        await Promise.all(Object.entries(series).map(async ([name, labels]) => [name, await read(labels)] as const)),
      );
    const earlier = await readAll();
    const answers = [
      await getWith('/strict', { team: 'support' }),
      await getWith('/strict', { team: 'sales' }),
      await get('/strict'),
      await get('/optional'),
      await getWith('/mcp', { team: 'support' }),
      await get('/mcp'),
      await getWith('/mcp', { scope: 'other' }),
    ];
    for (const answer of answers) await findLine(answer);
    const counted = await readAll();
    const grown = Object.fromEntries(Object.keys(series).map((name) => [name, counted[name]! - earlier[name]!]));
    assert.deepEqual(grown, {
      jwtAllowed: 2,
      jwtDenied: 1,
      jwtPassed: 1,
      rulesAllowed: 1,
      rulesDenied: 1,
      mcpAllowed: 1,
      mcpDenied: 1,
      mcpScope: 1,
    });
  });

  test('at the admin port: every decision, every expression and what it saw', async () => {
    const entry = await findRequest(await getWith('/mcp/tools', { team: 'sales' }));
    assert.equal(entry.refused, true);
    assert.equal(entry.status, 403);
    assert.equal(entry.path, '/mcp/tools');
    assert.deepEqual(entry.caller, { subject: 'alice', issuer, clientId: 'editor' });
    assert.deepEqual(entry.route, { key: entry.route!.key, httpRoute: 'default/mcp', ruleName: 'main', ruleIndex: 0 });
    assert.equal(entry.backend, 'ProxyBackend/default/server');
    const [authentication, rules] = entry.decisions;
    assert.equal(entry.decisions.length, 2);
    assert.deepEqual(
      [authentication!.step, authentication!.policy, authentication!.mode, authentication!.outcome],
      ['backend.mcp.authentication', 'default/mcp-auth', 'Strict', 'allow'],
    );
    const place = {
      policy: 'default/mcp',
      level: 'rule',
      target: 'HTTPRoute default/mcp, rule main',
      action: 'Require',
    };
    assert.deepEqual(rules!.decidedBy, { ...place, index: 1, expression: team });
    assert.deepEqual(rules!.rules, [
      {
        ...place,
        index: 0,
        expression: 'request.path != "/mcp/admin"',
        value: true,
        problem: null,
        saw: [{ attribute: 'request.path', value: '"/mcp/tools"' }],
      },
      {
        ...place,
        index: 1,
        expression: team,
        value: false,
        problem: null,
        saw: [{ attribute: 'jwt.team', value: '"sales"' }],
      },
    ]);
    const allowed = await findRequest(await getWith('/strict', { team: 'support' }));
    assert.deepEqual(
      allowed.decisions.map(({ step, decidedBy, rules: outcomes }) => [step, decidedBy?.index, outcomes.length]),
      [
        ['traffic.jwtAuthentication', undefined, 0],
        ['traffic.authorization', 1, 0],
      ],
    );
  });

  test('the latest first; and a request that no policy judged is not there', async () => {
    const judged = await get('/claims');
    await findRequest(judged);
    const unjudged = await get('/nowhere');
    assert.equal(unjudged.status, 404);
    await findLine(unjudged);
    const admin = `http://127.0.0.1:${gateway.adminPort}`;
    const list = (await (await fetch(`${admin}/requests`)).json()) as { requests: JournaledRequest[] };
    assert.equal(list.requests[0]!.id, idOf(judged));
    const missing = await fetch(`${admin}/requests/${idOf(unjudged)}`);
    assert.equal(missing.status, 404);
    assert.match(await missing.text(), /"error":"unknown_request"/);
    assert.equal((await fetch(`${admin}/requests/a/b`)).status, 404);
    assert.equal((await fetch(`${admin}/requests/`)).status, 404);
    const page = await fetch(`${admin}/requests`, { headers: { accept: 'text/html' } });
    assert.match(await page.text(), /<h1>Requests that policies judged<\/h1>/);
  });

  test('and never is a token, wherever it was', async () => {
    const token = await ruled.sign({ team: 'support' });
    const denied = await get(`/parameter?ticket=${token}`, { authorization: 'Basic c2VjcmV0OnNlY3JldA==' });
    checkDenial(denied);
    const entry = await findRequest(denied);
    assert.deepEqual(
      entry.decisions
        .at(-1)!
        .rules[0]!.saw.map(({ attribute }) => attribute)
        .toSorted(),
      ['request.headers.authorization', 'request.query.ticket'],
    );
    const admin = `http://127.0.0.1:${gateway.adminPort}`;
    const pages = await Promise.all(
      ['/requests', `/requests/${entry.id}`].flatMap((path) =>
        ['text/html', '*/*'].map(async (accept) => (await fetch(admin + path, { headers: { accept } })).text()),
      ),
    );
    const told = [gateway.readOutput(), ...pages].join('\n');
    for (const secret of [...token.split('.'), 'c2VjcmV0OnNlY3JldA==']) assert.ok(!told.includes(secret), secret);
  });
});
