// Pages of MCP Apps behind a federation: they call tools by the server's own name, and whatever judges or logs the call sees the prefixed one.
import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { createIssuer, providerOf } from '../kit/test-issuer.ts';
import { waitFor } from '../kit/wait-for.ts';
import { type FederatedGatewayOptions, startFederatedGateway } from '../mcp/federated-gateway.ts';
import { type FederationServer, type FederationTool, startFederationServer } from '../mcp/federation-servers.ts';
import { initialize, modern, post, printError, type RawAnswer, request } from './federation-fixture.ts';

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

const ofApp = (name: string, ui: object = {}): FederationTool => ({ name, _meta: { ui } });

/** What a call came to: what the server says that it was asked, or the error. */
function print({ status, text = '', messages }: Pick<RawAnswer, 'status' | 'messages'> & { text?: string }): string {
  const { result, error } = messages.at(-1) ?? {};
  if (error?.code === undefined && result === undefined) return `${status} ${text}`;
  return error === undefined ? (result!['content'] as { text: string }[])[0]!.text : `${error.code} ${error.message}`;
}

const ambiguous = (name: string): string =>
  `-32602 Several servers behind this endpoint have a tool "${name}". Call it by its name in the list of tools, which begins with the prefix of its server.`;
const notYet = (name: string): string =>
  `-32603 Whose tool "${name}" is cannot be told yet, because not every server behind this endpoint has answered. Call it by its name in the list of tools, or try again later.`;

describe('pages of MCP Apps', () => {
  let clock: FederationServer;
  let board: FederationServer;
  let token: string;

  before(async () => {
    clock = await startFederationServer({
      name: 'clock',
      era: 'legacy',
      tools: [
        ofApp('get_time', { resourceUri: 'ui://clock/page' }),
        ofApp('tick', { visibility: ['app'] }),
        ofApp('wind', { visibility: ['model'] }),
        ofApp('refresh', { resourceUri: 'ui://clock/page' }),
        ofApp('board_wipe'),
        { name: 'older', _meta: { 'ui/resourceUri': 'ui://clock/page' } },
        { name: 'plain' },
      ],
    });
    board = await startFederationServer({
      name: 'board',
      era: 'modern',
      tools: [ofApp('refresh'), ofApp('move', { resourceUri: 'ui://board/page' }), { name: 'wipe' }, { name: 'tick' }],
    });
    token = await issuer.sign({ sub: 'ann' });
  });
  after(() => Promise.all([clock.close(), board.close()]));

  async function start(t: TestContext, options: Partial<FederatedGatewayOptions> = {}): Promise<GatewayRun> {
    const targets = { clock: { url: clock.url }, board: { url: board.url } };
    const gateway = await startFederatedGateway({ targets, ...options });
    t.after(() => gateway.stop());
    return gateway;
  }

  /** Calls in a session, and as a request of 2026-07-28. */
  const callersOf = (gateway: GatewayRun, session: string) =>
    [
      async (name: string) =>
        print(await post(gateway, request('tools/call', { name, arguments: { a: 1 } }), { session, token })),
      async (name: string) => {
        const { body, headers } = modern('tools/call', { name, arguments: { a: 1 } });
        return print(await post(gateway, body, { headers, token }));
      },
    ] as const;

  async function callAtOnce(gateway: GatewayRun, names: readonly string[]): Promise<readonly string[]> {
    const session = await initialize(gateway, { token, version: '2025-03-26' });
    const batch = names.map((name, id) => request('tools/call', { name, arguments: {} }, id));
    const { messages, status } = await post(gateway, batch, { session, token });
    const outcomes = new Map(messages.map((message) => [message.id, print({ status, messages: [message] })]));
    return names.map((_, id) => outcomes.get(id)!);
  }

  test('in a process that has listed nothing yet, a name leads to the one server that has it for pages', async (t) => {
    const gateway = await start(t);
    const session = await initialize(gateway, { token });
    clock.forgetRequests();
    board.forgetRequests();
    const lists = (): number => clock.listRequests('tools/list').length + board.listRequests('tools/list').length;
    const callers = callersOf(gateway, session);
    for (const call of callers) {
      // Names with a prefix cost no list.
      const counted = lists();
      assert.equal(await call('clock_get_time'), 'clock get_time {"a":1}');
      assert.match(await call('clock_nothing'), /^-32602 Unknown tool/);
      assert.equal(lists(), counted);
      assert.equal(await call('get_time'), 'clock get_time {"a":1}');
      assert.equal(lists(), counted + 2);
      assert.equal(await call('older'), 'clock older {"a":1}');
      // `tick` of the other server is none of an app.
      assert.equal(await call('tick'), 'clock tick {"a":1}');
      assert.equal(await call('move'), 'board move {"a":1}');
      assert.equal(await call('refresh'), ambiguous('refresh'));
      // Nor is a known one looked for again.
      assert.equal(lists(), counted + 2);
      // A prefix is one, whatever a server lists.
      assert.equal(await call('board_wipe'), 'board wipe {"a":1}');
    }
    for (const call of callers)
      for (const name of ['wind', 'plain', 'nothing', 'wipe', 'clock', 'clock_', 'other_get_time'])
        assert.equal(await call(name), `-32602 Unknown tool: ${name}`);
    for (const { headers, body } of board.listRequests('tools/call').filter((each) => 'mcp-name' in each.headers))
      assert.equal(headers['mcp-name'], (JSON.parse(body) as { params: { name: string } }).params.name);
    assert.deepEqual(await callAtOnce(gateway, ['get_time', 'move', 'refresh', 'board_wipe', 'nothing']), [
      'clock get_time {}',
      'board move {}',
      ambiguous('refresh'),
      'board wipe {}',
      '-32602 Unknown tool: nothing',
    ]);
    // The header is compared with the body as the client sent it.
    const { body, headers } = modern('tools/call', { name: 'get_time', arguments: {} });
    const answer = await post(gateway, body, { headers: { ...headers, 'mcp-name': 'clock_get_time' } });
    assert.equal(answer.status, 400);
    assert.equal(printError(answer), '-32020 The Mcp-Name header does not match the name in the message.');
    await checkLog(gateway);
    // A call that is refused for its session or its version asks nobody.
    const known = lists();
    const refused = [
      await post(gateway, request('tools/call', { name: 'none' }), { session: 'none', token }),
      await post(gateway, request('tools/call', { name: 'none' }), { token }),
      await post(gateway, JSON.stringify(body).replace('2026-07-28', '2099-01-01'), {
        headers: { ...headers, 'mcp-protocol-version': '2099-01-01' },
      }),
    ];
    assert.deepEqual(
      refused.map(({ status }) => status),
      [404, 400, 400],
    );
    assert.equal(lists(), known);
  });

  async function checkLog(gateway: GatewayRun): Promise<void> {
    await waitFor('the lines', () => /"clock_get_time"[^]*name_ambiguous/.test(gateway.readOutput()));
    assert.match(gateway.readOutput(), /several servers have an app tool refresh: board, clock/);
    assert.doesNotMatch(gateway.readOutput(), /"get_time"/);
  }

  test('a Deny of the prefixed name hits the bare one, which is as unknown as any other', async (t) => {
    const denied = rules('Deny', 'mcp.tool.name in ["clock_get_time", "clock_wind"] || mcp.target.tool == "move"');
    const gateway = await start(t, { resources: [login, denied] });
    const session = await initialize(gateway, { token });
    clock.forgetRequests();
    for (const call of callersOf(gateway, session)) {
      for (const name of ['get_time', 'move', 'nothing'])
        assert.equal(await call(name), `-32602 Unknown tool: ${name}`);
      assert.equal(await call('tick'), 'clock tick {"a":1}');
    }
    assert.deepEqual(await callAtOnce(gateway, ['get_time', 'tick', 'refresh', 'move']), [
      '-32602 Unknown tool: get_time',
      'clock tick {}',
      ambiguous('refresh'),
      '-32602 Unknown tool: move',
    ]);
    assert.equal(
      clock.listRequests('tools/call').some(({ body }) => body.includes('get_time')),
      false,
    );
  });

  test('an Allow of the prefixed name is enough, and one of the bare name allows nothing', async (t) => {
    const allowed = rules(
      'Allow',
      'mcp.tool.name == "clock_get_time" && mcp.target.name == "clock" && mcp.target.tool == "get_time"',
      'mcp.tool.name in ["move", "clock_refresh"]',
      'mcp.tool.name == "clock_tick" && has(mcp.tool.arguments.force)',
    );
    const gateway = await start(t, { resources: [login, allowed] });
    const session = await initialize(gateway, { token });
    for (const call of callersOf(gateway, session)) {
      assert.equal(await call('get_time'), 'clock get_time {"a":1}');
      for (const name of ['plain', 'nothing']) assert.equal(await call(name), `-32602 Unknown tool: ${name}`);
      // The one of the other server is hidden: for this caller there is one.
      assert.equal(await call('refresh'), 'clock refresh {"a":1}');
      // A rule over arguments: the tool is listed, and this call of it is refused.
      assert.match(await call('tick'), /^403 .*rbac_denied/s);
    }
    board.forgetRequests();
    assert.match(await callersOf(gateway, session)[0]('move'), /^(?!board)/);
    assert.equal(board.listRequests('tools/call').length, 0);
  });

  test('as long as a server has listed nothing, a bare name is nobody’s', async (t) => {
    const away = await startFederationServer({ name: 'away', era: 'legacy', tools: [ofApp('get_time')] });
    t.after(() => away.close());
    await away.kill();
    const targets = { clock: { url: clock.url }, away: { url: away.url } };
    const gateway = await start(t, { targets });
    const session = await initialize(gateway, { token });
    const [call] = callersOf(gateway, session);
    for (const name of ['get_time', 'tick', 'nothing']) assert.equal(await call(name), notYet(name));
    assert.equal(await call('clock_get_time'), 'clock get_time {"a":1}');
    await away.restart();
    await waitFor('the list', async () => (await call('tick')) === 'clock tick {"a":1}');
    assert.equal(await call('get_time'), ambiguous('get_time'));
    // What it listed last counts while it is away: nobody takes its names over.
    await away.kill();
    await waitFor('it is down', async () => /cannot be reached/.test(await call('away_get_time')));
    assert.equal(await call('get_time'), ambiguous('get_time'));
    assert.equal(await call('tick'), 'clock tick {"a":1}');
  });
});
