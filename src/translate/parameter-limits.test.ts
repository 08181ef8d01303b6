// What GatewayParameters of a Gateway may not ask for even where the class delegates pods, spelled in the ways that an overlay knows, and what they still may.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseResource } from '../api/parse-resource.ts';
import { findForbiddenParameters } from './parameter-limits.ts';

/** The verdict on parameters that the schema takes. */
function judge(spec: object): string | undefined {
  const parsed = parseResource(
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'GatewayParameters',
      metadata: { name: 'own', namespace: 'a' },
      spec,
    },
    { origin: 'kubernetes' },
  );
  assert.ok(parsed.ok && parsed.kind === 'GatewayParameters', JSON.stringify(parsed));
  return findForbiddenParameters(parsed.resource.spec, { pods: true });
}

const overPod = (spec: object): object => ({ overlays: { deployment: { spec: { template: { spec } } } } });
const overGateway = (container: object): object => overPod({ containers: [{ name: 'gateway', ...container }] });
const podPath = 'spec.overlays.deployment.spec.template.spec';

function refuses(spec: object, path: string): void {
  const message = judge(spec) ?? 'nothing is refused';
  assert.ok(message.startsWith(`${path} must `), message);
  assert.match(message, /; only parameters of the GatewayClass may set this$/);
}

describe('pods', () => {
  const fields: Readonly<Record<string, readonly unknown[]>> = {
    hostNetwork: [true, 'true'],
    hostPID: [true],
    hostIPC: [true],
    serviceAccountName: ['admin', '', null],
    serviceAccount: ['admin', null],
    automountServiceAccountToken: [true, null],
  };
  for (const [field, values] of Object.entries(fields))
    for (const value of values)
      test(`${field}: ${JSON.stringify(value)}`, () => refuses(overPod({ [field]: value }), `${podPath}.${field}`));

  test('what is so by default may be said', () => {
    const spec = { hostNetwork: false, hostPID: false, hostIPC: null, hostUsers: false };
    assert.equal(
      judge(overPod({ ...spec, automountServiceAccountToken: false, priorityClassName: 'edge' })),
      undefined,
    );
  });
});

/** Of pods, said by an overlay or by podTemplate, and of every container. */
const contexts: Readonly<Record<string, readonly [object, string]>> = {
  'runAsUser 0': [{ runAsUser: 0 }, 'runAsUser'],
  'runAsNonRoot false': [{ runAsNonRoot: false }, 'runAsNonRoot'],
  'runAsNonRoot removed': [{ runAsNonRoot: null }, 'runAsNonRoot'],
  'seccomp unconfined': [{ seccompProfile: { type: 'Unconfined' } }, 'seccompProfile.type'],
  'seccomp removed': [{ seccompProfile: null }, 'seccompProfile'],
  'AppArmor unconfined': [{ appArmorProfile: { type: 'Unconfined' } }, 'appArmorProfile.type'],
  'SELinux type': [{ seLinuxOptions: { type: 'spc_t' } }, 'seLinuxOptions.type'],
  'SELinux user': [{ seLinuxOptions: { user: 'system_u' } }, 'seLinuxOptions.user'],
  'SELinux role': [{ seLinuxOptions: { role: 'system_r' } }, 'seLinuxOptions.role'],
  'a process of a Windows host': [{ windowsOptions: { hostProcess: true } }, 'windowsOptions.hostProcess'],
  sysctls: [{ sysctls: [{ name: 'kernel.msgmax', value: '1' }] }, 'sysctls'],
};

/** Of containers. */
const containerContexts: typeof contexts = {
  privileged: [{ privileged: true }, 'privileged'],
  'privilege escalation': [{ allowPrivilegeEscalation: true }, 'allowPrivilegeEscalation'],
  'privilege escalation, left to the default': [{ allowPrivilegeEscalation: null }, 'allowPrivilegeEscalation'],
  'a capability': [{ capabilities: { add: ['NET_BIND_SERVICE'] } }, 'capabilities.add'],
  'those of the default': [{ capabilities: { drop: ['NET_RAW'] } }, 'capabilities.drop'],
  'dropped capabilities removed': [{ capabilities: { drop: null } }, 'capabilities.drop'],
  'capabilities removed': [{ capabilities: null }, 'capabilities'],
  'capabilities replaced': [{ capabilities: { $patch: 'replace' } }, 'capabilities.$patch'],
  'an unmasked /proc': [{ procMount: 'Unmasked' }, 'procMount'],
};

describe('security contexts', () => {
  for (const [name, [context, path]] of Object.entries(contexts)) {
    test(`of pods: ${name}`, () => {
      refuses(overPod({ securityContext: context }), `${podPath}.securityContext.${path}`);
      refuses({ podTemplate: { securityContext: context } }, `spec.podTemplate.securityContext.${path}`);
    });
  }

  for (const list of ['containers', 'initContainers', 'ephemeralContainers'])
    for (const [name, [context, path]] of Object.entries({ ...contexts, ...containerContexts }))
      test(`of ${list}: ${name}`, () => {
        const items = [
          { name: 'fine', image: 'a', securityContext: { allowPrivilegeEscalation: false } },
          { name: 'gateway', image: 'b', securityContext: context },
        ];
        refuses(overPod({ [list]: items }), `${podPath}.${list}[1].securityContext.${path}`);
      });

  for (const change of [null, { $patch: 'delete' }, { $patch: 'replace', runAsGroup: 1 }])
    test(`the hardened one stays: ${JSON.stringify(change)}`, () => {
      const directive = change === null ? '' : '.$patch';
      refuses(overPod({ securityContext: change }), `${podPath}.securityContext${directive}`);
      refuses(overGateway({ securityContext: change }), `${podPath}.containers[0].securityContext${directive}`);
    });

  test('what takes nothing away may be said', () => {
    const context = {
      runAsUser: null,
      runAsGroup: 0,
      fsGroup: 1000,
      runAsNonRoot: true,
      sysctls: [],
      seccompProfile: { type: 'Localhost', localhostProfile: 'a.json' },
      seLinuxOptions: { level: 's0:c1,c2', type: 'container_t', user: '' },
    };
    assert.equal(judge({ podTemplate: { securityContext: context } }), undefined);
    assert.equal(judge(overPod({ securityContext: { $patch: 'merge', ...context } })), undefined);
    const own = {
      privileged: false,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: false,
      capabilities: { drop: ['ALL'], add: [] },
      procMount: 'Default',
    };
    assert.equal(judge(overGateway({ securityContext: own })), undefined);
  });
});

describe('AppArmor by annotation', () => {
  const annotations = { 'container.apparmor.security.beta.kubernetes.io/gateway': 'unconfined' };
  test('of the pods', () =>
    refuses({ podTemplate: { annotations } }, `spec.podTemplate.annotations.${Object.keys(annotations)[0]}`));
  test('by an overlay', () => {
    const overlays = { deployment: { spec: { template: { metadata: { annotations } } } } };
    const path = `spec.overlays.deployment.spec.template.metadata.annotations.${Object.keys(annotations)[0]}`;
    refuses({ overlays }, path);
  });
  test('others are free', () =>
    assert.equal(judge({ podTemplate: { annotations: { 'example.com/mode': 'unconfined' } } }), undefined));
});

describe('volumes', () => {
  const sources: Readonly<Record<string, object>> = {
    hostPath: { path: '/' },
    secret: { secretName: 'of-others' },
    projected: { sources: [{ serviceAccountToken: { path: 'token', audience: 'https://kubernetes.default.svc' } }] },
    csi: { driver: 'secrets-store.csi.k8s.io' },
    persistentVolumeClaim: { claimName: 'of-others' },
    ephemeral: { volumeClaimTemplate: { spec: {} } },
    nfs: { server: 'a', path: '/' },
    gitRepo: { repository: 'a' },
    flexVolume: { driver: 'a', secretRef: { name: 'b' } },
    ofTomorrow: {},
  };
  for (const [source, value] of Object.entries(sources))
    test(source, () => {
      refuses(overPod({ volumes: [{ name: 'a', [source]: value }] }), `${podPath}.volumes[0].${source}`);
      // In the place of one of ours.
      const changed = [
        { name: 'x', emptyDir: {} },
        { name: 'snapshot', emptyDir: null, [source]: value },
      ];
      refuses(overPod({ volumes: changed }), `${podPath}.volumes[1].${source}`);
    });

  test('what is empty, or holds what the author can see', () => {
    const volumes = [
      { name: 'a', emptyDir: {} },
      { name: 'b', configMap: { name: 'b' } },
      { name: 'c', downwardAPI: { items: [] } },
      { name: 'd', $patch: 'delete' },
      { name: 'token', projected: null, emptyDir: {} },
    ];
    assert.equal(judge(overPod({ volumes })), undefined);
  });
});

describe('Secrets in variables', () => {
  const valueFrom = { secretKeyRef: { name: 'of-others', key: 'password' } };
  test('of the gateway', () => {
    refuses(
      {
        env: [
          { name: 'A', value: 'b' },
          { name: 'P', valueFrom },
        ],
      },
      'spec.env[1].valueFrom.secretKeyRef',
    );
    const overlay = overGateway({ env: [{ name: 'P', valueFrom }] });
    refuses(overlay, `${podPath}.containers[0].env[0].valueFrom.secretKeyRef`);
    refuses(overGateway({ envFrom: [{ secretRef: { name: 'a' } }] }), `${podPath}.containers[0].envFrom[0].secretRef`);
  });
  test('ConfigMaps and fields of the pod are free', () => {
    const env = [
      { name: 'A', valueFrom: { configMapKeyRef: { name: 'a', key: 'b' } } },
      { name: 'B', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    ];
    assert.equal(judge({ env }), undefined);
    assert.equal(judge(overGateway({ env, envFrom: [{ configMapRef: { name: 'a' } }] })), undefined);
  });
});

describe('ports of the node', () => {
  test('hostPort', () =>
    refuses(
      overGateway({ ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 81 }] }),
      `${podPath}.containers[0].ports[1].hostPort`,
    ));
  test('none', () => assert.equal(judge(overGateway({ ports: [{ containerPort: 80, hostPort: 0 }] })), undefined));
});

describe('containers that an overlay brings', () => {
  const escalation = 'securityContext.allowPrivilegeEscalation';
  test('have to say that they stay what they are', () => {
    refuses(overPod({ containers: [{ name: 'sidecar', image: 'a' }] }), `${podPath}.containers[0].${escalation}`);
    refuses(
      overPod({ initContainers: [{ name: 'gateway', image: 'a' }] }),
      `${podPath}.initContainers[0].${escalation}`,
    );
    const confined = { securityContext: { allowPrivilegeEscalation: false } };
    assert.equal(judge(overPod({ initContainers: [{ name: 'first', image: 'a', ...confined }] })), undefined);
  });

  test('also one in the place of the gateway', () => {
    const again = { name: 'gateway', image: 'a' };
    for (const [containers, index] of [
      [[{ $patch: 'replace' }, again], 1],
      [[{ ...again, $patch: 'replace' }], 0],
      [[{ name: 'gateway', $patch: 'delete' }, again], 1],
    ] as const)
      refuses(overPod({ containers }), `${podPath}.containers[${index}].${escalation}`);
    assert.equal(judge(overPod({ containers: [again] })), undefined);
  });
});

describe('the pod as a whole', () => {
  const deployment = 'spec.overlays.deployment.spec';
  test('cannot be replaced', () => {
    refuses({ overlays: { deployment: { spec: { $patch: 'replace' } } } }, `${deployment}.$patch`);
    refuses({ overlays: { deployment: { spec: { template: null } } } }, `${deployment}.template`);
    refuses(
      { overlays: { deployment: { spec: { template: { $patch: 'delete' } } } } },
      `${deployment}.template.$patch`,
    );
    refuses(overPod({ $patch: 'replace' }), `${podPath}.$patch`);
  });
});

test('servers on the node and in the pod are not for everybody', () => {
  refuses({ allowLocalUpstreams: true }, 'spec.allowLocalUpstreams');
  assert.equal(judge({ allowLocalUpstreams: false }), undefined);
});

test('a store is not for everybody: its password would go wherever its author says', () => {
  refuses({ store: { redis: { url: 'redis://cache' } } }, 'spec.store');
});

test('the ServiceAccount mounts no token', () => {
  const path = 'spec.overlays.serviceAccount.automountServiceAccountToken';
  refuses({ overlays: { serviceAccount: { automountServiceAccountToken: true } } }, path);
});

test('several are named, and many are counted', () => {
  const message = judge(overPod({ hostNetwork: true, hostPID: true }));
  assert.equal(
    message,
    `${podPath}.hostNetwork must be false or absent, ${podPath}.hostPID must be false or absent; only parameters of the GatewayClass may set this`,
  );
  const volumes = Array.from({ length: 20 }, (_, index) => ({ name: `v${index}`, hostPath: { path: '/' } }));
  assert.match(judge(overPod({ volumes })) ?? '', /, and 15 more; only/);
});

test('values that are no pod at all break nothing', () => {
  for (const spec of [
    { containers: 'a', volumes: { a: 1 } },
    { containers: [null, 1, ['a']], securityContext: {} },
  ])
    assert.equal(judge(overPod(spec)), undefined);
  assert.equal(judge({}), undefined);
});

describe('the gateway itself', () => {
  const container = `${podPath}.containers[0]`;
  for (const name of ['MCP_GATEHOUSE_LOCAL_UPSTREAMS', 'MCP_GATEHOUSE_ADMIN_TOKEN_FILE', 'MCP_GATEHOUSE_CONTROLLER'])
    test(`${name} is the controller's to set`, () =>
      refuses(overGateway({ env: [{ name, value: 'x' }] }), `${container}.env[0].name`));

  for (const field of ['command', 'args'])
    test(`${field} stays as it is`, () => {
      refuses(overGateway({ [field]: ['gateway', '--local-upstreams'] }), `${container}.${field}`);
      refuses(overGateway({ [field]: null }), `${container}.${field}`);
    });

  test('others may have theirs', () => {
    const sidecar = { name: 'beside', image: 'a', args: ['x'], securityContext: { allowPrivilegeEscalation: false } };
    assert.equal(judge(overPod({ containers: [sidecar] })), undefined);
    assert.equal(judge(overGateway({ env: [{ name: 'OTEL_SERVICE_NAME', value: 'x' }] })), undefined);
  });
});

test('nobody delegates to themselves, and no address of others is taken', () => {
  refuses({ delegation: { pods: true } }, 'spec.delegation');
  refuses({ overlays: { service: { spec: { externalIPs: ['10.0.0.1'] } } } }, 'spec.overlays.service.spec.externalIPs');
});
