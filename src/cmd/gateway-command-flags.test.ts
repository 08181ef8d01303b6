import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readFlags } from './flags.ts';
import { formatHelp } from './format-help.ts';
import { checkGatewayCommandFlags, gatewayCommandFlags } from './gateway-command-flags.ts';

function check(flags: readonly string[], env: Record<string, string> = {}, hostname = 'host-1') {
  const read = readFlags(gatewayCommandFlags, flags, env);
  assert.ok(read.kind === 'values', JSON.stringify(read));
  return checkGatewayCommandFlags(read.values, hostname);
}

const good = ['--controller', 'https://proxy.proxy-system:9978', '--gateway', 'default/public'];

describe('the flags of gateway', () => {
  test('are read, from variables as well', () => {
    const fromFlags = check(good);
    assert.ok(fromFlags.ok);
    assert.equal(fromFlags.settings.controller, 'https://proxy.proxy-system:9978');
    assert.equal(fromFlags.settings.nodeId, 'host-1', 'the name of the host');
    const fromEnv = check([], {
      MCP_GATEHOUSE_CONTROLLER: 'http://[::1]:9978/',
      MCP_GATEHOUSE_GATEWAY: 'a/b',
      MCP_GATEHOUSE_NODE_ID: 'pod-1',
      MCP_GATEHOUSE_CONTROLLER_TOKEN: '/var/run/token',
      MCP_GATEHOUSE_SNAPSHOT_FILE: '/snapshot',
      MCP_GATEHOUSE_TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8',
    });
    assert.ok(fromEnv.ok);
    const { controller, gateway, nodeId, controllerToken, snapshotFile } = fromEnv.settings;
    assert.deepEqual(
      [controller, gateway, nodeId, controllerToken, snapshotFile],
      ['http://[::1]:9978', 'a/b', 'pod-1', '/var/run/token', '/snapshot'],
    );
  });

  test('of staleness are a duration and what to do', () => {
    const checked = check([...good, '--max-staleness', '5m'], { MCP_GATEHOUSE_ON_STALE: 'close' });
    assert.ok(checked.ok);
    assert.deepEqual([checked.settings.maxStaleness, checked.settings.onStale], [300_000, 'close']);
    const none = check(good);
    assert.ok(none.ok);
    assert.deepEqual([none.settings.maxStaleness, none.settings.onStale], [undefined, undefined]);
    const read = readFlags(gatewayCommandFlags, [...good, '--max-staleness', '500ms', '--on-stale', 'Close'], {});
    assert.ok(read.kind === 'problems');
    assert.deepEqual(read.problems, [
      '--max-staleness must be between 1s and 168h, not "500ms"',
      '--on-stale must be one of unready, close, not "Close"',
    ]);
  });

  test('that are missing or wrong are said one by one', () => {
    const cases: readonly (readonly [readonly string[], readonly RegExp[]])[] = [
      [[], [/^say where the controller is/, /^say which Gateway to serve/]],
      [['--controller', 'proxy:9978', '--gateway', 'a/b'], [/^--controller must be .* not "proxy:9978"$/]],
      [['--controller', 'http://proxy/path', '--gateway', 'a/b'], [/^--controller must be/]],
      [['--controller', 'http://user:secret@proxy', '--gateway', 'a/b'], [/^--controller must be/]],
      [['--controller', 'http://proxy?x', '--gateway', 'a/b'], [/^--controller must be/]],
      ...['b', 'a/b/c', '/b', 'a/', 'a/b c'].map(
        (name) =>
          [['--controller', 'http://proxy', '--gateway', name], [/^--gateway must be NAMESPACE\/NAME, not/]] as const,
      ),
      [[...good, '--node-id', 'a/b'], [/^--node-id must be/]],
      [
        [...good, '--on-stale', 'close'],
        [/^--on-stale goes with --max-staleness, which says when a gateway is stale$/],
      ],
      [
        ['--controller', 'http://proxy', '--gateway', 'a/b', '--controller-ca', 'ca.crt'],
        [/^--controller-ca goes with a --controller that begins with https$/],
      ],
      [[...good, '--trusted-proxies', '10.0.0.1/8'], [/^--trusted-proxies must be .* not "10\.0\.0\.1\/8"$/]],
      [[...good, '--trusted-proxies', '10.0.0.0/8,nonsense'], [/^--trusted-proxies must be .* not "nonsense"$/]],
    ];
    for (const [flags, expected] of cases) {
      const checked = check(flags);
      assert.ok(!checked.ok, flags.join(' '));
      assert.equal(checked.problems.length, expected.length, checked.problems.join('\n'));
      expected.forEach((pattern, index) => assert.match(checked.problems[index]!, pattern));
    }
    const host = check(good, {}, 'not/a/name');
    assert.ok(!host.ok);
  });

  test('are all in --help with their variables', () => {
    assert.equal(readFlags(gatewayCommandFlags, ['--help'], {}).kind, 'help');
    const text = formatHelp(gatewayCommandFlags, true);
    for (const name of [
      'CONTROLLER',
      'GATEWAY',
      'NODE_ID',
      'CONTROLLER_CA',
      'CONTROLLER_TOKEN',
      'SNAPSHOT_FILE',
      'TRUSTED_PROXIES',
    ])
      assert.match(text, new RegExp(`MCP_GATEHOUSE_${name}\\b`));
  });
});
