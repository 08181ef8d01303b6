import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, ApiUnreachableError, type KubernetesObject } from '../kubernetes/client.ts';
import { checkLeader, UnknownLeaderError } from './check-leader.ts';

const pod = (ip: string, serviceAccountName = 'proxy'): KubernetesObject => ({
  metadata: { name: 'proxy-2', namespace: 'proxy-system' },
  spec: { serviceAccountName },
  status: { podIPs: [{ ip }] },
});

function check(address: string | undefined, found: KubernetesObject | Error, identity = 'proxy-2'): Promise<void> {
  return checkLeader(
    { identity, address },
    {
      client: {
        async get(type, { namespace, name }) {
          assert.deepEqual([type.kind, namespace, name], ['Pod', 'proxy-system', identity]);
          if (found instanceof Error) throw found;
          return found;
        },
      },
      installationNamespace: 'proxy-system',
      findOwnUsername: async () => 'system:serviceaccount:proxy-system:proxy',
    },
  );
}

test('a pod with our ServiceAccount, at its own address', async () => {
  await check('10.1.0.9:9978', pod('10.1.0.9'));
  await check('[fd00::9]:9978', pod('fd00:0::9'));
});

test('anybody else is not shown a token', async () => {
  const gone = new ApiError('not found', { code: 404, reason: 'NotFound', message: '', retryAfterSeconds: undefined });
  for (const [promise, words] of [
    [check('10.6.6.6:9978', pod('10.1.0.9')), /10\.6\.6\.6:9978, but pod proxy-system\/proxy-2/],
    [check('evil.example:9978', pod('10.1.0.9')), /does not have it/],
    [check(undefined, pod('10.1.0.9')), /does not have it/],
    [check('10.1.0.9:9978', pod('10.1.0.9', 'default')), /another ServiceAccount/],
    [check('10.1.0.9:9978', gone), /no such pod/],
  ] as const)
    await assert.rejects(promise, (error: unknown) => error instanceof UnknownLeaderError && words.test(error.message));
});

test('on doubt nothing is sent either', async () => {
  await assert.rejects(check('10.1.0.9:9978', new ApiUnreachableError('connection refused')), /connection refused/);
});
