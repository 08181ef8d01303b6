// Statuses of Deployments as their controller writes them, and whether a rollout is done, under way or stuck.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeRollout, readDeployment } from './describe-rollout.ts';
import type { FailingPod } from './failing-pods.ts';

const counts = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2 };
function describe(status: object, failing: readonly FailingPod[] = []) {
  const deployment = readDeployment({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web-proxy', generation: 2 },
    spec: { replicas: 2 },
    status,
  });
  return deployment === undefined ? undefined : describeRollout('web-proxy', deployment, failing);
}
const broken: FailingPod = {
  name: 'web-proxy-5d9-x',
  problem: { reason: 'ImagePullBackOff', message: 'container gateway: ImagePullBackOff' },
};
const late = {
  type: 'Progressing',
  status: 'False',
  reason: 'ProgressDeadlineExceeded',
  message: 'ReplicaSet "web-proxy-5d9" has timed out progressing.',
};
const refused = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' };

test('nothing is said of a rollout that is done, or that nobody has looked at', () => {
  assert.equal(describe({}), undefined);
  assert.equal(describe(counts), undefined);
  // What is not needed for the pods that should be there is no problem of theirs.
  assert.equal(describe(counts, [broken]), undefined);
});

test('a rollout that is under way is counted', () => {
  const read = (status: object): unknown => {
    const rollout = describe(status);
    return [rollout?.progress, rollout?.ready, rollout?.problem];
  };
  const words = (done: number): string => `${done} of 2 pods are up to date and ready`;
  assert.deepEqual(read({ ...counts, observedGeneration: 1 }), [words(0), 2, undefined]);
  assert.deepEqual(read({ observedGeneration: 2 }), [words(0), 0, undefined]);
  assert.deepEqual(read({ ...counts, replicas: 3, updatedReplicas: 1 }), [words(0), 2, undefined]);
  assert.deepEqual(read({ ...counts, replicas: 3, updatedReplicas: 2, availableReplicas: 3 }), [
    words(2),
    3,
    undefined,
  ]);
  // A pod that is not ready any more.
  assert.deepEqual(read({ ...counts, availableReplicas: 1 }), [words(1), 1, undefined]);
});

test('a pod says why it is stuck, and the Deployment that it takes long', () => {
  const status = { ...counts, replicas: 3, updatedReplicas: 1 };
  assert.deepEqual(describe(status, [broken])?.problem, {
    reason: 'ImagePullBackOff',
    message: 'pod web-proxy-5d9-x, container gateway: ImagePullBackOff',
  });
  const both = describe({ ...status, conditions: [late] }, [broken]);
  assert.equal(both?.problem?.message, 'pod web-proxy-5d9-x, container gateway: ImagePullBackOff');
  assert.equal(
    both.progress,
    '0 of 2 pods are up to date and ready, and Deployment web-proxy says ProgressDeadlineExceeded',
  );
});

test('without a pod the Deployment says why', () => {
  const status = { ...counts, replicas: 2, updatedReplicas: 0 };
  assert.deepEqual(describe({ ...status, conditions: [late] }), {
    progress: '0 of 2 pods are up to date and ready',
    ready: 2,
    problem: {
      reason: 'ProgressDeadlineExceeded',
      message: 'Deployment web-proxy: ProgressDeadlineExceeded: ReplicaSet "web-proxy-5d9" has timed out progressing',
    },
  });
  assert.deepEqual(describe({ ...status, conditions: [late, refused] })?.problem, {
    reason: 'FailedCreate',
    message: 'Deployment web-proxy: FailedCreate: exceeded quota',
  });
  // What was said of the spec of before.
  assert.equal(describe({ ...status, observedGeneration: 1, conditions: [refused] })?.problem, undefined);
  const fine = { type: 'Progressing', status: 'True', reason: 'ReplicaSetUpdated', message: '' };
  assert.equal(describe({ ...status, conditions: [fine] })?.problem, undefined);
});
