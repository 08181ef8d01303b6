// NetworkPolicies of gateways: what is in them depends on listeners, parameters and the installation's settings. test/chart/network-policies.test.ts plays connections.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { GatewayParameters } from '../api/gateway-parameters.ts';
import type { NetworkPolicySettings } from './network-policy-settings.ts';
import { renderGateway } from './render-gateway.ts';
import { makeGateway, makePlan, usualSettings } from './testdata/read-plan.ts';

const isolated: NetworkPolicySettings = {
  controller: { 'app.kubernetes.io/component': 'controller' },
  clients: [],
  metrics: [],
  upstreams: [],
};

interface Rule {
  readonly ports?: readonly { readonly port: number; readonly protocol: string }[];
  readonly from?: readonly object[];
  readonly to?: readonly object[];
}

interface Spec {
  readonly ingress: readonly Rule[];
  readonly egress: readonly Rule[];
}

function render(
  ports: readonly number[],
  networkPolicy: NetworkPolicySettings | undefined = isolated,
  parameters: object = {},
): Spec | undefined {
  const gateway = makeGateway('web', { ports: ports.length === 0 ? [80] : ports });
  const plan = makePlan(gateway, [{ spec: parameters } as GatewayParameters]);
  const rendered = renderGateway(
    { ...plan, ports: ports.length === 0 ? [] : plan.ports },
    { ...usualSettings, networkPolicy },
  );
  assert.ok(rendered.ok);
  const found = rendered.objects.find(({ type }) => type.kind === 'NetworkPolicy');
  return found?.object['spec'] as Spec | undefined;
}

const listPorts = (rule: Rule | undefined): readonly number[] => rule?.ports?.map(({ port }) => port) ?? [];

test('there is none unless the installation asks for it', () => {
  const plan = makePlan(makeGateway('web'));
  const rendered = renderGateway(plan, usualSettings);
  assert.ok(rendered.ok);
  assert.ok(rendered.objects.every(({ type }) => type.kind !== 'NetworkPolicy'));
});

test('it is there before pods start', () => {
  const rendered = renderGateway(makePlan(makeGateway('web')), { ...usualSettings, networkPolicy: isolated });
  assert.ok(rendered.ok);
  const kinds = rendered.objects.map(({ type }) => type.kind);
  assert.ok(kinds.indexOf('NetworkPolicy') < kinds.indexOf('Deployment'), kinds.join());
});

describe('ingress', () => {
  test('listeners are for everybody, or for the clients that are named', () => {
    const ofAll = render([80, 443])!.ingress[0];
    assert.deepEqual([listPorts(ofAll), ofAll?.from], [[80, 443], undefined]);
    const clients = [{ ipBlock: { cidr: '10.0.0.0/8' } }];
    assert.deepEqual(render([80], { ...isolated, clients })!.ingress[0]?.from, clients);
  });

  test('without a listener no port is open to clients: a rule without ports would open all', () => {
    const { ingress } = render([])!;
    assert.deepEqual(ingress.map(listPorts), [[15_021], [15_020]]);
  });

  test('metrics are for pods, or for the scrapers that are named; ports that listeners take are others', () => {
    assert.deepEqual(render([80])!.ingress[2], {
      ports: [{ port: 15_020, protocol: 'TCP' }],
      from: [{ namespaceSelector: {} }],
    });
    const metrics = [{ namespaceSelector: { matchLabels: { team: 'monitoring' } } }];
    const named = render([15_020, 15_021], { ...isolated, metrics })!;
    assert.deepEqual(named.ingress.map(listPorts), [[15_020, 15_021], [15_121], [15_120]]);
    assert.deepEqual(named.ingress[2]?.from, metrics);
  });
});

describe('egress', () => {
  test('DNS anywhere, xDS to the pods of the controller', () => {
    const [dns, xds] = render([80])!.egress;
    assert.deepEqual(dns?.ports, [
      { port: 53, protocol: 'UDP' },
      { port: 53, protocol: 'TCP' },
      { port: 5353, protocol: 'UDP' },
      { port: 5353, protocol: 'TCP' },
    ]);
    assert.deepEqual(xds, {
      ports: [{ port: 9978, protocol: 'TCP' }],
      to: [
        {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'proxy-system' } },
          podSelector: { matchLabels: isolated.controller },
        },
      ],
    });
  });

  test('upstreams are everywhere but on link-local addresses, unless parameters of the class allow those', () => {
    assert.deepEqual(render([80])!.egress[2]?.to, [
      { namespaceSelector: {} },
      { ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] } },
      { ipBlock: { cidr: '::/0', except: ['fe80::/10', 'fd00:ec2::254/128'] } },
    ]);
    assert.deepEqual(render([80], isolated, { allowLocalUpstreams: true })!.egress[2]?.to, [
      { namespaceSelector: {} },
      { ipBlock: { cidr: '0.0.0.0/0' } },
      { ipBlock: { cidr: '::/0' } },
    ]);
  });

  test('or where the installation says', () => {
    const upstreams = [{ namespaceSelector: { matchLabels: { mcp: 'yes' } } }, { ipBlock: { cidr: '203.0.113.0/24' } }];
    assert.deepEqual(render([80], { ...isolated, upstreams })!.egress[2], { to: upstreams });
  });
});
