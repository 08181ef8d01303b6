// The NetworkPolicy of a Gateway's pods: clients, probes and scrapers in; the controller, DNS and upstreams out. Only if the installation asks for it.
import { resourceTypes } from '../kubernetes/resource-type.ts';
import type { GatewayPlan } from '../translate/gateway-plan.ts';
import { chooseOwnPorts } from './container-ports.ts';
import type { DeploySettings } from './deploy-settings.ts';
import { selectPods } from './deployed-names.ts';
import type { MergedParameters } from './merge-parameters.ts';
import type { Json } from './merge-values.ts';
import { type RenderedObject, renderObject } from './rendered-object.ts';

/** Of the cluster, of nodes, and of the DNS pods of OpenShift. */
const dnsPorts = [53, 5353];
/** Where nodes and clouds offer credentials. */
const linkLocal = { v4: ['169.254.0.0/16'], v6: ['fe80::/10', 'fd00:ec2::254/128'] };

/** Renders the NetworkPolicy; undefined if the installation has none. */
export function renderNetworkPolicy(
  plan: GatewayPlan,
  { allowLocalUpstreams }: MergedParameters,
  { networkPolicy, installationNamespace, xdsAddress }: DeploySettings,
): RenderedObject | undefined {
  if (networkPolicy === undefined) return undefined;
  const { controller, clients, metrics, upstreams } = networkPolicy;
  const own = chooseOwnPorts(plan.ports);
  const listeners = plan.ports.map(({ port }) => port);
  const ingress: readonly Json[] = [
    // A rule without ports would be for all of them.
    ...(listeners.length === 0 ? [] : [{ ports: toTcp(listeners), ...(clients.length > 0 && { from: clients }) }]),
    // Nodes may always connect; load balancers ask as well.
    { ports: toTcp([own.readiness]) },
    { ports: toTcp([own.metrics]), from: metrics.length > 0 ? metrics : [{ namespaceSelector: {} }] },
  ];
  const egress: readonly Json[] = [
    { ports: dnsPorts.flatMap((port) => ['UDP', 'TCP'].map((protocol) => ({ port, protocol }))) },
    {
      ports: toTcp([Number(xdsAddress.slice(xdsAddress.lastIndexOf(':') + 1))]),
      to: [
        {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': installationNamespace } },
          podSelector: { matchLabels: controller },
        },
      ],
    },
    { to: upstreams.length > 0 ? upstreams : listAllAddresses(allowLocalUpstreams === true) },
  ];
  return renderObject(resourceTypes.NetworkPolicy, plan, {
    body: {
      spec: {
        podSelector: { matchLabels: selectPods(plan.gateway) },
        policyTypes: ['Ingress', 'Egress'],
        ingress,
        egress,
      },
    },
    overlays: [],
  });
}

function toTcp(ports: readonly number[]): readonly Json[] {
  return ports.map((port) => ({ port, protocol: 'TCP' }));
}

/** Pods are selected by namespace as well: for some networks a block of addresses is never one of pods. */
function listAllAddresses(hasLinkLocal: boolean): readonly Json[] {
  return [
    { namespaceSelector: {} },
    { ipBlock: { cidr: '0.0.0.0/0', ...(!hasLinkLocal && { except: linkLocal.v4 }) } },
    { ipBlock: { cidr: '::/0', ...(!hasLinkLocal && { except: linkLocal.v6 }) } },
  ];
}
