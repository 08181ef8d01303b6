// values-production.yaml: what docs/production.md asks for is on, and the GatewayParameters that it refers to are those of examples/kubernetes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { parseResource } from '../../src/api/parse-resource.ts';
import { renderGateway } from '../../src/deploy/render-gateway.ts';
import { makeGateway, makePlan, usualSettings } from '../../src/deploy/testdata/read-plan.ts';
import { readSettings } from './controller-settings.ts';
import { productionValues, renderChart } from './helm.ts';
import type { Rendering } from './rendering.ts';

const example = join(import.meta.dirname, '..', '..', 'examples', 'kubernetes', 'production-parameters.yaml');

describe('values-production.yaml', () => {
  let rendering: Rendering;
  before(async () => {
    rendering = await renderChart({}, { args: ['--values', productionValues] });
  });

  test('two replicas, on different nodes, of which one may be evicted', () => {
    assert.equal(rendering.deployment.spec.replicas, 2);
    assert.deepEqual(rendering.get('PodDisruptionBudget')['spec'], {
      minAvailable: 1,
      selector: rendering.deployment.spec.selector,
    });
    const constraints = rendering.pod['topologySpreadConstraints'] as readonly { readonly topologyKey: string }[];
    assert.deepEqual(
      constraints.map(({ topologyKey }) => topologyKey),
      ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'],
    );
  });

  test('requests, and a bound for memory', () => {
    const { requests, limits } = rendering.container['resources'] as Record<string, Record<string, string>>;
    assert.deepEqual([Object.keys(requests ?? {}), Object.keys(limits ?? {})], [['cpu', 'memory'], ['memory']]);
  });

  test('TLS to gateways, and network policies', () => {
    const settings = readSettings(rendering);
    assert.deepEqual([settings.xdsTls, settings.xdsTlsGenerate], [true, true]);
    assert.ok(settings.networkPolicy !== undefined);
    assert.equal(rendering.get('NetworkPolicy').metadata.name, 'proxy');
  });

  test('the parameters of the class are those of the example, which can be deployed', () => {
    const parsed = parseResource(parse(readFileSync(example, 'utf8')), { origin: 'kubernetes' });
    assert.ok(parsed.ok && parsed.kind === 'GatewayParameters', JSON.stringify(parsed));
    const { name, namespace } = parsed.resource.metadata;
    assert.deepEqual(readSettings(rendering).classParameters, {
      group: 'gateway.proxy',
      kind: 'GatewayParameters',
      name,
      namespace,
    });
    const { networkPolicy } = readSettings(rendering);
    const rendered = renderGateway(makePlan(makeGateway('web'), [parsed.resource]), {
      ...usualSettings,
      networkPolicy,
    });
    assert.ok(rendered.ok);
    const kinds = new Set(rendered.objects.map(({ type }) => type.kind));
    for (const kind of ['PodDisruptionBudget', 'NetworkPolicy']) assert.ok(kinds.has(kind), kind);
    const { replicas, resources, unprotectedRoutes } = parsed.resource.spec;
    assert.deepEqual([replicas, unprotectedRoutes], [2, 'Deny']);
    assert.deepEqual(Object.keys(resources?.requests ?? {}), ['cpu', 'memory']);
  });
});
