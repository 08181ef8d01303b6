import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLog } from '../../../base/log.ts';
import { noBackendPolicies } from '../../config/compile/compile-policies.ts';
import type {
  BackendPolicies,
  ListenerConfig,
  PortConfig,
  RouteConfig,
  RuntimeConfig,
  WeightedBackendConfig,
} from '../../config/runtime-config.ts';
import { HostTable } from '../../route/table/hostname.ts';
import { NotificationStreams } from './list-changed.ts';
import type { McpAuthorizationConfig } from '../../config/mcp-authorization-config.ts';
import { createRules } from '../testing/message-fixture.ts';

const denyA = createRules({ action: 'Deny', expressions: ['mcp.tool.name == "a"'] });
const denyAAgain = createRules({ action: 'Deny', expressions: ['mcp.tool.name == "a"'] });
const denyB = createRules({ action: 'Deny', expressions: ['mcp.tool.name == "b"', 'mcp.prompt.name == "b"'] });

type Entry = Partial<WeightedBackendConfig> & { readonly backend: string };

function rulesOf(rules: McpAuthorizationConfig): BackendPolicies {
  return { ...noBackendPolicies, 'backend.mcp.authorization': rules };
}

/** A configuration with these backends, each behind a route of its own. */
function configure(...entries: Entry[]): RuntimeConfig {
  const routes = entries.map((entry) => ({
    route: {
      backends: { entries: [{ policies: noBackendPolicies, ...entry }], totalWeight: 1 },
    } as unknown as RouteConfig,
  }));
  const listener = { routes: new HostTable([['', { entries: routes }]]) } as unknown as ListenerConfig;
  const port = { listeners: new HostTable([['', listener]]) } as unknown as PortConfig;
  return {
    version: 1,
    ports: new Map([['|80', port]]),
    backends: new Map(),
    authentications: [],
    jwtAuthentications: [],
    sealKeys: [],
    keyUsers: [],
    policyConflicts: [],
  };
}

/** Opens a stream and writes down what it is told. */
function openStream(
  streams: NotificationStreams,
  backend: string,
  rules?: McpAuthorizationConfig,
): { told: string[]; close: () => void } {
  const told: string[] = [];
  const close = streams.open({
    backend,
    rules,
    changeRules: (now, lists) =>
      void told.push(
        `${now === denyA ? 'A' : now === denyB ? 'B' : now === undefined ? 'none' : 'other'}: ${lists.join(' ')}`,
      ),
  });
  return { told, close };
}

describe('open streams and changing rules', () => {
  test('only those whose rules say something else are told', () => {
    const streams = new NotificationStreams(silentLog);
    streams.reconcile(configure({ backend: 'x' }, { backend: 'y' }));
    const x = openStream(streams, 'x');
    const y = openStream(streams, 'y');
    streams.reconcile(configure({ backend: 'x', policies: rulesOf(denyA) }, { backend: 'y' }));
    assert.deepEqual([x.told, y.told], [['A: tools'], []]);
    streams.reconcile(configure({ backend: 'x', policies: rulesOf(denyAAgain) }, { backend: 'y' }));
    assert.deepEqual([x.told, y.told], [['A: tools'], []]);
    streams.reconcile(
      configure({ backend: 'x', policies: rulesOf(denyB) }, { backend: 'y', policies: rulesOf(denyB) }),
    );
    assert.deepEqual([x.told, y.told], [['A: tools', 'B: tools prompts'], ['B: tools prompts']]);
    streams.reconcile(configure({ backend: 'x' }, { backend: 'y', policies: rulesOf(denyB) }));
    assert.deepEqual(x.told.slice(2), ['none: tools prompts']);
  });

  test('a stream that has ended is told nothing', () => {
    const streams = new NotificationStreams(silentLog);
    streams.reconcile(configure({ backend: 'x' }));
    const x = openStream(streams, 'x');
    x.close();
    x.close();
    streams.reconcile(configure({ backend: 'x', policies: rulesOf(denyA) }));
    assert.deepEqual(x.told, []);
  });

  test('a change between the request and the stream is not missed', () => {
    const streams = new NotificationStreams(silentLog);
    streams.reconcile(configure({ backend: 'x', policies: rulesOf(denyA) }));
    assert.deepEqual(openStream(streams, 'x').told, ['A: tools']);
    assert.deepEqual(openStream(streams, 'x', denyA).told, []);
    assert.deepEqual(openStream(streams, 'x', denyAAgain).told, []);
  });

  test('while a backend is closed or gone nobody is told; afterwards what was known before counts', () => {
    const streams = new NotificationStreams(silentLog);
    streams.reconcile(configure({ backend: 'x', policies: rulesOf(denyA) }));
    const x = openStream(streams, 'x', denyA);
    const failure = { failure: {}, source: 'p' } as unknown as BackendPolicies['failure'];
    streams.reconcile(configure({ backend: 'x', policies: { ...noBackendPolicies, failure } }));
    streams.reconcile(configure());
    assert.deepEqual(x.told, []);
    streams.reconcile(configure({ backend: 'x', policies: rulesOf(denyAAgain) }));
    assert.deepEqual(x.told, []);
    streams.reconcile(configure({ backend: 'x' }));
    assert.deepEqual(x.told, ['none: tools']);
  });

  test('one stream in trouble keeps nothing from the others, and before a configuration nothing happens', () => {
    const streams = new NotificationStreams(silentLog);
    streams.open({
      backend: 'x',
      rules: undefined,
      changeRules() {
        throw new Error('broken');
      },
    });
    const x = openStream(streams, 'x');
    assert.deepEqual(x.told, []);
    streams.reconcile(configure({ backend: 'x', policies: rulesOf(denyA) }));
    assert.deepEqual(x.told, ['A: tools']);
  });
});
