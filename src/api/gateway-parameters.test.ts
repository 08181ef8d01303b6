// GatewayParameters: constraints, the rules that span fields, and what overlays may not touch.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseResource } from './parse-resource.ts';
import { fillTemplate, listProblems } from './testing/expect-problems.ts';

type Cases = readonly (readonly [yaml: string, ...expected: string[]])[];

function run(template: string, cases: Cases): void {
  for (const [yaml, ...expected] of cases)
    test(expected.length === 0 ? `good: ${yaml}` : `${yaml} -> ${expected.join('; ')}`, () =>
      assert.deepEqual(listProblems(fillTemplate(template, yaml)), expected),
    );
}

const parameters = '{apiVersion: gateway.proxy/v1alpha1, kind: GatewayParameters, metadata: {name: a}, spec: {HERE}}';

test('nothing has a default: parameters are merged first', () => {
  const yaml =
    'image: {}, resources: {}, logging: {}, service: {}, podTemplate: {affinity: {}}, shutdown: {}, overlays: {}';
  const result = parseResource(fillTemplate(parameters, yaml), { origin: 'file' });
  assert.ok(result.ok && result.kind === 'GatewayParameters');
  assert.deepEqual(result.resource.spec, {
    image: {},
    resources: {},
    logging: {},
    service: {},
    podTemplate: { affinity: {} },
    shutdown: {},
    overlays: {},
  });
});

describe('image and numbers', () => {
  run(parameters, [
    ['replicas: -1', 'spec.replicas: must be at least 0'],
    ['replicas: 1001', 'spec.replicas: must be at most 1000'],
    ['replicas: "2"', 'spec.replicas: must be a whole number, not a string: remove the quotes'],
    ['replicas: 0'],
    ['workers: 1'],
    ['unprotectedRoutes: Allow'],
    ['unprotectedRoutes: Deny'],
    ['unprotectedRoutes: deny', 'spec.unprotectedRoutes: must be one of Allow or Deny; did you mean Deny?'],
    ['workers: 0', 'spec.workers: must be at least 1'],
    ['workers: 64'],
    ['workers: 65', 'spec.workers: must be at most 64'],
    ['image: {tag: "a b"}', 'spec.image.tag: must be letters, digits, "_", "." and "-"'],
    ['image: {digest: abc}', 'spec.image.digest: must be sha256: and 64 hexadecimal digits'],
    [
      'image: {repository: Gateway}',
      'spec.image.repository: must be lower-case letters, digits, ".", "_", "-" and "/"',
    ],
    [
      'image: {registry: "https://a"}',
      'spec.image.registry: must be a host with an optional port and path, such as registry.example.com:5000/team',
    ],
    [
      'image: {pullPolicy: always}',
      'spec.image.pullPolicy: must be one of Always, IfNotPresent or Never; did you mean Always?',
    ],
    ['image: {name: a}', 'spec.image.name: unknown field; valid here: registry, repository, tag, digest, pullPolicy'],
    ['resources: {requests: {cpu: 1, memory: 1.5Gi}}'],
    ['resources: {requests: {cpu: -1}}', 'spec.resources.requests.cpu: must be at least 0'],
    ['resources: {limits: {memory: 1GB}}', 'spec.resources.limits.memory: must be a quantity such as 500m, 2 or 256Mi'],
    ['resources: {limits: {cpu: 0.5}}', 'spec.resources.limits.cpu: must be a quantity such as 500m, 2 or 256Mi'],
  ]);
});

describe('env', () => {
  run(parameters.replace('HERE', 'env: [{HERE}]'), [
    ['name: A, value: ""'],
    ['name: A', 'spec.env[0]: must have exactly one of value and valueFrom'],
    [
      'name: A, value: a, valueFrom: {fieldRef: {fieldPath: status.podIP}}',
      'spec.env[0]: must have exactly one of value and valueFrom',
    ],
    [
      'name: A, valueFrom: {}',
      'spec.env[0].valueFrom: must have exactly one of secretKeyRef, configMapKeyRef and fieldRef',
    ],
    ['name: A, valueFrom: {secretKeyRef: {name: a}}', 'spec.env[0].valueFrom.secretKeyRef.key: required: a string'],
    [
      'name: A, valueFrom: {fieldRef: {fieldPath: podIP}}',
      "spec.env[0].valueFrom.fieldRef.fieldPath: must be a field of the pod such as status.podIP or metadata.labels['app']",
    ],
    ['name: 1A, value: a', 'spec.env[0].name: must be letters, digits, "_", "-" and ".", and not begin with a digit'],
    ['name: A, value: 1', 'spec.env[0].value: must be a string, not a number: put it in quotes'],
    ['name: A, value: a}, {name: A, value: b', 'spec.env[1].name: must be unique; entry 0 has the same name'],
    ['name: MCP_GATEHOUSE_LOG_LEVEL, value: debug', 'spec.env[0].name: use spec.logging.level instead'],
    ['name: MCP_GATEHOUSE_LOCAL_UPSTREAMS, value: "true"', 'spec.env[0].name: use spec.allowLocalUpstreams instead'],
    ['name: MCP_GATEHOUSE_MAX_STALENESS, value: 5m', 'spec.env[0].name: use spec.maxStaleness instead'],
    ['name: MCP_GATEHOUSE_ON_STALE, value: unready', 'spec.env[0].name: use spec.onStale instead'],
    ['name: MCP_GATEHOUSE_STORE, value: memory', 'spec.env[0].name: use spec.store instead'],
    ['name: MCP_GATEHOUSE_STORE_PASSWORD_FILE, value: a', 'spec.env[0].name: use spec.store instead'],
    ['name: MCP_GATEHOUSE_CONTROLLER, value: a', 'spec.env[0].name: is set by the controller'],
    ['name: MCP_GATEHOUSE_ADMIN_TOKEN_FILE, value: a', 'spec.env[0].name: is set by the controller'],
    ['name: MCP_GATEHOUSE_MAX_RETRIES, value: "0"'],
    [
      'name: MCP_GATEWAY_MAX_RETRIES, value: "0"',
      'spec.env[0].name: variables of the gateway begin with MCP_GATEHOUSE_ now, not with MCP_GATEWAY_',
    ],
  ]);
});

describe('the store', () => {
  const url = 'spec.store.redis.url: must be redis://host:port/db or rediss://host:port/db, without user and password';
  run(parameters, [
    ['store: {redis: {url: "redis://cache.default.svc"}}'],
    ['store: {redis: {url: "rediss://10.0.0.1:6390/15", username: u, passwordRef: {name: s, key: p}}}'],
    ['store: {redis: {url: "rediss://[2001:db8::1]:6390", caCertificateRef: {name: ca}}}'],
    ['store: {}', 'spec.store.redis: required: a mapping'],
    ['store: {redis: {url: "http://cache"}}', url],
    ['store: {redis: {url: "redis://:secret@cache"}}', url],
    ['store: {redis: {url: "redis://cache/one"}}', url],
    [
      'store: {redis: {url: "redis://cache", username: u}}',
      'spec.store.redis.username: has a meaning only with passwordRef',
    ],
    [
      'store: {redis: {url: "redis://cache", passwordRef: {name: s}}}',
      'spec.store.redis.passwordRef.key: required: a string',
    ],
    [
      'store: {redis: {url: "redis://cache", caCertificateRef: {name: ca}}}',
      'spec.store.redis.caCertificateRef: has a meaning only with a url that begins with rediss, which is TLS',
    ],
  ]);
});

describe('logging, service, networks, shutdown', () => {
  run(parameters, [
    ['logging: {level: verbose}', 'spec.logging.level: must be one of trace, debug, info, warn or error'],
    ['logging: {format: xml}', 'spec.logging.format: must be one of json or text'],
    ['service: {type: ExternalName}', 'spec.service.type: must be one of LoadBalancer, NodePort or ClusterIP'],
    [
      'service: {type: ClusterIP, externalTrafficPolicy: Local}',
      'spec.service.externalTrafficPolicy: has no meaning with the type ClusterIP',
    ],
    [
      'service: {type: NodePort, loadBalancerClass: example.com/a}',
      'spec.service.loadBalancerClass: has a meaning only with the type LoadBalancer',
    ],
    ['service: {type: NodePort, externalTrafficPolicy: Local}'],
    ['service: {loadBalancerClass: example.com/a}'],
    [
      'service: {loadBalancerClass: a}',
      'spec.service.loadBalancerClass: must be a domain, "/" and a name, such as example.com/internal',
    ],
    [
      'trustedProxies: [10.0.0.1]',
      'spec.trustedProxies[0]: must be a network such as 10.0.0.0/8 or 2001:db8::/32, with no bits set after the prefix',
    ],
    [
      'trustedProxies: [10.0.0.1/8]',
      'spec.trustedProxies[0]: must be a network such as 10.0.0.0/8 or 2001:db8::/32, with no bits set after the prefix',
    ],
    ['trustedProxies: [10.0.0.0/8, 10.0.0.0/8]', 'spec.trustedProxies[1]: must not be listed twice'],
    ['trustedProxies: [0.0.0.0/0, "::/0", 192.0.2.1/32]'],
    ['maxStaleness: 10s'],
    ['maxStaleness: 168h, onStale: Close'],
    ['maxStaleness: 5m, onStale: Unready'],
    ['maxStaleness: 9s', 'spec.maxStaleness: must be between 10s and 168h'],
    ['maxStaleness: 169h', 'spec.maxStaleness: must be between 10s and 168h'],
    ['maxStaleness: never', 'spec.maxStaleness: must be a duration such as 500ms, 10s or 1h30m'],
    ['maxStaleness: 5m, onStale: close', 'spec.onStale: must be one of Unready or Close; did you mean Close?'],
    ['onStale: Close', 'spec.onStale: has a meaning only with maxStaleness, which says when a pod is stale'],
    ['shutdown: {drain: 2h}', 'spec.shutdown.drain: must be between 0s and 1h'],
    ['shutdown: {drain: soon}', 'spec.shutdown.drain: must be a duration such as 500ms, 10s or 1h30m'],
  ]);
});

describe('podTemplate', () => {
  run(parameters.replace('HERE', 'podTemplate: {HERE}'), [
    [
      'labels: {gateway.networking.k8s.io/gateway-name: other}',
      'spec.podTemplate.labels: must not have gateway.networking.k8s.io/gateway-name, gateway.networking.k8s.io/gateway-class-name or app.kubernetes.io/managed-by, which the controller sets',
    ],
    ['tolerations: [{value: a}]', 'spec.podTemplate.tolerations[0]: must have a key, or the operator Exists'],
    [
      'tolerations: [{key: a, operator: Exists, value: a}]',
      'spec.podTemplate.tolerations[0].value: must have no value with the operator Exists',
    ],
    [
      'tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 1}]',
      'spec.podTemplate.tolerations[0].tolerationSeconds: has a meaning only with the effect NoExecute',
    ],
    [
      'imagePullSecrets: [{name: a}, {name: a}]',
      'spec.podTemplate.imagePullSecrets[1].name: must be unique; entry 0 has the same name',
    ],
    [
      'affinity: {podAffinities: {}}',
      'spec.podTemplate.affinity.podAffinities: unknown field; did you mean `podAffinity`?',
    ],
    ['securityContext: []', 'spec.podTemplate.securityContext: must be a mapping, not a list'],
    ['securityContext: {runAsUser: null, runAsNonRoot: false}'],
  ]);

  test('null in a free-form object stays, also from Kubernetes', () => {
    for (const origin of ['file', 'kubernetes'] as const) {
      const result = parseResource(fillTemplate(parameters, 'podTemplate: {securityContext: {runAsUser: null}}'), {
        origin,
      });
      assert.ok(result.ok && result.kind === 'GatewayParameters');
      assert.deepEqual(result.resource.spec.podTemplate, { securityContext: { runAsUser: null } });
    }
  });
});

describe('overlays', () => {
  const deployment = parameters.replace('HERE', 'overlays: {deployment: {HERE}}');
  run(deployment, [
    [
      'metadata: {name: a}',
      'spec.overlays.deployment.metadata.name: remove it: an overlay cannot rename what is deployed',
    ],
    [
      'metadata: {namespace: a}',
      "spec.overlays.deployment.metadata.namespace: remove it: everything is deployed in the Gateway's namespace",
    ],
    [
      'metadata: {ownerReferences: []}',
      'spec.overlays.deployment.metadata.ownerReferences: remove it: what is deployed belongs to the Gateway',
    ],
    ['kind: DaemonSet', 'spec.overlays.deployment.kind: remove it: the overlay is for the Deployment'],
    ['spec: {selector: {}}', "spec.overlays.deployment.spec.selector: remove it: it selects the Gateway's own pods"],
    ['status: {}', 'spec.overlays.deployment.status: remove it: Kubernetes sets it'],
    [
      'metadata: {labels: {gateway.networking.k8s.io/gateway-name: a}}',
      'spec.overlays.deployment.metadata.labels["gateway.networking.k8s.io/gateway-name"]: remove it: the controller sets it',
    ],
    [
      'spec: {template: {metadata: {labels: {app.kubernetes.io/managed-by: null}}}}',
      'spec.overlays.deployment.spec.template.metadata.labels["app.kubernetes.io/managed-by"]: remove it: the controller sets it',
    ],
    ['$patch: delete', 'spec.overlays.deployment.$patch: must be absent here: the object cannot be deleted'],
    [
      'spec: {template: {spec: {containers: [{name: gateway, $patch: remove}]}}}',
      'spec.overlays.deployment.spec.template.spec.containers[0].$patch: must be one of replace, delete or merge',
    ],
    [
      'spec: {template: {spec: {$setElementOrder/containers: []}}}',
      'spec.overlays.deployment.spec.template.spec["$setElementOrder/containers"]: is not supported; $patch is the only directive',
    ],
    ['spec: {paused: null, template: {spec: {containers: [{name: gateway, $patch: replace}]}}}'],
  ]);
  run(parameters.replace('HERE', 'overlays: {HERE}'), [
    ['podDisruptionBudget: {$patch: delete}'],
    ['podDisruptionBudget: {$patch: replace}', 'spec.overlays.podDisruptionBudget.$patch: must be delete here'],
    [
      'horizontalPodAutoscaler: {spec: {scaleTargetRef: {}}}',
      "spec.overlays.horizontalPodAutoscaler.spec.scaleTargetRef: remove it: it selects the Gateway's own pods",
    ],
    [
      'configMap: {}',
      'spec.overlays.configMap: unknown field; valid here: deployment, service, serviceAccount, podDisruptionBudget, horizontalPodAutoscaler',
    ],
  ]);

  test('nulls stay', () => {
    const result = parseResource(
      fillTemplate(deployment, 'spec: {replicas: null, template: {spec: {hostname: null}}}'),
      {
        origin: 'kubernetes',
      },
    );
    assert.ok(result.ok && result.kind === 'GatewayParameters');
    assert.deepEqual(result.resource.spec.overlays?.deployment, {
      spec: { replicas: null, template: { spec: { hostname: null } } },
    });
  });
});
