// Which API server, with which credentials: from a pod's ServiceAccount or from kubeconfigs, and what is said when neither can be used.
import assert from 'node:assert/strict';
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { rememberAccess } from '../../src/kubernetes/access.ts';
import { ApiError, ApiUnreachableError } from '../../src/kubernetes/client.ts';
import {
  type ConnectedClient,
  ConnectError,
  type ConnectOptions,
  connectKubernetes,
} from '../../src/kubernetes/connect.ts';
import { resourceTypes } from '../../src/kubernetes/resource-type.ts';
import { createAuthority, createCertificate } from '../self-signed-certificate.ts';
import { type FakeApiServer, startFakeApiServer } from './fake-api-server/fake-api-server.ts';

const { Secret } = resourceTypes;

function makeFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'connect-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function connect(context: TestContext, options: Partial<ConnectOptions>): Promise<ConnectedClient> {
  const client = await connectKubernetes({ log: silentLog, env: {}, name: 'test', ...options });
  context.after(() => client.close());
  return client;
}

async function refusing(options: Partial<ConnectOptions>): Promise<string> {
  try {
    const client = await connectKubernetes({ log: silentLog, env: {}, name: 'test', ...options });
    await client.close();
  } catch (error) {
    assert.ok(error instanceof ConnectError, String(error));
    assert.equal(error.code, 'kubernetes_connect');
    return error.message;
  }
  assert.fail('it connected');
}

interface KubeconfigParts {
  readonly cluster?: object;
  readonly user?: object;
  readonly current?: string | null;
}

/** A kubeconfig with one context `here`; JSON is YAML. */
function makeKubeconfig(
  cluster: FakeApiServer,
  { cluster: more, user = {}, current = 'here' }: KubeconfigParts = {},
): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    ...(current !== null && { 'current-context': current }),
    clusters: [
      {
        name: 'c',
        cluster: {
          server: cluster.url,
          ...(cluster.authority !== undefined && { 'certificate-authority-data': toBase64(cluster.authority) }),
          ...more,
        },
      },
    ],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
  };
}

function write(folder: string, name: string, content: object | string): string {
  const file = join(folder, name);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function readAuthorization(cluster: FakeApiServer): unknown {
  return cluster.requests.at(-1)?.headers['authorization'];
}

async function startPod(
  context: TestContext,
): Promise<{ cluster: FakeApiServer; folder: string; env: Record<string, string> }> {
  const cluster = await startFakeApiServer(context, { tls: true });
  const folder = makeFolder(context);
  write(folder, 'token', 'first-token\n');
  write(folder, 'ca.crt', cluster.authority!);
  const { hostname, port } = new URL(cluster.url);
  return { cluster, folder, env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port } };
}

test('in a pod: address from the environment, token and authority from files, and rotation is followed', async (context) => {
  const { cluster, folder, env } = await startPod(context);
  cluster.acceptedTokens = new Set(['first-token']);
  const client = await connect(context, { env, serviceAccountFolder: folder });
  assert.equal(cluster.requests.length, 0, 'nothing is sent before it is asked for');
  assert.equal(client.server, cluster.url);
  await client.list(Secret, {});
  assert.equal(readAuthorization(cluster), 'Bearer first-token');
  write(folder, 'token', 'second-token');
  cluster.acceptedTokens = new Set(['second-token']);
  await client.list(Secret, {});
  assert.equal(readAuthorization(cluster), 'Bearer second-token');
  write(folder, 'token', '');
  cluster.acceptedTokens = new Set(['third-token']);
  await assert.rejects(client.list(Secret, {}), (error) => {
    assert.ok(error instanceof ApiUnreachableError);
    assert.match(error.message, /^cannot list secrets: the ServiceAccount's .*token is empty$/);
    return true;
  });
});

test('in a pod: a server that the authority did not sign is not trusted', async (context) => {
  const { folder, env } = await startPod(context);
  write(folder, 'ca.crt', createAuthority('another').cert);
  const client = await connect(context, { env, serviceAccountFolder: folder });
  await assert.rejects(client.list(Secret, {}), ApiUnreachableError);
});

test('credentials are read at most every ten seconds, unless they were refused', async () => {
  const clock = createManualClock();
  let reads = 0;
  const read = rememberAccess(async () => {
    reads += 1;
    await Promise.resolve();
    return { authorization: String(reads), tls: undefined };
  }, clock);
  await Promise.all([read(false), read(false), read(false)]);
  assert.equal(reads, 1);
  await clock.advance(9_999);
  assert.equal((await read(false)).authorization, '1');
  await clock.advance(1);
  assert.equal((await read(false)).authorization, '2');
  assert.equal((await read(true)).authorization, '3');
  assert.equal((await read(false)).authorization, '3');
});

test('no cluster at all: everything that was looked for is named', async (context) => {
  const folder = makeFolder(context);
  assert.equal(
    await refusing({ env: { HOME: folder } }),
    `no Kubernetes cluster found: KUBERNETES_SERVICE_HOST is not set, so this process does not run in a pod; there is no kubeconfig ${folder}/.kube/config`,
  );
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1' };
  assert.equal(
    await refusing({ env, serviceAccountFolder: folder }),
    `no Kubernetes cluster found: the ServiceAccount's ${folder}/token cannot be read (ENOENT); HOME is not set, so there is no ~/.kube/config`,
  );
  assert.match(
    await refusing({ env: { KUBERNETES_SERVICE_HOST: 'a b' }, serviceAccountFolder: folder }),
    /do not form a valid address: https:\/\/a b:443/,
  );
});

test('order: --kubeconfig, KUBECONFIG, the pod, ~/.kube/config', async (context) => {
  const { cluster: pod, folder, env: podEnv } = await startPod(context);
  const [flag, variable, home] = await Promise.all([0, 1, 2].map(() => startFakeApiServer(context)));
  mkdirSync(join(folder, '.kube'));
  write(folder, '.kube/config', makeKubeconfig(home!));
  const serviceAccountFolder = folder;
  const kubeconfig = write(folder, 'flag', makeKubeconfig(flag!));
  const variableFile = write(folder, 'variable', makeKubeconfig(variable!));
  const env = { ...podEnv, KUBECONFIG: variableFile, HOME: folder };
  assert.equal((await connect(context, { env, kubeconfig, serviceAccountFolder })).server, flag!.url);
  assert.equal((await connect(context, { env, serviceAccountFolder })).server, variable!.url);
  assert.equal((await connect(context, { env: { ...env, KUBECONFIG: '' }, serviceAccountFolder })).server, pod.url);
  assert.equal((await connect(context, { env: { HOME: folder }, serviceAccountFolder })).server, home!.url);
  // A context is one of a kubeconfig.
  const inContext = await connect(context, { env: { ...podEnv, HOME: folder }, serviceAccountFolder, context: 'here' });
  assert.equal(inContext.server, home!.url);
});

test('tokens of a kubeconfig: given, in a file, and read again when it changed', async (context) => {
  const cluster = await startFakeApiServer(context, { tls: true });
  const folder = makeFolder(context);
  const given = write(folder, 'given', makeKubeconfig(cluster, { user: { token: 'given-token' } }));
  await (await connect(context, { kubeconfig: given })).list(Secret, {});
  assert.equal(readAuthorization(cluster), 'Bearer given-token');

  write(folder, 'token', 'file-token\n');
  const inFile = write(folder, 'in-file', makeKubeconfig(cluster, { user: { tokenFile: 'token' } }));
  const client = await connect(context, { kubeconfig: inFile });
  await client.list(Secret, {});
  assert.equal(readAuthorization(cluster), 'Bearer file-token');
  write(folder, 'token', 'newer-token\n');
  cluster.acceptedTokens = new Set(['newer-token']);
  await client.list(Secret, {});
  assert.equal(readAuthorization(cluster), 'Bearer newer-token');
});

test('a user name and password, and impersonation', async (context) => {
  const cluster = await startFakeApiServer(context, { tls: true });
  const user = { username: 'ann', password: 'secret', as: 'bob' };
  const kubeconfig = write(makeFolder(context), 'config', makeKubeconfig(cluster, { user }));
  await (await connect(context, { kubeconfig })).list(Secret, {});
  assert.equal(readAuthorization(cluster), `Basic ${toBase64('ann:secret')}`);
  assert.equal(cluster.requests[0]?.headers['impersonate-user'], 'bob');
});

test('client certificates, in the kubeconfig and in files beside it', async (context) => {
  const clients = createAuthority('clients');
  const { cert, key } = createCertificate({ names: ['ann'], issuer: clients });
  const cluster = await startFakeApiServer(context, { tls: true, clientAuthority: clients.cert });
  const folder = makeFolder(context);
  const inside = { 'client-certificate-data': toBase64(cert), 'client-key-data': toBase64(key) };
  write(folder, 'ann.crt', cert);
  write(folder, 'ann.key', key);
  for (const user of [inside, { 'client-certificate': 'ann.crt', 'client-key': 'ann.key' }]) {
    const kubeconfig = write(folder, 'config', makeKubeconfig(cluster, { user }));
    await (await connect(context, { kubeconfig })).list(Secret, {});
  }
  const kubeconfig = write(folder, 'config', makeKubeconfig(cluster));
  await assert.rejects((await connect(context, { kubeconfig })).list(Secret, {}), ApiUnreachableError);
});

test('a plugin is run, told what it needs to know, and run again when its token is refused', async (context) => {
  const cluster = await startFakeApiServer(context, { tls: true });
  const folder = makeFolder(context);
  const plugin = write(
    folder,
    'plugin.mjs',
    `import { readFileSync } from 'node:fs';
     const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
     if (info.kind !== 'ExecCredential' || !info.spec.cluster.server.startsWith('https://')) process.exit(1);
     const token = readFileSync(${JSON.stringify(join(folder, 'token'))}, 'utf8');
     if (token === 'broken') { console.error('please log in again'); process.exit(2); }
     console.log(JSON.stringify({ apiVersion: info.apiVersion, kind: 'ExecCredential', status: { token } }));`,
  );
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: [plugin],
    interactiveMode: 'Never',
    provideClusterInfo: true,
  };
  const kubeconfig = write(folder, 'config', makeKubeconfig(cluster, { user: { exec } }));
  write(folder, 'token', 'plugin-token');
  const client = await connect(context, { kubeconfig });
  await client.list(Secret, {});
  assert.equal(readAuthorization(cluster), 'Bearer plugin-token');
  write(folder, 'token', 'newer-token');
  cluster.acceptedTokens = new Set(['newer-token']);
  await client.list(Secret, {});
  assert.equal(readAuthorization(cluster), 'Bearer newer-token');
  write(folder, 'token', 'broken');
  cluster.acceptedTokens = new Set();
  await assert.rejects(client.list(Secret, {}), {
    message: 'cannot list secrets: the credentials of the kubeconfig cannot be used: please log in again',
  });
  write(folder, 'plugin.mjs', `console.log('raw-secret-token')`);
  await assert.rejects(client.list(Secret, {}), (error) => {
    assert.ok(error instanceof ApiUnreachableError);
    assert.match(error.message, /the answer of the plugin is not JSON$/);
    assert.doesNotMatch(JSON.stringify([error.message, String(error.cause)]), /raw-/);
    return true;
  });
});

test('several files: the first that says something counts', async (context) => {
  const [one, two] = await Promise.all([startFakeApiServer(context), startFakeApiServer(context)]);
  const folder = makeFolder(context);
  const first = write(folder, 'one', makeKubeconfig(one, { current: null }));
  const second = write(folder, 'two', makeKubeconfig(two));
  const env = { KUBECONFIG: [join(folder, 'missing'), first, second].join(':') };
  assert.equal((await connect(context, { env })).server, one.url);
  assert.equal(
    await refusing({ env: { KUBECONFIG: join(folder, 'missing') } }),
    `there is no kubeconfig ${folder}/missing`,
  );
});

test('the default namespace is that of the context, that of the pod, or `default`', async (context) => {
  const { folder, cluster, env: podEnv } = await startPod(context);
  const here = makeKubeconfig(cluster);
  const addContext = (current: string, contexts: readonly object[]): object => ({
    ...here,
    'current-context': current,
    contexts,
  });
  const one = write(folder, 'one', addContext('a', [{ name: 'a', context: { cluster: 'c', namespace: 'team' } }]));
  const two = write(
    folder,
    'two',
    addContext('b', [
      { name: 'b', context: { cluster: 'c' } },
      { name: 'a', context: { cluster: 'c', namespace: 'x' } },
    ]),
  );
  const read = async (options: Partial<ConnectOptions>): Promise<string> =>
    (await connect(context, { serviceAccountFolder: folder, ...options })).namespace;
  assert.equal(await read({ kubeconfig: one }), 'team');
  assert.equal(await read({ kubeconfig: two }), 'default');
  assert.equal(await read({ kubeconfig: two, context: 'a' }), 'x');
  assert.equal(await read({ env: { KUBECONFIG: one } }), 'team');
  assert.equal(await read({ env: { KUBECONFIG: [one, two].join(':') } }), 'team');
  assert.equal(await read({ env: { KUBECONFIG: one }, kubeconfig: two }), 'default');
  assert.equal(await read({ env: podEnv }), 'default', 'a pod whose files do not say');
  write(folder, 'namespace', 'of-the-pod\n');
  assert.equal(await read({ env: podEnv }), 'of-the-pod');
  assert.equal(await read({ env: { ...podEnv, KUBECONFIG: one } }), 'team');
});

test('kubeconfigs that cannot be used: one clear line', async (context) => {
  const cluster = await startFakeApiServer(context);
  const folder = makeFolder(context);
  const file = join(folder, 'config');
  const good = makeKubeconfig(cluster) as Record<string, unknown>;
  const cases: [object | string, string, Partial<ConnectOptions>?][] = [
    ['', `the kubeconfig ${file} cannot be used: it holds no kubeconfig`],
    ['{', `the kubeconfig ${file} cannot be used: `],
    [{ ...good, clusters: [{ name: 'c' }] }, `the kubeconfig ${file} cannot be used: clusters[0].cluster is missing`],
    [
      { ...good, 'current-context': '' },
      `the kubeconfig ${file} has no current-context; choose one with --context: here`,
    ],
    [good, `the kubeconfig ${file} has no context there; it has here`, { context: 'there' }],
    [{ ...good, clusters: [] }, `the kubeconfig ${file} has no cluster c, which context here names`],
    [{ ...good, users: [] }, `the kubeconfig ${file} has no user u, which context here names`],
    [
      makeKubeconfig(cluster, { cluster: { server: 'ftp://x' } }),
      "the kubeconfig's cluster c: server must be an https URL",
    ],
    [
      makeKubeconfig(cluster, { cluster: { server: 'https://ann:secret@x' } }),
      "the kubeconfig's cluster c: server must not hold a user name or password",
    ],
    [
      makeKubeconfig(cluster, { cluster: { 'proxy-url': 'socks5://x' } }),
      "the kubeconfig's cluster c: proxy-url must be an http or https URL",
    ],
    [
      makeKubeconfig(cluster, { user: { as: 'x', 'as-groups': ['y'] } }),
      `the kubeconfig ${file}: user u has as-groups, which is not supported yet`,
    ],
  ];
  for (const [content, message, options] of cases) {
    write(folder, 'config', content);
    const said = await refusing({ kubeconfig: file, ...options });
    assert.ok(said.startsWith(message), `${said}\n${message}`);
    assert.doesNotMatch(said, /secret|\n/);
  }
});

test('without TLS no credentials are sent', async (context) => {
  const cluster = await startFakeApiServer(context);
  const kubeconfig = write(makeFolder(context), 'config', makeKubeconfig(cluster, { user: { token: 'x' } }));
  await (await connect(context, { kubeconfig })).list(Secret, {});
  assert.equal(readAuthorization(cluster), undefined);
});

test('a context without a user trusts the authority all the same', async (context) => {
  const cluster = await startFakeApiServer(context, { tls: true });
  const config = { ...makeKubeconfig(cluster), contexts: [{ name: 'here', context: { cluster: 'c' } }] };
  const kubeconfig = write(makeFolder(context), 'config', config);
  await (await connect(context, { kubeconfig })).list(Secret, {});
});

test('TLS as the kubeconfig asks: another name, or any certificate', async (context) => {
  const cluster = await startFakeApiServer(context, { tls: true });
  const folder = makeFolder(context);
  const list = async (more: object): Promise<unknown> => {
    const kubeconfig = write(folder, 'config', makeKubeconfig(cluster, { cluster: more }));
    return (await connect(context, { kubeconfig })).list(Secret, {});
  };
  await list({ 'tls-server-name': 'localhost' });
  await assert.rejects(list({ 'tls-server-name': 'other.example.com' }), ApiUnreachableError);
  const { port } = new URL(cluster.url);
  await assert.rejects(list({ server: `https://127.0.0.2:${port}` }), ApiUnreachableError);
  await assert.rejects(list({ 'certificate-authority-data': undefined }), ApiUnreachableError);
  await list({ 'certificate-authority-data': undefined, 'insecure-skip-tls-verify': true });
});

test('a proxy is gone through', async (context) => {
  const cluster = await startFakeApiServer(context, { tls: true });
  const asked: string[] = [];
  const proxy = createServer((_request, response) => response.writeHead(405).end());
  proxy.on('connect', (request, socket, head) => {
    asked.push(request.url ?? '');
    const [host, port] = (request.url ?? '').split(':');
    const upstream = connectTcp(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  context.after(() => proxy.close());
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const kubeconfig = write(makeFolder(context), 'config', makeKubeconfig(cluster, { cluster: { 'proxy-url': url } }));
  const client = await connect(context, { kubeconfig });
  await client.list(Secret, {});
  assert.deepEqual(asked, [new URL(cluster.url).host]);
  await client.close();
});

test('a refusal of the API server comes through as such', async (context) => {
  const cluster = await startFakeApiServer(context, { tls: true });
  cluster.acceptedTokens = new Set();
  const kubeconfig = write(makeFolder(context), 'config', makeKubeconfig(cluster, { user: { token: 'x' } }));
  await assert.rejects((await connect(context, { kubeconfig })).list(Secret, {}), ApiError);
});
