import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SyncState } from '../../kubernetes/list-watch.ts';
import { describeSync, type WatchState } from './describe-sync.ts';
import { listWatchedKinds } from './watched-kinds.ts';

const watchedKinds = listWatchedKinds(['inference']);

function makeStates(pick: (kind: string) => SyncState): WatchState[] {
  return watchedKinds.map((watched) => ({ watched, state: pick(watched.kind) }));
}

const synced: SyncState = { state: 'synced' };

test('nothing to say when all is well, with ReferenceGrant or without', () => {
  assert.deepEqual(
    describeSync(
      makeStates(() => synced),
      [],
    ),
    [],
  );
  const missing = makeStates((kind) => (kind === 'ReferenceGrant' ? { state: 'not-installed' } : synced));
  assert.deepEqual(describeSync(missing, []), []);
});

test('what is not installed is named with who installs it', () => {
  const states = makeStates((kind) =>
    /^(Gateway|HTTPRoute|Proxy|GatewayClass)/.test(kind) ? { state: 'not-installed' } : synced,
  );
  assert.deepEqual(describeSync(states, []), [
    'not installed: GatewayClass, Gateway, HTTPRoute; install the CRDs of Gateway API (https://gateway-api.sigs.k8s.io)',
    'not installed: GatewayParameters, ProxyBackend, ProxyPolicy; install the chart proxy-crds',
  ]);
  const pools = makeStates((kind) => (kind === 'InferencePool' ? { state: 'not-installed' } : synced));
  assert.deepEqual(describeSync(pools, []), [
    'not installed: InferencePool; install the CRDs of the Inference Extension (https://gateway-api-inference-extension.sigs.k8s.io), or switch inferenceExtension.enabled off',
  ]);
  const core = makeStates((kind) => (kind === 'EndpointSlice' ? { state: 'not-installed' } : synced));
  assert.deepEqual(describeSync(core, []), ['the API server does not serve EndpointSlice']);
});

test('failures are told once each, and not all of a hundred', () => {
  const same = makeStates(() => ({ state: 'failing', wasSynced: true, reason: 'no answer' }));
  assert.deepEqual(describeSync(same, []), ['no answer']);
  const many = makeStates((kind) => ({ state: 'failing', wasSynced: true, reason: `cannot list ${kind}` }));
  const reasons = describeSync(many, []);
  assert.equal(reasons.length, 6);
  assert.equal(reasons.at(-1), `and ${watchedKinds.length - 5} more failures of this kind`);
});

test('what is waited for is named', () => {
  const states = makeStates((kind) => (kind === 'Secret' || kind === 'Gateway' ? { state: 'syncing' } : synced));
  assert.deepEqual(describeSync(states, ['b', 'a']), [
    'still reading: Gateway, Secret',
    'not complete yet: namespaces a, b',
  ]);
  assert.deepEqual(describeSync([], ['a']), ['not complete yet: namespace a']);
  assert.deepEqual(describeSync([], ['g', 'f', 'e', 'd', 'c', 'b', 'a']), [
    'not complete yet: namespaces a, b, c, d, e and 2 more',
  ]);
});
