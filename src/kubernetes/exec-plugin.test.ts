// What plugins are told, what is taken from their answers, and for how long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { describeExec, PluginRunner, readAnswer } from './exec-plugin.ts';
import type { ExecPlugin, KubeconfigCluster } from './kubeconfig-context.ts';

const apiVersion = 'client.authentication.k8s.io/v1';
const cluster: KubeconfigCluster = {
  server: 'https://k8s.example',
  authority: undefined,
  skipTlsVerify: false,
  tlsServerName: 'other.example',
  proxyUrl: 'http://proxy.example',
  disableCompression: true,
  pluginConfig: { audience: 'x' },
};

/** A plugin that runs a line of JavaScript. */
function makePlugin(script: string, more: Partial<ExecPlugin> = {}): ExecPlugin {
  return {
    apiVersion,
    command: process.execPath,
    args: ['-e', script],
    env: {},
    installHint: undefined,
    provideClusterInfo: false,
    ...more,
  };
}

const printAnswer = (status: string): string =>
  `console.log(JSON.stringify({ apiVersion: '${apiVersion}', kind: 'ExecCredential', status: ${status} }))`;

test('a plugin is told about the cluster if it asks for it', () => {
  assert.deepEqual(describeExec(makePlugin(''), cluster, 'PEM'), {
    apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false },
  });
  assert.deepEqual(describeExec(makePlugin('', { provideClusterInfo: true }), cluster, 'PEM'), {
    apiVersion,
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      cluster: {
        server: 'https://k8s.example',
        'tls-server-name': 'other.example',
        'insecure-skip-tls-verify': false,
        'certificate-authority-data': Buffer.from('PEM').toString('base64'),
        'proxy-url': 'http://proxy.example',
        'disable-compression': true,
        config: { audience: 'x' },
      },
    },
  });
});

test('answers of plugins', () => {
  const answer = (status: object, more: object = {}): string =>
    JSON.stringify({ apiVersion, kind: 'ExecCredential', status, ...more });
  assert.deepEqual(readAnswer(answer({ token: 't' }), apiVersion), {
    credentials: { token: 't', certificate: undefined },
    untilMs: Infinity,
  });
  const pair = { clientCertificateData: 'C', clientKeyData: 'K', expirationTimestamp: '2026-01-02T03:04:05Z' };
  assert.deepEqual(readAnswer(answer(pair), apiVersion), {
    credentials: { token: undefined, certificate: { cert: 'C', key: 'K' } },
    untilMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  });
  const refused: readonly (readonly [string, string])[] = [
    ['secret', 'is not JSON'],
    ['[]', 'is not JSON'],
    [answer({}, { kind: 'Secret' }), `must be an ExecCredential of ${apiVersion}`],
    [answer({}, { apiVersion: `${apiVersion}beta1` }), `must be an ExecCredential of ${apiVersion}`],
    [answer({}), 'has neither a token nor a certificate'],
    [answer({ token: 1 }), 'status.token must be a string'],
    [answer({ clientKeyData: 'K' }), 'has a certificate or a key, but not both'],
    [answer({ token: 't', expirationTimestamp: 'soon' }), 'status.expirationTimestamp is no time'],
  ];
  for (const [text, problem] of refused)
    assert.throws(
      () => readAnswer(text, apiVersion),
      (error: Error) => error.message.startsWith('the answer of the plugin') && error.message.endsWith(problem),
      problem,
    );
});

test('what a plugin gives is kept until it expires', async () => {
  const clock = createManualClock();
  const expiry = new Date(clock.now() + 60_000).toISOString();
  const plugin = makePlugin(printAnswer('{ token: String(process.pid), expirationTimestamp: process.env.EXPIRY }'), {
    env: { EXPIRY: expiry },
  });
  const runner = new PluginRunner(plugin, clock);
  const first = await runner.read(cluster, undefined);
  await clock.advance(59_999);
  assert.equal(await runner.read(cluster, undefined), first);
  await clock.advance(1);
  assert.notEqual((await runner.read(cluster, undefined)).token, first.token);
});

test('plugins that fail: one says why, one does not, and one is not there', async () => {
  const run = (plugin: ExecPlugin): Promise<unknown> => new PluginRunner(plugin).read(cluster, undefined);
  await assert.rejects(run(makePlugin(`console.error('log in first'); process.exit(1)`)), { message: 'log in first' });
  await assert.rejects(run(makePlugin('process.exit(3)')), { message: `${process.execPath} ended with exit code 3` });
  await assert.rejects(run(makePlugin('', { command: '/no/such/plugin', installHint: 'install it' })), {
    message: 'there is no program /no/such/plugin; install it',
  });
});
