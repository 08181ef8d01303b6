// The flags of the controller: what is taken, and the one line about what is not.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkControllerFlags, controllerCommandFlags, type ControllerSettings } from './controller-flags.ts';
import { formatFlagName, readFlags } from './flags.ts';
import { formatHelp } from './format-help.ts';

function read(args: readonly string[], env: Readonly<Record<string, string>> = {}): ControllerSettings {
  const flags = readFlags(controllerCommandFlags, args, env);
  assert.ok(flags.kind === 'values', JSON.stringify(flags));
  const checked = checkControllerFlags(flags.values, flags.origins);
  assert.ok(checked.ok, JSON.stringify(checked));
  return checked.settings;
}

function refuse(args: readonly string[], env: Readonly<Record<string, string>> = {}): readonly string[] {
  const flags = readFlags(controllerCommandFlags, args, env);
  const result = flags.kind === 'values' ? checkControllerFlags(flags.values, flags.origins) : flags;
  assert.ok('problems' in result, JSON.stringify(result));
  return result.problems;
}

describe('controller flags', () => {
  test('the defaults', () => {
    const settings = read([]);
    assert.deepEqual(
      [settings.namespace, settings.serviceName, settings.xdsPort, settings.healthPort, settings.metricsPort],
      ['proxy-system', 'proxy', 9978, 9093, 9092],
    );
    assert.deepEqual([settings.namespaceSelectors, settings.classParameters], [[], undefined]);
    assert.deepEqual(
      [settings.xdsTls, settings.xdsVerifyPodAddress, settings.imagePullPolicy],
      [false, true, 'IfNotPresent'],
    );
    assert.notEqual(settings.podName, '');
  });

  test('every flag has the variable of its name', () => {
    for (const [key, flag] of Object.entries(controllerCommandFlags.flags)) {
      const name = formatFlagName(key).slice(2).replaceAll('-', '_').toUpperCase();
      assert.equal(flag.env, `MCP_GATEHOUSE_${name}`);
    }
  });

  test('help lists flags and variables', () => {
    assert.equal(readFlags(controllerCommandFlags, ['--help'], {}).kind, 'help');
    const text = formatHelp(controllerCommandFlags, true);
    for (const { env } of Object.values(controllerCommandFlags.flags)) assert.ok(text.includes(env), env);
    assert.ok(text.includes('--no-xds-verify-pod-address'));
  });

  test('selectors and parameters of the class', () => {
    const settings = read([
      '--discovery-namespace-selectors',
      '[{"matchLabels":{"a":"b"}},{"matchExpressions":[{"key":"x","operator":"In","values":["1","2"]}]}]',
      '--gateway-class-parameters-refs',
      '{"proxy":{"name":"defaults","namespace":"infra"}}',
    ]);
    assert.equal(settings.namespaceSelectors.length, 2);
    assert.deepEqual(settings.classParameters, {
      group: 'gateway.proxy',
      kind: 'GatewayParameters',
      name: 'defaults',
      namespace: 'infra',
    });
    const env = {
      MCP_GATEHOUSE_DISCOVERY_NAMESPACE_SELECTORS: '[]',
      MCP_GATEHOUSE_GATEWAY_CLASS_PARAMETERS_REFS: '{}',
    };
    assert.deepEqual([read([], env).namespaceSelectors, read([], env).classParameters], [[], undefined]);
  });

  const selectors = '--discovery-namespace-selectors';
  const parameters = '--gateway-class-parameters-refs';
  for (const [args, line] of [
    [[selectors, '{'], /^--discovery-namespace-selectors must be JSON: /],
    [[selectors, '{}'], /^--discovery-namespace-selectors must be a list, not a mapping$/],
    [
      [selectors, '[{},{"matchExpressions":[{"key":"x","operator":"Is"}]}]'],
      /^--discovery-namespace-selectors\[1\]\.matchExpressions\[0\]\.operator must be one of In, NotIn, Exists/,
    ],
    [
      [selectors, '[{"matchExpressions":[{"key":"x","operator":"In"}]}]'],
      /^--discovery-namespace-selectors\[0\]\.matchExpressions\[0\]\.values must list at least one value/,
    ],
    [
      [selectors, '[{"matchLabel":{}}]'],
      /^--discovery-namespace-selectors\[0\]\.matchLabel unknown field; did you mean `matchLabels`/,
    ],
    [[selectors, '[{"matchLabels":{"a b":"c"}}]'], /^--discovery-namespace-selectors\[0\]\.matchLabels\["a b"\] /],
    [
      [parameters, '{"other":{"name":"a","namespace":"b"}}'],
      /^--gateway-class-parameters-refs\.other is not a class of this controller: its only class is proxy$/,
    ],
    [[parameters, '{"proxy":{"name":"a"}}'], /^--gateway-class-parameters-refs\.proxy\.namespace required: a string$/],
    [[parameters, '{"proxy":{"name":"a","namespace":"B"}}'], /^--gateway-class-parameters-refs\.proxy\.namespace /],
    [
      [parameters, '{"proxy":{"name":"a","namespace":"b","kind":"ConfigMap"}}'],
      /^--gateway-class-parameters-refs\.proxy\.kind must be GatewayParameters$/,
    ],
    [['--xds-port', '9093'], /^--xds-port and --health-port are both 9093: each needs a port of its own$/],
    [['--metrics-port', '70000'], /^--metrics-port must be a port number/],
    [['--inference-extension=maybe'], /^--inference-extension must be true or false/],
    [['--namespace', 'Proxy_System'], /^--namespace must be a name such as proxy-system, not "Proxy_System"$/],
    [['--pod-address', 'here'], /^--pod-address must be an IP address, not "here"$/],
    [['--log-level', 'loud'], /^--log-level must be one of trace, debug/],
    [['--image-pull-policy', 'Sometimes'], /^--image-pull-policy must be one of IfNotPresent/],
    [['--xds-tls-folder', '/x'], /^--xds-tls-folder goes with --xds-tls$/],
    [['--xds-tls-generate'], /^--xds-tls-generate goes with --xds-tls: without TLS there is no certificate to make$/],
    [
      ['--xds-tls', '--xds-tls-generate', '--xds-tls-folder', '/x'],
      /^--xds-tls-folder and --xds-tls-generate exclude each other: /,
    ],
    [['--image-digest', 'sha256:abc'], /^--image-digest must be sha256: and 64 hexadecimal digits, not "sha256:abc"$/],
    [
      ['--secrets-in-namespaces', 'a', '--secrets-in-namespaces', 'B'],
      /^--secrets-in-namespaces must be names of namespaces, not "B"$/,
    ],
    [['--network-policy', '{}'], /^--network-policy\.controller required: /],
    [['--network-policy', '{"controller":{}}'], /^--network-policy\.controller must have a label: /],
    [
      ['--network-policy', '{"controller":{"a":"b"},"upstreams":[{"pods":{}}]}'],
      /^--network-policy\.upstreams\[0\]\.pods unknown field; /,
    ],
  ] as const)
    test(`${args.join(' ')} is refused in one line`, () => {
      const problems = refuse(args);
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0]!, line);
    });

  test('a value from a variable is named by it', () => {
    assert.match(
      refuse([], { MCP_GATEHOUSE_DISCOVERY_NAMESPACE_SELECTORS: '[{"matchLabels":[]}]' })[0]!,
      /^MCP_GATEHOUSE_DISCOVERY_NAMESPACE_SELECTORS\[0\]\.matchLabels must be a mapping/,
    );
    assert.match(
      refuse([], { MCP_GATEHOUSE_INFERENCE_EXTENSION: 'maybe' })[0]!,
      /MCP_GATEHOUSE_INFERENCE_EXTENSION must be true or false, not "maybe"$/,
    );
  });

  test('the digest of gateways, their NetworkPolicies, and where Secrets are read', () => {
    const defaults = read([]);
    assert.deepEqual(
      [defaults.imageDigest, defaults.networkPolicy, defaults.secretsInNamespaces],
      [undefined, undefined, []],
    );
    const digest = `sha256:${'0'.repeat(64)}`;
    const clients = [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }];
    const settings = read(['--image-digest', digest], {
      MCP_GATEHOUSE_SECRETS_IN_NAMESPACES: 'a,b',
      MCP_GATEHOUSE_NETWORK_POLICY: JSON.stringify({ controller: { app: 'proxy' }, clients }),
    });
    assert.deepEqual([settings.imageDigest, settings.secretsInNamespaces], [digest, ['a', 'b']]);
    assert.deepEqual(settings.networkPolicy, { controller: { app: 'proxy' }, clients, metrics: [], upstreams: [] });
  });

  test('InferencePools are a backend only where somebody says so', () => {
    const name = 'MCP_GATEHOUSE_INFERENCE_EXTENSION';
    assert.equal(read([]).inferenceExtension, false);
    assert.equal(read(['--inference-extension']).inferenceExtension, true);
    assert.equal(read([], { [name]: 'true' }).inferenceExtension, true);
    assert.equal(read([], { [name]: 'false' }).inferenceExtension, false);
    assert.equal(read(['--no-inference-extension'], { [name]: 'true' }).inferenceExtension, false);
  });
});
