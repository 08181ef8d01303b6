import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackendConfig } from '../../config/runtime-config.ts';
import { formatTargetKey } from '../../config/federation-config.ts';
import { Upstreams } from './upstreams.ts';

let fingerprints = 0;

function poolOf(hosts: readonly string[], hasPicker = true): ReadonlyMap<string, BackendConfig> {
  fingerprints += 1;
  const common = { tls: undefined, connectTimeoutMs: 1_000 };
  const config: BackendConfig = {
    ...common,
    key: 'pool',
    fingerprint: String(fingerprints),
    endpoints: hosts.map((host) => ({ host, port: 80 })),
    protocol: 'http1',
    requestTimeoutMs: 0,
    idleTimeoutMs: 0,
    hostHeader: '',
    mcp: undefined,
    picker: hasPicker
      ? {
          ...common,
          fingerprint: 'picker',
          endpoints: [{ host: 'picker', port: 9002 }],
          failsOpen: false,
          timeoutMs: 1_000,
        }
      : undefined,
  };
  return new Map([['pool', config]]);
}

test('an endpoint that left a pool is found by its name for three seconds, and chosen by nobody', () => {
  let now = 0;
  const upstreams = new Upstreams({ now: () => now, random: () => 0.99 });
  const find = (name: string): string | undefined => upstreams.get('pool')!.findByName(name)?.pool.name;
  upstreams.reconcile(poolOf(['a', 'b', 'c']));
  assert.equal(find('b:80'), 'b:80');
  upstreams.reconcile(poolOf(['a', 'c']));
  now = 1_000;
  // Other changes do not make it forgotten, nor do they make it younger.
  upstreams.reconcile(poolOf(['a']));
  assert.deepEqual([find('a:80'), find('b:80'), find('c:80')], ['a:80', 'b:80', 'c:80']);
  assert.equal(upstreams.get('pool')!.pick([])?.pool.name, 'a:80');
  now = 2_999;
  assert.equal(find('b:80'), 'b:80');
  now = 3_000;
  assert.deepEqual([find('b:80'), find('c:80')], [undefined, 'c:80']);
  now = 4_000;
  assert.equal(find('c:80'), undefined);
  upstreams.destroy();
});

test('one that comes back is the endpoint of the configuration', () => {
  const upstreams = new Upstreams({ now: () => 0 });
  upstreams.reconcile(poolOf(['a', 'b']));
  upstreams.reconcile(poolOf(['a']));
  const former = upstreams.get('pool')!.findByName('b:80');
  upstreams.reconcile(poolOf(['a', 'b']));
  const current = upstreams.get('pool')!;
  assert.notEqual(current.findByName('b:80'), former);
  assert.ok(current.endpoints.includes(current.findByName('b:80')!));
  upstreams.destroy();
});

test('without a picker what has left has left; a picker has endpoints of its own', () => {
  const upstreams = new Upstreams({ now: () => 0 });
  upstreams.reconcile(poolOf(['a', 'b'], false));
  upstreams.reconcile(poolOf(['a'], false));
  assert.equal(upstreams.get('pool')!.findByName('b:80'), undefined);
  assert.equal(upstreams.get('pool/picker'), undefined);
  upstreams.reconcile(poolOf(['a']));
  assert.deepEqual(
    upstreams.get('pool/picker')!.endpoints.map(({ pool }) => pool.name),
    ['picker:9002'],
  );
  upstreams.destroy();
});

test('a federation has no endpoints; each of its targets has its own, which outlive changes of the others', () => {
  const upstreams = new Upstreams({ now: () => 0 });
  const federate = (ports: readonly number[]): ReadonlyMap<string, BackendConfig> => {
    const base = poolOf([], false).get('pool')!;
    const targets = ports.map((port) => {
      const name = `t${port}`;
      const key = formatTargetKey('desk', name);
      const backend = { ...base, key, fingerprint: key, endpoints: [{ host: 'a', port }] };
      const all = (): boolean => true;
      return { name, prefix: name, failsClosed: false, backend, selects: { tool: all, prompt: all, resource: all } };
    });
    const serverInfo = { name: 'desk', title: undefined, version: '1', instructions: undefined };
    const federation = { targets, naming: 'always', serverInfo } as const;
    return new Map([['desk', { ...base, key: 'desk', fingerprint: ports.join(), federation }]]);
  };
  upstreams.reconcile(federate([1, 2]));
  assert.equal(upstreams.get('desk')!.pick([]), undefined);
  const kept = upstreams.get('desk/targets/t2')!.pick([]);
  assert.equal(kept?.pool.name, 'a:2');
  upstreams.reconcile(federate([2, 3]));
  assert.equal(upstreams.get('desk/targets/t1'), undefined);
  assert.equal(upstreams.get('desk/targets/t2')!.pick([]), kept);
  upstreams.destroy();
});
