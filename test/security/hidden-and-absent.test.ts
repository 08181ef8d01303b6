// What Deny rules hide is answered like what the server does not have: same status, same header fields, same words. By servers of the SDK, in every form.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ask, type FlowAnswer } from '../idp/flow-client.ts';
import {
  type AnswerForm,
  type DeskServer,
  startDeskServer,
  statelessVersion,
} from '../integration/mcp-rules-clients-server.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';
import { resource } from '../integration/gateway-fixture.ts';

const denied = [
  'mcp.tool.name == "delete_ticket"',
  'mcp.tool.name.startsWith("admin_")',
  'mcp.tool.arguments.force == true',
  'mcp.prompt.name == "audit"',
  'mcp.resource.uri.startsWith("desk://secret")',
];

type Use = (name: string) => { readonly method: string; readonly params: Readonly<Record<string, unknown>> };

const call: Use = (name) => ({ method: 'tools/call', params: { name, arguments: { id: '7' } } });
const force: Use = (name) => ({ method: 'tools/call', params: { name, arguments: { id: '7', force: true } } });
const getPrompt: Use = (name) => ({ method: 'prompts/get', params: { name } });
const read: Use = (uri) => ({ method: 'resources/read', params: { uri } });
const complete: Use = (uri) => ({
  method: 'completion/complete',
  params: { ref: { type: 'ref/resource', uri }, argument: { name: 'id', value: '' } },
});

/** How it is used, what the rules hide, and what no server has; of the same length, so that only the name differs. */
const pairs: readonly (readonly [use: Use, hidden: string, absent: string])[] = [
  [call, 'delete_ticket', 'delete_tackit'],
  [call, 'admin_reset', 'other_rosot'],
  [call, 'admin_reset', 'admin_rosot'],
  [force, 'delete_ticket', 'delete_tackit'],
  [getPrompt, 'audit', 'oddit'],
  [read, 'desk://secret', 'desk://sicrit'],
  [read, 'desk://secret/7', 'desk://sicrit/7'],
  [read, 'desk://secret/7', 'desk://secret/8'],
  [complete, 'desk://secret/{id}', 'desk://sicrit/{id}'],
];

const servers = new Map<string, { readonly server: DeskServer; readonly version: string; readonly form: AnswerForm }>();
let gateway: GatewayRun;

before(async () => {
  for (const version of ['2025-03-26', '2025-11-25', statelessVersion])
    for (const form of ['json', 'events'] as const)
      servers.set(`v${version}-${form}`, { server: await startDeskServer(version, form), version, form });
  const names = [...servers.keys()];
  gateway = await runGateway({
    resources: (port) => [
      gatewayResource(port),
      routeResource(
        'desks',
        names.map((name) => ruleTo(`/${name}`, name)),
      ),
      ...names.map((name) => backendResource(name, servers.get(name)!.server.port)),
      resource('gateway.proxy/v1alpha1', 'ProxyPolicy', 'rules', {
        spec: {
          targetRefs: names.map((name) => ({ group: 'gateway.proxy', kind: 'ProxyBackend', name })),
          backend: { mcp: { authorization: { action: 'Deny', policy: { matchExpressions: denied } } } },
        },
      }),
    ],
  });
});
after(async () => {
  await gateway?.stop();
  for (const { server } of servers.values()) await server.close();
});

for (const version of ['2025-03-26', '2025-11-25', statelessVersion]) {
  for (const form of ['json', 'events'] as const) {
    describe(`${version}, answers in ${form}`, () => {
      const name = `v${version}-${form}`;
      for (const [use, hidden, absent] of pairs) {
        const { method, params } = use(hidden);
        test(`${method} ${hidden} (${Object.keys(params).join()}) like ${absent}`, async () => {
          const { server } = servers.get(name)!;
          const send = await connect(name, version);
          const answers = await Promise.all([hidden, absent].map((item) => send(use(item), item)));
          const [first, second] = answers.map((answer, index) => normalise(answer, [hidden, absent][index]!));
          assert.deepEqual(first, second);
          // An error, or a result that is one; and it is about the name that was asked for.
          assert.match(answers[0]!.body, /error|rbac_denied|"values":\[\]/i);
          assert.equal(/[a-z]{16}|[1-9]{15}/.exec(answers[0]!.body)?.[0], undefined, answers[0]!.body);
          assert.deepEqual(server.calls, [], 'no tool has run');
        });
      }
    });
  }
}

test('in a batch, beside what is allowed', async () => {
  for (const form of ['json', 'events']) {
    const send = await connect(`v2025-03-26-${form}`, '2025-03-26');
    const ids = (item: string): object[] =>
      [call(item), read('desk://open'), getPrompt('audit'), read('desk://secret/7')].map((message, id) => ({
        jsonrpc: '2.0',
        id,
        ...message,
      }));
    const [first, second] = await Promise.all(
      ['delete_ticket', 'delete_tackit'].map(async (item) => normalise(await send(ids(item), item), item)),
    );
    assert.deepEqual(first, second);
    assert.match(JSON.stringify(first), /desk:\/\/open/);
    assert.match(JSON.stringify(first), /audit/);
  }
});

type Send = (message: object, item: string) => Promise<FlowAnswer>;

/** A client that has a session where there are sessions. */
async function connect(name: string, version: string): Promise<Send> {
  const common = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
  };
  const url = `http://127.0.0.1:${gateway.port}/${name}`;
  const isStateless = version === statelessVersion;
  let session: Record<string, string> = {};
  if (!isStateless) {
    const hello = {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    };
    const answer = await ask(url, { method: 'POST', headers: common, body: JSON.stringify(hello) });
    assert.equal(answer.status, 200, answer.body);
    session = { 'mcp-session-id': String(answer.headers['mcp-session-id']) };
  }
  return async (message, item) => {
    const meta = { 'io.modelcontextprotocol/protocolVersion': version, ...clientMeta };
    const { method, params } = message as ReturnType<Use>;
    const body = Array.isArray(message)
      ? message
      : { jsonrpc: '2.0', id: 1, method, params: isStateless ? { ...params, _meta: meta } : params };
    const named: Record<string, string> = isStateless ? { 'mcp-method': method } : {};
    if (isStateless && method !== 'completion/complete') named['mcp-name'] = item;
    return ask(url, { method: 'POST', headers: { ...common, ...session, ...named }, body: JSON.stringify(body) });
  };
}

const clientMeta = {
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Without what differs between any two answers, and with a sign for the name. */
function normalise({ status, headers, body }: FlowAnswer, name: string): object {
  const kept = Object.entries(headers).filter(([field]) => !['date', 'x-request-id'].includes(field));
  const text = body
    .replaceAll(name, 'NAME')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\S*/g, 'ID');
  return { status, headers: Object.fromEntries(kept), body: text };
}
