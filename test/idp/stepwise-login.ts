// Every step of a login and of an MCP session, with a break before each but the first: for gateways that are restarted, replaced or cut off in between.
import assert from 'node:assert/strict';
import { type AuthSetup, isBroker } from './auth-setups.ts';
import { type Arrival, BrowserAgent } from './browser-agent.ts';
import { FlowClient, type FlowAnswer } from './flow-client.ts';

/** Walks them at a sample server behind `url`; `between` runs in the breaks. */
export async function walkWithBreaks(
  setup: Pick<AuthSetup, 'flow'>,
  url: string,
  between: (step: string) => Promise<void>,
): Promise<FlowClient> {
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
  return client;
}

/** Begins an MCP session; the value is the headers of what follows in it. */
export async function initialize(client: FlowClient): Promise<Record<string, string>> {
  const version = '2025-06-18';
  const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'flow', version: '1' } };
  const answer = await client.post({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  assert.equal(answer.status, 200, answer.body);
  const id = answer.headers['mcp-session-id'];
  assert.equal(typeof id, 'string');
  const session = { 'mcp-session-id': String(id), 'mcp-protocol-version': version };
  const initialized = await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
  assert.ok(initialized.status === 202 || initialized.status === 200, initialized.body);
  return session;
}

function assertTools(answer: FlowAnswer): void {
  assert.equal(answer.status, 200, answer.body);
  assert.match(answer.body, /ticket_list/);
}
