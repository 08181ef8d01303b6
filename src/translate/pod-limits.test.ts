// What GatewayParameters of a Gateway cannot have while the class does not delegate pods: whatever would be a pod of their author.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Delegation } from '../api/delegation.ts';
import { parseResource } from '../api/parse-resource.ts';
import { findForbiddenParameters } from './parameter-limits.ts';

/** The verdict on parameters that the schema takes. */
function judge(spec: object, delegation?: Delegation): string | undefined {
  const raw = { apiVersion: 'gateway.proxy/v1alpha1', kind: 'GatewayParameters', metadata: { name: 'own' }, spec };
  const parsed = parseResource(raw, { origin: 'kubernetes' });
  assert.ok(parsed.ok && parsed.kind === 'GatewayParameters', JSON.stringify(parsed));
  return findForbiddenParameters(parsed.resource.spec, delegation);
}

const overPod = (spec: object): object => ({ overlays: { deployment: { spec: { template: { spec } } } } });
const overGateway = (container: object): object => overPod({ containers: [{ name: 'gateway', ...container }] });
const podPath = 'spec.overlays.deployment.spec.template.spec';
const gatewayPath = `${podPath}.containers[0]`;

function refuses(spec: object, path: string, delegation?: Delegation): void {
  const message = judge(spec, delegation) ?? 'nothing is refused';
  assert.ok(message.includes(`${path} must `), message);
  assert.match(message, /; only parameters of the GatewayClass may set this$/);
}

describe('images', () => {
  const image = { registry: 'registry.example.com', repository: 'team/gateway', tag: 'v2' };
  test('come from the class', () => {
    refuses({ image }, 'spec.image.registry');
    refuses({ image: { repository: 'team/gateway' } }, 'spec.image.repository');
    refuses(overGateway({ image: 'evil' }), `${gatewayPath}.image`);
  });
  test('are chosen by tag and digest', () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    for (const chosen of [{ tag: 'v2' }, { digest }, { pullPolicy: 'Always' }])
      assert.equal(judge({ image: chosen }), undefined);
  });
  test('are chosen among those that the class lists', () => {
    const images = ['registry.example.com/team/gateway'];
    assert.equal(judge({ image }, { images }), undefined);
    assert.equal(
      judge({ image: { registry: 'registry.example.com/team', repository: 'gateway' } }, { images }),
      undefined,
    );
    refuses({ image: { ...image, repository: 'team/gateway-x' } }, 'spec.image.repository', { images });
    // Where it would come from is not known here.
    refuses({ image: { repository: 'team/gateway' } }, 'spec.image.repository', { images });
    refuses(overGateway({ image: 'registry.example.com/team/gateway' }), `${gatewayPath}.image`, { images });
  });
});

describe('containers', () => {
  const sidecar = { name: 'beside', image: 'a', securityContext: { allowPrivilegeEscalation: false } };
  test('there is the gateway, and no other', () => {
    refuses(overPod({ containers: [{ name: 'gateway' }, sidecar] }), `${podPath}.containers[1]`);
    for (const list of ['initContainers', 'ephemeralContainers'])
      refuses(overPod({ [list]: [sidecar] }), `${podPath}.${list}`);
    for (const containers of [[{ $patch: 'replace' }], [{ name: 'gateway', $patch: 'delete' }]])
      assert.notEqual(judge(overPod({ containers })), undefined, JSON.stringify(containers));
    refuses(
      overGateway({ $patch: 'replace', securityContext: { allowPrivilegeEscalation: false } }),
      `${gatewayPath}.$patch`,
    );
  });

  const code: Readonly<Record<string, readonly [object, string]>> = {
    'a module that Node loads': [{ env: [{ name: 'NODE_OPTIONS', value: '--import=data:,' }] }, 'env[0].name'],
    'a library that the C library loads': [{ env: [{ name: 'LD_PRELOAD', value: '/extra/a.so' }] }, 'env[0].name'],
    'variables from elsewhere': [{ envFrom: [{ configMapRef: { name: 'a' } }] }, 'envFrom'],
    'a variable from a file': [
      { env: [{ name: 'OTEL_A', valueFrom: { fileKeyRef: {} } }] },
      'env[0].valueFrom.fileKeyRef',
    ],
    'all variables replaced': [{ env: [{ $patch: 'replace' }] }, 'env[0].$patch'],
    'no variables': [{ env: null }, 'env'],
    'a file over the program': [{ volumeMounts: [{ name: 'a', mountPath: '/app' }] }, 'volumeMounts[0].mountPath'],
    'a file over the program, by a detour': [
      { volumeMounts: [{ name: 'a', mountPath: '/extra/../app' }] },
      'volumeMounts[0].mountPath',
    ],
    'a command after the start': [{ lifecycle: { postStart: { exec: { command: ['a'] } } } }, 'lifecycle.postStart'],
    'a command before the end': [{ lifecycle: { preStop: { exec: { command: ['a'] } } } }, 'lifecycle.preStop.exec'],
    'a command as a probe': [{ readinessProbe: { exec: { command: ['a'] } } }, 'readinessProbe.exec'],
    'a request of the node': [
      { livenessProbe: { httpGet: { host: '169.254.169.254' } } },
      'livenessProbe.httpGet.host',
    ],
    'a connection of the node': [{ startupProbe: { tcpSocket: { host: 'a' } } }, 'startupProbe.tcpSocket.host'],
    'a working folder': [{ workingDir: '/extra' }, 'workingDir'],
    'a device': [{ volumeDevices: [{ name: 'a', devicePath: '/dev/a' }] }, 'volumeDevices'],
    'a field of tomorrow': [{ ofTomorrow: {} }, 'ofTomorrow'],
  };
  for (const [name, [container, path]] of Object.entries(code))
    test(`no code comes in by ${name}`, () => refuses(overGateway(container), `${gatewayPath}.${path}`));

  test('variables of spec.env are those of the gateway', () => {
    refuses({ env: [{ name: 'NODE_OPTIONS', value: '--import=data:,' }] }, 'spec.env[0].name');
    const names = [
      'MCP_GATEHOUSE_MAX_CONNECTIONS',
      'OTEL_SERVICE_NAME',
      'NODE_EXTRA_CA_CERTS',
      'TZ',
      'HTTPS_PROXY',
      'no_proxy',
    ];
    assert.equal(judge({ env: names.map((name) => ({ name, value: 'a' })) }), undefined);
  });
});

describe('pods', () => {
  for (const [field, value] of Object.entries({
    hostAliases: [{ ip: '10.0.0.1', hostnames: ['proxy.proxy-system.svc'] }],
    dnsConfig: { nameservers: ['10.0.0.1'] },
    runtimeClassName: 'weak',
    nodeName: 'control-plane',
    shareProcessNamespace: true,
    resourceClaims: [{ name: 'a' }],
  }))
    test(`${field} is not theirs`, () => refuses(overPod({ [field]: value }), `${podPath}.${field}`));

  test('have no priority of the system', () => {
    refuses(overPod({ priorityClassName: 'system-node-critical' }), `${podPath}.priorityClassName`);
    assert.equal(judge(overPod({ priorityClassName: 'edge' })), undefined);
  });

  test('keep the volumes of the controller', () => {
    for (const name of ['token', 'snapshot', 'controller-ca'])
      refuses(overPod({ volumes: [{ name, configMap: { name: 'mine' } }] }), `${podPath}.volumes[0].name`);
  });

  test('have the account that the controller makes, as it makes it', () =>
    refuses(
      { overlays: { serviceAccount: { metadata: { annotations: { a: 'b' } } } } },
      'spec.overlays.serviceAccount',
    ));

  test('carry no finalizers', () => {
    const overlays = { deployment: { spec: { template: { metadata: { finalizers: ['a/b'] } } } } };
    refuses({ overlays }, 'spec.overlays.deployment.spec.template.metadata.finalizers');
  });
});

describe('labels and annotations of pods', () => {
  const key = 'sidecar.istio.io/inject';
  const overlay = (metadata: object): object => ({ overlays: { deployment: { spec: { template: { metadata } } } } });
  for (const field of ['labels', 'annotations']) {
    const metadata = { [field]: { [key]: 'true' } };
    test(`${field} with a domain are read by somebody`, () => {
      refuses({ podTemplate: metadata }, `spec.podTemplate.${field}.${key}`);
      refuses(overlay(metadata), `spec.overlays.deployment.spec.template.metadata.${field}.${key}`);
    });
    test(`${field} that the class lists, and plain ones`, () => {
      for (const podMetadata of [['sidecar.istio.io/'], [key]]) {
        assert.equal(judge({ podTemplate: metadata }, { podMetadata }), undefined);
        assert.equal(judge(overlay(metadata), { podMetadata }), undefined);
      }
      refuses({ podTemplate: metadata }, `spec.podTemplate.${field}.${key}`, {
        podMetadata: ['istio.io/', `${key}-more`],
      });
      const plain = { [field]: { team: 'edge', 'app.kubernetes.io/part-of': 'edge', 'prometheus.io/scrape': 'false' } };
      assert.equal(judge({ podTemplate: plain }), undefined);
      assert.equal(judge(overlay(plain)), undefined);
    });
  }
});

test('what configures the gateway and places its pods is theirs', () => {
  const spec = {
    replicas: 2,
    resources: { requests: { cpu: '1' } },
    service: { annotations: { 'example.com/load-balancer': 'internal' } },
    podTemplate: { nodeSelector: { pool: 'edge' }, imagePullSecrets: [{ name: 'registry' }] },
    overlays: {
      deployment: {
        metadata: { annotations: { 'example.com/owner': 'edge' } },
        spec: {
          minReadySeconds: 5,
          template: {
            spec: {
              priorityClassName: 'edge',
              topologySpreadConstraints: [{ $patch: 'replace' }],
              terminationGracePeriodSeconds: 90,
              containers: [
                {
                  name: 'gateway',
                  startupProbe: null,
                  readinessProbe: { periodSeconds: 3 },
                  lifecycle: { preStop: { sleep: { seconds: 10 } } },
                  env: [{ name: 'OTEL_RESOURCE_ATTRIBUTES', valueFrom: { configMapKeyRef: { name: 'a', key: 'b' } } }],
                  volumeMounts: [{ name: 'extra', mountPath: '/extra' }],
                },
              ],
              volumes: [
                { name: 'extra', emptyDir: {} },
                { name: 'authorities', configMap: { name: 'authorities' } },
              ],
            },
          },
        },
      },
      service: { spec: { sessionAffinity: 'ClientIP' } },
      podDisruptionBudget: { spec: { minAvailable: 1 } },
      horizontalPodAutoscaler: { spec: { maxReplicas: 20 } },
    },
  };
  assert.equal(judge(spec), undefined);
  assert.equal(judge(overGateway({ lifecycle: null })), undefined);
});
