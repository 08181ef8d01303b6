// What a container of the test cluster sees: environment, user, files, network. Each is looked at from inside the container.
import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import type { Cluster } from './cluster.ts';
import { claimNamespace } from './file-namespace.ts';
import {
  locatePod,
  observe,
  observedImages,
  type PodObject,
  startObservedPod,
  waitUntilReady,
} from './observed-pod.ts';
import { joinCluster, leaveCluster } from './shared-cluster.ts';

const namespace = claimNamespace('pods');
let cluster: Cluster;

interface FileAnswer {
  readonly content: string;
  readonly mode: string;
  readonly owner: number;
}

const readFileIn = (address: string, path: string): Promise<FileAnswer> => observe(address, `/read?path=${path}`);

before(async () => {
  cluster = await joinCluster({ images: observedImages });
});
after(leaveCluster);

test('a container has the environment, arguments and folder of its spec', async () => {
  await cluster.apply([
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'env' }, stringData: { password: 's3cret', unused: 'x' } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'env' }, data: { colour: 'blue' } },
  ]);
  const field = (fieldPath: string): object => ({ valueFrom: { fieldRef: { fieldPath } } });
  const address = await startObservedPod(cluster, 'environment', {
    metadata: { labels: { app: 'environment', tier: 'front' } },
    container: {
      args: ['--name=$(NAME)', '--literal=$$(NAME)', "it's $(MISSING)"],
      workingDir: '/var/tmp',
      env: [
        { name: 'NAME', ...field('metadata.name') },
        { name: 'NAMESPACE', ...field('metadata.namespace') },
        { name: 'ADDRESS', ...field('status.podIP') },
        { name: 'NODE', ...field('spec.nodeName') },
        { name: 'TIER', ...field("metadata.labels['tier']") },
        { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'env', key: 'password' } } },
        { name: 'COLOUR', valueFrom: { configMapKeyRef: { name: 'env', key: 'colour' } } },
        { name: 'ABSENT', valueFrom: { secretKeyRef: { name: 'nowhere', key: 'a', optional: true } } },
        { name: 'COMBINED', value: '$(NAME) in $(NAMESPACE)' },
        { name: 'LINES', value: "two\nlines, $HOME and 'quotes'" },
      ],
      envFrom: [
        { prefix: 'SECRET_', secretRef: { name: 'env' } },
        { configMapRef: { name: 'missing', optional: true } },
      ],
    },
  });
  const environment = await observe<Record<string, string>>(address, '/environment');
  const expected = {
    NAME: 'environment',
    NAMESPACE: namespace,
    ADDRESS: address,
    NODE: 'node-1',
    TIER: 'front',
    PASSWORD: 's3cret',
    COLOUR: 'blue',
    COMBINED: `environment in ${namespace}`,
    LINES: "two\nlines, $HOME and 'quotes'",
    SECRET_password: 's3cret',
    KUBERNETES_SERVICE_HOST: cluster.addresses.kubernetesService,
    KUBERNETES_SERVICE_PORT: '443',
    HOSTNAME: 'environment',
  };
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, environment[key]])), expected);
  assert.equal(environment['ABSENT'], undefined);
  // Nothing of the test process leaks in.
  assert.equal(environment['NODE_TEST_CONTEXT'], undefined);

  const self = await observe<Record<string, unknown>>(address, '/self');
  assert.deepEqual(self['arguments'], ['--name=environment', '--literal=$(NAME)', "it's $(MISSING)"]);
  assert.equal(self['folder'], '/var/tmp');
  assert.equal(self['hostname'], 'environment');
  assert.equal(self['pid'], 1);
});

test('a container runs as its user, without privileges, on a read-only root', async () => {
  const address = await startObservedPod(cluster, 'restricted', {
    spec: {
      securityContext: {
        runAsUser: 1234,
        runAsGroup: 2345,
        runAsNonRoot: true,
        fsGroup: 3456,
        supplementalGroups: [4567],
      },
      volumes: [{ name: 'scratch', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }],
    },
    container: {
      securityContext: {
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      },
      volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
    },
  });
  const self = await observe<Record<string, unknown>>(address, '/self');
  assert.equal(self['user'], 1234);
  assert.equal(self['group'], 2345);
  assert.deepEqual(new Set(self['groups'] as number[]), new Set([2345, 3456, 4567]));
  const status = String(self['status']);
  assert.match(status, /^CapBnd:\s+0+$/m);
  assert.match(status, /^CapEff:\s+0+$/m);
  assert.match(status, /^NoNewPrivs:\s+1$/m);
  for (const path of ['/written', '/tmp/written', '/run/written', '/app/written']) {
    await assert.rejects(observe(address, `/write?path=${path}`), /EROFS/, path);
  }
  await observe(address, '/write?path=/scratch/written');
  // The limit of the volume holds.
  const { exitCode, stderr } = await cluster.exec({
    namespace,
    pod: 'restricted',
    command: ['dd', 'if=/dev/zero', 'of=/scratch/big', 'bs=1k', 'count=2048'],
  });
  assert.notEqual(exitCode, 0);
  assert.match(stderr, /No space left/);
});

test('a container can write to its root, and changes nothing on the machine', async () => {
  const address = await startObservedPod(cluster, 'writer', { container: { securityContext: { runAsUser: 0 } } });
  await observe(address, '/write?path=/etc/written-by-a-pod&content=x');
  assert.equal((await readFileIn(address, '/etc/written-by-a-pod')).content, 'x');
  await assert.rejects(access('/etc/written-by-a-pod'));
  // Its files are its own; the programs of its image are not.
  await assert.rejects(observe(address, '/write?path=/app/package.json'), /EROFS/);
});

test('the containers of a pod share its address; each has its own ports, environment and processes', async () => {
  const ports = [8080, 8081, 8082];
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'together' },
    spec: {
      containers: ports.map((port) => ({
        name: `observed-${port}`,
        image: 'observed',
        env: [{ name: 'PORT', value: `${port}` }],
        readinessProbe: { httpGet: { path: '/ready', port }, periodSeconds: 1 },
      })),
    },
  });
  const { status } = await waitUntilReady(cluster, 'together');
  assert.deepEqual(
    status.containerStatuses?.map(({ ready }) => ready),
    [true, true, true],
  );
  for (const port of ports) {
    const ask = <T>(question: string): Promise<T> => observe<T>(status.podIP ?? '', question, port);
    assert.equal((await ask<Record<string, string>>('/environment'))['PORT'], `${port}`);
    assert.equal((await ask<{ readonly pid: number }>('/self')).pid, 1);
    for (const other of ports) {
      const answer = await ask<{ readonly status: number }>(`/fetch?url=http://127.0.0.1:${other}/ready`);
      assert.equal(answer.status, 200);
    }
  }
});

test('runAsNonRoot refuses root, and an unknown image is named', async () => {
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'root' },
    spec: {
      securityContext: { runAsNonRoot: true },
      containers: [
        { name: 'root', image: 'shell' },
        { name: 'unknown', image: 'example.com/unknown:1' },
      ],
    },
  });
  const { status } = await cluster.waitForObject<PodObject>(
    locatePod('root'),
    (pod) => pod.status.containerStatuses?.every(({ state }) => state['waiting']?.message !== undefined) ?? false,
  );
  const [root, unknown] = status.containerStatuses?.map(({ state }) => state['waiting']) ?? [];
  assert.equal(root?.reason, 'CreateContainerConfigError');
  assert.match(root?.message ?? '', /runAsNonRoot/);
  assert.match(unknown?.reason ?? '', /^(ErrImagePull|ImagePullBackOff)$/);
  assert.match(unknown?.message ?? '', /has no image example\.com\/unknown:1; it has .*echo-basic/);
});

test('a pod that asks for what the harness cannot do is refused with the field', async () => {
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'unsupported' },
    spec: {
      hostNetwork: true,
      volumes: [{ name: 'machine', hostPath: { path: '/' } }],
      containers: [{ name: 'a', image: 'shell', tty: true }],
    },
  });
  const { status } = await cluster.waitForObject<PodObject>(
    locatePod('unsupported'),
    (pod) => pod.status.containerStatuses?.[0]?.state['waiting']?.message !== undefined,
  );
  const message = status.containerStatuses?.[0]?.state['waiting']?.message ?? '';
  for (const field of ['spec.hostNetwork', 'volume machine.hostPath', 'container a.tty']) {
    assert.ok(message.includes(field), `${field} in: ${message}`);
  }
});

test('Secrets, ConfigMaps and fields are files, and change while the container runs', async () => {
  await cluster.apply([
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'files' },
      stringData: { 'tls.crt': 'one', 'tls.key': 'key' },
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'files' }, data: { 'a.txt': 'one', 'b.txt': 'b' } },
  ]);
  const address = await startObservedPod(cluster, 'files', {
    spec: {
      volumes: [
        { name: 'secret', secret: { secretName: 'files', defaultMode: 0o440 } },
        { name: 'config', configMap: { name: 'files', items: [{ key: 'a.txt', path: 'deep/renamed.txt' }] } },
        { name: 'late', secret: { secretName: 'late', optional: true } },
        { name: 'fields', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      ],
      securityContext: { fsGroup: 777 },
    },
    container: {
      volumeMounts: [
        { name: 'secret', mountPath: '/etc/mcp-gateway/xds-tls' },
        { name: 'config', mountPath: '/config' },
        { name: 'config', mountPath: '/one-file.txt', subPath: 'deep/renamed.txt' },
        { name: 'late', mountPath: '/late' },
        { name: 'fields', mountPath: '/fields' },
      ],
    },
  });
  assert.deepEqual(await readFileIn(address, '/etc/mcp-gateway/xds-tls/tls.crt'), {
    content: 'one',
    mode: '440',
    owner: 0,
  });
  assert.equal((await readFileIn(address, '/config/deep/renamed.txt')).content, 'one');
  assert.equal((await readFileIn(address, '/one-file.txt')).content, 'one');
  assert.equal((await readFileIn(address, '/fields/labels')).content, 'app="files"');
  const late = await observe<string[]>(address, '/list?path=/late');
  assert.deepEqual(
    late.filter((name) => !name.startsWith('..')),
    [],
  );
  await assert.rejects(readFileIn(address, '/config/b.txt'), /ENOENT/);
  await assert.rejects(observe(address, '/write?path=/config/new'), /EROFS/);

  await cluster.apply([
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'files' },
      stringData: { 'tls.crt': 'two', 'tls.key': 'key' },
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'files' }, data: { 'a.txt': 'two', 'b.txt': 'b' } },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'late' }, stringData: { here: 'now' } },
  ]);
  await cluster.kubectl(['label', 'pod', 'files', 'tier=front']);
  const changed: Readonly<Record<string, string>> = {
    '/etc/mcp-gateway/xds-tls/tls.crt': 'two',
    '/config/deep/renamed.txt': 'two',
    '/late/here': 'now',
    '/fields/labels': 'app="files"\ntier="front"',
  };
  for (const [path, content] of Object.entries(changed)) {
    await cluster.waitFor(async () => (await readFileIn(address, path)).content === content, {
      what: `${path} has the new content`,
    });
  }
});

test('tokens are bound to the pod, have the audience that was asked for, and are renewed', async () => {
  const address = await startObservedPod(cluster, 'tokens', {
    spec: {
      securityContext: { runAsUser: 1000 },
      volumes: [
        {
          name: 'token',
          projected: {
            sources: [{ serviceAccountToken: { audience: 'proxy-xds', expirationSeconds: 600, path: 'token' } }],
          },
        },
      ],
    },
    container: { volumeMounts: [{ name: 'token', mountPath: '/tokens' }] },
  });
  const { content: token, mode, owner } = await readFileIn(address, '/tokens/token');
  assert.equal(mode, '600');
  assert.equal(owner, 1000);
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
  assert.deepEqual(claims['aud'], ['proxy-xds']);
  assert.equal((claims['kubernetes.io'] as { pod: { name: string } }).pod.name, 'tokens');
  assert.equal(Number(claims['exp']) - Number(claims['iat']), 600);
  const review = await cluster.api.create<{ status: { authenticated: boolean; user: { username: string } } }>(
    '/apis/authentication.k8s.io/v1/tokenreviews',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: ['proxy-xds'] } },
  );
  assert.equal(review.status.authenticated, true);
  assert.equal(review.status.user.username, `system:serviceaccount:${namespace}:default`);

  await cluster.renewTokens();
  await cluster.waitFor(async () => (await readFileIn(address, '/tokens/token')).content !== token, {
    what: 'the token is another one',
  });
});

test('a pod reaches the API server with its own token, and may do what its role says', async () => {
  await cluster.apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'reader', namespace } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'reader', namespace },
      rules: [{ apiGroups: [''], resources: ['services'], verbs: ['list'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'reader', namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace }],
    },
  ]);
  const address = await startObservedPod(cluster, 'reader', {
    spec: { serviceAccountName: 'reader' },
    container: {
      env: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt' }],
    },
  });
  const folder = '/var/run/secrets/kubernetes.io/serviceaccount';
  assert.equal((await readFileIn(address, `${folder}/namespace`)).content, namespace);
  const script = `
    const token = require('node:fs').readFileSync('${folder}/token', 'utf8');
    const ask = async (path) => (await fetch('https://kubernetes.default.svc' + path, { headers: { authorization: 'Bearer ' + token } })).status;
    Promise.all([ask('/api/v1/namespaces/${namespace}/services'), ask('/api/v1/namespaces/${namespace}/secrets')]).then((all) => console.log(all.join()));`;
  const result = await cluster.exec({
    namespace,
    pod: 'reader',
    command: ['/usr/local/bin/node', '-e', script],
  });
  assert.equal(result.stdout.trim(), '200,403', result.stderr);

  const bare = await startObservedPod(cluster, 'bare', { spec: { automountServiceAccountToken: false } });
  await assert.rejects(observe(bare, `/list?path=${folder}`), /ENOENT/);
});

test('sysctls let a user bind low ports, in that pod alone', async () => {
  const container = {
    env: [{ name: 'PORT', value: '80' }],
    securityContext: { capabilities: { drop: ['ALL'] } },
    readinessProbe: { tcpSocket: { port: 80 } },
  };
  const sysctls = [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }];
  const address = await startObservedPod(cluster, 'low-port', { spec: { securityContext: { sysctls } }, container });
  assert.equal((await observe<{ user: number }>(address, '/self', 80)).user, 65_532);
  const other = await startObservedPod(cluster, 'other-port');
  const setting = '/proc/sys/net/ipv4/ip_unprivileged_port_start';
  assert.equal((await readFileIn(other, setting)).content.trim(), '1024');
});

test('the API server has the logs of a container, all or the last lines, and says what it cannot have', async () => {
  const script = 'for line in one two three; do echo $line; done; exec sleep infinity';
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'talkative' },
    spec: { containers: [{ name: 'shell', image: 'shell', args: ['-c', script] }] },
  });
  const read = (options: readonly string[] = []): Promise<{ readonly stdout: string }> =>
    cluster.kubectl(['logs', 'talkative', ...options]);
  await cluster.waitFor(async () => (await read()).stdout === 'one\ntwo\nthree\n', { what: 'the pod has said it' });
  assert.equal((await read(['--tail=2', '--since=1h'])).stdout, 'two\nthree\n');
  await assert.rejects(read(['--timestamps']), /cannot be had with timestamps/);
});
