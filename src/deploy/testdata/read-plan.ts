// Plans from YAML, for tests: GatewayParameters in their order, then a Gateway, and settings if they are not the usual ones.
import { parseAllDocuments } from 'yaml';
import type { GatewayParameters } from '../../api/gateway-parameters.ts';
import type { Gateway } from '../../api/gateway.ts';
import { parseResource } from '../../api/parse-resource.ts';
import type { GatewayPlan } from '../../translate/gateway-plan.ts';
import type { DeploySettings } from '../deploy-settings.ts';

/** An installation as the chart makes it. */
export const usualSettings: DeploySettings = {
  installationNamespace: 'proxy-system',
  xdsAddress: 'proxy.proxy-system.svc:9978',
  xdsCa: undefined,
  image: { registry: 'registry.example.com', repository: 'gateway', tag: '0.1.0', pullPolicy: 'IfNotPresent' },
  imagePullSecrets: [],
};

/** What a plan is rendered from. */
interface ReadPlan {
  readonly plan: GatewayPlan;
  readonly settings: DeploySettings;
}

/** The plan that translation would make of these resources. */
export function readPlan(yaml: string): ReadPlan {
  const parameters: GatewayParameters[] = [];
  let gateway: Gateway | undefined;
  let settings = usualSettings;
  for (const document of parseAllDocuments(yaml)) {
    if (document.errors.length > 0) throw document.errors[0]!;
    const raw = document.toJS() as Readonly<Record<string, unknown>>;
    if (raw['settings'] !== undefined) {
      settings = { ...settings, ...(raw['settings'] as Partial<DeploySettings>) };
      continue;
    }
    const parsed = parseResource(raw, { origin: 'kubernetes' });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    if (parsed.kind === 'GatewayParameters') parameters.push(parsed.resource);
    else if (parsed.kind === 'Gateway') gateway = parsed.resource;
  }
  if (gateway === undefined) throw new Error('there is no Gateway');
  return { plan: makePlan(gateway, parameters), settings };
}

/** A plan that serves every listener. */
export function makePlan(gateway: Gateway, parameters: readonly GatewayParameters[] = []): GatewayPlan {
  const ports = new Map<number, string>();
  for (const { name, port } of gateway.spec.listeners) if (!ports.has(port)) ports.set(port, name);
  return {
    name: `${gateway.metadata.namespace}/${gateway.metadata.name}`,
    gateway,
    parameters,
    addresses: (gateway.spec.addresses ?? []).flatMap(({ value }) => value ?? []),
    ports: [...ports].map(([port, name]) => ({ name, port })).toSorted((left, right) => left.port - right.port),
  };
}

/** A Gateway with these listeners on these ports. */
export function makeGateway(
  name: string,
  options: {
    readonly namespace?: string;
    readonly uid?: string;
    readonly ports?: readonly number[];
    readonly className?: string;
  } = {},
): Gateway {
  const { namespace = 'default', uid = `uid-of-${namespace}-${name}`, ports = [80], className = 'proxy' } = options;
  const parsed = parseResource(
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name, namespace, uid },
      spec: {
        gatewayClassName: className,
        listeners: ports.map((port) => ({ name: `http-${port}`, port, protocol: 'HTTP' })),
      },
    },
    { origin: 'kubernetes' },
  );
  if (!parsed.ok || parsed.kind !== 'Gateway') throw new Error(JSON.stringify(parsed));
  return parsed.resource;
}
