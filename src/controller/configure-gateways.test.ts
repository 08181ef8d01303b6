// From resources to snapshots: which Gateway gets what, and what one that fails does to the others.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseResource } from '../api/parse-resource.ts';
import { emptyResources, type Resources } from '../api/resources.ts';
import { silentLog } from '../base/log.ts';
import { takeStep } from '../deploy/plan-signing-keys.ts';
import { renderSealKeySecret } from '../deploy/seal-key-secret.ts';
import { readSigningKeyObject, renderSigningKeySecret, replaceSigningKeys } from '../deploy/signing-key-secret.ts';
import { LoginFlow } from '../ir/gen/config_pb.ts';
import { createTranslator, type Translation } from '../translate/translate.ts';
import type { Snapshot } from '../xds/snapshot.ts';
import { GatewayConfigurator } from './configure-gateways.ts';
import { SealKeyMessages } from './seal-key-messages.ts';
import { SigningKeyMessages } from './signing-key-messages.ts';
import { SnapshotHistory } from './snapshot-history.ts';

const lists = {
  Gateway: 'gateways',
  HTTPRoute: 'httpRoutes',
  ProxyBackend: 'proxyBackends',
  ProxyPolicy: 'proxyPolicies',
  Secret: 'secrets',
} as const;

function parse(...objects: readonly object[]): Resources {
  const resources: Record<string, unknown[]> = Object.fromEntries(
    Object.entries(emptyResources).map(([name, list]) => [name, [...(list as unknown[])]]),
  );
  for (const object of objects) {
    const parsed = parseResource(object, { origin: 'kubernetes' });
    assert.ok(parsed.ok, JSON.stringify(parsed));
    resources[lists[parsed.kind as keyof typeof lists]]!.push(parsed.resource);
  }
  return resources as unknown as Resources;
}

function gateway(name: string, uid = `uid-${name}`, extra: object = {}): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { namespace: 'team', name, uid },
    spec: { gatewayClassName: 'proxy', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }], ...extra },
  };
}

const login = [
  {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyBackend',
    metadata: { namespace: 'team', name: 'tickets' },
    spec: { mcp: { targets: [{ name: 'main', static: { host: '127.0.0.1', port: 3001 } }] } },
  },
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { namespace: 'team', name: 'tickets' },
    spec: {
      parentRefs: [{ name: 'a' }],
      rules: [{ backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'tickets' }] }],
    },
  },
  {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { namespace: 'team', name: 'login' },
    spec: {
      targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name: 'tickets' }],
      backend: {
        mcp: { authentication: { issuer: 'https://idp.example.com', audiences: ['tickets'], flow: 'Direct' } },
      },
    },
  },
];

function createFixture(
  change: (translation: Translation) => Translation = (translation) => translation,
  isEncrypted = true,
) {
  const snapshots = new Map<string, Snapshot | undefined>();
  let pushes = 0;
  const history = new SnapshotHistory();
  const translator = createTranslator({ placement: 'pods' });
  const configurator = new GatewayConfigurator({
    log: silentLog,
    server: {
      setSnapshot(name, snapshot) {
        pushes += 1;
        snapshots.set(name, snapshot);
      },
    },
    history,
    sealKeys: new SealKeyMessages('proxy-system', silentLog),
    signingKeys: isEncrypted ? new SigningKeyMessages('proxy-system', silentLog) : undefined,
    translate: (resources) => change(translator.translate(resources)),
    onTranslated() {},
  });
  const countSecrets = (name: string): number =>
    [...(snapshots.get(name)?.resources ?? [])].find(([type]) => type.endsWith('.Secret'))?.[1].size ?? 0;
  return { configurator, snapshots, countSecrets, countPushes: () => pushes };
}

describe('configuring', () => {
  test('each Gateway gets its own, what did not change is not handed over again, and what is gone is not known', () => {
    const { configurator, snapshots, countPushes } = createFixture();
    const resources = parse(gateway('a'), gateway('b'));
    configurator.configure(resources);
    assert.deepEqual([...snapshots.keys()], ['team/a', 'team/b']);
    assert.notEqual(snapshots.get('team/a')!.digest, snapshots.get('team/b')!.digest);
    configurator.configure({ ...resources });
    assert.equal(countPushes(), 2);
    configurator.configure(parse(gateway('a')));
    assert.deepEqual([snapshots.get('team/b'), countPushes()], [undefined, 3]);
    assert.ok(configurator.measure().messages > 0 && configurator.measure().bytes > 0);
  });

  test('two that read the same give the same', () => {
    const objects = [gateway('a'), ...login];
    const [left, right] = [createFixture(), createFixture()];
    left.configurator.configure(parse(...objects));
    right.configurator.configure(parse(...objects.toReversed()));
    assert.equal(left.snapshots.get('team/a')!.digest, right.snapshots.get('team/a')!.digest);
  });

  test('ServiceAccounts are known for Gateways that are served, and only after the first round', () => {
    const { configurator } = createFixture();
    assert.deepEqual(configurator.findServiceAccount('team/a'), { state: 'not-synced' });
    configurator.configure(
      parse(
        gateway('a'),
        gateway('b', 'u', { gatewayClassName: 'other' }),
        gateway('c', 'u', { listeners: [{ name: 'x', port: 1, protocol: 'UDP' }] }),
      ),
    );
    assert.deepEqual(configurator.findServiceAccount('team/a'), { state: 'known', name: 'a-proxy' });
    assert.deepEqual(configurator.findServiceAccount('team/b'), { state: 'unknown' });
    assert.deepEqual(
      configurator.findServiceAccount('team/c'),
      { state: 'known', name: 'c-proxy' },
      'it is held, and may have pods',
    );
  });

  test('a Gateway whose snapshot cannot be made keeps the one it has, and the others get theirs', () => {
    let isBroken = false;
    const { configurator, snapshots } = createFixture((translation) => {
      if (!isBroken) return translation;
      const listeners = translation.configuration.listeners.flatMap((listener) =>
        listener.gateway === 'team/a' ? [listener, listener] : [listener],
      );
      return { ...translation, configuration: { ...translation.configuration, listeners } };
    });
    assert.equal(configurator.configure(parse(gateway('a'))).failures, 0);
    const before = snapshots.get('team/a');
    isBroken = true;
    assert.equal(configurator.configure(parse(gateway('a'), gateway('b'))).failures, 1);
    assert.equal(snapshots.get('team/a'), before);
    assert.notEqual(snapshots.get('team/b'), undefined);
  });
});

describe('seal keys', () => {
  const owner = { namespace: 'team', name: 'a', uid: 'uid-a' };
  const secret = renderSealKeySecret(owner, 'proxy-system');

  test('are asked for where they are needed, and added when they are there', () => {
    const { configurator, countSecrets, countPushes } = createFixture();
    assert.deepEqual(configurator.configure(parse(gateway('a'), gateway('b'))).sealKeyOwners, []);
    assert.deepEqual(configurator.configure(parse(gateway('a'), gateway('b'), ...login)).sealKeyOwners, [owner]);
    assert.equal(countSecrets('team/a'), 0);
    const resources = parse(gateway('a'), gateway('b'), ...login, secret);
    configurator.configure(resources);
    assert.deepEqual([countSecrets('team/a'), countSecrets('team/b')], [1, 0]);
    const pushes = countPushes();
    configurator.configure({ ...resources, namespaces: [] });
    assert.equal(countPushes(), pushes);
  });

  test('of a Gateway that is held stay with it', () => {
    const { configurator, countSecrets } = createFixture();
    const held = gateway('a', 'uid-a', {
      infrastructure: { parametersRef: { group: 'gateway.proxy', kind: 'GatewayParameters', name: 'none' } },
    });
    const { translation } = configurator.configure(parse(held, ...login, secret));
    assert.deepEqual([translation.plans.length, translation.held.length], [0, 1]);
    assert.equal(countSecrets('team/a'), 1);
  });

  test('of an earlier Gateway of that name, of another namespace, or that are none, are not used', () => {
    const { configurator, countSecrets } = createFixture();
    const elsewhere = { ...secret, metadata: { ...secret.metadata, namespace: 'team' } };
    const unlabelled = { ...secret, metadata: { ...secret.metadata, labels: {} } };
    const broken = { ...secret, data: { current: 'AAAA' } };
    for (const objects of [
      [gateway('a', 'another'), secret],
      [gateway('a'), elsewhere],
      [gateway('a'), unlabelled],
      [gateway('a'), broken],
    ]) {
      configurator.configure(parse(...objects, ...login));
      assert.equal(countSecrets('team/a'), 0);
    }
  });
});

describe('signing keys', () => {
  const owner = { namespace: 'team', name: 'a', uid: 'uid-a' };
  const secret = renderSigningKeySecret(owner, 'proxy-system', Date.UTC(2026, 0, 1));
  const stored = readSigningKeyObject(secret);
  assert.ok(stored.ok);
  const kid = stored.keys.current.kid;

  /** As if the policies had the flow Issuer. */
  const issue = (translation: Translation): Translation => ({
    ...translation,
    configuration: {
      ...translation.configuration,
      policies: translation.configuration.policies.map((policy) =>
        policy.spec.case === 'mcpAuthentication'
          ? { ...policy, spec: { ...policy.spec, value: { ...policy.spec.value, flow: LoginFlow.ISSUER } } }
          : policy,
      ),
    },
  });

  test('are asked for where tokens are issued, added when they are there, and told of', () => {
    const { configurator, countSecrets } = createFixture(issue);
    const without = configurator.configure(parse(gateway('a'), gateway('b'), ...login));
    assert.deepEqual([without.signingKeyOwners, [...without.signingKeys]], [[owner], []]);
    assert.equal(countSecrets('team/a'), 0);
    const { signingKeyOwners, signingKeys } = configurator.configure(
      parse(gateway('a'), gateway('b'), ...login, secret),
    );
    assert.deepEqual(signingKeyOwners, [owner]);
    assert.deepEqual([...signingKeys], [['team/a', { kids: [kid], active: kid }]]);
    assert.deepEqual([countSecrets('team/a'), countSecrets('team/b')], [1, 0]);

    // The next key is sent before it signs.
    const prepared = takeStep(stored.keys, 'prepare', 0);
    const rotating = replaceSigningKeys(secret, prepared, { isAnswered: true });
    const sent = configurator.configure(parse(gateway('a'), ...login, rotating)).signingKeys.get('team/a');
    assert.deepEqual(sent, { kids: [kid, prepared.next?.kid], active: kid });
  });

  test('are for policies that issue tokens only', () => {
    const { configurator, countSecrets } = createFixture();
    assert.deepEqual(configurator.configure(parse(gateway('a'), ...login, secret)).signingKeyOwners, []);
    assert.equal(countSecrets('team/a'), 0);
  });

  test('never cross the network in clear, nor are they made', () => {
    const { configurator, countSecrets } = createFixture(issue, false);
    const { signingKeyOwners, signingKeys } = configurator.configure(parse(gateway('a'), ...login, secret));
    assert.deepEqual([signingKeyOwners, signingKeys.size, countSecrets('team/a')], [[], 0, 0]);
  });

  test('of an earlier Gateway of that name, of another namespace, or that are none, are not used', () => {
    const { configurator, countSecrets } = createFixture(issue);
    const elsewhere = { ...secret, metadata: { ...secret.metadata, namespace: 'team' } };
    const unlabelled = { ...secret, metadata: { ...secret.metadata, labels: {} } };
    const broken = { ...secret, data: { current: 'AAAA' } };
    for (const objects of [
      [gateway('a', 'another'), secret],
      [gateway('a'), elsewhere],
      [gateway('a'), unlabelled],
      [gateway('a'), broken],
    ]) {
      configurator.configure(parse(...objects, ...login));
      assert.equal(countSecrets('team/a'), 0);
    }
  });
});
