// What is read from kubeconfigs, and what is said about those that cannot be used.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { type KubeconfigUser, selectContext, type SelectedContext } from './kubeconfig-context.ts';
import { KubeconfigProblem, mergeKubeconfigs, parseKubeconfig } from './kubeconfig-file.ts';

type Fields = Readonly<Record<string, unknown>>;

function describeConfig(cluster: Fields, user: Fields, context: Fields = {}): object {
  return {
    'current-context': 'here',
    clusters: [{ name: 'c', cluster: { server: 'https://k8s.example', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', ...context } }],
  };
}

function read(configs: readonly object[], wanted?: string): SelectedContext {
  const files = configs.map((each, index) => parseKubeconfig(`file${index}`, stringify(each), `/kube/${index}`));
  return selectContext(mergeKubeconfigs(files), wanted, 'the kubeconfig f');
}

const readUser = (user: Fields): KubeconfigUser => read([describeConfig({}, user)]).user!;
const encode = (text: string): string => Buffer.from(text).toString('base64');

function refuse(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof KubeconfigProblem, String(error));
    return error.message;
  }
  assert.fail('it was accepted');
}

const plugin = { apiVersion: 'client.authentication.k8s.io/v1', command: 'get-token', interactiveMode: 'Never' };

test('every field of a cluster', () => {
  const cluster = {
    'certificate-authority': 'ca.crt',
    'tls-server-name': 'other.example',
    'proxy-url': 'http://proxy.example:3128',
    'disable-compression': true,
    extensions: [
      { name: 'other', extension: { a: 1 } },
      { name: 'client.authentication.k8s.io/exec', extension: { audience: 'x' } },
    ],
  };
  assert.deepEqual(read([describeConfig(cluster, {})]).cluster, {
    server: 'https://k8s.example',
    authority: { file: '/kube/0/ca.crt' },
    skipTlsVerify: false,
    tlsServerName: 'other.example',
    proxyUrl: 'http://proxy.example:3128',
    disableCompression: true,
    pluginConfig: { audience: 'x' },
  });
  assert.equal(read([describeConfig({ 'insecure-skip-tls-verify': true }, {})]).cluster.skipTlsVerify, true);
  const both = { 'certificate-authority': '/etc/ca.crt', 'certificate-authority-data': encode('PEM') };
  assert.deepEqual(read([describeConfig(both, {})]).cluster.authority, { text: 'PEM' });
});

test('every kind of credentials', () => {
  const cases: readonly (readonly [Fields, KubeconfigUser['credentials']])[] = [
    [{}, { kind: 'none' }],
    [{ token: '', tokenFile: null, username: '', 'client-key': '' }, { kind: 'none' }],
    [{ token: 't' }, { kind: 'token', token: 't', tokenFile: undefined }],
    [{ tokenFile: 'token' }, { kind: 'token', token: undefined, tokenFile: '/kube/0/token' }],
    [
      { token: 't', tokenFile: '/run/token' },
      { kind: 'token', token: 't', tokenFile: '/run/token' },
    ],
    [
      { username: 'ann', password: 'p' },
      { kind: 'basic', username: 'ann', password: 'p' },
    ],
    [{ username: 'ann' }, { kind: 'basic', username: 'ann', password: '' }],
    [
      { exec: plugin },
      {
        kind: 'exec',
        plugin: {
          apiVersion: plugin.apiVersion,
          command: 'get-token',
          args: [],
          env: {},
          installHint: undefined,
          provideClusterInfo: false,
        },
      },
    ],
    [
      {
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1beta1',
          command: './bin/get-token',
          args: ['--cluster', 'x'],
          env: [{ name: 'REGION', value: 'eu' }, { name: 'EMPTY' }],
          installHint: 'install it',
          provideClusterInfo: true,
        },
      },
      {
        kind: 'exec',
        plugin: {
          apiVersion: 'client.authentication.k8s.io/v1beta1',
          command: '/kube/0/bin/get-token',
          args: ['--cluster', 'x'],
          env: { REGION: 'eu', EMPTY: '' },
          installHint: 'install it',
          provideClusterInfo: true,
        },
      },
    ],
  ];
  for (const [user, credentials] of cases) assert.deepEqual(readUser(user).credentials, credentials);
  assert.deepEqual(readUser({ 'client-certificate': 'a.crt', 'client-key-data': encode('KEY'), as: 'bob' }), {
    credentials: { kind: 'none' },
    certificate: { cert: { file: '/kube/0/a.crt' }, key: { text: 'KEY' } },
    impersonate: 'bob',
  });
});

test('several files: the first entry of a name counts, and all of it; paths start at their own file', () => {
  const first = {
    clusters: [{ name: 'c', cluster: { server: 'https://first.example', 'certificate-authority': 'ca.crt' } }],
    contexts: [{ name: 'other', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
  };
  const second = describeConfig({ server: 'https://second.example', 'tls-server-name': 'x' }, { tokenFile: 'token' });
  const merged = read([first, second]);
  assert.equal(merged.cluster.server, 'https://first.example');
  assert.equal(merged.cluster.tlsServerName, undefined);
  assert.deepEqual(merged.cluster.authority, { file: '/kube/0/ca.crt' });
  assert.deepEqual(merged.user?.credentials, { kind: 'token', token: undefined, tokenFile: '/kube/1/token' });
  assert.equal(merged.namespace, 'default');
  assert.equal(read([first, second], 'other').namespace, 'team');
  assert.equal(read([second, { ...first, 'current-context': 'other' }]).cluster.server, 'https://second.example');
});

test('files that are no kubeconfigs', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['', 'it holds no kubeconfig'],
    ['[]', 'it holds no kubeconfig'],
    ['current-context: 1', 'current-context must be a string'],
    ['clusters: {}', 'clusters must be a list'],
    ['clusters: [1]', 'clusters[0] must be an object'],
    ['clusters: [{cluster: {}}]', 'clusters[0].name is missing'],
    ['clusters: [{name: c}]', 'clusters[0].cluster is missing'],
    ['contexts: [{name: c, context: 1}]', 'contexts[0].context must be an object'],
    ['users: [{name: u}, {name: u}]', 'users has the name u twice'],
  ];
  for (const [text, problem] of cases)
    assert.equal(
      refuse(() => parseKubeconfig('f', text, '/')),
      `the kubeconfig f cannot be used: ${problem}`,
    );
  const said = refuse(() => parseKubeconfig('f', 'users: [{name: u, user: {token: secret}\nx', '/'));
  assert.match(said, /^the kubeconfig f cannot be used: .* at line \d+, column \d+:$/);
});

test('what cannot be used is refused by name', () => {
  const user = 'the kubeconfig f: user u';
  const cluster = 'the kubeconfig f: cluster c';
  const cases: readonly (readonly [object, string])[] = [
    [describeConfig({}, {}, { cluster: '' }), 'the kubeconfig f: context here names no cluster'],
    [describeConfig({}, {}, { cluster: 'd' }), 'the kubeconfig f has no cluster d, which context here names'],
    [describeConfig({}, {}, { user: 'v' }), 'the kubeconfig f has no user v, which context here names'],
    [describeConfig({}, {}, { nmespace: 'x' }), 'the kubeconfig f: context here has nmespace, which is not supported'],
    [describeConfig({ server: '' }, {}), "the kubeconfig's cluster c: server must be an https URL"],
    [describeConfig({ 'api-version': 'v1' }, {}), `${cluster} has api-version, which is not supported`],
    [
      describeConfig({ 'insecure-skip-tls-verify': 'yes' }, {}),
      `${cluster} has insecure-skip-tls-verify, which must be true or false`,
    ],
    [
      describeConfig({ 'insecure-skip-tls-verify': true, 'certificate-authority': 'x' }, {}),
      "the kubeconfig's cluster c: insecure-skip-tls-verify makes certificate-authority pointless; remove one of them",
    ],
    [
      describeConfig({ 'certificate-authority-data': '-----BEGIN' }, {}),
      `${cluster} has a certificate-authority-data that is not base64`,
    ],
    [
      describeConfig({}, { 'auth-provider': { name: 'oidc' } }),
      `${user} has auth-provider, which Kubernetes has removed; use an exec plugin`,
    ],
    [describeConfig({}, { 'as-uid': 'x' }), `${user} has as-uid, which is not supported yet`],
    [describeConfig({}, { tokenfile: 'x' }), `${user} has tokenfile, which is not supported`],
    [describeConfig({}, { token: 12 }), `${user} has a token that is not a string; put it in quotes`],
    [describeConfig({}, { password: 'x' }), `${user} has a password without a username`],
    [describeConfig({}, { 'client-key': 'x' }), `${user} has client-key alone; both are needed`],
    [
      describeConfig({}, { token: 'x', username: 'y' }),
      `${user} has a token and a username; only one of them can be used`,
    ],
    [
      describeConfig({}, { exec: plugin, tokenFile: 'x' }),
      `${user} has a token and exec; only one of them can be used`,
    ],
    [describeConfig({}, { exec: 'get-token' }), `${user} has exec that is not an object`],
    [
      describeConfig({}, { exec: { ...plugin, apiVersion: 'client.authentication.k8s.io/v1alpha1' } }),
      `${user}: exec: apiVersion must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1`,
    ],
    [describeConfig({}, { exec: { ...plugin, command: '' } }), `${user}: exec: command is missing`],
    [
      describeConfig({}, { exec: { ...plugin, interactiveMode: undefined } }),
      `${user}: exec: interactiveMode must be Never, IfAvailable or Always`,
    ],
    [
      describeConfig({}, { exec: { ...plugin, interactiveMode: 'Always' } }),
      `${user}: exec: interactiveMode is Always, but plugins run without a terminal here; log in beforehand`,
    ],
    [describeConfig({}, { exec: { ...plugin, args: [1] } }), `${user}: exec: args must be strings`],
    [
      describeConfig({}, { exec: { ...plugin, env: [{ value: 'x' }] } }),
      `${user}: exec: env[0] must have a name and a value, both strings`,
    ],
    [describeConfig({}, { exec: { ...plugin, timeout: '1s' } }), `${user}: exec: has timeout, which is not supported`],
  ];
  for (const [config, problem] of cases)
    assert.equal(
      refuse(() => read([config])),
      problem,
    );
  const good = describeConfig({}, {});
  assert.equal(
    refuse(() => read([{ ...good, 'current-context': '' }])),
    'the kubeconfig f has no current-context; choose one with --context: here',
  );
  assert.equal(
    refuse(() => read([good], 'there')),
    'the kubeconfig f has no context there; it has here',
  );
});

test('what is wrong elsewhere in the file does not matter', () => {
  const config = {
    ...describeConfig({}, {}),
    users: [{ name: 'u' }, { name: 'old', user: { 'auth-provider': { name: 'gcp' } } }],
  };
  assert.deepEqual(read([config]).user?.credentials, { kind: 'none' });
});
