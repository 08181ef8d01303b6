import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildContext } from '../../../test/integration/admin-fixture.ts';
import { createFlowInspector, type FlowInspector } from './flow-inspector.ts';
import { recordStep } from '../authentication/login/flow-recorder.ts';
import type { FlowStep } from '../request/flow-step.ts';
import type { Exchange } from '../http/exchange.ts';
import type { RequestContext } from '../request/request-context.ts';

const startMs = Date.parse('2026-08-01T12:00:00Z');

interface Seen extends Partial<Pick<RequestContext, 'status' | 'reason' | 'detail' | 'requestId' | 'path'>> {
  readonly step: Partial<FlowStep>;
  readonly atMs?: number;
  readonly exchange?: Partial<Exchange>;
}

function observe(inspector: FlowInspector, { step, atMs = 0, exchange, ...rest }: Seen): void {
  const context = buildContext({ status: 200, startedAtMs: startMs + atMs, ...rest }, { headers: agent, ...exchange });
  recordStep(context, step);
  inspector.finish(context, true, 0, 0);
}

const agent = ['User-Agent', 'sdk/2.0'];
const browser = ['User-Agent', 'Mozilla/5.0'];
const place = { policy: 'default/tickets', resource: '/mcp', flow: 'Broker' };

function observeChallenge(inspector: FlowInspector, overrides: Partial<Seen> = {}): void {
  observe(inspector, { step: { name: 'access', ...place }, status: 401, reason: 'bad_request', ...overrides });
}

/** A whole login, as Broker sees it. */
function observeLogin(inspector: FlowInspector, id: string, atMs = 0, address = '127.0.0.1'): void {
  const exchange = { remoteAddress: address };
  observeChallenge(inspector, { atMs, exchange });
  observe(inspector, { step: { name: 'protected-resource-metadata', ...place }, atMs: atMs + 1, exchange });
  observe(inspector, { step: { name: 'authorization-server-metadata', ...place }, atMs: atMs + 2, exchange });
  observe(inspector, {
    step: {
      name: 'register',
      ...place,
      clientId: `client-${id}`,
      clientName: 'Inspector',
      redirectHost: 'localhost:1',
    },
    atMs: atMs + 3,
    status: 201,
    exchange,
  });
  const inBrowser = { ...exchange, headers: browser };
  observe(inspector, {
    step: { name: 'authorize', ...place, clientId: `client-${id}`, links: [`state-${id}`, `sealed-${id}`] },
    atMs: atMs + 4,
    status: 302,
    exchange: inBrowser,
  });
  observe(inspector, {
    step: { name: 'callback', ...place, links: [`sealed-${id}`, `state-${id}`, `code-${id}`] },
    atMs: atMs + 5,
    status: 302,
    exchange: inBrowser,
  });
  observe(inspector, { step: { name: 'token', ...place, links: [`code-${id}`] }, atMs: atMs + 6, exchange });
}

const withToken = ['User-Agent', 'sdk/2.0', 'Authorization', 'Bearer x.y.z'];

describe('flow inspector', () => {
  test('a request that is let in belongs to a login from its address, as long as one is remembered', () => {
    const inspector = createFlowInspector({ maxFlows: 2 });
    const access = (address: string, atMs: number): void =>
      observe(inspector, {
        step: { name: 'access', ...place },
        atMs,
        exchange: { headers: withToken, remoteAddress: address },
      });
    const countAccepted = (): unknown[] =>
      inspector.list().map(({ client, acceptedRequests }) => [client.address, acceptedRequests]);
    access('10.0.0.1', 0);
    assert.deepEqual(countAccepted(), []);
    observeLogin(inspector, 'a', 10, '10.0.0.1');
    observeLogin(inspector, 'b', 20, '10.0.0.1');
    access('10.0.0.1', 30);
    access('10.0.0.2', 31);
    assert.deepEqual(countAccepted(), [
      ['10.0.0.1', 1],
      ['10.0.0.1', 0],
    ]);
    // The older one is forgotten; the other one of the address stays known.
    observeLogin(inspector, 'c', 40, '10.0.0.2');
    access('10.0.0.1', 50);
    access('10.0.0.2', 51);
    assert.deepEqual(countAccepted(), [
      ['10.0.0.2', 1],
      ['10.0.0.1', 2],
    ]);
    // Now both are.
    observeLogin(inspector, 'd', 60, '10.0.0.3');
    observeLogin(inspector, 'e', 70, '10.0.0.3');
    access('10.0.0.1', 80);
    assert.deepEqual(countAccepted(), [
      ['10.0.0.3', 0],
      ['10.0.0.3', 0],
    ]);
  });

  test('the steps of one login are one flow, in order, from the challenge to the first request that is let in', () => {
    const inspector = createFlowInspector();
    observeLogin(inspector, 'a');
    for (let count = 0; count < 3; count++) {
      observe(inspector, { step: { name: 'access', ...place }, atMs: 7 + count, exchange: { headers: withToken } });
    }
    const flows = inspector.list();
    assert.equal(flows.length, 1);
    const [flow] = flows;
    assert.deepEqual(
      flow?.steps.map(({ name, outcome }) => [name, outcome]),
      [
        ['access', 'challenged'],
        ['protected-resource-metadata', 'ok'],
        ['authorization-server-metadata', 'ok'],
        ['register', 'ok'],
        ['authorize', 'ok'],
        ['callback', 'ok'],
        ['token', 'ok'],
        ['access', 'ok'],
      ],
    );
    assert.deepEqual([flow?.state, flow?.acceptedRequests, flow?.flow], ['authorized', 3, 'Broker']);
    assert.deepEqual(flow?.client, {
      name: 'Inspector',
      id: 'client-a',
      redirectHost: 'localhost:1',
      address: '127.0.0.1',
      userAgent: 'sdk/2.0',
    });
    assert.equal(flow?.startedAt, '2026-08-01T12:00:00.000Z');
  });

  test('two logins side by side at two addresses stay two, and the one that moved last is listed first', () => {
    const inspector = createFlowInspector();
    observeLogin(inspector, 'a', 0, '192.0.2.1');
    observeLogin(inspector, 'b', 1, '192.0.2.2');
    assert.deepEqual(
      inspector.list().map(({ client, steps }) => [client.address, client.id, steps.length]),
      [
        ['192.0.2.2', 'client-b', 7],
        ['192.0.2.1', 'client-a', 7],
      ],
    );
  });

  test('a callback finds its flow by the state even from another address', () => {
    const inspector = createFlowInspector();
    observe(inspector, {
      step: { name: 'authorize', ...place, links: ['s'] },
      status: 302,
      exchange: { remoteAddress: '192.0.2.1' },
    });
    observe(inspector, {
      step: { name: 'callback', ...place, links: ['s'] },
      status: 302,
      exchange: { remoteAddress: '192.0.2.9' },
    });
    assert.deepEqual(
      inspector.list().map(({ steps }) => steps.map(({ name }) => name)),
      [['authorize', 'callback']],
    );
  });

  test('a client that comes back without a token starts a new flow; one whose token is refused goes on', () => {
    const inspector = createFlowInspector({}, () => startMs + 60_000);
    observeLogin(inspector, 'a');
    observe(inspector, {
      step: { name: 'access', ...place },
      atMs: 10,
      status: 401,
      reason: 'bad_request',
      detail: 'wrong audience',
      requestId: 'refused-1',
      exchange: { headers: withToken },
    });
    const [flow] = inspector.list();
    assert.equal(inspector.list().length, 1);
    assert.equal(flow?.state, 'refused');
    const last = flow?.steps.at(-1);
    assert.deepEqual(
      [last?.outcome, last?.reason, last?.detail, last?.requestId],
      ['refused', 'bad_request', 'wrong audience', 'refused-1'],
    );
    observeChallenge(inspector, { atMs: 20 });
    assert.equal(inspector.list().length, 2);
    assert.equal(inspector.list()[0]?.state, 'in progress');
  });

  test('a refusal that travels as a redirect is a refusal; what an MCP server answers is not', () => {
    const inspector = createFlowInspector();
    observe(inspector, { step: { name: 'authorize', links: ['s'] }, status: 302, reason: 'bad_request' });
    observe(inspector, { step: { name: 'access', links: ['s'] }, status: 500, exchange: { headers: withToken } });
    observe(inspector, { step: { name: 'register', links: ['s'] }, status: 503, reason: 'internal_error' });
    assert.deepEqual(
      inspector.list()[0]?.steps.map(({ outcome }) => outcome),
      ['refused', 'ok', 'failed'],
    );
  });

  test('requests of somebody who is logged in already are no flow, and preflights no step', () => {
    const inspector = createFlowInspector();
    observe(inspector, { step: { name: 'access', ...place }, exchange: { headers: withToken } });
    observe(inspector, { step: { name: 'token', ...place }, status: 204, exchange: { method: 'OPTIONS' } });
    inspector.finish(buildContext({ status: 200 }), true, 0, 0);
    assert.deepEqual(inspector.list(), []);
  });

  test('a pause that is too long starts a new flow', () => {
    const inspector = createFlowInspector({ maxPauseMs: 1000 });
    observeChallenge(inspector);
    observeChallenge(inspector, { atMs: 1000 });
    assert.equal(inspector.list().length, 1);
    observeChallenge(inspector, { atMs: 2001 });
    assert.equal(inspector.list().length, 2);
  });

  test('memory is bounded: 200 flows, some steps of each, the first and the last ones', () => {
    const inspector = createFlowInspector({ maxSteps: 6 });
    for (let count = 0; count < 20; count++) {
      observe(inspector, { step: { name: 'register', ...place }, status: 400, requestId: `r${count}`, atMs: count });
    }
    const [flow] = inspector.list();
    assert.deepEqual(
      flow?.steps.map(({ requestId }) => requestId),
      ['r0', 'r1', 'r2', 'r17', 'r18', 'r19'],
    );
    assert.equal(flow?.omittedSteps, 14);
    for (let count = 0; count < 1000; count++) {
      observe(inspector, {
        step: { name: 'register' },
        exchange: { remoteAddress: `10.0.${count >> 8}.${count & 255}` },
      });
    }
    assert.equal(inspector.list().length, 200);
  });

  test('a flood of requests without a token does not push the logins of people out', () => {
    const inspector = createFlowInspector({ maxFlows: 10 });
    observeLogin(inspector, 'a', 0, '192.0.2.1');
    for (let count = 0; count < 500; count++) {
      observeChallenge(inspector, {
        exchange: { remoteAddress: `10.0.${count >> 8}.${count & 255}` },
        atMs: 10 + count,
      });
    }
    const flows = inspector.list();
    assert.equal(flows.length, 10);
    assert.ok(flows.some(({ client }) => client.address === '192.0.2.1'));
    // And people do not keep newcomers out.
    for (let count = 0; count < 50; count++)
      observeLogin(inspector, `p${count}`, 1000 + count * 10, `192.0.3.${count}`);
    observeChallenge(inspector, { exchange: { remoteAddress: '10.9.9.9' }, atMs: 5000 });
    assert.equal(inspector.list()[0]?.client.address, '10.9.9.9');
    assert.equal(inspector.list().length, 10);
  });

  test('what looks like a credential in a detail or a note is not kept', () => {
    const inspector = createFlowInspector();
    observe(inspector, {
      step: { name: 'token', notes: ['sent Authorization: Bearer abcDEF123456789'] },
      status: 400,
      detail: 'client_secret=hunter2hunter2 refused',
    });
    assert.doesNotMatch(JSON.stringify(inspector.list()), /hunter2|abcDEF/);
  });
});
