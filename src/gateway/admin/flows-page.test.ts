import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FlowInspector, InspectedFlow, InspectedStep } from '../observe/flow-inspector.ts';
import { answerFlows } from './flows-page.ts';
import type { PlainRequest } from './plain-server.ts';

const step: InspectedStep = {
  name: 'register',
  at: '2026-08-01T12:00:01.500Z',
  milliseconds: 12.5,
  method: 'POST',
  path: '/.oauth/mcp/register',
  status: 403,
  outcome: 'refused',
  requestId: 'id-1',
  reason: 'registration_denied',
  detail: 'the IdP answers 401',
  error: 'access_denied',
  scope: 'a b',
  grantType: null,
  notes: ['tried without scope'],
};

const flow: InspectedFlow = {
  id: 'flow-1',
  startedAt: '2026-08-01T12:00:00.000Z',
  lastAt: '2026-08-01T12:00:01.500Z',
  state: 'refused',
  note: 'the IdP answers 401 <i>',
  host: 'mcp.example.com',
  resource: '/mcp',
  policy: 'default/tickets',
  flow: 'Broker',
  client: {
    name: '<b>"Editor"</b>',
    id: 'hash',
    redirectHost: '127.0.0.1:1',
    address: '192.0.2.1',
    userAgent: 'sdk/2',
  },
  steps: [step],
  omittedSteps: 3,
  acceptedRequests: 0,
};

function ask(flows: readonly InspectedFlow[], query = '', accept = 'text/html'): ReturnType<typeof answerFlows> {
  const inspector: FlowInspector = { start: () => {}, finish: () => {}, list: () => [...flows] };
  const request: PlainRequest = { method: 'GET', path: '/flows', query: new URLSearchParams(query), accept, body: '' };
  return answerFlows(request, inspector);
}

const other: InspectedFlow = { ...flow, id: 'flow-2', state: 'authorized', steps: [{ ...step, requestId: 'id-2' }] };

describe('/flows', () => {
  test('is JSON for programs and a page for browsers', () => {
    assert.deepEqual(JSON.parse(ask([flow], '', '*/*').body), { flows: [flow] });
    assert.match(ask([flow]).contentType, /^text\/html/);
    assert.match(ask([flow]).body, /<p>the IdP answers 401 &lt;i&gt;<\/p>/);
    assert.equal(ask([flow], 'format=json').contentType, 'application/json');
    assert.equal(ask([flow], 'format=xml').status, 400);
  });

  test('shows who, where, each step with its request id, the reason with its sentence, and the detail', () => {
    const { body } = ask([flow]);
    for (const text of [
      'mcp.example.com/mcp',
      'default/tickets',
      'Registration (RFC 7591)',
      '<code>id-1</code>',
      '<code class="bad">registration_denied</code>',
      'the IdP answers 401',
      '<code>access_denied</code>',
      'scope a b',
      'tried without scope',
      '3 more steps left out',
      '+1.5 s',
      'took 12.5 ms',
    ]) {
      assert.ok(body.includes(text), text);
    }
  });

  test('no script, and nothing of a client becomes markup', () => {
    const { body, headers } = ask([flow], 'q=%22%3E%3Cscript%3E');
    assert.doesNotMatch(body + ask([flow]).body, /<script|<b>/);
    assert.match(ask([flow]).body, /&lt;b&gt;&quot;Editor&quot;/);
    assert.match(headers?.['content-security-policy'] ?? '', /default-src 'none'.*frame-ancestors 'none'/);
  });

  test('is searched by any text and by state', () => {
    const find = (query: string): string[] =>
      (JSON.parse(ask([flow, other], `format=json&${query}`).body) as { flows: InspectedFlow[] }).flows.map(
        ({ id }) => id,
      );
    assert.deepEqual(find('q=ID-2'), ['flow-2']);
    assert.deepEqual(find('state=refused'), ['flow-1']);
    assert.deepEqual(find('q=nothing'), []);
    assert.match(ask([flow], 'q=nothing').body, /No login matches this filter/);
    assert.match(ask([]).body, /No client has tried to log in/);
    assert.equal(ask([], 'state=x').status, 400);
  });
});
