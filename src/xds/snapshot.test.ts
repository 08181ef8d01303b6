// Snapshots: the same content has the same versions and digest on every replica, and what did not change is not worked on again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import { emptyConfiguration } from '../ir/configuration.ts';
import { ListenerSchema, type Policy, PolicySchema, RouteSchema } from '../ir/gen/config_pb.ts';
import { Digest } from './digest.ts';
import { buildSnapshot, DuplicateResourceError } from './snapshot.ts';
import { sortMaps } from './sort-maps.ts';
import { getTypeUrl, makeConfiguration, makeSnapshot } from './testing/small-snapshots.ts';

function makePolicy(entries: readonly (readonly [string, string])[]): Policy {
  return create(PolicySchema, {
    key: 'p',
    spec: { case: 'mcpAuthentication', value: { extraParameters: Object.fromEntries(entries) } },
  });
}

function getPolicyVersion(policy: Policy): string {
  const snapshot = buildSnapshot({ ...emptyConfiguration, policies: [policy] });
  return snapshot.resources.get(getTypeUrl('policies'))!.get('p')!.version;
}

test('equal content has equal versions and an equal digest, in whatever order it comes', () => {
  const one = makeSnapshot({ secrets: { a: '1', b: '2' }, routes: { r: '1' } });
  const other = makeSnapshot({ routes: { r: '1' }, secrets: { b: '2', a: '1' } });
  assert.equal(one.digest, other.digest);
  assert.notEqual(one.digest, makeSnapshot({ secrets: { a: '1', b: '3' }, routes: { r: '1' } }).digest);
  assert.notEqual(one.digest, makeSnapshot({ secrets: { a: '1' }, routes: { r: '1' } }).digest);
});

test('the digest is that of (type, name, version), which the other side computes for itself', () => {
  const snapshot = makeSnapshot({ secrets: { a: '1', b: '2' }, routes: { r: '1' } });
  const digest = new Digest();
  for (const [typeUrl, resources] of snapshot.resources)
    for (const { name, version } of resources.values()) digest.add(typeUrl, name, version);
  assert.equal(snapshot.digest, digest.toString());
});

test('versions are fixed: replicas of different builds must agree', () => {
  const { resources } = makeSnapshot({ secrets: { a: '1' } });
  assert.equal(resources.get(getTypeUrl('secrets'))!.get('a')!.version, 'OB20eEag8C5bM4uhUkPdQ-');
});

test('equal bytes of different types have different versions', () => {
  const key = 'same';
  const snapshot = buildSnapshot({
    ...emptyConfiguration,
    listeners: [create(ListenerSchema, { key })],
    routes: [create(RouteSchema, { key })],
  });
  const [listener, route] = (['listeners', 'routes'] as const).map((list) =>
    snapshot.resources.get(getTypeUrl(list))!.get(key)!,
  );
  assert.deepEqual(listener!.bytes, route!.bytes);
  assert.notEqual(listener!.version, route!.version);
});

test('the order in which a map was filled makes no difference, and its content does', () => {
  const entries = fc.uniqueArray(fc.tuple(fc.string(), fc.string()), { selector: ([key]) => key, maxLength: 8 });
  const twice = entries.chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  );
  fc.assert(
    fc.property(twice, ([one, other]) => {
      const [left, right] = [makePolicy(one), makePolicy(other)];
      assert.equal(getPolicyVersion(left), getPolicyVersion(right));
      assert.notEqual(getPolicyVersion(left), getPolicyVersion(makePolicy([...one, ['one more', '']])));
      const sorted = sortMaps(PolicySchema, left);
      assert.deepEqual(
        fromBinary(PolicySchema, toBinary(PolicySchema, sorted)),
        fromBinary(PolicySchema, toBinary(PolicySchema, left)),
      );
    }),
  );
});

test('messages are left as they are, and copied only if a map is out of order', () => {
  const message = makePolicy([
    ['b', '1'],
    ['a', '2'],
  ]);
  const before = structuredClone(message);
  const sorted = sortMaps(PolicySchema, message);
  assert.notEqual(sorted, message);
  assert.deepEqual(message, before);
  assert.equal(sortMaps(PolicySchema, sorted), sorted);
  const route = create(RouteSchema, { key: 'r' });
  assert.equal(sortMaps(RouteSchema, route), route);
});

test('a message that was in an earlier snapshot is not encoded again', () => {
  const configuration = makeConfiguration({ secrets: { a: '1', b: '1' } });
  const url = getTypeUrl('secrets');
  const first = buildSnapshot(configuration);
  const changed = makeConfiguration({ secrets: { b: '2' } }).secrets;
  const second = buildSnapshot({ ...configuration, secrets: [configuration.secrets[0]!, ...changed] });
  assert.equal(second.resources.get(url)!.get('a'), first.resources.get(url)!.get('a'));
  assert.notEqual(second.resources.get(url)!.get('b')!.version, first.resources.get(url)!.get('b')!.version);
});

test('what did not change is shared with the snapshot before', () => {
  const before = makeSnapshot({ secrets: { a: '1' }, routes: { r: '1' } });
  assert.equal(buildSnapshot(makeConfiguration({ secrets: { a: '1' }, routes: { r: '1' } }), before), before);
  const after = buildSnapshot(makeConfiguration({ secrets: { a: '1' }, routes: { r: '2' } }), before);
  assert.equal(after.resources.get(getTypeUrl('secrets')), before.resources.get(getTypeUrl('secrets')));
  assert.notEqual(after.resources.get(getTypeUrl('routes')), before.resources.get(getTypeUrl('routes')));
  assert.equal(after.digest, makeSnapshot({ secrets: { a: '1' }, routes: { r: '2' } }).digest);
});

test('two messages with one key are refused: leaving one out could open what it closes', () => {
  const policies = [create(PolicySchema, { key: 'p', source: 'a' }), create(PolicySchema, { key: 'p', source: 'b' })];
  assert.throws(
    () => buildSnapshot({ ...emptyConfiguration, policies }),
    (error) =>
      error instanceof DuplicateResourceError && error.code === 'duplicate_resource' && error.message.includes('"p"'),
  );
});
