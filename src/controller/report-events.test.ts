// Which Events there are, and beside what.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { emptyConfiguration } from '../ir/configuration.ts';
import { ListenerSchema, PolicySchema, RouteSchema } from '../ir/gen/config_pb.ts';
import type { EventRecord } from '../kubernetes/events.ts';
import type { GatewayFacts, MessageRejection } from '../translate/gateway-facts.ts';
import { buildSnapshot } from '../xds/snapshot.ts';
import { EventReporter, type EventSources } from './report-events.ts';

const snapshot = buildSnapshot({
  ...emptyConfiguration,
  policies: [create(PolicySchema, { key: 'team/login/x/y', source: 'team/login' })],
  routes: [create(RouteSchema, { key: 'team/tickets/0', httpRoute: 'team/tickets' })],
  listeners: [create(ListenerSchema, { key: 'team/edge/http', gateway: 'team/edge' })],
});

function facts(overrides: Partial<GatewayFacts>): ReadonlyMap<string, GatewayFacts> {
  return new Map([
    [
      'team/edge',
      {
        addresses: [],
        deployProblem: undefined,
        addressProblem: undefined,
        processes: 1,
        isSettled: () => true,
        behind: [],
        listBehind: () => [],
        rejections: [],
        keyProblems: new Map(),
        bindProblems: new Map(),
        ...overrides,
      },
    ],
  ]);
}

function createFixture() {
  const events: EventRecord[] = [];
  const reporter = new EventReporter({ record: (event) => void events.push(event) });
  const report = (sources: Partial<EventSources>): void =>
    reporter.report({
      facts: new Map(),
      conflicts: [],
      unattached: [],
      findSnapshot: () => snapshot,
      findUid: (kind, namespace, name) => (name === 'gone' ? undefined : `${kind}/${namespace}/${name}`),
      ...sources,
    });
  return { events, reporter, report };
}

function reject(list: MessageRejection['list'], key: string): ReadonlyMap<string, GatewayFacts> {
  return facts({ rejections: [{ list, key, reason: 'it is odd' }] });
}

describe('events', () => {
  test('a rollout that is stuck is told once, however it is counted, and one that is under way is not', () => {
    const { events, report } = createFixture();
    const problem = { reason: 'FailedCreate', message: 'Deployment edge-proxy: FailedCreate: exceeded quota' } as const;
    report({ facts: facts({ rollout: { progress: '0 of 2', ready: 2, problem: undefined } }) });
    report({ facts: facts({ rollout: { progress: '0 of 2', ready: 2, problem } }) });
    report({ facts: facts({ rollout: { progress: '1 of 2', ready: 1, problem } }) });
    assert.deepEqual(
      events.map(({ type, subject, reason, note }) => [type, subject.kind, subject.name, reason, note]),
      [['Warning', 'Gateway', 'edge', 'RolloutStuck', `Pods do not get ready: ${problem.message}.`]],
    );
  });

  test('a policy that misses its target is told once, beside the policy', () => {
    const { events, report } = createFixture();
    const unattached = [{ policy: 'team/login', message: 'HTTPRoute/tols does not exist in namespace team.' }];
    report({ unattached });
    report({ unattached });
    assert.deepEqual(
      events.map(({ type, subject, reason, note }) => [type, subject.kind, subject.name, reason, note]),
      [
        [
          'Warning',
          'ProxyPolicy',
          'login',
          'TargetNotFound',
          'HTTPRoute/tols does not exist in namespace team. It protects less than it should.',
        ],
      ],
    );
  });

  test('a gateway that is behind is told once, beside its Gateway, with the name of its pod', () => {
    const { events, report } = createFixture();
    const behind = [
      { name: 'edge-a', isConnected: false },
      { name: 'edge-b', isConnected: true },
    ];
    report({ facts: facts({ behind }) });
    report({ facts: facts({ behind }) });
    assert.deepEqual(
      events.map(({ type, subject, reason, note }) => [type, subject.kind, subject.name, reason, note]),
      [
        [
          'Warning',
          'Gateway',
          'edge',
          'GatewayBehind',
          'Pod edge-a takes traffic without a connection to the controller: it enforces what it last received.',
        ],
        [
          'Warning',
          'Gateway',
          'edge',
          'GatewayBehind',
          'Pod edge-b is connected, but does not apply the present configuration.',
        ],
      ],
    );
    report({ facts: facts({}) });
    report({ facts: facts({ behind }) });
    assert.equal(events.length, 4, 'it was over, and is so again');
  });

  test('what a gateway refuses is told beside the resource that it was made of', () => {
    const { events, report } = createFixture();
    for (const [list, key] of [
      ['policies', 'team/login/x/y'],
      ['routes', 'team/tickets/0'],
      ['listeners', 'team/edge/http'],
      ['backends', 'ProxyBackend/team/tickets'],
      ['backends', 'Service/team/tickets/80'],
      ['backends', 'InferencePool/team/model'],
      ['secrets', 'Secret/team/cert'],
    ] as const)
      report({ facts: reject(list, key) });
    assert.deepEqual(
      events.map(({ subject, reason }) => [subject.kind, subject.namespace, subject.name, subject.uid, reason]),
      [
        ['ProxyPolicy', 'team', 'login', 'ProxyPolicy/team/login', 'Rejected'],
        ['HTTPRoute', 'team', 'tickets', 'HTTPRoute/team/tickets', 'Rejected'],
        ['Gateway', 'team', 'edge', 'Gateway/team/edge', 'Rejected'],
        ['ProxyBackend', 'team', 'tickets', 'ProxyBackend/team/tickets', 'Rejected'],
        ['Gateway', 'team', 'edge', 'Gateway/team/edge', 'Rejected'],
        ['InferencePool', 'team', 'model', 'InferencePool/team/model', 'Rejected'],
        ['Gateway', 'team', 'edge', 'Gateway/team/edge', 'Rejected'],
      ],
    );
    assert.deepEqual(
      [events[0]!.note, events[4]!.note],
      ['Gateway team/edge cannot use it: it is odd', 'Its gateways cannot use Service/team/tickets/80: it is odd'],
    );
  });

  test('each is told when it comes up, and again when it comes back', () => {
    const { events, reporter, report } = createFixture();
    const rejected = reject('policies', 'team/login/x/y');
    report({ facts: rejected });
    report({ facts: rejected });
    assert.equal(events.length, 1);
    report({});
    report({ facts: rejected });
    assert.equal(events.length, 2);
    reporter.forget();
    report({ facts: rejected });
    assert.equal(events.length, 3);
  });

  test('a certificate that is kept', () => {
    const { events, report } = createFixture();
    const kept = { processes: 1, since: Date.UTC(2026, 0, 1), expiresAt: Date.UTC(2026, 1, 1) };
    report({ facts: facts({ processes: 1, keptCertificates: new Map([['team/edge/https', kept]]) }) });
    assert.deepEqual(
      events.map(({ subject, type, reason, note }) => [subject.name, type, reason, note]),
      [
        [
          'edge',
          'Warning',
          'CertificateKept',
          'Listener https: a certificate is missing or unusable; gateways keep serving the last good certificate, since 2026-01-01T00:00:00Z, until it expires at 2026-02-01T00:00:00Z.',
        ],
      ],
    );
  });

  test('keys, ports and conflicts', () => {
    const { events, report } = createFixture();
    const problem = { issuer: 'https://idp', reason: 'refused', neverLoaded: true };
    report({
      facts: facts({ keyProblems: new Map([['team/login/x/y', problem]]), bindProblems: new Map([[80, 'in use']]) }),
      conflicts: [
        {
          policy: 'team/second',
          field: 'traffic.cors',
          target: { kind: 'Gateway', namespace: 'team', name: 'edge', sectionName: '' },
          owner: 'team/first',
          because: 'is older',
        },
      ],
    });
    assert.deepEqual(
      events.map(({ subject, type, reason, note }) => [subject.name, type, reason, note]),
      [
        [
          'login',
          'Warning',
          'KeysUnavailable',
          'Gateway team/edge cannot load the keys of https://idp: refused; requests are answered with 503.',
        ],
        ['edge', 'Warning', 'PortUnavailable', 'Port 80 cannot be opened: in use'],
        [
          'second',
          'Warning',
          'Conflicted',
          'traffic.cors of Gateway/edge is set by ProxyPolicy team/first, which is older.',
        ],
      ],
    );
  });

  test('nothing is told of what is not there any more', () => {
    const { events, report } = createFixture();
    report({ facts: reject('backends', 'ProxyBackend/team/gone') });
    assert.deepEqual(events, []);
  });
});
