// networkPolicy.enabled: the policy that the chart installs and the one that the controller deploys with a gateway, as rendered, let through what is needed and nothing else.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { labelDeployed } from '../../src/deploy/deployed-names.ts';
import { renderGateway } from '../../src/deploy/render-gateway.ts';
import { makeGateway, makePlan, usualSettings } from '../../src/deploy/testdata/read-plan.ts';
import { readSettings } from './controller-settings.ts';
import { renderChart, type Values } from './helm.ts';
import { type End, type Flow, isAllowed, type NetworkPolicy } from './network-policy-play.ts';
import type { Rendering } from './rendering.ts';

const gateway = makeGateway('web', { namespace: 'tools', ports: [80, 8443] });

/** Both policies: the chart's own, and what the controller makes of the settings that the chart gives it. */
async function renderPolicies(values: Values = {}): Promise<readonly NetworkPolicy[]> {
  const rendering = await renderChart({ networkPolicy: { enabled: true, ...values } });
  const { networkPolicy } = readSettings(rendering);
  const rendered = renderGateway(makePlan(gateway), { ...usualSettings, networkPolicy });
  assert.ok(rendered.ok);
  const deployed = rendered.objects.find(({ type }) => type.kind === 'NetworkPolicy')!.object;
  return [rendering.get('NetworkPolicy'), deployed] as unknown as readonly NetworkPolicy[];
}

function pod(
  namespace: string,
  labels: Readonly<Record<string, string>> | undefined,
  namespaceLabels: Readonly<Record<string, string>> = {},
): End {
  return { address: '10.0.0.9', pod: { namespace, labels: labels ?? {}, namespaceLabels } };
}

interface Cast {
  readonly controller: End;
  readonly tester: End;
  readonly web: End;
  readonly other: End;
  readonly stranger: End;
  readonly server: End;
  readonly prometheus: End;
  readonly apiServer: End;
  readonly internet: End;
  readonly internet6: End;
  readonly metadata: End;
  readonly metadata6: End;
  readonly nodeDns: End;
}

function castAll(rendering: Rendering): Cast {
  return {
    controller: pod('proxy-system', rendering.deployment.spec.template.metadata.labels),
    tester: pod('proxy-system', rendering.get('Pod').metadata.labels),
    web: pod('tools', labelDeployed(gateway)),
    other: pod('shop', labelDeployed(makeGateway('shop', { namespace: 'shop' }))),
    stranger: pod('tools', { app: 'anything' }),
    server: pod('servers', { app: 'tickets' }, { mcp: 'yes' }),
    prometheus: pod('monitoring', { app: 'prometheus' }, { team: 'monitoring' }),
    apiServer: { address: '10.96.0.1' },
    internet: { address: '203.0.113.7' },
    internet6: { address: '2001:db8::7' },
    metadata: { address: '169.254.169.254' },
    metadata6: { address: 'fd00:ec2::254' },
    nodeDns: { address: '169.254.20.10' },
  };
}

type Matrix = readonly (readonly [isAllowed: boolean, what: string, flow: (cast: Cast) => Flow])[];

function play(policies: () => readonly NetworkPolicy[], cast: () => Cast, matrix: Matrix): void {
  for (const [expected, what, flow] of matrix)
    test(`${expected ? 'passes' : 'is stopped'}: ${what}`, () =>
      assert.equal(isAllowed(policies(), flow(cast())), expected));
}

let all: Cast;
before(async () => {
  all = castAll(await renderChart());
});

describe('by default', () => {
  let policies: readonly NetworkPolicy[];
  before(async () => {
    policies = await renderPolicies();
  });
  play(
    () => policies,
    () => all,
    [
      [true, 'xDS of a gateway', ({ web, controller }) => ({ from: web, to: controller, port: 9978 })],
      [true, 'xDS of a gateway elsewhere', ({ other, controller }) => ({ from: other, to: controller, port: 9978 })],
      [true, 'xDS between replicas', ({ controller }) => ({ from: controller, to: controller, port: 9978 })],
      [true, 'xDS of helm test', ({ tester, controller }) => ({ from: tester, to: controller, port: 9978 })],
      [true, 'health for helm test', ({ tester, controller }) => ({ from: tester, to: controller, port: 9093 })],
      [false, 'xDS of another pod', ({ stranger, controller }) => ({ from: stranger, to: controller, port: 9978 })],
      [false, 'xDS from outside', ({ internet, controller }) => ({ from: internet, to: controller, port: 9978 })],
      [false, 'health for a gateway', ({ web, controller }) => ({ from: web, to: controller, port: 9093 })],
      [true, 'metrics of the controller', (c) => ({ from: c.prometheus, to: c.controller, port: 9092 })],
      [false, 'metrics of the controller, outside', (c) => ({ from: c.internet, to: c.controller, port: 9092 })],
      [true, 'the API server', ({ controller, apiServer }) => ({ from: controller, to: apiServer, port: 443 })],
      [true, 'the API server at its own port', (c) => ({ from: c.controller, to: c.apiServer, port: 6443 })],
      [false, 'another port', ({ controller, apiServer }) => ({ from: controller, to: apiServer, port: 22 })],
      [false, 'a controller that calls a server', (c) => ({ from: c.controller, to: c.server, port: 8080 })],
      [true, 'DNS', ({ controller, nodeDns }) => ({ from: controller, to: nodeDns, port: 53, protocol: 'UDP' })],

      [true, 'a client from outside', ({ internet, web }) => ({ from: internet, to: web, port: 80 })],
      [true, 'a client over TLS', ({ internet6, web }) => ({ from: internet6, to: web, port: 8443 })],
      [true, 'a client in the cluster', ({ stranger, web }) => ({ from: stranger, to: web, port: 80 })],
      [false, 'a port without a listener', ({ internet, web }) => ({ from: internet, to: web, port: 81 })],
      [false, 'the admin port', ({ stranger, web }) => ({ from: stranger, to: web, port: 15_000 })],
      [false, 'UDP to a listener', ({ internet, web }) => ({ from: internet, to: web, port: 80, protocol: 'UDP' })],
      [true, 'a load balancer that asks for readiness', (c) => ({ from: c.internet, to: c.web, port: 15_021 })],
      [true, 'metrics of a gateway', ({ prometheus, web }) => ({ from: prometheus, to: web, port: 15_020 })],
      [false, 'metrics of a gateway, outside', ({ internet, web }) => ({ from: internet, to: web, port: 15_020 })],
      [true, 'an MCP server or a picker', ({ web, server }) => ({ from: web, to: server, port: 8080 })],
      [true, 'an identity provider', ({ web, internet }) => ({ from: web, to: internet, port: 443 })],
      [true, 'an identity provider over IPv6', ({ web, internet6 }) => ({ from: web, to: internet6, port: 443 })],
      [false, 'credentials of the node', ({ web, metadata }) => ({ from: web, to: metadata, port: 80 })],
      [false, 'credentials of the node, IPv6', ({ web, metadata6 }) => ({ from: web, to: metadata6, port: 80 })],
      [true, 'DNS on the node', ({ web, nodeDns }) => ({ from: web, to: nodeDns, port: 53, protocol: 'UDP' })],
      [true, 'other pods among each other', ({ stranger, server }) => ({ from: stranger, to: server, port: 1 })],
    ],
  );
});

describe('narrowed', () => {
  let policies: readonly NetworkPolicy[];
  before(async () => {
    policies = await renderPolicies({
      apiServer: { cidrs: ['10.96.0.1/32'], ports: [443] },
      clients: [{ ipBlock: { cidr: '198.51.100.0/24' } }],
      metrics: [{ namespaceSelector: { matchLabels: { team: 'monitoring' } } }],
      upstreams: [{ namespaceSelector: { matchLabels: { mcp: 'yes' } } }, { ipBlock: { cidr: '203.0.113.0/24' } }],
    });
  });
  const balancer: End = { address: '198.51.100.1' };
  play(
    () => policies,
    () => all,
    [
      [true, 'the API server', ({ controller, apiServer }) => ({ from: controller, to: apiServer, port: 443 })],
      [false, 'its other port', ({ controller, apiServer }) => ({ from: controller, to: apiServer, port: 6443 })],
      [false, 'another address', ({ controller, internet }) => ({ from: controller, to: internet, port: 443 })],
      [true, 'a client of the load balancer', ({ web }) => ({ from: balancer, to: web, port: 80 })],
      [false, 'another client', ({ web, internet }) => ({ from: internet, to: web, port: 80 })],
      [true, 'the scraper, at the controller', (c) => ({ from: c.prometheus, to: c.controller, port: 9092 })],
      [true, 'the scraper, at a gateway', ({ prometheus, web }) => ({ from: prometheus, to: web, port: 15_020 })],
      [false, 'another scraper', ({ stranger, web }) => ({ from: stranger, to: web, port: 15_020 })],
      [false, 'another scraper, at the controller', (c) => ({ from: c.stranger, to: c.controller, port: 9092 })],
      [true, 'a server that is named', ({ web, server }) => ({ from: web, to: server, port: 8080 })],
      [true, 'an identity provider that is named', ({ web, internet }) => ({ from: web, to: internet, port: 443 })],
      [false, 'another server', ({ web, stranger }) => ({ from: web, to: stranger, port: 8080 })],
      [true, 'xDS', ({ web, controller }) => ({ from: web, to: controller, port: 9978 })],
      [false, 'health of the controller', ({ web, controller }) => ({ from: web, to: controller, port: 9093 })],
      [true, 'DNS', ({ web, nodeDns }) => ({ from: web, to: nodeDns, port: 53, protocol: 'UDP' })],
    ],
  );
});

test('other ports and names of the controller count in both policies', async () => {
  const rendering = await renderChart(
    {
      networkPolicy: { enabled: true },
      nameOverride: 'gw',
      controller: { service: { ports: { proxyGrpc: 7978, health: 7093, metrics: 7092 } } },
    },
    { release: 'edge' },
  );
  const { networkPolicy, xdsPort } = readSettings(rendering);
  const xdsAddress = `edge-gw.proxy-system.svc:${xdsPort}`;
  const rendered = renderGateway(makePlan(gateway), { ...usualSettings, networkPolicy, xdsAddress });
  assert.ok(rendered.ok);
  const deployed = rendered.objects.find(({ type }) => type.kind === 'NetworkPolicy')!.object;
  const policies = [rendering.get('NetworkPolicy'), deployed] as unknown as readonly NetworkPolicy[];
  const { web, controller, prometheus } = castAll(rendering);
  assert.ok(isAllowed(policies, { from: web, to: controller, port: 7978 }));
  assert.ok(isAllowed(policies, { from: prometheus, to: controller, port: 7092 }));
  assert.ok(!isAllowed(policies, { from: web, to: controller, port: 9978 }));
});

test('the play follows the rules of Kubernetes', () => {
  const a = pod('a', { app: 'a' });
  const b = pod('b', { app: 'b' });
  const policy = (spec: Partial<NetworkPolicy['spec']>): NetworkPolicy => ({
    metadata: { namespace: 'a' },
    spec: { podSelector: {}, policyTypes: ['Ingress'], ...spec },
  });
  const flow = { from: b, to: a, port: 1 };
  assert.ok(isAllowed([], flow));
  assert.ok(!isAllowed([policy({})], flow), 'isolated, and nothing is allowed');
  assert.ok(isAllowed([policy({}), policy({ ingress: [{}] })], flow), 'what any policy allows');
  assert.ok(isAllowed([policy({ policyTypes: ['Egress'] })], flow), 'the other direction');
  assert.ok(
    !isAllowed([policy({ ingress: [{ from: [{ podSelector: {} }] }] })], flow),
    'pods of its own namespace only',
  );
  const blocks = [{ from: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }];
  assert.ok(!isAllowed([policy({ ingress: blocks })], flow), 'a block is for addresses outside');
  assert.ok(isAllowed([policy({ ingress: blocks })], { ...flow, from: { address: '192.0.2.1' } }));
});
