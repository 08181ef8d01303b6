// docs/upgrades.md: what it says about versions of gateways, with its own resources, from translation to the rendered Deployment.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { parseResource } from '../src/api/parse-resource.ts';
import { emptyResources, type Resources } from '../src/api/resources.ts';
import type { DeploySettings } from '../src/deploy/deploy-settings.ts';
import { renderGateway } from '../src/deploy/render-gateway.ts';
import { usualSettings } from '../src/deploy/testdata/read-plan.ts';
import { createTranslator } from '../src/translate/translate.ts';

const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'upgrades.md'), 'utf8');

/** The resources of a section. */
function readResources(heading: string): readonly object[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const [, yaml] = /^```yml\n([\s\S]*?)^```$/m.exec(section) ?? [];
  assert.ok(yaml !== undefined, `${heading} has an example`);
  return parseAllDocuments(yaml).map((document) => document.toJS() as object);
}

const [held] = readResources('Hold all gateways back') as [object];
const moved = readResources('Move them');
const early = readResources('Class by class');

function gatewayOf(name: string, gatewayClassName = 'proxy'): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name, namespace: 'tools', uid: name },
    spec: { gatewayClassName, listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
  };
}

/** The class as the chart makes it: with the parameters, or without. */
function classOf(parameters: string | undefined): object {
  const parametersRef = {
    group: 'gateway.proxy',
    kind: 'GatewayParameters',
    name: parameters,
    namespace: 'proxy-system',
  };
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'proxy' },
    spec: {
      controllerName: 'gateway.proxy/controller',
      ...(parameters === undefined ? {} : { parametersRef }),
    },
  };
}

const lists = { GatewayClass: 'gatewayClasses', Gateway: 'gateways', GatewayParameters: 'gatewayParameters' } as const;

/** The Deployment of each Gateway, as a controller with these settings renders it. */
function renderDeployments(objects: readonly object[], settings: DeploySettings): ReadonlyMap<string, object> {
  const resources: Resources = { ...emptyResources, gatewayClasses: [], gateways: [], gatewayParameters: [] };
  for (const object of objects) {
    const parsed = parseResource(object, { origin: 'kubernetes' });
    assert.ok(parsed.ok, JSON.stringify(parsed));
    (resources[lists[parsed.kind as keyof typeof lists]] as unknown[]).push(parsed.resource);
  }
  const { plans } = createTranslator({ placement: 'pods' }).translate(resources);
  return new Map(
    plans.map((plan) => {
      const rendered = renderGateway(plan, settings);
      assert.ok(rendered.ok, JSON.stringify(rendered));
      return [plan.name, rendered.objects.find(({ object }) => object.kind === 'Deployment')!.object];
    }),
  );
}

function readImage(deployment: object | undefined): string | undefined {
  const { spec } = deployment as { spec: { template: { spec: { containers: readonly { image: string }[] } } } };
  return spec.template.spec.containers[0]?.image;
}

const before = usualSettings;
const after: DeploySettings = { ...usualSettings, image: { ...usualSettings.image, tag: '0.2.0' } };
const image = (tag: string): string => `registry.example.com/gateway:${tag}`;

test('pinning the version that runs replaces no pod, and neither does the upgrade then', () => {
  const web = gatewayOf('web');
  const unpinned = renderDeployments([classOf(undefined), web], before);
  assert.equal(readImage(unpinned.get('tools/web')), image('0.1.0'));
  const pinned = [classOf('held'), held, web];
  assert.deepEqual(renderDeployments(pinned, before), unpinned);
  assert.deepEqual(renderDeployments(pinned, after), unpinned);
  assert.equal(readImage(renderDeployments([classOf(undefined), web], after).get('tools/web')), image('0.2.0'));
});

test('a Gateway with parameters of its own moves, and the others stay', () => {
  const deployments = renderDeployments([classOf('held'), held, gatewayOf('other'), ...moved], after);
  assert.equal(readImage(deployments.get('tools/web')), image('0.2.0'));
  assert.equal(readImage(deployments.get('tools/other')), image('0.1.0'));
});

test('a class of its own moves its Gateways', () => {
  const objects = [classOf('held'), held, ...early, gatewayOf('web'), gatewayOf('first', 'proxy-early')];
  const deployments = renderDeployments(objects, after);
  assert.equal(readImage(deployments.get('tools/first')), image('0.2.0'));
  assert.equal(readImage(deployments.get('tools/web')), image('0.1.0'));
});
