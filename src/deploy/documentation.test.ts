// docs/gateway-parameters.md: its examples are valid in a cluster, and render.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { parseResource } from '../api/parse-resource.ts';
import { renderGateway } from './render-gateway.ts';
import { makeGateway, makePlan, usualSettings } from './testdata/read-plan.ts';

const page = readFileSync(new URL('../../docs/gateway-parameters.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/^```ya?ml\n([\s\S]*?)^```$/gm)].map(([, block]) => block!);

test('there are examples', () => assert.ok(blocks.length >= 3));

for (const [index, block] of blocks.entries()) {
  test(`example ${index + 1}`, () => {
    for (const document of parseAllDocuments(block)) {
      const parsed = parseResource(document.toJS(), { origin: 'kubernetes' });
      assert.ok(parsed.ok, JSON.stringify(parsed));
      if (parsed.kind !== 'GatewayParameters') continue;
      const rendered = renderGateway(makePlan(makeGateway('web'), [parsed.resource]), usualSettings);
      assert.ok(rendered.ok, JSON.stringify(rendered));
    }
  });
}
