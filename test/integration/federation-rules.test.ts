// Rules over the messages of a federation: they see the names that clients see, filter its lists, and reach its open streams when they change.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';
import { describeFederation, type FederatedGatewayOptions, startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, startFederationServer } from '../mcp/federation-servers.ts';
import { initialize, modern, openStream, post, printError, type RawAnswer, request } from './federation-fixture.ts';

const issuer = createIssuer('https://idp.example');

function policy(name: string, targetRef: object, spec: object): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name },
    spec: { targetRefs: [targetRef], ...spec },
  };
}

const login = policy(
  'login',
  { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'all' },
  { traffic: { jwtAuthentication: { providers: [providerOf('corp', issuer)] } } },
);

function rules(action: string, ...matchExpressions: readonly string[]): object {
  const backend = { group: 'gateway.proxy', kind: 'ProxyBackend', name: 'all' };
  return policy('rules', backend, { backend: { mcp: { authorization: { action, policy: { matchExpressions } } } } });
}

const support =
  'jwt.sub == "ann" && (mcp.tool.name.startsWith("tickets_") || mcp.resource.uri.startsWith("crm+file:///public/"))';

describe('a federation with rules', () => {
  let tickets: FederationServer;
  let crm: FederationServer;
  let gateway: GatewayRun;
  let ann: string;
  let bob: string;
  let options: FederatedGatewayOptions;

  before(async () => {
    const resources = [
      { uri: 'file:///public/a', name: 'a' },
      { uri: 'file:///private/b', name: 'b' },
    ];
    const tools = [{ name: 'close' }, { name: 'open' }];
    tickets = await startFederationServer({ name: 'tickets', era: 'legacy', tools });
    crm = await startFederationServer({ name: 'crm', era: 'modern', tools, resources });
    options = {
      targets: { tickets: { url: tickets.url }, crm: { url: crm.url } },
      resources: [login, rules('Allow', support, 'jwt.sub == "bob"')],
    };
    gateway = await startFederatedGateway(options);
    [ann, bob] = await Promise.all([issuer.sign({ sub: 'ann' }), issuer.sign({ sub: 'bob' })]);
  });
  after(async () => {
    await gateway.stop();
    await Promise.all([tickets.close(), crm.close()]);
  });

  const listTools = ({ messages }: RawAnswer): unknown => {
    const { tools } = messages.at(-1)!.result as { tools: { name: string }[] };
    return tools.map(({ name }) => name);
  };

  test('lists show what the caller may use, under the names of clients', async () => {
    for (const [token, expected] of [
      [ann, ['tickets_close', 'tickets_open']],
      [bob, ['tickets_close', 'tickets_open', 'crm_close', 'crm_open']],
    ] as const) {
      // eslint-disable-next-line no-await-in-loop
      const session = await initialize(gateway, { token });
      // eslint-disable-next-line no-await-in-loop
      assert.deepEqual(listTools(await post(gateway, request('tools/list'), { session, token })), expected);
      const { body, headers } = modern('tools/list');
      // eslint-disable-next-line no-await-in-loop
      const answer = await post(gateway, body, { headers, token });
      assert.deepEqual(listTools(answer), expected);
      assert.equal(answer.messages.at(-1)!.result!['cacheScope'], 'private');
    }
  });

  test('what is hidden is unknown, and its server learns nothing of it', async () => {
    const session = await initialize(gateway, { token: ann });
    crm.forgetRequests();
    const call = (name: string) =>
      post(gateway, request('tools/call', { name, arguments: {} }), { session, token: ann });
    assert.equal(printError(await call('crm_close')), '-32602 Unknown tool: crm_close');
    assert.equal(crm.listRequests('tools/call').length, 0);
    assert.ok((await call('tickets_close')).messages.at(-1)!.result);
    const read = (uri: string) => post(gateway, request('resources/read', { uri }), { session, token: ann });
    assert.ok((await read('crm+file:///public/a')).messages.at(-1)!.result);
    assert.equal(printError(await read('crm+file:///private/b')), '-32002 Resource not found');
  });

  test('messages that rules let through are read once, also those of a batch that are left', async () => {
    const session = await initialize(gateway, { token: ann, version: '2025-03-26' });
    const call = (name: string, id: number): object => request('tools/call', { name, arguments: {} }, id);
    const batch = [call('tickets_close', 1), call('crm_close', 2), call('tickets_open', 3)];
    const { messages } = await post(gateway, batch, { session, token: ann });
    const outcomes = new Map(messages.map(({ id, error }) => [id, error?.message ?? 'fine']));
    assert.deepEqual(outcomes.get(1), 'fine');
    assert.deepEqual(outcomes.get(2), 'Unknown tool: crm_close');
    assert.deepEqual(outcomes.get(3), 'fine');
  });

  test('a Deny rule: the server answers for a name that it does not have', async (t) => {
    gateway.write(
      describeFederation(gateway.port, {
        ...options,
        resources: [login, rules('Deny', 'mcp.tool.name == "crm_open"')],
      }),
    );
    t.after(() => gateway.write(describeFederation(gateway.port, options)));
    const session = await initialize(gateway, { token: ann });
    const call = (name: string) =>
      post(gateway, request('tools/call', { name, arguments: {} }), { session, token: ann });
    await waitFor('the rules', async () => (await call('crm_close')).messages.at(-1)!.result !== undefined);
    assert.equal(printError(await call('crm_open')), printError(await call('crm_none')).replace('none', 'open'));
    assert.ok((await call('tickets_open')).messages.at(-1)!.result);
  });

  test('when rules change, streams of both eras tell of it', async (t) => {
    const session = await initialize(gateway, { token: bob });
    const legacy = await openStream(gateway, { session, token: bob });
    const { body, headers } = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const subscription = await openStream(gateway, { body, headers, token: bob });
    t.after(() => {
      legacy.close();
      subscription.close();
    });
    await waitFor('the acknowledgement', () => subscription.messages.length > 0);
    const changed = (stream: typeof legacy): number =>
      stream.messages.filter(({ method }) => method === 'notifications/tools/list_changed').length;
    const told = [changed(legacy), changed(subscription)];
    const fewer = [login, rules('Allow', support, 'jwt.sub == "bob" && mcp.tool.name != "crm_open"')];
    gateway.write(describeFederation(gateway.port, { ...options, resources: fewer }));
    await waitFor('both', () => changed(legacy) > told[0]! && changed(subscription) > told[1]!);
    await waitFor('the list', async () => {
      const names = listTools(await post(gateway, request('tools/list'), { session, token: bob })) as string[];
      return !names.includes('crm_open') && names.includes('crm_close');
    });
    // A stream that the rules do not allow any more ends.
    gateway.write(
      describeFederation(gateway.port, { ...options, resources: [login, rules('Deny', 'jwt.sub == "bob"')] }),
    );
    await waitFor('the streams have ended', () => legacy.isOver && subscription.isOver);
  });
});

test('scopes count by the names of clients, also for pages of MCP Apps that call without the prefix', async (t) => {
  const shown = { name: 'show', _meta: { ui: {} } };
  const tickets = await startFederationServer({ name: 'tickets', era: 'legacy', tools: [{ name: 'close' }, shown] });
  const crm = await startFederationServer({ name: 'crm', era: 'modern', tools: [{ name: 'close' }] });
  const backend = { group: 'gateway.proxy', kind: 'ProxyBackend', name: 'all' };
  const scopes = [
    { methods: ['tools/call'], tools: ['tickets_*'], scopes: ['tickets:write'] },
    // The names of servers count nowhere.
    { methods: ['tools/call'], tools: ['close', 'show'], scopes: ['nobody:has'] },
  ];
  const gateway = await startFederatedGateway({
    targets: { tickets: { url: tickets.url }, crm: { url: crm.url } },
    resources: [login, policy('scopes', backend, { backend: { mcp: { authorization: { scopes } } } })],
  });
  t.after(async () => {
    await gateway.stop();
    await Promise.all([tickets.close(), crm.close()]);
  });
  const [reader, writer] = await Promise.all(
    ['tickets:read', 'tickets:read tickets:write'].map((scope) => issuer.sign({ sub: 'ann', scope })),
  );
  const session = await initialize(gateway, { token: reader! });
  const calls = [
    (name: string, token: string) => post(gateway, request('tools/call', { name, arguments: {} }), { session, token }),
    (name: string, token: string) => {
      const { body, headers } = modern('tools/call', { name, arguments: {} });
      return post(gateway, body, { headers, token });
    },
  ];
  for (const call of calls) {
    for (const name of ['tickets_close', 'tickets_show', 'show']) {
      tickets.forgetRequests();
      // eslint-disable-next-line no-await-in-loop
      const refused = await call(name, reader!);
      assert.equal(refused.status, 403, name);
      assert.match(
        refused.headers.get('www-authenticate') ?? '',
        /^Bearer error="insufficient_scope", scope="tickets:write"/,
      );
      assert.equal(tickets.listRequests('tools/call').length, 0);
      // eslint-disable-next-line no-await-in-loop
      const fine = await call(name, writer!);
      assert.equal(fine.status, 200, name);
      assert.ok(fine.messages.at(-1)!.result, fine.text);
    }
    // eslint-disable-next-line no-await-in-loop
    const other = await call('crm_close', reader!);
    assert.ok(other.messages.at(-1)!.result, other.text);
  }
});
