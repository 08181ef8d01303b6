import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFlowInspector, type InspectedRequest } from '../observe/flow-inspector.ts';
import { FlowRelay, type RelayedStep, takeRelayedStep } from './flow-relay.ts';

function requestOf(name: string, overrides: Partial<InspectedRequest> = {}): InspectedRequest {
  return {
    flowStep: { name, resource: '/tickets', policy: 'default/tickets' },
    startedAt: performance.now(),
    startedAtMs: Date.now(),
    requestId: 'id',
    hostname: 'mcp.example.com',
    path: '/tickets',
    status: 200,
    reason: undefined,
    detail: undefined,
    exchange: { method: 'POST', headers: ['user-agent', 'client/1'] },
    client: { address: '192.0.2.1' },
    ...overrides,
  };
}

const challenged = (): InspectedRequest => requestOf('access', { status: 401, reason: 'missing_token' });

/** One inspector and several workers that tell it. */
function startRelays(count: number, now?: () => number) {
  const flows = createFlowInspector();
  const told: RelayedStep[] = [];
  const relays = Array.from(
    { length: count },
    (): FlowRelay =>
      new FlowRelay((step) => {
        const copy = structuredClone(step);
        told.push(copy);
        const agent = takeRelayedStep(flows, copy);
        for (const relay of relays) relay.watch(agent);
      }, now),
  );
  return { flows, told, relays };
}

test('the steps of a login that reach several workers are one flow', () => {
  const { flows, relays } = startRelays(2);
  relays[0]!.finish(challenged());
  relays[1]!.finish(requestOf('register', { status: 201 }));
  relays[0]!.finish(requestOf('token'));
  relays[1]!.finish(
    requestOf('access', {
      exchange: { method: 'POST', headers: ['user-agent', 'client/1', 'authorization', 'Bearer x'] },
    }),
  );
  const [flow, ...more] = flows.list();
  assert.deepEqual(more, []);
  assert.equal(flow!.state, 'authorized');
  assert.deepEqual(
    flow!.steps.map(({ name, outcome }) => `${name} ${outcome}`),
    ['access challenged', 'register ok', 'token ok', 'access ok'],
  );
});

test('credentials do not travel', () => {
  const { told, relays } = startRelays(1);
  const headers = ['user-agent', 'client/1', 'authorization', 'Bearer secret'];
  relays[0]!.finish(
    requestOf('access', { status: 401, reason: 'token_expired', exchange: { method: 'POST', headers } }),
  );
  assert.equal(told.length, 1);
  assert.doesNotMatch(JSON.stringify(told), /secret/);
  assert.equal(told[0]!.hasCredentials, true);
});

test('requests that are let in are told of only after a login, and counted together', () => {
  let now = 0;
  const { flows, told, relays } = startRelays(1, () => now);
  const relay = relays[0]!;
  relay.finish(requestOf('access'));
  assert.deepEqual(told, [], 'nobody has logged in');
  relay.finish(challenged());
  relay.finish(requestOf('token'));
  for (let left = 10; left > 0; left -= 1) relay.finish(requestOf('access'));
  assert.equal(told.length, 3);
  now += 2_000;
  relay.finish(requestOf('access'));
  assert.equal(told.length, 4);
  assert.equal(flows.list()[0]!.acceptedRequests, 11);
});

test('a flood of bad requests is not told of', () => {
  let now = 0;
  const { told, relays } = startRelays(1, () => now);
  for (let left = 5_000; left > 0; left -= 1) relays[0]!.finish(challenged());
  assert.ok(told.length <= 200, `${told.length}`);
  now += 2_000;
  relays[0]!.finish(challenged());
  assert.ok(told.length <= 201);
});
