// What the chart refuses, and in which words: by the schema, and by the templates for what a schema cannot say or when it is skipped.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readRefusal, renderChart, type Values } from './helm.ts';

interface Refusal {
  readonly name: string;
  readonly values: Values;
  readonly message: string;
}

function port(name: string, value: unknown): Values {
  return { controller: { service: { ports: { [name]: value } } } };
}

const bySchema: readonly Refusal[] = [
  { name: 'an unknown key', values: { bogus: 1 }, message: `at '': additional properties 'bogus' not allowed` },
  {
    name: 'a key in the wrong case',
    values: { controller: { loglevel: 'info' } },
    message: `at '/controller': additional properties 'loglevel' not allowed`,
  },
  ...[
    ['controller', 'image'],
    ['controller', 'service'],
    ['controller', 'service', 'ports'],
    ['controller', 'xds'],
    ['controller', 'xds', 'tls'],
    ['image'],
    ['inferenceExtension'],
    ['dashboards'],
    ['networkPolicy'],
    ['networkPolicy', 'apiServer'],
    ['prometheusRule'],
    ['rbac'],
    ['serviceMonitor'],
    ['serviceAccount'],
    ['affinity'],
    ['controller', 'podDisruptionBudget'],
    ['controller', 'strategy'],
    ['controller', 'strategy', 'rollingUpdate'],
    ['gatewayClassParametersRefs'],
    ['podSecurityContext'],
    ['securityContext'],
    ['resources'],
  ].map((path) => ({
    name: `an unknown key in ${path.join('.')}`,
    values: path.reduceRight<Values>((inner, key) => ({ [key]: inner }), { bogus: 1 }),
    message: `at '/${path.join('/')}': additional properties 'bogus' not allowed`,
  })),
  {
    name: 'an unknown key in a selector',
    values: { discoveryNamespaceSelectors: [{ matchLabel: {} }] },
    message: `at '/discoveryNamespaceSelectors/0': additional properties 'matchLabel' not allowed`,
  },
  {
    name: 'an unknown operator in a selector',
    values: { discoveryNamespaceSelectors: [{ matchExpressions: [{ key: 'a', operator: 'Is' }] }] },
    message: `operator': value must be one of 'In', 'NotIn', 'Exists', 'DoesNotExist'`,
  },
  {
    name: 'an unknown key in a toleration',
    values: { tolerations: [{ keys: 'a' }] },
    message: `at '/tolerations/0': additional properties 'keys' not allowed`,
  },
  {
    name: 'a pull secret as text',
    values: { imagePullSecrets: ['registry'] },
    message: `at '/imagePullSecrets/0': got string, want object`,
  },
  {
    name: 'a log level that there is not',
    values: { controller: { logLevel: 'verbose' } },
    message: `at '/controller/logLevel': value must be one of 'trace', 'debug', 'info', 'warn', 'error'`,
  },
  {
    name: 'silence',
    values: { controller: { logLevel: 'silent' } },
    message: `at '/controller/logLevel': value must be one of`,
  },
  {
    name: 'a pull policy that there is not',
    values: { image: { pullPolicy: 'Sometimes' } },
    message: `at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'`,
  },
  {
    name: 'an empty pull policy for all',
    values: { image: { pullPolicy: '' } },
    message: `at '/image/pullPolicy': value must be one of`,
  },
  {
    name: 'a pull policy of the controller that there is not',
    values: { controller: { image: { pullPolicy: 'Sometimes' } } },
    message: `at '/controller/image/pullPolicy': value must be one of '', 'Always', 'IfNotPresent', 'Never'`,
  },
  {
    name: 'a type of Service that gateways cannot reach',
    values: { controller: { service: { type: 'ExternalName' } } },
    message: `at '/controller/service/type': value must be one of 'ClusterIP', 'NodePort', 'LoadBalancer'`,
  },
  {
    name: 'port 0',
    values: port('health', 0),
    message: `at '/controller/service/ports/health': minimum: got 0, want 1`,
  },
  {
    name: 'a port beyond the last one',
    values: port('metrics', 65536),
    message: `at '/controller/service/ports/metrics': maximum: got 65,536, want 65,535`,
  },
  {
    name: 'a port as text',
    values: port('proxyGrpc', '9978'),
    message: `at '/controller/service/ports/proxyGrpc': got string, want integer`,
  },
  {
    name: 'half a replica',
    values: { controller: { replicaCount: 1.5 } },
    message: `at '/controller/replicaCount': got number, want integer`,
  },
  {
    name: 'fewer than no replicas',
    values: { controller: { replicaCount: -1 } },
    message: `at '/controller/replicaCount': minimum: got -1, want 0`,
  },
  {
    name: 'parameters without a namespace',
    values: { gatewayClassParametersRefs: { proxy: { name: 'a' } } },
    message: `at '/gatewayClassParametersRefs/proxy': missing property 'namespace'`,
  },
  {
    name: 'parameters without a name',
    values: { gatewayClassParametersRefs: { proxy: { namespace: 'a' } } },
    message: `at '/gatewayClassParametersRefs/proxy': missing property 'name'`,
  },
  {
    name: 'parameters of another class',
    values: { gatewayClassParametersRefs: { other: { name: 'a', namespace: 'b' } } },
    message: `at '/gatewayClassParametersRefs': additional properties 'other' not allowed`,
  },
  {
    name: 'a variable that is an object of another kind',
    values: { controller: { extraEnv: { A: { value: 'b' } } } },
    message: `at '/controller/extraEnv/A': missing property 'valueFrom'`,
  },
  {
    name: 'a variable from nowhere',
    values: { controller: { extraEnv: { A: { valueFrom: { file: 'b' } } } } },
    message: `at '/controller/extraEnv/A/valueFrom': additional properties 'file' not allowed`,
  },
  {
    name: 'a name that no variable can have',
    values: { controller: { extraEnv: { '1 A': 'b' } } },
    message: `invalid propertyName '1 A'`,
  },
  {
    name: 'a tag that is a number',
    values: { image: { tag: 1 } },
    message: `at '/image/tag': got number, want string`,
  },
  {
    name: 'a registry with a scheme',
    values: { image: { registry: 'https://registry.example.com' } },
    message: `at '/image/registry': 'https://registry.example.com' does not match pattern`,
  },
  {
    name: 'a registry with a slash at its end',
    values: { controller: { image: { registry: 'registry.example.com/' } } },
    message: `at '/controller/image/registry': 'registry.example.com/' does not match pattern`,
  },
  {
    name: 'a switch that is text',
    values: { controller: { xds: { tls: { enabled: 'true' } } } },
    message: `at '/controller/xds/tls/enabled': got string, want boolean`,
  },
  {
    name: 'an annotation that is no text',
    values: { podAnnotations: { 'prometheus.io/scrape': true } },
    message: `at '/podAnnotations/prometheus.io~1scrape': got boolean, want null or string`,
  },
  {
    name: 'a name that no Service can have',
    values: { fullnameOverride: 'My.Proxy' },
    message: `at '/fullnameOverride': 'My.Proxy' does not match pattern`,
  },
  ...[
    ['', 'controller'],
    ['', 'image'],
    ['/controller', 'logLevel'],
    ['/controller/service/ports', 'health'],
    ['/controller/xds/tls', 'enabled'],
    ['/serviceAccount', 'create'],
  ].map(([place, key]) => ({
    name: `nothing in the place of ${place}/${key}`,
    values: [...place!.split('/').slice(1), key!].reduceRight<unknown>(
      (inner, name) => ({ [name]: inner }),
      null,
    ) as Values,
    message: `at '${place}': missing property '${key}'`,
  })),
  {
    name: 'a digest that is a tag',
    values: { image: { digest: 'v1' } },
    message: `at '/image/digest': 'v1' does not match pattern`,
  },
  {
    name: 'a digest without its algorithm',
    values: { controller: { image: { digest: '0'.repeat(64) } } },
    message: `at '/controller/image/digest': '${'0'.repeat(64)}' does not match pattern`,
  },
  {
    name: 'a label that is no label',
    values: { podLabels: { team: 'a b' } },
    message: `at '/podLabels/team': 'a b' does not match pattern`,
  },
  {
    name: 'a constraint without a topology',
    values: { topologySpreadConstraints: [{ maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' }] },
    message: `at '/topologySpreadConstraints/0': missing property 'topologyKey'`,
  },
  {
    name: 'a peer of nothing',
    values: { networkPolicy: { clients: [{}] } },
    message: `at '/networkPolicy/clients/0': minProperties: got 0, want 1`,
  },
  {
    name: 'a peer of another kind',
    values: { networkPolicy: { upstreams: [{ host: 'idp.example.com' }] } },
    message: `at '/networkPolicy/upstreams/0': additional properties 'host' not allowed`,
  },
  {
    name: 'an API server by name',
    values: { networkPolicy: { apiServer: { cidrs: ['kubernetes.default'] } } },
    message: `at '/networkPolicy/apiServer/cidrs/0': 'kubernetes.default' does not match pattern`,
  },
  {
    name: 'an API server without a port',
    values: { networkPolicy: { apiServer: { ports: [] } } },
    message: `at '/networkPolicy/apiServer/ports': minItems: got 0, want 1`,
  },
  {
    name: 'a namespace that is no name',
    values: { rbac: { secretsInNamespaces: ['Tools'] } },
    message: `at '/rbac/secretsInNamespaces/0': 'Tools' does not match pattern`,
  },
  {
    name: 'a namespace twice',
    values: { rbac: { secretsInNamespaces: ['a', 'a'] } },
    message: `at '/rbac/secretsInNamespaces': items at 0 and 1 are equal`,
  },
  {
    name: 'an interval without a unit',
    values: { serviceMonitor: { interval: '30' } },
    message: `at '/serviceMonitor/interval': '30' does not match pattern`,
  },
  {
    name: 'a percentage without its sign',
    values: { controller: { podDisruptionBudget: { minAvailable: '50' } } },
    message: `at '/controller/podDisruptionBudget/minAvailable': '50' does not match pattern`,
  },
];

/** The schema has nothing to say here. */
const beyondTheSchema: readonly Refusal[] = [
  {
    name: 'a certificate to make without TLS',
    values: { controller: { xds: { tls: { generate: true } } } },
    message:
      'controller.xds.tls.generate goes with controller.xds.tls.enabled: without TLS there is no certificate to make',
  },
  {
    name: 'a label by which the controller is selected',
    values: { podLabels: { 'app.kubernetes.io/component': 'gateway' } },
    message: "podLabels must not have app.kubernetes.io/component: such labels select the controller's pods",
  },
  {
    name: 'a label by which gateways are selected',
    values: { podLabels: { 'gateway.networking.k8s.io/gateway-name': 'web' } },
    message: 'podLabels must not have gateway.networking.k8s.io/gateway-name: such labels select the pods of gateways',
  },
  {
    name: 'a label that marks objects of gateways',
    values: { podLabels: { 'app.kubernetes.io/managed-by': 'gateway.proxy-controller' } },
    message: 'podLabels must not have app.kubernetes.io/managed-by: such labels mark the objects of gateways',
  },
  {
    name: 'a peer that is a block and pods',
    values: {
      networkPolicy: { enabled: true, clients: [{ ipBlock: { cidr: '10.0.0.0/8' }, namespaceSelector: {} }] },
    },
    message: 'networkPolicy.clients[0] must have ipBlock or selectors, not both',
  },
  {
    name: 'pods without their namespace',
    values: { networkPolicy: { enabled: true, metrics: [{ podSelector: {} }] } },
    message: 'networkPolicy.metrics[0] needs a namespaceSelector beside its podSelector: {} is every namespace',
  },
  {
    name: 'two equal ports',
    values: port('health', 9092),
    message:
      'controller.service.ports.health and controller.service.ports.metrics are both 9092: each needs a port of its own',
  },
  {
    name: 'three equal ports',
    values: { controller: { service: { ports: { proxyGrpc: 1234, health: 1234, metrics: 1234 } } } },
    message:
      'controller.service.ports.proxyGrpc and controller.service.ports.metrics are both 1234: each needs a port of its own',
  },
  {
    name: 'a budget with both bounds',
    values: { controller: { podDisruptionBudget: { minAvailable: 0, maxUnavailable: 1 } } },
    message: 'controller.podDisruptionBudget needs either minAvailable or maxUnavailable, and has both',
  },
  {
    name: 'a budget without a bound',
    values: { controller: { podDisruptionBudget: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } } },
    message: 'controller.podDisruptionBudget needs either minAvailable or maxUnavailable, and has neither',
  },
  {
    name: 'a rolling update that recreates',
    values: { controller: { strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } } },
    message: 'controller.strategy.rollingUpdate goes with type RollingUpdate, not with Recreate',
  },
  {
    name: 'In without values',
    values: { discoveryNamespaceSelectors: [{}, { matchExpressions: [{ key: 'a', operator: 'In' }] }] },
    message: 'discoveryNamespaceSelectors[1].matchExpressions[0]: In needs values',
  },
  {
    name: 'Exists with values',
    values: { discoveryNamespaceSelectors: [{ matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] }] },
    message: 'discoveryNamespaceSelectors[0].matchExpressions[0]: Exists takes no values',
  },
];

/** What the templates say themselves when nobody asks the schema. */
const withoutSchema: readonly Refusal[] = [
  {
    name: 'a digest that is a tag',
    values: { controller: { image: { digest: 'v1' } } },
    message: 'controller.image.digest must be sha256: and 64 hexadecimal digits, not "v1"',
  },
  {
    name: 'an API server without a port',
    values: { networkPolicy: { enabled: true, apiServer: { ports: [] } } },
    message: 'networkPolicy.apiServer.ports must have a port: the controller needs the API server',
  },
  {
    name: 'a namespace that is no name',
    values: { rbac: { secretsInNamespaces: ['a', 'B'] } },
    message: 'rbac.secretsInNamespaces[1] must be the name of a namespace, not "B"',
  },
  {
    name: 'a namespace twice',
    values: { rbac: { secretsInNamespaces: ['a', 'a'] } },
    message: 'rbac.secretsInNamespaces names a namespace twice',
  },
  {
    name: 'a log level that there is not',
    values: { controller: { logLevel: 'verbose' } },
    message: 'controller.logLevel must be one of trace, debug, info, warn, error, not "verbose"',
  },
  {
    name: 'parameters of another class',
    values: { gatewayClassParametersRefs: { other: { name: 'a', namespace: 'b' } } },
    message: 'gatewayClassParametersRefs.other: the only class of this controller is proxy',
  },
  {
    name: 'parameters without a namespace',
    values: { gatewayClassParametersRefs: { proxy: { name: 'a' } } },
    message:
      'gatewayClassParametersRefs.proxy.namespace is required: the reference needs the name and the namespace of the GatewayParameters',
  },
  {
    name: 'parameters without anything',
    values: { gatewayClassParametersRefs: { proxy: null } },
    message:
      'gatewayClassParametersRefs.proxy.name is required: the reference needs the name and the namespace of the GatewayParameters',
  },
  {
    name: 'port 0',
    values: port('health', 0),
    message: 'controller.service.ports.health must be a port number between 1 and 65535, not 0',
  },
  {
    name: 'a port that is a word',
    values: port('metrics', 'http'),
    message: 'controller.service.ports.metrics must be a port number between 1 and 65535, not "http"',
  },
  {
    name: 'a type of Service that gateways cannot reach',
    values: { controller: { service: { type: 'ExternalName' } } },
    message: 'controller.service.type must be one of ClusterIP, NodePort, LoadBalancer, not "ExternalName"',
  },
  {
    name: 'a pull policy that there is not',
    values: { image: { pullPolicy: 'Sometimes' } },
    message: 'image.pullPolicy must be one of Always, IfNotPresent, Never, not "Sometimes"',
  },
  {
    name: 'a pull policy of the controller that there is not',
    values: { controller: { image: { pullPolicy: 'Sometimes' } } },
    message: 'controller.image.pullPolicy must be empty or one of Always, IfNotPresent, Never, not "Sometimes"',
  },
  {
    name: 'half a replica',
    values: { controller: { replicaCount: 1.5 } },
    message: 'controller.replicaCount must be a whole number of at least 0, not 1.5',
  },
  {
    name: 'a variable that is a list',
    values: { controller: { extraEnv: { A: ['b'] } } },
    message: 'controller.extraEnv.A must be text, a number, true, false, or {valueFrom: ...}',
  },
  {
    name: 'a pull secret as text',
    values: { imagePullSecrets: ['registry'] },
    message: 'imagePullSecrets[0] must be {name: ...}',
  },
  {
    name: 'a name that no Service can have',
    values: { fullnameOverride: 'My.Proxy' },
    message:
      '"My.Proxy" cannot be the name of a Service, which has up to 63 small letters, digits and dashes and begins with a letter; set fullnameOverride',
  },
];

const skipped = ['--skip-schema-validation'];

function include(text: string, message: string): void {
  assert.ok(text.includes(message), `helm says: ${text}`);
}

describe('by the schema', () => {
  for (const { name, values, message } of bySchema) {
    test(name, async () => {
      const text = await readRefusal(values);
      include(text, "values don't meet the specifications of the schema");
      include(text, message);
    });
  }
});

describe('by the templates', () => {
  for (const { name, values, message } of beyondTheSchema)
    test(name, async () => include(await readRefusal(values), `\n- ${message}\n`));
});

describe('by the templates, when the schema is skipped', () => {
  for (const { name, values, message } of [...beyondTheSchema, ...withoutSchema])
    test(name, async () => include(await readRefusal(values, { args: skipped }), `\n- ${message}\n`));

  test('everything that is wrong is told at once', async () => {
    const values = {
      ...port('health', 9092),
      gatewayClassParametersRefs: { a: {}, b: {} },
      image: { pullPolicy: 'x' },
    };
    const text = await readRefusal(values, { args: skipped });
    assert.equal(text.match(/^- /gm)?.length, 4, text);
  });

  test('what is right is taken', async () => {
    await renderChart({ controller: { podDisruptionBudget: { maxUnavailable: 0 } } }, { args: skipped });
  });
});

test('names that are too long, or begin with a digit, are refused and not cut', async () => {
  const release = 'r'.repeat(53);
  const text = await readRefusal({ nameOverride: 'n'.repeat(20) }, { release });
  include(text, `"${release}-${'n'.repeat(20)}" cannot be the name of a Service`);
  include(await readRefusal({}, { release: '1st' }), '"1st-proxy" cannot be the name of a Service');
});

describe('in a cluster without the Prometheus operator', () => {
  // As helm sees a cluster: it has kinds, and not versions alone.
  const cluster = ['--api-versions', 'v1/Pod'];
  const operator = [...cluster, '--api-versions', 'monitoring.coreos.com/v1'];
  for (const key of ['serviceMonitor', 'prometheusRule'])
    test(key, async () => {
      const values = { [key]: { enabled: true } };
      include(
        await readRefusal(values, { args: cluster }),
        `\n- ${key}.enabled needs the CRDs of the Prometheus operator (monitoring.coreos.com/v1), and the cluster does not have them;`,
      );
      await renderChart(values, { args: operator });
      // Nobody knows what a cluster has when there is none.
      await renderChart(values);
    });

  test('what is off is not missed', async () => {
    await renderChart({ dashboards: { enabled: true } }, { args: cluster });
  });
});

test('an older Kubernetes is refused', async () => {
  include(await readRefusal({}, { args: ['--kube-version', '1.29.9'] }), 'chart requires kubeVersion: >=1.30.0-0');
  await renderChart({}, { args: ['--kube-version', '1.30.0-gke.1'] });
});
