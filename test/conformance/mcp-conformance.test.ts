// The MCP conformance suite finds the same with the gateway in between as without it. Writes docs/conformance/mcp.md.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import type { McpHost } from '../../src/demo/mcp-host.ts';
import type { GatewayRun } from '../kit/run-gateway.ts';
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
const finished: VersionResults[] = [];

before(async () => {
  fixture = await startFixtureServer();
  gateway = await startTargetGatewayProcess({ targets: { conformance: { url: fixture.url } } });
});

after(async () => {
  await gateway?.stop();
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
    finished.push({ version, direct, throughGateway });
    assert.ok(direct.length >= fewestScenarios[version], `only ${direct.length} scenarios ran`);
    assert.deepEqual(
      throughGateway.map(({ scenario }) => scenario),
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
        assert.deepEqual(throughGateway[index]?.checks.map(describeCheck), checks.map(describeCheck));
      });
    }
  });
}
