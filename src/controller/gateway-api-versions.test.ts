// The versions of the Gateway API's CRDs, as far as they can be read.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLog } from '../base/log.ts';
import { createManualClock } from '../../test/kit/manual-clock.ts';
import { ApiError, ApiUnreachableError, type KubernetesObject, type Scope } from '../kubernetes/client.ts';
import { GatewayApiVersionsWatch } from './gateway-api-versions.ts';

async function start(find: (name: string) => KubernetesObject | undefined) {
  const clock = createManualClock();
  const watch = new GatewayApiVersionsWatch({
    client: {
      list: async (_type, scope: Scope) => {
        const item = find(scope.fieldSelector!.replace('metadata.name=', ''));
        return { items: item === undefined ? [] : [item], resourceVersion: '1', continue: undefined };
      },
    },
    log: silentLog,
    clock,
  });
  await clock.advance(0);
  return { clock, watch };
}

function crd(name: string, version?: string): KubernetesObject {
  const annotations = version === undefined ? {} : { 'gateway.networking.k8s.io/bundle-version': version };
  return { metadata: { name, annotations } };
}

describe('Gateway API versions', () => {
  test('are read, also when one is missing or does not say, and again after a while', async () => {
    let version = 'v1.6.1';
    const { watch, clock } = await start((name) => {
      if (name.startsWith('referencegrants')) return undefined;
      return crd(name, name.startsWith('httproutes') ? undefined : version);
    });
    assert.deepEqual(watch.versions.get(), { state: 'known', versions: ['v1.6.1', 'v1.6.1', ''] });
    version = 'v1.7.0';
    await clock.advance(5 * 60_000);
    assert.deepEqual(watch.versions.get(), { state: 'known', versions: ['v1.7.0', 'v1.7.0', ''] });
    watch.stop();
  });

  test('that may not be read are told as such', async () => {
    const { watch } = await start(() => {
      throw new ApiError('forbidden', { code: 403, reason: 'Forbidden', message: '', retryAfterSeconds: undefined });
    });
    assert.deepEqual(watch.versions.get(), { state: 'unreadable' });
    watch.stop();
  });

  test('are asked for again while the API server is away', async () => {
    let isAway = true;
    const { watch, clock } = await start((name) => {
      if (isAway) throw new ApiUnreachableError('away');
      return crd(name, 'v1.6.1');
    });
    assert.deepEqual(watch.versions.get(), { state: 'not-asked' });
    isAway = false;
    await clock.advance(2_000);
    assert.equal(watch.versions.get().state, 'known');
    watch.stop();
  });
});
