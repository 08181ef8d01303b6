import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesClient, KubernetesObject } from '../kubernetes/client.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import { guardWrites } from './guard-writes.ts';

function start() {
  const calls: string[] = [];
  const object: KubernetesObject = { metadata: { name: 'a', namespace: 'n' } };
  const note = (verb: string) => async () => {
    calls.push(verb);
    return object;
  };
  const verbs = ['create', 'apply', 'replace', 'replaceStatus', 'mergePatch', 'delete', 'get', 'list', 'post'] as const;
  const state = { isLeading: true };
  const client = guardWrites(
    Object.fromEntries(verbs.map((verb) => [verb, note(verb)])) as unknown as KubernetesClient,
    () => state.isLeading,
  );
  const { ConfigMap } = resourceTypes;
  const write = (signal?: AbortSignal): Promise<unknown> =>
    Promise.allSettled([
      client.create(ConfigMap, object, signal),
      client.apply(ConfigMap, object, {}, signal),
      client.replace(ConfigMap, object, signal),
      client.replaceStatus(ConfigMap, object, signal),
      client.mergePatch(ConfigMap, object.metadata, {}, signal),
      client.delete(ConfigMap, object.metadata, {}, signal),
    ]);
  const read = (): Promise<unknown> =>
    Promise.all([client.get(ConfigMap, object.metadata), client.list(ConfigMap, {})]);
  return { calls, state, write, read };
}

const writes = ['create', 'apply', 'replace', 'replaceStatus', 'mergePatch', 'delete'];

test('the leader writes', async () => {
  const { calls, write } = start();
  await write();
  assert.deepEqual(calls, writes);
});

test('one that does not lead only reads; its writes wait until it leads', async () => {
  const { calls, state, write, read } = start();
  state.isLeading = false;
  const writing = write();
  await read();
  assert.deepEqual(calls, ['get', 'list']);
  state.isLeading = true;
  await writing;
  assert.deepEqual(calls.slice(2), writes);
});

test('writes that are called off are never sent', async () => {
  const { calls, state, write } = start();
  state.isLeading = false;
  const abort = new AbortController();
  const writing = write(abort.signal);
  abort.abort();
  await writing;
  state.isLeading = true;
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.deepEqual(calls, []);
});
