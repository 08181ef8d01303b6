// Statuses of pods as kubelets and schedulers write them, and what is said of them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readPodProblem } from './pod-problem.ts';

const pod = (status: object, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-proxy-5d9-x', namespace: 'default', ...metadata },
  status,
});
const container = (more: object) => ({ name: 'gateway', image: 'example.com/gateway:2', restartCount: 0, ...more });
const running = { running: { startedAt: '2026-01-31T12:00:00Z' } };
const waiting = (reason: string, message?: string) => ({ state: { waiting: { reason, message } } });
const crashed = { lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } } };
const read = (...containers: object[]) => {
  const problem = readPodProblem(pod({ phase: 'Pending', containerStatuses: containers.map(container) }));
  return problem === undefined ? undefined : `${problem.reason} | ${problem.message}`;
};

describe('a pod without a problem', () => {
  test('is starting, runs, has just been started again, or has ended', () => {
    for (const more of [
      waiting('ContainerCreating'),
      waiting('PodInitializing'),
      { state: running, started: true, ready: true },
      { state: running, started: false, restartCount: 1, ...crashed },
      // The kubelet starts it again at once the first time.
      { ...waiting('CrashLoopBackOff'), ...crashed },
      // Restarts of long ago: it has started since, and is not ready for another reason.
      { state: running, started: true, ready: false, restartCount: 7, ...crashed },
    ])
      assert.equal(read(more), undefined, JSON.stringify(more));
    assert.equal(readPodProblem(pod({})), undefined);
    const bad = { containerStatuses: [container(waiting('ErrImagePull', 'not found'))] };
    assert.equal(readPodProblem(pod({ ...bad, phase: 'Failed' })), undefined);
    assert.equal(readPodProblem(pod(bad, { deletionTimestamp: '2026-01-31T12:00:00Z' })), undefined);
  });
});

describe('an image that cannot be pulled', () => {
  const image = 'container gateway: ImagePullBackOff: image example.com/gateway:2 cannot be pulled';
  test('is told in the same words while the kubelet tries again', () => {
    const expected = `ImagePullBackOff | ${image}: manifest unknown`;
    assert.equal(read(waiting('ErrImagePull', 'manifest unknown')), expected);
    const backOff = 'Back-off pulling image "example.com/gateway:2"';
    assert.equal(read(waiting('ImagePullBackOff', `${backOff}: ErrImagePull: manifest unknown`)), expected);
    const first = readPodProblem(pod({ containerStatuses: [container(waiting('ErrImagePull', 'manifest unknown'))] }));
    const later = readPodProblem(pod({ containerStatuses: [container(waiting('ImagePullBackOff', backOff))] }), first);
    assert.deepEqual(later, first);
    assert.equal(read(waiting('ImagePullBackOff', backOff)), `ImagePullBackOff | ${image}`);
  });
  test('for other reasons keeps their names', () =>
    assert.equal(
      read(waiting('ErrImageNeverPull', 'not present with pull policy of Never')),
      'ImagePullBackOff | container gateway: ErrImageNeverPull: image example.com/gateway:2 cannot be pulled: not present with pull policy of Never',
    ));
});

test('a container that crashes again and again is one, also between two crashes', () => {
  const expected = 'CrashLoopBackOff | container gateway: CrashLoopBackOff: it ended with exit code 137 (OOMKilled)';
  const message = 'back-off 10s restarting failed container=gateway';
  assert.equal(read({ ...waiting('CrashLoopBackOff', message), restartCount: 1, ...crashed }), expected);
  assert.equal(read({ state: running, started: false, restartCount: 2, ...crashed }), expected);
});

test('a container that cannot be made names what is missing', () => {
  assert.equal(
    read({ state: running }, { ...waiting('CreateContainerConfigError', 'configmap "a" not found'), name: 'second' }),
    'CreateContainerConfigError | container second: CreateContainerConfigError: configmap "a" not found',
  );
  assert.equal(
    read(waiting('RunContainerError', 'exec: no such file.\n  or directory')),
    'CreateContainerError | container gateway: RunContainerError: exec: no such file. or directory',
  );
  assert.ok(read(waiting('OfTomorrow', 'x'.repeat(5_000)))!.length < 600);
});

test('init containers count', () => {
  const status = { initContainerStatuses: [{ name: 'first', image: 'a', ...waiting('InvalidImageName', 'bad') }] };
  assert.equal(
    readPodProblem(pod(status))?.message,
    'container first: InvalidImageName: image a cannot be pulled: bad',
  );
});

test('a pod for which no node has room', () => {
  const condition = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message: '0/3 nodes are available.',
  };
  assert.deepEqual(readPodProblem(pod({ phase: 'Pending', conditions: [condition] })), {
    reason: 'Unschedulable',
    message: 'Unschedulable: 0/3 nodes are available',
  });
});
