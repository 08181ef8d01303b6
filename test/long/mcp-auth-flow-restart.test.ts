// Nothing of a login is kept in a gateway: it may be restarted between any two steps, and any other gateway with the same key may answer the next one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AuthSetup, isBroker, oidcProviderSetups } from '../idp/auth-setups.ts';
import { type Arrival, BrowserAgent } from '../idp/browser-agent.ts';
import { FlowClient, type FlowAnswer } from '../idp/flow-client.ts';
import { startProtectedSystem } from '../idp/protected-system.ts';

/** Every step of a login and of an MCP session; `between` runs before each of them but the first. */
async function walkWithBreaks(setup: AuthSetup, url: string, between: (step: string) => Promise<void>): Promise<void> {
  const client = new FlowClient(url);
  const browser = new BrowserAgent();
  await client.getChallenge();
  await between('resource metadata');
  await client.discoverResource();
  await between('server metadata');
  await client.discoverServer();
  await between('register');
  await client.register();
  await between('authorize');
  let arrival: Arrival = await browser.visit(client.formatAuthorizationUrl(), client.redirectUri);
  for (let page = 1; arrival.at === 'page'; page += 1) {
    await between(`answer page ${page}`);
    arrival = await browser.answer(arrival.page, client.redirectUri);
  }
  const own = browser.pages.filter((page) => page.url.origin === new URL(url).origin);
  assert.equal(own.length, isBroker(setup) ? 1 : 0);
  assert.equal(arrival.url.searchParams.get('state'), client.state);
  await between('token');
  await client.redeem(arrival.url);
  await between('initialize');
  const session = await initialize(client);
  await between('tools/list');
  assertTools(await client.post({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }, session));
  await between('refresh');
  await client.refresh();
  await between('tools/list with the new token, in the old session');
  assertTools(await client.post({ jsonrpc: '2.0', id: 3, method: 'tools/list', params: {} }, session));
  await between('refresh again');
  await client.refresh();
  await between('a second login of the same client');
  await client.redeem(await client.logIn(browser));
  assertTools(await client.post({ jsonrpc: '2.0', id: 4, method: 'tools/list', params: {} }, session));
}

async function initialize(client: FlowClient): Promise<Record<string, string>> {
  const version = '2025-06-18';
  const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'flow', version: '1' } };
  const answer = await client.post({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  assert.equal(answer.status, 200, answer.body);
  const id = answer.headers['mcp-session-id'];
  assert.equal(typeof id, 'string');
  const session = { 'mcp-session-id': String(id), 'mcp-protocol-version': version };
  const initialized = await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
  assert.equal(initialized.status, 202, initialized.body);
  return session;
}

function assertTools(answer: FlowAnswer): void {
  assert.equal(answer.status, 200, answer.body);
  assert.match(answer.body, /ticket_list/);
}

// One of each flow that the gateway has a part in.
const names = new Set(['oidc-provider', 'oidc-provider without iss', 'oidc-provider without registration (Shared)']);
const setups = oidcProviderSetups.filter(({ name }) => names.has(name));

for (const setup of setups) {
  test(`${setup.name}: the gateway is restarted between any two steps`, async (t) => {
    const system = await startProtectedSystem({ startIdp: (callback) => setup.start(callback) });
    t.after(() => system.close());
    let restarts = 0;
    await walkWithBreaks(setup, system.url, async () => {
      restarts += 1;
      await system.restart();
    });
    assert.ok(restarts >= 12);
  });

  test(`${setup.name}: two gateways with the same key answer in turn`, async (t) => {
    const system = await startProtectedSystem({ startIdp: (callback) => setup.start(callback) });
    t.after(() => system.close());
    const ports = [system.gateway.port, (await system.addReplica()).port];
    let turn = 0;
    await walkWithBreaks(setup, system.url, async () => {
      turn += 1;
      system.front.pointTo(ports[turn % 2]!);
    });
  });
}
