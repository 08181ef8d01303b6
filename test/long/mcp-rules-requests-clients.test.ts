// Real MCP clients and servers of every generation, with rules over messages between them: what the rules allow works as if they were not
// there, and what they hide is not there.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { clientScenarios } from '../mcp/client-scenarios.ts';
import { startDialogueServer } from '../mcp/dialogue-server.ts';
import { startEverythingServer } from '../mcp/everything-server.ts';
import { type ClientLibrary, sdkV1, sdkV2, sdkV2Stateless } from '../mcp/sdk-clients.ts';
import { dialogueFixture, everythingFixture, type ServerFixture } from '../mcp/server-fixtures.ts';
import { gatewayOf, resource } from '../integration/gateway-fixture.ts';
import { routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { type GatewayRun, runGateway } from '../kit/run-gateway.ts';

let gateway: GatewayRun;
const started: (() => Promise<unknown>)[] = [];

/** A server behind two backends: NAME lets everything pass that is judged, NAME-few only one tool. */
function serveTwice(name: string, url: string, tool: string, protocol = 'StreamableHTTP'): object[] {
  const { hostname: host, port, pathname: path } = new URL(url);
  const expressions = {
    [name]: {
      action: 'Deny',
      policy: { matchExpressions: ['mcp.tool.name == "nothing" || has(mcp.tool.arguments.nothing)'] },
    },
    [`${name}-few`]: { action: 'Allow', policy: { matchExpressions: [`mcp.tool.name == "${tool}"`] } },
  };
  return Object.entries(expressions).flatMap(([backend, authorization]) => [
    routeResource(backend, [ruleTo(`/${backend}`, backend)]),
    resource('gateway.proxy/v1alpha1', 'ProxyBackend', backend, {
      spec: { mcp: { targets: [{ name: backend, static: { host, port: Number(port), path, protocol } }] } },
    }),
    resource('gateway.proxy/v1alpha1', 'ProxyPolicy', backend, {
      spec: {
        targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: backend }],
        backend: { mcp: { authorization } },
      },
    }),
  ]);
}

before(async () => {
  const dialogue = await startDialogueServer();
  started.push(() => dialogue.close());
  const everything = await startEverythingServer('streamableHttp');
  started.push(() => everything.stop());
  const legacy = await startEverythingServer('sse');
  started.push(() => legacy.stop());
  gateway = await runGateway({
    resources: (port) => [
      gatewayOf('test', [{ name: 'http', protocol: 'HTTP', port }]),
      ...serveTwice(dialogueFixture.route, dialogue.url, dialogueFixture.call.tool),
      ...serveTwice(everythingFixture.route, everything.url, everythingFixture.call.tool),
      ...serveTwice('legacy', legacy.url, 'echo', 'SSE'),
    ],
  });
  started.push(() => gateway.stop());
});
after(async () => {
  for (const end of started.toReversed()) await end();
});

const urlOf = (backend: string): string => `http://127.0.0.1:${gateway.port}/${backend}`;

const pairs: readonly (readonly [ClientLibrary, ServerFixture])[] = [
  [sdkV1, dialogueFixture],
  [sdkV1, everythingFixture],
  [sdkV2, dialogueFixture],
  [sdkV2, everythingFixture],
  [sdkV2Stateless, dialogueFixture],
];

for (const [library, server] of pairs)
  describe(`${library.name} to ${server.title}`, () => {
    for (const scenario of clientScenarios) {
      if (scenario.needsSession && library.stateless) continue;
      test(scenario.title, () => scenario.run({ library, server, url: urlOf(server.route) }));
    }

    test('hidden items are in no list, and unknown', async (t) => {
      const client = await library.connect({ url: urlOf(`${server.route}-few`) });
      t.after(() => client.close());
      const { tool, args } = server.call;
      assert.deepEqual(await client.listTools(), [tool]);
      await client.callTool(tool, args);
      const hidden = server.tools.find((name) => name !== tool)!;
      await assert.rejects(client.callTool(hidden, {}), new RegExp(`Unknown tool: ${hidden}`));
    });
  });

for (const library of [sdkV1, sdkV2])
  test(`${library.name} to a server of the older transport`, async (t) => {
    const all = await library.connect({ url: urlOf('legacy'), legacySse: true });
    t.after(() => all.close());
    assert.ok((await all.listTools()).includes('get-sum'));
    assert.equal(await all.callTool('echo', { message: 'hello' }), 'Echo: hello');
    assert.match(await all.callTool('trigger-sampling-request', { prompt: 'ready?' }), /the answer to/);

    const few = await library.connect({ url: urlOf('legacy-few'), legacySse: true });
    t.after(() => few.close());
    assert.deepEqual(await few.listTools(), ['echo']);
    assert.equal(await few.callTool('echo', { message: 'hello' }), 'Echo: hello');
    await assert.rejects(few.callTool('get-sum', { a: 1, b: 2 }), /Unknown tool: get-sum/);
  });
