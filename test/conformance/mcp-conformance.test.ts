// The MCP conformance suite finds the same with the gateway in between as without it, also when the server is one of several that the gateway makes one of. Writes docs/conformance/mcp.md.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import type { McpHost } from '../../src/demo/mcp-host.ts';
import type { GatewayRun } from '../kit/run-gateway.ts';
import { startFederatedGatewayProcess } from '../mcp/federated-gateway.ts';
import { type FederationServer, startFederationServer } from '../mcp/federation-servers.ts';
import { startTargetGatewayProcess } from '../mcp/target-gateway.ts';
import { formatPage, formatTable, type VersionResults } from './conformance-page.ts';
import { type CheckResult, protocolVersions, runConformanceSuite, suiteVersion } from './conformance-suite.ts';
import { startFixtureServer } from './fixture-server.ts';

/** Checks that the fixture server itself does not pass, as `version scenario check`, and why. */
const explanations: Record<string, string> = {};

// The fewest scenarios that the suite has for each version: fewer would mean that it ran something else.
const fewestScenarios = { '2025-06-18': 27, '2025-11-25': 33, '2026-07-28': 40 };

let fixture: McpHost;
let gateway: GatewayRun;
/** One of either era, with items of their own. */
let others: readonly FederationServer[] = [];
let federation: GatewayRun;
const finished: VersionResults[] = [];

before(async () => {
  fixture = await startFixtureServer();
  gateway = await startTargetGatewayProcess({ targets: { conformance: { url: fixture.url } } });
  others = await Promise.all((['legacy', 'modern'] as const).map(startOther));
  const [legacy, modern] = others;
  federation = await startFederatedGatewayProcess({
    targets: { legacy: { url: legacy!.url }, conformance: { url: fixture.url }, modern: { url: modern!.url } },
    // The suite asks for items by the names that they have at their server.
    mcp: { names: { prefix: 'Never' } },
  });
});

function startOther(era: 'legacy' | 'modern'): Promise<FederationServer> {
  return startFederationServer({
    name: era,
    era,
    tools: [{ name: `tool_of_${era}`, description: 'Says where it ran.' }],
    prompts: [{ name: `prompt_of_${era}`, description: 'Of another server.' }],
    resources: [{ uri: `test://${era}`, name: `of ${era}` }],
    templates: [{ uriTemplate: `test://${era}/{id}`, name: `of ${era}` }],
  });
}

after(async () => {
  await gateway?.stop();
  await federation?.stop();
  await Promise.all(others.map((other) => other.close()));
  await fixture?.close();
  if (finished.length < protocolVersions.length) return;
  for (const results of finished) console.log(`${formatTable(results)}\n`);
  const folder = new URL('../../docs/conformance/', import.meta.url);
  await mkdir(folder, { recursive: true });
  await writeFile(new URL('mcp.md', folder), formatPage(suiteVersion, finished, explanations));
});

function describeCheck({ id, name, status }: CheckResult): string {
  return `${id} (${name}): ${status}`;
}

for (const version of protocolVersions) {
  test(`protocol version ${version}`, async (t) => {
    const direct = await runConformanceSuite(fixture.url, version);
    const throughGateway = await runConformanceSuite(gateway.urlOf('conformance'), version);
    const throughFederation = await runConformanceSuite(federation.urlOf('mcp'), version);
    finished.push({ version, direct, throughGateway, throughFederation });
    assert.ok(direct.length >= fewestScenarios[version], `only ${direct.length} scenarios ran`);
    for (const other of [throughGateway, throughFederation])
      assert.deepEqual(
        other.map(({ scenario }) => scenario),
        direct.map(({ scenario }) => scenario),
      );
    for (const [index, { scenario, checks }] of direct.entries()) {
      await t.test(scenario, () => {
        assert.ok(checks.length > 0, 'the suite checked nothing');
        const failed = checks
          .filter((check) => check.status === 'FAILURE' || check.status === 'WARNING')
          .filter((check) => explanations[`${version} ${scenario} ${check.id}`] === undefined)
          .map((check) => `${describeCheck(check)}: ${check.errorMessage ?? ''}`);
        assert.deepEqual(failed, [], 'a check fails without the gateway, and the page does not say why');
        const expected = checks.map(describeCheck);
        assert.deepEqual(throughGateway[index]?.checks.map(describeCheck), expected, 'through the gateway');
        assert.deepEqual(throughFederation[index]?.checks.map(describeCheck), expected, 'through a federation');
      });
    }
  });
}
