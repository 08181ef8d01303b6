import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JournaledDecision, JournaledRequest, JournaledRule } from '../observe/journaled-request.ts';
import type { RequestJournal } from '../observe/request-journal.ts';
import type { PlainAnswer, PlainRequest } from './plain-server.ts';
import { answerRequest, answerRequests } from './requests-page.ts';

const rule: JournaledRule = {
  policy: 'default/team',
  level: 'HTTPRoute',
  target: 'HTTPRoute default/tickets',
  action: 'Deny',
  index: 1,
  expression: 'jwt.team == "<b>"',
};

const signedIn: JournaledDecision = {
  step: 'traffic.jwtAuthentication',
  policy: 'default/jwt',
  level: 'Gateway',
  target: 'Gateway default/<gw>',
  mode: 'Permissive',
  outcome: 'allow',
  reason: 'token_expired',
  detail: null,
  decidedBy: null,
  rules: [],
  omittedRules: 0,
};

const denied: JournaledDecision = {
  step: 'traffic.authorization',
  policy: 'default/team',
  level: null,
  target: null,
  mode: null,
  outcome: 'deny',
  reason: 'rbac_denied',
  detail: 'policy default/team, Deny, matchExpressions[1] cannot be evaluated',
  decidedBy: rule,
  rules: [
    { ...rule, index: 0, value: false, problem: null, saw: [{ attribute: 'request.path', value: '"/mcp"' }] },
    { ...rule, value: 'error', problem: 'no such key', saw: [{ attribute: 'jwt.team', value: 'absent' }] },
  ],
  omittedRules: 3,
};

const refused: JournaledRequest = {
  id: 'id-1',
  time: '2026-08-01T12:00:01.500Z',
  milliseconds: 12.5,
  method: 'POST',
  host: 'mcp.example.com',
  path: '/mcp',
  status: 403,
  reason: 'rbac_denied',
  detail: denied.detail,
  refused: true,
  listener: 'default/gw/http',
  route: { key: 'default/tickets/0', httpRoute: 'default/tickets', ruleName: 'main', ruleIndex: 0 },
  backend: 'ProxyBackend/default/tickets',
  endpoint: null,
  caller: { subject: '<i>alice</i>', issuer: 'https://idp.example.com', clientId: 'editor' },
  message: { method: 'tools/call', kind: 'tool', item: '<u>open</u>', count: 3 },
  decisions: [signedIn, denied],
  omittedDecisions: 2,
};

const passed: JournaledRequest = {
  ...refused,
  id: 'id-2',
  status: 502,
  reason: 'upstream_unreachable',
  detail: 'connect ECONNREFUSED',
  refused: false,
  endpoint: '127.0.0.1:3001',
  caller: null,
  message: null,
  decisions: [{ ...denied, outcome: 'allow', reason: null, detail: null, rules: [], omittedRules: 0 }],
  omittedDecisions: 0,
};

function journalOf(requests: readonly JournaledRequest[]): RequestJournal {
  return {
    start: () => {},
    finish: () => {},
    list: () => [...requests],
    find: (id) => requests.find((request) => request.id === id),
  };
}

function makeRequest(path: string, query: string, accept: string): PlainRequest {
  return { method: 'GET', path, query: new URLSearchParams(query), accept, body: '' };
}

function ask(requests: readonly JournaledRequest[], query = '', accept = 'text/html'): PlainAnswer {
  return answerRequests(makeRequest('/requests', query, accept), journalOf(requests));
}

function askOne(id: string, query = '', accept = '*/*'): PlainAnswer {
  return answerRequest(makeRequest(`/requests/${id}`, query, accept), journalOf([refused, passed]));
}

describe('/requests', () => {
  test('is JSON for programs and a page for browsers', () => {
    assert.deepEqual(JSON.parse(ask([refused], '', '*/*').body), { requests: [refused], total: 1, fitting: 1 });
    assert.match(ask([refused]).contentType, /^text\/html/);
    assert.equal(ask([refused], 'format=json').contentType, 'application/json');
    assert.equal(ask([refused], 'format=xml').status, 400);
  });

  test('shows who, where, each decision with its policy, and each expression with what it said and saw', () => {
    const { body } = ask([refused, passed]);
    for (const text of [
      'POST mcp.example.com/mcp',
      '<dd>id-1</dd>',
      'https://idp.example.com',
      'editor',
      'default/tickets, rule main',
      'JWT authentication',
      'policy default/jwt on Gateway default/&lt;gw&gt;, Permissive',
      '<dt>Message</dt><dd>tools/call, tool &lt;u&gt;open&lt;/u&gt;, in a batch of 3 messages</dd>',
      'Passed over: <code class="good">token_expired</code> The token has expired.',
      'Rules over requests',
      '<code class="bad">rbac_denied</code>',
      '<strong class="bad">error</strong> no such key: <code>jwt.team == &quot;&lt;b&gt;&quot;</code>',
      'Deny[1] of default/team at HTTPRoute default/tickets</span>, <strong>which decided</strong>',
      '<code>jwt.team</code> was <code>absent</code>',
      '<strong class="good">false</strong>: <code>',
      '3 more expressions left out',
      '2 more decisions left out',
      '12.5 ms',
      // Of the one that passed:
      'Decided by Deny[1] of default/team',
      'ProxyBackend/default/tickets at 127.0.0.1:3001',
      '<code>upstream_unreachable</code> The upstream server cannot be reached. connect ECONNREFUSED',
      'unknown: no verified token',
    ]) {
      assert.ok(body.includes(text), text);
    }
  });

  test('no script, and nothing of a client or a policy becomes markup', () => {
    const { body, headers } = ask([refused], 'q=%22%3E%3Cscript%3E');
    assert.doesNotMatch(body + ask([refused]).body + askOne('id-1', '', 'text/html').body, /<script|<b>|<i>|<u>|<gw>/);
    assert.match(ask([refused]).body, /&lt;i&gt;alice/);
    assert.match(headers?.['content-security-policy'] ?? '', /default-src 'none'.*frame-ancestors 'none'/);
  });

  test('is searched by any text and by outcome, and shortened', () => {
    const find = (query: string): string[] =>
      (
        JSON.parse(ask([refused, passed], `format=json&${query}`).body) as { requests: JournaledRequest[] }
      ).requests.map(({ id }) => id);
    assert.deepEqual(find('q=ID-2'), ['id-2']);
    assert.deepEqual(find('q=token_expired'), ['id-1']);
    assert.deepEqual(find('q=tools/call'), ['id-1']);
    assert.deepEqual(find('outcome=refused'), ['id-1']);
    assert.deepEqual(find('outcome=passed'), ['id-2']);
    assert.deepEqual(find('limit=1'), ['id-1']);
    assert.match(ask([refused, passed], 'limit=1').body, /1 of the last 2,/);
    assert.match(ask([refused, passed], 'outcome=passed').body, /1 of the last 2,/);
    assert.match(ask([refused], 'q=nothing').body, /No request matches this filter/);
    assert.match(ask([]).body, /No policy has judged a request/);
    assert.equal(ask([], 'outcome=x').status, 400);
    for (const limit of ['0', '1001', 'x', '', '1.5']) assert.equal(ask([], `limit=${limit}`).status, 400, limit);
  });
});

describe('/requests/ID', () => {
  test('is the one request: JSON for programs, a page for browsers', () => {
    assert.deepEqual(JSON.parse(askOne('id-2').body), passed);
    assert.deepEqual(JSON.parse(askOne('id-1', 'format=json', 'text/html').body), refused);
    const page = askOne('id-1', '', 'text/html');
    assert.match(page.contentType, /^text\/html/);
    assert.match(page.body, /<details id="id-1" open>/);
    assert.equal(askOne('id-1', 'format=xml').status, 400);
  });

  test('says what may be the matter when it is not known', () => {
    const answer = askOne('id-3');
    assert.equal(answer.status, 404);
    const { error, error_description } = JSON.parse(answer.body) as Record<string, string>;
    assert.equal(error, 'unknown_request');
    assert.match(error_description!, /another gateway.*no policy had a say.*forgotten/);
  });
});
