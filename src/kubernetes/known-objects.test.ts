import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from './client.ts';
import { createKnownObjects, type KnownObjects } from './known-objects.ts';

function make(name: string, resourceVersion: string, uid = name): KubernetesObject {
  return { kind: 'X', metadata: { name, namespace: 'n', uid, resourceVersion, managedFields: [{}] }, spec: {} };
}

function start(): { known: KnownObjects; told: string[] } {
  const told: string[] = [];
  const known = createKnownObjects(
    ({ metadata, ...rest }) => {
      assert.ok(!('managedFields' in metadata));
      assert.ok('spec' in rest);
      told.push(`+${metadata.name}@${metadata.resourceVersion}`);
    },
    (object) => {
      assert.deepEqual(Object.keys(object), ['kind', 'metadata']);
      assert.deepEqual(Object.keys(object.metadata), ['name', 'namespace', 'uid', 'resourceVersion']);
      told.push(`-${object.metadata.name}@${object.metadata.resourceVersion}`);
    },
  );
  return { known, told };
}

test('the same version is told once', () => {
  const { known, told } = start();
  known.change(make('a', '1'));
  known.change(make('a', '1'));
  known.change(make('a', '2'));
  assert.deepEqual(told, ['+a@1', '+a@2']);
  assert.equal(known.size, 1);
});

test('an object made anew under its name is gone before it is there', () => {
  const { known, told } = start();
  known.change(make('a', '1', 'u1'));
  known.change(make('a', '5', 'u2'));
  assert.deepEqual(told, ['+a@1', '-a@1', '+a@5']);
  assert.equal(known.size, 1);
});

test('what was not known cannot go', () => {
  const { known, told } = start();
  known.remove(make('a', '1'));
  assert.deepEqual(told, []);
});

test('what goes has the version of its deletion', () => {
  const { known, told } = start();
  known.change(make('a', '1'));
  known.remove(make('a', '7'));
  assert.deepEqual(told, ['+a@1', '-a@7']);
});

test('what a full list does not see is gone when it ends, and not before', () => {
  const { known, told } = start();
  for (const name of ['a', 'b', 'c']) known.change(make(name, '1'));
  told.length = 0;
  const broken = known.beginRelist();
  broken.see(make('a', '2'));
  assert.deepEqual(told, ['+a@2']);
  const relist = known.beginRelist();
  relist.see(make('b', '1'));
  relist.see(make('d', '9'));
  relist.end();
  assert.deepEqual(told, ['+a@2', '+d@9', '-a@2', '-c@1']);
  assert.equal(known.size, 2);
});

test('what could not be told is told again', () => {
  let isBroken = true;
  const told: string[] = [];
  const known = createKnownObjects(
    ({ metadata }) => {
      if (isBroken) throw new Error('listener');
      told.push(metadata.name);
    },
    () => {},
  );
  assert.throws(() => known.change(make('a', '1')), /listener/);
  assert.equal(known.size, 0);
  isBroken = false;
  known.change(make('a', '1'));
  assert.deepEqual(told, ['a']);
});
