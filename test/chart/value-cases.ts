// Every key of values.yaml away from its default, and what comes of it in the objects and in what the controller makes of them. values.test.ts runs the checks,
// goldens.test.ts keeps the renderings, and the API server of a test cluster takes each of them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { readSettings } from './controller-settings.ts';
import type { Values } from './helm.ts';
import type { RenderedObject, Rendering } from './rendering.ts';

export interface ValueCase {
  /** As in values.yaml: `controller.image.tag`. */
  readonly key: string;
  /** When a key has several cases: which. */
  readonly variant?: string;
  readonly value: unknown;
  /** Other values, without which this one has nothing to change. */
  readonly with?: Values;
  /** Must hold for the rendering with the value, and not for that with defaults. */
  readonly check: (rendering: Rendering) => void;
}

/** The name of a case, for tests and files. */
export function nameCase({ key, variant }: ValueCase): string {
  return variant === undefined ? key : `${key}-${variant}`;
}

/** The case as values for helm. */
export function toValues({ key, value, with: others = {} }: ValueCase): Values {
  return merge(others, key.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Values);
}

/** Values over others, mapping by mapping as far as both have them. */
function merge(others: Values, values: Values): Values {
  const merged: Record<string, unknown> = { ...others };
  for (const [key, value] of Object.entries(values))
    merged[key] = isMapping(merged[key]) && isMapping(value) ? merge(merged[key], value) : value;
  return merged;
}

function isMapping(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const readMonitoring = (name: string): string =>
  readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'monitoring', name), 'utf8');

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

interface PolicyRule {
  readonly ports?: readonly { readonly port: number; readonly protocol: string }[];
  readonly from?: readonly object[];
  readonly to?: readonly object[];
}

interface PolicySpec {
  readonly podSelector: object;
  readonly ingress: readonly PolicyRule[];
  readonly egress: readonly PolicyRule[];
}

function readPolicySpec(rendering: Rendering): PolicySpec {
  return rendering.get('NetworkPolicy')['spec'] as PolicySpec;
}

interface Port {
  readonly name: string;
  readonly port: number;
  readonly targetPort: number;
}

/** A port is the same everywhere: in the Service, in the container, and in what the program listens on. */
function checkPort(
  rendering: Rendering,
  name: string,
  setting: 'xdsPort' | 'healthPort' | 'metricsPort',
  port: number,
): void {
  const { ports } = rendering.get('Service')['spec'] as { readonly ports: readonly Port[] };
  const served = ports.find((one) => one.name === name)!;
  assert.deepEqual([served.port, served.targetPort], [port, port]);
  const contained = rendering.container.ports.find((one) => one.name === name)!;
  assert.equal(contained.containerPort, port);
  assert.equal(readSettings(rendering)[setting], port);
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Binding extends RenderedObject {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly name: string; readonly namespace: string }[];
}

function listBindings(rendering: Rendering): readonly Binding[] {
  return [...rendering.list('ClusterRoleBinding'), ...rendering.list('RoleBinding')] as unknown as readonly Binding[];
}

function checkAccount(rendering: Rendering, name: string): void {
  assert.equal(rendering.pod.serviceAccountName, name);
  assert.deepEqual(
    listBindings(rendering).map(({ subjects }) => subjects),
    Array.from({ length: 3 }, () => [{ kind: 'ServiceAccount', name, namespace: 'proxy-system' }]),
  );
}

/** Deployment, Service and ServiceAccount have the name, and everybody who looks for them knows it. */
function checkName(rendering: Rendering, name: string): void {
  for (const kind of ['Deployment', 'Service', 'ServiceAccount', 'Role', 'RoleBinding'])
    assert.equal(rendering.get(kind).metadata.name, name);
  assert.deepEqual(
    rendering.list('ClusterRole').map(({ metadata }) => metadata.name),
    [`${name}-reader`, `${name}-writer`],
  );
  for (const { roleRef, kind, metadata } of listBindings(rendering)) {
    assert.equal(roleRef.name, metadata.name);
    assert.equal(roleRef.kind, kind.replace('Binding', ''));
  }
  checkAccount(rendering, name);
  assert.equal(readSettings(rendering).serviceName, name);
  assert.ok(rendering.testPod.containers[0].args.includes(`${name}.proxy-system.svc:9978`));
}

/** `apps/deployments create`, of the roles of the whole cluster. */
export function listRules(rendering: Rendering): readonly string[] {
  const roles = rendering.list('ClusterRole') as readonly (RenderedObject & {
    readonly rules: readonly {
      readonly apiGroups: readonly string[];
      readonly resources: readonly string[];
      readonly verbs: readonly string[];
    }[];
  })[];
  return roles.flatMap(({ rules }) =>
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      resources.flatMap((resource) => verbs.map((verb) => `${apiGroups[0]}/${resource} ${verb}`)),
    ),
  );
}

/** The names of the Secrets that the controller may change in its own namespace. */
function listUpdatedSecrets(rendering: Rendering): readonly string[] {
  const { rules } = rendering.get('Role') as unknown as {
    readonly rules: readonly {
      readonly resources: readonly string[];
      readonly verbs: readonly string[];
      readonly resourceNames?: readonly string[];
    }[];
  };
  return rules
    .filter(({ resources, verbs }) => resources.includes('secrets') && verbs.includes('update'))
    .flatMap(({ resourceNames = ['*'] }) => resourceNames);
}

const nodeAffinity = {
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['fast'] }] }],
  },
};

export const valueCases: readonly ValueCase[] = [
  {
    key: 'affinity',
    value: { nodeAffinity },
    check: (rendering) => assert.deepEqual(rendering.pod['affinity'], { nodeAffinity }),
  },
  {
    key: 'controller.extraEnv',
    value: {
      ZONE: 'north',
      NODE_OPTIONS: '--max-old-space-size=512',
      PORTS: 12345678,
      SHARE: 0.5,
      FLAG: true,
      OFF: false,
      NONE: '',
      LATER: null,
      TOKEN: { valueFrom: { secretKeyRef: { name: 'extra', key: 'token' } } },
      MCP_GATEHOUSE_LOG_FORMAT: 'text',
      MCP_GATEHOUSE_XDS_VERIFY_POD_ADDRESS: false,
    },
    check: (rendering) => {
      const { env } = rendering.container;
      const names = env.map(({ name }) => name);
      assert.deepEqual(names, names.toSorted());
      assert.equal(new Set(names).size, names.length);
      const values = ['ZONE', 'NODE_OPTIONS', 'PORTS', 'SHARE', 'FLAG', 'OFF'].map((name) => rendering.variable(name));
      assert.deepEqual(values, ['north', '--max-old-space-size=512', '12345678', '0.5', 'true', 'false']);
      assert.equal(rendering.variable('NONE'), '');
      assert.ok(!names.includes('LATER'));
      assert.deepEqual(
        env.find(({ name }) => name === 'TOKEN'),
        { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'extra', key: 'token' } } },
      );
      assert.deepEqual(
        [readSettings(rendering).logFormat, readSettings(rendering).xdsVerifyPodAddress],
        ['text', false],
      );
    },
  },
  {
    key: 'controller.image.digest',
    value: digest,
    check: (rendering) => {
      assert.match(rendering.container.image, new RegExp(`/controller@${digest}$`));
      assert.equal(rendering.testPod.containers[0].image, rendering.container.image);
      assert.equal(readSettings(rendering).imageDigest, undefined);
    },
  },
  {
    key: 'controller.image.pullPolicy',
    value: 'Always',
    check: (rendering) => {
      assert.equal(rendering.container.imagePullPolicy, 'Always');
      assert.equal(rendering.testPod.containers[0].imagePullPolicy, 'Always');
      assert.equal(readSettings(rendering).imagePullPolicy, 'IfNotPresent');
    },
  },
  {
    key: 'controller.image.registry',
    value: 'registry.example.com:5000/team',
    check: (rendering) => {
      assert.match(rendering.container.image, /^registry\.example\.com:5000\/team\/controller:/);
      assert.equal(rendering.testPod.containers[0].image, rendering.container.image);
      assert.notEqual(readSettings(rendering).imageRegistry, 'registry.example.com:5000/team');
    },
  },
  {
    key: 'controller.image.repository',
    value: 'mcp/controller',
    check: (rendering) => {
      assert.match(rendering.container.image, /\/mcp\/controller:/);
      assert.equal(rendering.testPod.containers[0].image, rendering.container.image);
      assert.equal(readSettings(rendering).imageRepository, 'gateway');
    },
  },
  {
    key: 'controller.image.tag',
    value: '9.8.7-debug',
    check: (rendering) => {
      assert.match(rendering.container.image, /\/controller:9\.8\.7-debug$/);
      assert.equal(rendering.testPod.containers[0].image, rendering.container.image);
      assert.notEqual(readSettings(rendering).imageTag, '9.8.7-debug');
    },
  },
  {
    key: 'controller.logLevel',
    value: 'debug',
    check: (rendering) => assert.equal(readSettings(rendering).logLevel, 'debug'),
  },
  {
    key: 'controller.podDisruptionBudget',
    value: { minAvailable: 1 },
    check: (rendering) => {
      assert.deepEqual(rendering.get('PodDisruptionBudget')['spec'], {
        minAvailable: 1,
        selector: { matchLabels: rendering.deployment.spec.template.metadata.labels },
      });
      assert.equal(rendering.get('PodDisruptionBudget').metadata.name, 'proxy');
    },
  },
  {
    key: 'controller.podDisruptionBudget',
    variant: 'max',
    value: { maxUnavailable: '50%', unhealthyPodEvictionPolicy: 'AlwaysAllow' },
    check: (rendering) => {
      const spec = rendering.get('PodDisruptionBudget')['spec'] as Readonly<Record<string, unknown>>;
      assert.deepEqual([spec['maxUnavailable'], spec['unhealthyPodEvictionPolicy']], ['50%', 'AlwaysAllow']);
    },
  },
  {
    key: 'controller.podDisruptionBudget',
    variant: 'zero',
    value: { maxUnavailable: 0 },
    check: (rendering) => {
      const spec = rendering.get('PodDisruptionBudget')['spec'] as Readonly<Record<string, unknown>>;
      assert.equal(spec['maxUnavailable'], 0);
    },
  },
  {
    key: 'controller.replicaCount',
    value: 3,
    check: (rendering) => assert.equal(rendering.deployment.spec.replicas, 3),
  },
  {
    key: 'controller.replicaCount',
    variant: 'none',
    value: 0,
    check: (rendering) => assert.equal(rendering.deployment.spec.replicas, 0),
  },
  {
    key: 'controller.service.ports.proxyGrpc',
    value: 15010,
    check: (rendering) => {
      checkPort(rendering, 'grpc-xds', 'xdsPort', 15010);
      assert.ok(rendering.testPod.containers[0].args.includes('proxy.proxy-system.svc:15010'));
    },
  },
  {
    key: 'controller.service.ports.health',
    value: 15011,
    check: (rendering) => {
      checkPort(rendering, 'health', 'healthPort', 15011);
      for (const [probe, path] of [
        ['startupProbe', '/healthz'],
        ['livenessProbe', '/healthz'],
        ['readinessProbe', '/readyz'],
      ] as const)
        assert.deepEqual((rendering.container[probe] as Probe).httpGet, { path, port: 'health' });
      assert.ok(rendering.testPod.containers[0].args.includes('http://proxy.proxy-system.svc:15011/readyz'));
    },
  },
  {
    key: 'controller.service.ports.metrics',
    value: 15012,
    check: (rendering) => {
      checkPort(rendering, 'metrics', 'metricsPort', 15012);
      const { annotations } = rendering.deployment.spec.template.metadata;
      assert.equal(annotations?.['prometheus.io/port'], '15012');
    },
  },
  {
    key: 'controller.service.type',
    value: 'LoadBalancer',
    check: (rendering) => {
      const { type } = rendering.get('Service')['spec'] as { readonly type: string };
      assert.equal(type, 'LoadBalancer');
    },
  },
  {
    key: 'controller.strategy',
    value: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: '25%' } },
    check: (rendering) =>
      assert.deepEqual(rendering.deployment.spec['strategy'], {
        type: 'RollingUpdate',
        rollingUpdate: { maxSurge: 1, maxUnavailable: '25%' },
      }),
  },
  {
    key: 'controller.xds.tls.enabled',
    value: true,
    check: (rendering) => {
      const { xdsTls, xdsTlsFolder } = readSettings(rendering);
      assert.equal(xdsTls, true);
      const mount = rendering.container.volumeMounts?.find(({ mountPath }) => mountPath === xdsTlsFolder);
      const volume = rendering.pod.volumes?.find(({ name }) => name === mount?.name);
      assert.deepEqual(volume?.['secret'], { secretName: 'proxy-xds-cert', optional: true });
      // The test trusts the authority of the same Secret, and sees nothing else of it.
      const [container] = rendering.testPod.containers;
      const file = container.args[container.args.indexOf('--ca') + 1]!;
      assert.equal(file, `${container.volumeMounts?.[0]?.mountPath}/ca.crt`);
      assert.deepEqual(rendering.testPod.volumes?.[0]?.['secret'], {
        secretName: 'proxy-xds-cert',
        optional: true,
        items: [{ key: 'ca.crt', path: 'ca.crt' }],
      });
      // Also signing keys, in one Secret for each Gateway: their names are not known here, and RBAC has no patterns.
      assert.deepEqual(listUpdatedSecrets(rendering), ['*']);
    },
  },
  {
    key: 'controller.xds.tls.generate',
    value: true,
    with: { controller: { xds: { tls: { enabled: true } } } },
    check: (rendering) => {
      const { xdsTls, xdsTlsGenerate } = readSettings(rendering);
      assert.deepEqual([xdsTls, xdsTlsGenerate], [true, true]);
      // It is read from the API server: a volume would show it a minute later.
      assert.deepEqual(
        rendering.pod.volumes?.map(({ name }) => name),
        ['xds-token'],
      );
      assert.deepEqual(listUpdatedSecrets(rendering), ['*']);
      assert.ok(rendering.testPod.containers[0].args.includes('--ca'));
    },
  },
  {
    key: 'dashboards.enabled',
    value: true,
    check: (rendering) => {
      const { metadata, data } = rendering.get('ConfigMap') as RenderedObject & {
        readonly data: Record<string, string>;
      };
      assert.deepEqual([metadata.name, metadata.labels?.['grafana_dashboard']], ['proxy-dashboard', '1']);
      assert.deepEqual(JSON.parse(data['mcp-gateway.json']!), JSON.parse(readMonitoring('dashboard.json')));
    },
  },
  {
    key: 'dashboards.labels',
    value: { grafana_dashboard: null, folder: 'mcp' },
    with: { dashboards: { enabled: true } },
    check: (rendering) => {
      const { labels = {} } = rendering.get('ConfigMap').metadata;
      assert.deepEqual([labels['folder'], labels['grafana_dashboard']], ['mcp', undefined]);
      assert.equal(labels['app.kubernetes.io/component'], 'monitoring');
    },
  },
  {
    key: 'deploymentAnnotations',
    value: { 'example.com/owner': 'platform' },
    check: (rendering) => {
      assert.deepEqual(rendering.deployment.metadata.annotations, { 'example.com/owner': 'platform' });
      assert.equal(rendering.deployment.spec.template.metadata.annotations?.['example.com/owner'], undefined);
    },
  },
  {
    key: 'discoveryNamespaceSelectors',
    value: [
      { matchLabels: { gateways: 'yes', tier: 'a-b' } },
      {
        matchExpressions: [
          { key: 'team', operator: 'In', values: ['a', 'b'] },
          { key: 'old', operator: 'DoesNotExist' },
        ],
      },
    ],
    check: (rendering) =>
      assert.deepEqual(readSettings(rendering).namespaceSelectors, [
        { matchLabels: { gateways: 'yes', tier: 'a-b' } },
        {
          matchExpressions: [
            { key: 'team', operator: 'In', values: ['a', 'b'] },
            { key: 'old', operator: 'DoesNotExist' },
          ],
        },
      ]),
  },
  {
    key: 'fullnameOverride',
    value: 'foo',
    check: (rendering) => checkName(rendering, 'foo'),
  },
  {
    key: 'gatewayClassParametersRefs',
    value: { proxy: { name: 'defaults', namespace: 'platform' } },
    check: (rendering) =>
      assert.deepEqual(readSettings(rendering).classParameters, {
        group: 'gateway.proxy',
        kind: 'GatewayParameters',
        name: 'defaults',
        namespace: 'platform',
      }),
  },
  {
    key: 'image.digest',
    value: digest,
    check: (rendering) => {
      assert.equal(readSettings(rendering).imageDigest, digest);
      // Another image has another digest.
      assert.doesNotMatch(rendering.container.image, /@/);
    },
  },
  {
    key: 'image.pullPolicy',
    value: 'Never',
    check: (rendering) => {
      assert.equal(rendering.container.imagePullPolicy, 'Never');
      assert.equal(rendering.testPod.containers[0].imagePullPolicy, 'Never');
      assert.equal(readSettings(rendering).imagePullPolicy, 'Never');
    },
  },
  {
    key: 'image.registry',
    value: 'registry.example.com',
    check: (rendering) => {
      assert.match(rendering.container.image, /^registry\.example\.com\/controller:/);
      assert.equal(readSettings(rendering).imageRegistry, 'registry.example.com');
    },
  },
  {
    key: 'image.registry',
    variant: 'none',
    value: '',
    check: (rendering) => {
      assert.match(rendering.container.image, /^controller:/);
      assert.equal(readSettings(rendering).imageRegistry, '');
    },
  },
  {
    key: 'image.tag',
    value: '9.8.7',
    check: (rendering) => {
      assert.match(rendering.container.image, /\/controller:9\.8\.7$/);
      assert.equal(readSettings(rendering).imageTag, '9.8.7');
    },
  },
  {
    key: 'imagePullSecrets',
    value: [{ name: 'registry-a' }, { name: 'registry.b' }],
    check: (rendering) => {
      for (const pod of [rendering.pod, rendering.testPod])
        assert.deepEqual(pod['imagePullSecrets'], [{ name: 'registry-a' }, { name: 'registry.b' }]);
      assert.deepEqual(readSettings(rendering).imagePullSecrets, ['registry-a', 'registry.b']);
    },
  },
  {
    key: 'inferenceExtension.enabled',
    value: true,
    check: (rendering) => {
      assert.equal(readSettings(rendering).inferenceExtension, true);
      const pools = 'inference.networking.k8s.io/inferencepools';
      const rules = listRules(rendering);
      assert.deepEqual(
        rules.filter((rule) => rule.startsWith(pools)),
        [`${pools} get`, `${pools} list`, `${pools} watch`, `${pools}/status update`],
      );
      assert.deepEqual(
        rules.filter((rule) => rule.startsWith('/pods')),
        ['/pods get', '/pods list', '/pods watch'],
      );
    },
  },
  {
    key: 'nameOverride',
    value: 'foo',
    check: (rendering) => {
      checkName(rendering, 'proxy-foo');
      assert.equal(rendering.deployment.metadata.labels?.['app.kubernetes.io/name'], 'foo');
    },
  },
  {
    key: 'networkPolicy.apiServer.cidrs',
    value: ['10.96.0.1/32', '2001:db8::1/128'],
    with: { networkPolicy: { enabled: true } },
    check: (rendering) =>
      assert.deepEqual(readPolicySpec(rendering).egress[0]?.to, [
        { ipBlock: { cidr: '10.96.0.1/32' } },
        { ipBlock: { cidr: '2001:db8::1/128' } },
      ]),
  },
  {
    key: 'networkPolicy.apiServer.ports',
    value: [16443],
    with: { networkPolicy: { enabled: true } },
    check: (rendering) =>
      assert.deepEqual(readPolicySpec(rendering).egress[0]?.ports, [{ port: 16443, protocol: 'TCP' }]),
  },
  {
    key: 'networkPolicy.clients',
    value: [{ ipBlock: { cidr: '198.51.100.0/24', except: ['198.51.100.128/25'] } }],
    with: { networkPolicy: { enabled: true } },
    check: (rendering) =>
      assert.deepEqual(readSettings(rendering).networkPolicy?.clients, [
        { ipBlock: { cidr: '198.51.100.0/24', except: ['198.51.100.128/25'] } },
      ]),
  },
  {
    // network-policies.test.ts plays what comes through.
    key: 'networkPolicy.enabled',
    value: true,
    check: (rendering) => {
      assert.deepEqual(readPolicySpec(rendering).podSelector, rendering.deployment.spec.selector);
      assert.deepEqual(readSettings(rendering).networkPolicy, {
        controller: rendering.deployment.spec.selector.matchLabels,
        clients: [],
        metrics: [],
        upstreams: [],
      });
      const verbs = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
      assert.deepEqual(
        listRules(rendering).filter((rule) => rule.includes('networkpolicies')),
        verbs.map((verb) => `networking.k8s.io/networkpolicies ${verb}`),
      );
    },
  },
  {
    key: 'networkPolicy.metrics',
    value: [{ namespaceSelector: { matchLabels: { team: 'monitoring' } }, podSelector: {} }],
    with: { networkPolicy: { enabled: true } },
    check: (rendering) => {
      const peers = [{ namespaceSelector: { matchLabels: { team: 'monitoring' } }, podSelector: {} }];
      const rule = readPolicySpec(rendering).ingress.find(({ ports }) => ports?.[0]?.port === 9092);
      assert.deepEqual(rule?.from, peers);
      assert.deepEqual(readSettings(rendering).networkPolicy?.metrics, peers);
    },
  },
  {
    key: 'networkPolicy.upstreams',
    value: [{ namespaceSelector: { matchLabels: { mcp: 'yes' } } }],
    with: { networkPolicy: { enabled: true } },
    check: (rendering) =>
      assert.deepEqual(readSettings(rendering).networkPolicy?.upstreams, [
        { namespaceSelector: { matchLabels: { mcp: 'yes' } } },
      ]),
  },
  {
    key: 'nodeSelector',
    value: { 'kubernetes.io/arch': 'arm64' },
    check: (rendering) => {
      for (const pod of [rendering.pod, rendering.testPod])
        assert.deepEqual(pod['nodeSelector'], { 'kubernetes.io/arch': 'arm64' });
    },
  },
  {
    key: 'podAnnotations',
    value: { 'example.com/team': 'platform', 'prometheus.io/port': '1234' },
    check: (rendering) =>
      assert.deepEqual(rendering.deployment.spec.template.metadata.annotations, {
        'example.com/team': 'platform',
        'prometheus.io/scrape': 'true',
        'prometheus.io/path': '/metrics',
        'prometheus.io/port': '1234',
      }),
  },
  {
    key: 'podAnnotations',
    variant: 'removed',
    value: { 'prometheus.io/scrape': null, 'prometheus.io/path': null },
    check: (rendering) =>
      assert.deepEqual(rendering.deployment.spec.template.metadata.annotations, { 'prometheus.io/port': '9092' }),
  },
  {
    key: 'podLabels',
    value: { team: 'platform', 'example.com/cost-center': '42' },
    check: (rendering) => {
      const { labels } = rendering.deployment.spec.template.metadata;
      assert.deepEqual(labels, {
        ...rendering.deployment.spec.selector.matchLabels,
        team: 'platform',
        'example.com/cost-center': '42',
      });
    },
  },
  {
    key: 'podSecurityContext',
    value: { runAsUser: 1000680000, runAsGroup: 0, fsGroup: 1000680000, supplementalGroups: [1, 2] },
    check: (rendering) => {
      for (const pod of [rendering.pod, rendering.testPod])
        assert.deepEqual(pod.securityContext, {
          runAsNonRoot: true,
          runAsUser: 1000680000,
          runAsGroup: 0,
          fsGroup: 1000680000,
          supplementalGroups: [1, 2],
          seccompProfile: { type: 'RuntimeDefault' },
        });
    },
  },
  {
    key: 'podSecurityContext',
    variant: 'removed',
    value: {
      runAsNonRoot: false,
      runAsUser: null,
      runAsGroup: null,
      seccompProfile: { type: 'Localhost', localhostProfile: 'gateway.json' },
    },
    check: (rendering) =>
      assert.deepEqual(rendering.pod.securityContext, {
        runAsNonRoot: false,
        seccompProfile: { type: 'Localhost', localhostProfile: 'gateway.json' },
      }),
  },
  {
    key: 'priorityClassName',
    value: 'system-cluster-critical',
    check: (rendering) => assert.equal(rendering.pod['priorityClassName'], 'system-cluster-critical'),
  },
  {
    key: 'prometheusRule.enabled',
    value: true,
    check: (rendering) => {
      const documented = parse(readMonitoring('alerts.yaml')) as RenderedObject;
      const rule = rendering.get('PrometheusRule');
      assert.deepEqual([rule.apiVersion, rule['spec']], [documented.apiVersion, documented['spec']]);
    },
  },
  {
    key: 'prometheusRule.labels',
    value: { release: 'prometheus' },
    with: { prometheusRule: { enabled: true } },
    check: (rendering) => assert.equal(rendering.get('PrometheusRule').metadata.labels?.['release'], 'prometheus'),
  },
  {
    key: 'rbac.aggregateRoles',
    value: true,
    check: (rendering) => {
      const roles = rendering.list('ClusterRole').filter(({ metadata }) => metadata.name.match(/-(view|edit|admin)$/));
      const described = roles.map(({ metadata, rules }) => {
        const labels = Object.keys(metadata.labels ?? {}).filter((label) => label.includes('/aggregate-to-'));
        const [{ resources, verbs }] = rules as [
          { readonly resources: readonly string[]; readonly verbs: readonly string[] },
        ];
        return [labels.map((label) => label.split('-to-')[1]), resources, verbs.includes('create')];
      });
      assert.deepEqual(described, [
        [['view', 'edit', 'admin'], ['proxypolicies', 'proxybackends', 'gatewayparameters'], false],
        [['edit', 'admin'], ['proxypolicies', 'proxybackends'], true],
        [['admin'], ['gatewayparameters'], true],
      ]);
      // They are for people.
      const bound = new Set(listBindings(rendering).map(({ roleRef }) => roleRef.name));
      for (const { metadata } of roles) assert.ok(!bound.has(metadata.name), metadata.name);
    },
  },
  {
    key: 'rbac.secretsInNamespaces',
    value: ['tools', 'shop', 'proxy-system'],
    check: (rendering) => {
      assert.deepEqual(readSettings(rendering).secretsInNamespaces, ['tools', 'shop', 'proxy-system']);
      assert.deepEqual(
        listRules(rendering).filter((rule) => rule.includes('/secrets')),
        [],
      );
      const readers = rendering.list('Role').map(({ metadata, rules }) => {
        const own = (
          rules as readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[]
        ).find(({ resources }) => resources.includes('secrets'));
        return [metadata.namespace, metadata.name, own?.verbs];
      });
      assert.deepEqual(readers, [
        ['proxy-system', 'proxy', ['list', 'watch', 'create', 'delete']],
        ['tools', 'proxy-secrets', ['list', 'watch']],
        ['shop', 'proxy-secrets', ['list', 'watch']],
      ]);
      for (const { roleRef, metadata, subjects } of listBindings(rendering)) {
        assert.equal(roleRef.name, metadata.name);
        assert.deepEqual(subjects, [{ kind: 'ServiceAccount', name: 'proxy', namespace: 'proxy-system' }]);
      }
      assert.equal(rendering.list('RoleBinding').length, 3);
    },
  },
  {
    key: 'resources',
    value: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    check: (rendering) =>
      assert.deepEqual(rendering.container['resources'], {
        requests: { cpu: '100m', memory: '128Mi' },
        limits: { memory: '512Mi' },
      }),
  },
  {
    key: 'securityContext',
    value: { readOnlyRootFilesystem: false, capabilities: { drop: ['NET_RAW'], add: ['NET_BIND_SERVICE'] } },
    check: (rendering) => {
      for (const pod of [rendering.pod, rendering.testPod])
        assert.deepEqual(pod.containers[0].securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: false,
          capabilities: { drop: ['NET_RAW'], add: ['NET_BIND_SERVICE'] },
        });
    },
  },
  {
    key: 'securityContext',
    variant: 'removed',
    value: { capabilities: null, allowPrivilegeEscalation: null, runAsUser: 0, privileged: false },
    check: (rendering) =>
      assert.deepEqual(rendering.container.securityContext, {
        readOnlyRootFilesystem: true,
        runAsUser: 0,
        privileged: false,
      }),
  },
  {
    key: 'serviceAccount.annotations',
    value: { 'example.com/role': 'gateway' },
    check: (rendering) =>
      assert.deepEqual(rendering.get('ServiceAccount').metadata.annotations, { 'example.com/role': 'gateway' }),
  },
  {
    key: 'serviceAccount.create',
    value: false,
    check: (rendering) => {
      assert.deepEqual(rendering.list('ServiceAccount'), []);
      checkAccount(rendering, 'default');
    },
  },
  {
    key: 'serviceAccount.name',
    value: 'gateway-controller',
    check: (rendering) => {
      assert.equal(rendering.get('ServiceAccount').metadata.name, 'gateway-controller');
      checkAccount(rendering, 'gateway-controller');
    },
  },
  {
    key: 'serviceMonitor.enabled',
    value: true,
    check: (rendering) => {
      const documented = parseAllDocuments(readMonitoring('operator.yaml')).map(
        (document) => document.toJS() as RenderedObject,
      );
      const { selector, ...service } = rendering.get('ServiceMonitor')['spec'] as { readonly selector: object };
      const { selector: _, ...shown } = documented[0]!['spec'] as { readonly selector: object };
      assert.deepEqual(service, shown);
      assert.deepEqual(selector, rendering.deployment.spec.selector);
      const { ports } = rendering.get('Service')['spec'] as { readonly ports: readonly Port[] };
      assert.ok(ports.some(({ name, port }) => name === 'metrics' && port === 9092));
      assert.deepEqual(rendering.get('PodMonitor')['spec'], documented[1]!['spec']);
      assert.equal(rendering.get('PodMonitor').metadata.name, 'proxy-gateways');
    },
  },
  {
    key: 'serviceMonitor.interval',
    value: '15s',
    with: { serviceMonitor: { enabled: true } },
    check: (rendering) => {
      const { endpoints } = rendering.get('ServiceMonitor')['spec'] as { readonly endpoints: readonly object[] };
      const { podMetricsEndpoints } = rendering.get('PodMonitor')['spec'] as {
        readonly podMetricsEndpoints: readonly { readonly interval: string }[];
      };
      assert.deepEqual(endpoints, [{ port: 'metrics', interval: '15s' }]);
      assert.equal(podMetricsEndpoints[0]?.interval, '15s');
    },
  },
  {
    key: 'serviceMonitor.labels',
    value: { release: 'prometheus', 'app.kubernetes.io/version': 'any' },
    with: { serviceMonitor: { enabled: true } },
    check: (rendering) => {
      for (const kind of ['ServiceMonitor', 'PodMonitor']) {
        const { labels } = rendering.get(kind).metadata;
        assert.deepEqual([labels?.['release'], labels?.['app.kubernetes.io/version']], ['prometheus', 'any']);
      }
    },
  },
  {
    key: 'tolerations',
    value: [{ key: 'dedicated', operator: 'Equal', value: 'gateways', effect: 'NoSchedule' }],
    check: (rendering) => {
      for (const pod of [rendering.pod, rendering.testPod])
        assert.deepEqual(pod['tolerations'], [
          { key: 'dedicated', operator: 'Equal', value: 'gateways', effect: 'NoSchedule' },
        ]);
    },
  },
  {
    key: 'topologySpreadConstraints',
    value: [
      { topologyKey: 'topology.kubernetes.io/zone', maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' },
      {
        topologyKey: 'rack',
        maxSkew: 2,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { a: 'b' } },
      },
    ],
    check: (rendering) =>
      assert.deepEqual(rendering.pod['topologySpreadConstraints'], [
        {
          topologyKey: 'topology.kubernetes.io/zone',
          maxSkew: 1,
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: rendering.deployment.spec.selector,
        },
        {
          topologyKey: 'rack',
          maxSkew: 2,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { a: 'b' } },
        },
      ]),
  },
];
