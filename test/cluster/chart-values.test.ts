// Every value of the chart that configures the controller, in the controller that runs: first with the defaults, then with other values, a few upgrades for all of
// them. Tests are named after the values that they show.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect } from 'node:tls';
import { listLeafKeys, readChartValues } from '../../scripts/chart-values.ts';
import { installInferenceExtension } from '../../scripts/install-inference-extension.ts';
import { proxyChart } from '../chart/helm.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import type { ApiObject } from './api-client.ts';
import type { Cluster } from './cluster.ts';
import {
  createGateway,
  createInferencePool,
  createNamespace,
  createRoute,
  createTlsSecret,
  plainListener,
  toInferencePool,
} from './cluster-resources.ts';
import { identifyContainer } from './container-identity.ts';
import { listGatewayPods } from './deployed-gateway.ts';
import { claimNamespace } from './file-namespace.ts';
import { findControllerUrl, type PodSpec, readPodSpec, waitUntilFollowed } from './gateway-rollout.ts';
import { HelmInstallation } from './helm-installation.ts';
import { clearInstallation, installationNamespace, InstalledController } from './installed-controller.ts';
import type { PodObject } from './observed-pod.ts';
import { listConditions, waitForCondition, waitUntilWell } from './resource-conditions.ts';
import { locateResource } from './resource-paths.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

/** Values that are between the user and Kubernetes, which the controller never learns: test/chart/value-cases.ts shows them in the objects. */
const ofKubernetes = [
  'affinity',
  'controller.strategy',
  'dashboards.enabled',
  'dashboards.labels',
  'deploymentAnnotations',
  // test/chart/network-policies.test.ts plays connections against the policies.
  'networkPolicy.apiServer.cidrs',
  'networkPolicy.apiServer.ports',
  'nodeSelector',
  'podAnnotations',
  'priorityClassName',
  'prometheusRule.enabled',
  'prometheusRule.labels',
  'resources',
  'serviceMonitor.enabled',
  'serviceMonitor.interval',
  'serviceMonitor.labels',
  'tolerations',
  'topologySpreadConstraints',
];
/** Where else: chart-replicas.test.ts, generated-certificate.test.ts. */
const shown = new Set(['controller.podDisruptionBudget', 'controller.xds.tls.generate']);

/** A test that shows these values, named after them. */
function shows(keys: readonly string[], what: string, run: () => Promise<void>): void {
  for (const key of keys) shown.add(key);
  test(`${keys.join(', ')}: ${what}`, run);
}

claimNamespace('chart-values');
let cluster: Cluster;
let helm: HelmInstallation;
let controller: InstalledController;

before(async () => {
  cluster = await joinCluster({ furtherNamespaces: ['selected', 'expressed', 'half'] });
  await clearInstallation(cluster);
  await cluster.applyFolder(join(await installInferenceExtension(console.log), 'crds'));
  helm = new HelmInstallation(cluster);
  controller = new InstalledController(cluster);
  await helm.install();
  // `selected` and `expressed` will be selected, each by another selector; `half` has a part of what the second one asks for.
  await cluster.apply([
    createNamespace('selected', { gateways: 'yes' }),
    createNamespace('expressed', { tier: 'edge', team: 'a' }),
    createNamespace('half', { tier: 'edge' }),
    ...['selected', 'expressed', 'half'].map((namespace) => createGateway('web', { namespace })),
  ]);
});
after(async () => {
  await helm?.uninstall();
  await leaveCluster();
});

async function findPod(): Promise<PodObject> {
  const [pod] = await controller.listPods();
  assert.ok(pod !== undefined);
  return pod;
}

const identify = async (): ReturnType<typeof identifyContainer> => identifyContainer(cluster, await findPod());

/** What the deployed gateway in `selected` was given. */
async function readGatewaySpec(): Promise<PodSpec> {
  const [pod] = await listGatewayPods(cluster, 'web', 'selected');
  assert.ok(pod !== undefined);
  return readPodSpec(pod);
}

function findVariable({ containers }: PodSpec, wanted: string): string | undefined {
  return containers[0].env.find(({ name }) => name === wanted)?.value;
}

/** The status of an answer, or the error's code. */
async function ask(url: string): Promise<number | string> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(10_000) })).status;
  } catch (error) {
    return String(((error as Error).cause as NodeJS.ErrnoException | undefined)?.code);
  }
}

/** The name in the certificate that a port shows; undefined: it does not speak TLS. */
function readCertificateName(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, ALPNProtocols: ['h2'], rejectUnauthorized: false, timeout: 5_000 }, () => {
      resolve(socket.getPeerX509Certificate()?.subjectAltName);
      socket.destroy();
    });
    socket.on('error', () => resolve(undefined)).on('timeout', () => socket.destroy(new Error('no handshake')));
  });
}

interface GatewayClass extends ApiObject {
  readonly spec: { readonly parametersRef?: object };
}

const readClass = (): Promise<GatewayClass> =>
  cluster.api.get<GatewayClass>(locateResource({ kind: 'GatewayClass', name: 'proxy' }));

describe('the defaults', () => {
  before(async () => {
    for (const namespace of ['selected', 'expressed', 'half'])
      await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'web', namespace }]);
  });

  shows(['podSecurityContext', 'securityContext'], 'the process is confined', async () => {
    const { uid, gid, groups, hasNoNewPrivileges, capabilities, isRootReadOnly, firstOpenPort } = await identify();
    assert.deepEqual(
      { uid, gid, groups, hasNoNewPrivileges, capabilities, isRootReadOnly, firstOpenPort },
      {
        uid: 65_532,
        gid: 65_532,
        groups: [],
        hasNoNewPrivileges: true,
        capabilities: 0n,
        isRootReadOnly: true,
        firstOpenPort: 1024,
      },
    );
  });

  test('the controller runs as the chart says, and no other way', async () => {
    const pod = await findPod();
    const { podIP = '' } = pod.status;
    assert.deepEqual([await ask(`http://${podIP}:9093/readyz`), await ask(`http://${podIP}:9092/metrics`)], [200, 200]);
    assert.equal(await readCertificateName(podIP, 9978), undefined);
    const log = await controller.readLogs();
    assert.match(log, /^\{"level":"info"/m);
    assert.doesNotMatch(log, /"level":"debug"/);
    assert.equal((await controller.listPods()).length, 1);
    assert.equal((await identify()).username, `system:serviceaccount:${installationNamespace}:proxy`);
    assert.equal((await readClass()).spec.parametersRef, undefined);
  });

  test('gateways are deployed as the chart says', async () => {
    const spec = await readGatewaySpec();
    const [{ image, imagePullPolicy }] = spec.containers;
    assert.deepEqual(
      [image, imagePullPolicy, spec.imagePullSecrets],
      ['ghcr.io/mcp-gatehouse/gateway:0.1.0', 'IfNotPresent', undefined],
    );
    assert.equal(findVariable(spec, 'MCP_GATEHOUSE_CONTROLLER'), 'http://proxy.proxy-system.svc:9978');
    assert.equal(findVariable(spec, 'MCP_GATEHOUSE_LOG_LEVEL'), 'info');
  });
});

describe('other values', () => {
  const ports = { proxyGrpc: 7978, health: 7093, metrics: 7092 };
  const url = `https://gateways.${installationNamespace}.svc:${ports.proxyGrpc}`;
  const certificateName = `gateways.${installationNamespace}.svc`;
  const values = {
    controller: {
      extraEnv: {
        COUNT: 12_345_678,
        MCP_GATEHOUSE_LOG_FORMAT: 'text',
        OF_A_SECRET: { valueFrom: { secretKeyRef: { name: 'more', key: 'word' } } },
      },
      image: { pullPolicy: 'Never', registry: 'own.example.com', repository: 'team/controller', tag: '8.8.8' },
      logLevel: 'debug',
      replicaCount: 2,
      service: { type: 'LoadBalancer', ports },
      xds: { tls: { enabled: true } },
    },
    discoveryNamespaceSelectors: [
      { matchLabels: { gateways: 'yes' } },
      { matchLabels: { team: 'a' }, matchExpressions: [{ key: 'tier', operator: 'In', values: ['edge', 'core'] }] },
    ],
    fullnameOverride: 'gateways',
    gatewayClassParametersRefs: { proxy: { name: 'of-all', namespace: installationNamespace } },
    image: { pullPolicy: 'Always', registry: 'registry.example.com:5000/mcp', tag: '9.9.9' },
    imagePullSecrets: [{ name: 'registry' }, { name: 'mirror' }],
    podSecurityContext: { runAsUser: 1234, runAsGroup: 4321, supplementalGroups: [5555] },
    securityContext: {
      allowPrivilegeEscalation: true,
      capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
      readOnlyRootFilesystem: false,
    },
    serviceAccount: { name: 'own', annotations: { 'example.com/role': 'gateways' } },
  };

  before(async () => {
    const issuer = createAuthority();
    await cluster.apply([
      createTlsSecret(
        'proxy-xds-cert',
        installationNamespace,
        createCertificate({ names: [certificateName], issuer }),
        issuer.cert,
      ),
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'more', namespace: installationNamespace },
        stringData: { word: 'swordfish' },
      },
      {
        apiVersion: 'gateway.proxy/v1alpha1',
        kind: 'GatewayParameters',
        metadata: { name: 'of-all', namespace: installationNamespace },
        spec: { logging: { level: 'debug' }, shutdown: { drain: '1s' } },
      },
    ]);
    await helm.upgrade(values);
    for (const namespace of ['selected', 'expressed']) await waitUntilFollowed(cluster, 'web', url, namespace);
  });

  shows(
    ['controller.service.ports.health', 'controller.service.ports.metrics'],
    'what was there is here, and nowhere else',
    async () => {
      for (const { status } of await controller.listPods()) {
        const at = (port: number, path: string): string => `http://${status.podIP}:${port}${path}`;
        assert.equal(await ask(at(ports.health, '/readyz')), 200);
        assert.equal(await ask(at(ports.metrics, '/metrics')), 200);
        assert.equal(await ask(at(9093, '/readyz')), 'ECONNREFUSED');
        assert.equal(await ask(at(9092, '/metrics')), 'ECONNREFUSED');
      }
    },
  );

  shows(
    ['controller.service.ports.proxyGrpc', 'controller.xds.tls.enabled', 'fullnameOverride'],
    'gateways are served at this name and port, over TLS',
    async () => {
      for (const { status } of await controller.listPods()) {
        assert.equal(await readCertificateName(status.podIP ?? '', ports.proxyGrpc), `DNS:${certificateName}`);
        assert.equal(await ask(`http://${status.podIP}:9978/`), 'ECONNREFUSED');
      }
      for (const namespace of ['selected', 'expressed']) {
        const pods = await listGatewayPods(cluster, 'web', namespace);
        assert.deepEqual(pods.map(findControllerUrl), [url]);
        await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'web', namespace }]);
      }
    },
  );

  shows(['controller.service.type'], 'the ports are behind the load balancer', async () => {
    const { status } = await cluster.waitForObject<
      ApiObject & { status: { loadBalancer?: { ingress?: readonly { ip: string }[] } } }
    >(
      locateResource({ kind: 'Service', name: 'gateways', namespace: installationNamespace }),
      (service) => service.status.loadBalancer?.ingress?.[0] !== undefined,
    );
    const address = status.loadBalancer?.ingress?.[0]?.ip ?? '';
    await cluster.waitFor(async () => (await ask(`http://${address}:${ports.health}/readyz`)) === 200, {
      what: 'the controller is behind the load balancer',
    });
  });

  shows(['controller.replicaCount'], 'two run, both serve, one leads', async () => {
    const pods = await controller.listPods();
    assert.equal(pods.length, 2);
    const read = async (name: string): Promise<readonly number[]> =>
      Promise.all(
        pods.map(async ({ status }) => {
          const text = await (await fetch(`http://${status.podIP}:${ports.metrics}/metrics`)).text();
          return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
        }),
      );
    await cluster.waitFor(
      async () => {
        const leading = await read('mcp_gateway_controller_leader');
        const connected = await read('mcp_gateway_controller_connected_gateways');
        const sum = (counts: readonly number[]): number => counts.reduce((some, count) => some + count);
        return sum(leading) === 1 && sum(connected) === 2;
      },
      { what: 'one leads, and both gateways are connected' },
    );
  });

  shows(['controller.logLevel'], 'the log says more', async () => {
    await cluster.waitFor(async () => /DEBUG.*pushed/.test(await controller.readLogs()), {
      what: 'a log of the controller has lines of level debug',
    });
  });

  shows(['controller.extraEnv'], 'variables are there, and win over those of the chart', async () => {
    const { environment } = await identify();
    assert.equal(environment.get('COUNT'), '12345678');
    assert.equal(environment.get('OF_A_SECRET'), 'swordfish');
    assert.doesNotMatch(await controller.readLogs(), /^\{/m, 'the log is text');
  });

  shows(
    ['controller.image.pullPolicy', 'controller.image.registry', 'controller.image.repository', 'controller.image.tag'],
    'the controller runs from its own image',
    async () => {
      const [{ image, imagePullPolicy }] = readPodSpec(await findPod()).containers;
      assert.deepEqual([image, imagePullPolicy], ['own.example.com/team/controller:8.8.8', 'Never']);
    },
  );

  shows(['image.pullPolicy', 'image.registry', 'image.tag', 'imagePullSecrets'], 'gateways get them', async () => {
    const { containers, imagePullSecrets } = await readGatewaySpec();
    const [{ image, imagePullPolicy }] = containers;
    assert.deepEqual([image, imagePullPolicy], ['registry.example.com:5000/mcp/gateway:9.9.9', 'Always']);
    assert.deepEqual(imagePullSecrets, values.imagePullSecrets);
    assert.deepEqual(readPodSpec(await findPod()).imagePullSecrets, values.imagePullSecrets);
  });

  shows(['discoveryNamespaceSelectors'], 'one selector is enough, and all of it must hold', async () => {
    const listeners = [plainListener, { ...plainListener, name: 'more', port: 81 }];
    // The one that nobody looks after first: when the others have followed, it could have.
    for (const namespace of ['half', 'selected', 'expressed'])
      await cluster.api.patch(locateResource({ kind: 'Gateway', name: 'web', namespace }), { spec: { listeners } });
    for (const namespace of ['selected', 'expressed'])
      await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'web', namespace }]);
    const { metadata, ...half } = await cluster.api.get(
      locateResource({ kind: 'Gateway', name: 'web', namespace: 'half' }),
    );
    assert.equal(metadata.generation, 2);
    const told = listConditions({ metadata, ...half }).map(({ observedGeneration }) => observedGeneration);
    assert.deepEqual(new Set(told), new Set([1]), 'what the controller before said');
    const pods = await listGatewayPods(cluster, 'web', 'half');
    assert.deepEqual(pods.map(findControllerUrl), ['http://proxy.proxy-system.svc:9978'], 'nobody has touched it');
  });

  shows(['gatewayClassParametersRefs'], 'the class has them, and gateways are deployed by them', async () => {
    const { spec } = await readClass();
    const reference = { group: 'gateway.proxy', kind: 'GatewayParameters' };
    assert.deepEqual(spec.parametersRef, { ...reference, name: 'of-all', namespace: installationNamespace });
    assert.equal(findVariable(await readGatewaySpec(), 'MCP_GATEHOUSE_LOG_LEVEL'), 'debug');
  });

  shows(['podSecurityContext'], 'the process has this user and these groups', async () => {
    const { uid, gid, groups } = await identify();
    assert.deepEqual({ uid, gid, groups }, { uid: 1234, gid: 4321, groups: [5555] });
  });

  shows(['securityContext'], 'the process may more', async () => {
    const { hasNoNewPrivileges, capabilities, isRootReadOnly } = await identify();
    const bindService = 1n << 10n;
    assert.deepEqual(
      { hasNoNewPrivileges, capabilities, isRootReadOnly },
      { hasNoNewPrivileges: false, capabilities: bindService, isRootReadOnly: false },
    );
  });

  shows(['serviceAccount.name', 'serviceAccount.annotations'], 'it is this account', async () => {
    assert.equal((await identify()).username, `system:serviceaccount:${installationNamespace}:own`);
    const account = await cluster.api.get(
      locateResource({ kind: 'ServiceAccount', name: 'own', namespace: installationNamespace }),
    );
    assert.equal(account.metadata.annotations?.['example.com/role'], 'gateways');
  });
});

describe('an account that is there already, another name, and a low port', () => {
  const url = `http://proxy-edge.${installationNamespace}.svc:443`;

  before(async () => {
    const metadata = { name: 'platform', namespace: installationNamespace };
    await cluster.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata });
    await helm.upgrade({
      controller: { service: { ports: { proxyGrpc: 443 } } },
      nameOverride: 'edge',
      serviceAccount: { create: false, name: 'platform' },
      discoveryNamespaceSelectors: [{ matchLabels: { gateways: 'yes' } }],
    });
    await waitUntilFollowed(cluster, 'web', url, 'selected');
  });

  shows(['serviceAccount.create', 'serviceAccount.name'], 'the controller is this account', async () => {
    assert.equal((await identify()).username, `system:serviceaccount:${installationNamespace}:platform`);
    const { metadata } = await cluster.api.get(
      locateResource({ kind: 'ServiceAccount', name: 'platform', namespace: installationNamespace }),
    );
    assert.equal(metadata.labels?.['app.kubernetes.io/managed-by'], undefined, 'helm has not touched it');
  });

  shows(['nameOverride', 'controller.service.ports.proxyGrpc'], 'gateways find it', async () => {
    const { uid, capabilities, firstOpenPort } = await identify();
    assert.deepEqual(
      [uid, capabilities, firstOpenPort],
      [65_532, 0n, 0],
      'the port is open to all, and no right was needed',
    );
    await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'web', namespace: 'selected' }]);
  });
});

describe('InferencePools', () => {
  const countPools = (): Promise<number> =>
    controller.readMetric('mcp_gateway_controller_watched_objects', 'kind="InferencePool"');

  before(async () => {
    await cluster.apply([
      createInferencePool('models', {
        namespace: 'selected',
        app: 'model',
        port: 8000,
        picker: { name: 'nobody', port: 9002 },
      }),
      createRoute('models', { namespace: 'selected', to: toInferencePool('models') }),
    ]);
  });

  shows(['inferenceExtension.enabled'], 'routes may name them only with it', async () => {
    const route = { kind: 'HTTPRoute', name: 'models', namespace: 'selected' };
    const pool = { kind: 'InferencePool', name: 'models', namespace: 'selected' };
    await waitForCondition(cluster, route, {
      type: 'ResolvedRefs',
      status: 'False',
      reason: 'InvalidKind',
      message: /inferenceExtension\.enabled/,
    });
    assert.equal(await countPools(), 0);
    await helm.upgrade({ nameOverride: 'edge', inferenceExtension: { enabled: true } });
    // There is no Service of that name.
    await waitForCondition(cluster, pool, { type: 'ResolvedRefs', status: 'False', reason: 'InvalidExtensionRef' });
    await waitForCondition(cluster, route, { type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound' });
    assert.equal(await countPools(), 1);
  });
});

describe('digests, network policies, and rights in one namespace', () => {
  const digests = { controller: `sha256:${'c'.repeat(64)}`, gateway: `sha256:${'d'.repeat(64)}` };
  const clients = [{ ipBlock: { cidr: '10.0.0.0/8' } }];
  const metrics = [{ namespaceSelector: { matchLabels: { team: 'monitoring' } } }];
  const upstreams = [{ namespaceSelector: { matchLabels: { mcp: 'yes' } } }];
  const https = { name: 'https', port: 443, protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'web' }] } };
  const isAllowed = async (user: string, resourceAttributes: object): Promise<boolean> => {
    const review = await cluster.api.create<{ status: { allowed: boolean } }>(
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      { spec: { user, resourceAttributes } },
    );
    return review.status.allowed;
  };

  before(async () => {
    for (const namespace of ['selected', 'expressed']) {
      await cluster.apply(createTlsSecret('web', namespace, createCertificate({ names: ['web.example.com'] })));
      await cluster.api.patch(locateResource({ kind: 'Gateway', name: 'web', namespace }), {
        spec: { listeners: [plainListener, https] },
      });
    }
    await helm.upgrade({
      controller: { image: { digest: digests.controller } },
      image: { digest: digests.gateway },
      networkPolicy: { enabled: true, clients, metrics, upstreams },
      podLabels: { team: 'platform' },
      rbac: { aggregateRoles: true, secretsInNamespaces: ['selected'] },
    });
  });

  shows(['rbac.secretsInNamespaces'], 'Secrets are read there, and missed elsewhere in words', async () => {
    await waitUntilWell(cluster, [{ kind: 'Gateway', name: 'web', namespace: 'selected' }]);
    await waitForCondition(
      cluster,
      { kind: 'Gateway', name: 'web', namespace: 'expressed' },
      {
        part: 'listener https',
        type: 'ResolvedRefs',
        status: 'False',
        message:
          /the controller may not read Secrets in namespace expressed \(the chart's value rbac\.secretsInNamespaces\)/,
      },
    );
    const user = `system:serviceaccount:${installationNamespace}:proxy`;
    const list = { resource: 'secrets', verb: 'list' };
    const places = ['selected', 'expressed', installationNamespace, undefined];
    assert.deepEqual(await Promise.all(places.map((namespace) => isAllowed(user, { ...list, namespace }))), [
      true,
      false,
      true,
      false,
    ]);
  });

  shows(['image.digest', 'controller.image.digest'], 'each runs from its own', async () => {
    const [controllerContainer] = readPodSpec(await findPod()).containers;
    assert.equal(controllerContainer.image, `ghcr.io/mcp-gatehouse/controller@${digests.controller}`);
    await cluster.waitFor(
      async () => (await readGatewaySpec()).containers[0].image === `ghcr.io/mcp-gatehouse/gateway@${digests.gateway}`,
      { what: 'gateways run from the image with the digest' },
    );
  });

  shows(['podLabels'], 'the pod has them, and is still selected', async () => {
    const { metadata } = await findPod();
    assert.equal(metadata.labels?.['team'], 'platform');
  });

  shows(
    ['networkPolicy.enabled', 'networkPolicy.clients', 'networkPolicy.metrics', 'networkPolicy.upstreams'],
    'a policy is deployed with each gateway, and owned by it',
    async () => {
      const policy = await cluster.waitForObject<
        ApiObject & {
          spec: { ingress: readonly { from?: unknown }[]; egress: readonly { to?: unknown }[] };
        }
      >(locateResource({ kind: 'NetworkPolicy', name: 'web-proxy', namespace: 'selected' }), () => true);
      assert.equal(policy.metadata.ownerReferences?.[0]?.kind, 'Gateway');
      assert.deepEqual([policy.spec.ingress[0]?.from, policy.spec.ingress[2]?.from], [clients, metrics]);
      assert.deepEqual(policy.spec.egress[2]?.to, upstreams);
      const path = locateResource({ kind: 'NetworkPolicy', name: 'web-proxy', namespace: 'selected' });
      await cluster.api.delete(path);
      await cluster.waitForObject(path, ({ metadata }) => metadata.uid !== policy.metadata.uid);
    },
  );

  shows(['rbac.aggregateRoles'], 'who may edit a namespace may write policies there', async () => {
    const people = ['view', 'edit', 'admin'];
    await cluster.apply(
      people.map((name) => ({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name, namespace: 'selected' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
      })),
    );
    const may = (verb: string, resource: string): Promise<readonly boolean[]> =>
      Promise.all(
        people.map((user) => isAllowed(user, { group: 'gateway.proxy', resource, verb, namespace: 'selected' })),
      );
    await cluster.waitFor(async () => (await may('get', 'proxypolicies')).every(Boolean), {
      what: 'Kubernetes has added the rights to its roles',
    });
    await cluster.waitFor(async () => (await may('create', 'gatewayparameters'))[2] === true, {
      what: 'admin may write GatewayParameters',
    });
    assert.deepEqual(await may('create', 'proxypolicies'), [false, true, true]);
    assert.deepEqual(await may('create', 'gatewayparameters'), [false, false, true]);
  });
});

test('every value of values.yaml is shown in the controller that runs, or is none of its business', () => {
  const keys = listLeafKeys(readChartValues(readFileSync(join(proxyChart, 'values.yaml'), 'utf8')));
  assert.deepEqual([...shown, ...ofKubernetes].toSorted(), keys.toSorted());
});
