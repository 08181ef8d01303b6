// Federations: each target compiled as a backend of its own, what is served of it, and messages that cannot be read.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { version } from '../../../base/version.ts';
import { emptyConfiguration } from '../../../ir/configuration.ts';
import {
  BackendSchema,
  type FederatedTargetSchema,
  type FederationBackendSchema,
  NamePrefix,
  TargetFailureMode,
} from '../../../ir/gen/config_pb.ts';
import { compile } from './compile.ts';

type Target = MessageInitShape<typeof FederatedTargetSchema>;
type Federation = MessageInitShape<typeof FederationBackendSchema>;

const upstream = {
  endpoints: [{ host: '127.0.0.1', port: 1 }],
  requestTimeoutMs: 5,
  idleTimeoutMs: 7,
  connectTimeoutMs: 3,
};
const key = 'ProxyBackend/n/desk';
const tickets: Target = { server: { name: 'tickets', upstream, path: '/mcp' }, prefix: 'tix' };
const crm: Target = { server: { name: 'crm', upstream, path: '/sse', transport: 2 }, prefix: 'crm' };

function build(federation: Federation, before?: ReturnType<typeof compile>) {
  const value = { serverInfo: { name: 'desk' }, ...federation };
  const backends = [create(BackendSchema, { key, kind: { case: 'federation', value } as never })];
  return compile({ ...emptyConfiguration, backends }, before?.runtime);
}

function read(federation: Federation) {
  const { runtime, problems } = build(federation);
  assert.deepEqual(problems, []);
  return runtime.backends.get(key)!;
}

describe('a federation', () => {
  test('has prefixes unless it is told to have none', () => {
    assert.equal(read({ targets: [tickets] }).federation?.naming, 'always');
    assert.equal(read({ targets: [tickets], namePrefix: NamePrefix.ALWAYS }).federation?.naming, 'always');
    assert.equal(read({ targets: [tickets], namePrefix: NamePrefix.NEVER }).federation?.naming, 'never');
  });

  test('has targets that are backends of their own, and no endpoints', () => {
    const config = read({
      targets: [tickets, { ...crm, failureMode: TargetFailureMode.FAIL_CLOSED }],
      sessionRouting: 2,
    });
    assert.deepEqual(config.endpoints, []);
    assert.deepEqual(
      config.federation?.targets.map(({ name, prefix, failsClosed, backend }) => [
        name,
        prefix,
        failsClosed,
        backend.key,
      ]),
      [
        ['tickets', 'tix', false, `${key}/targets/tickets`],
        ['crm', 'crm', true, `${key}/targets/crm`],
      ],
    );
    const [first, second] = config.federation?.targets ?? [];
    assert.deepEqual(first?.backend.mcp, {
      target: 'tickets',
      path: '/mcp',
      transport: 'streamable-http',
      sessionRouting: 'stateless',
    });
    assert.equal(second?.backend.mcp?.transport, 'sse');
    assert.deepEqual(
      [first?.backend.connectTimeoutMs, first?.backend.requestTimeoutMs, first?.backend.idleTimeoutMs],
      [3, 5, 7],
    );
  });

  test('tells what it is: its own words, or the name and the version of the gateway', () => {
    const plain = { name: 'desk', title: undefined, version, instructions: undefined };
    assert.deepEqual(read({ targets: [tickets] }).federation?.serverInfo, plain);
    const own = { name: 'a', title: 'A', version: '2', instructions: 'Ask.' };
    assert.deepEqual(read({ targets: [tickets], serverInfo: own }).federation?.serverInfo, own);
  });

  test('serves what is included and not excluded', () => {
    const { selects } = read({
      targets: [
        { ...tickets, tools: { include: ['ticket_*'], exclude: ['*_purge'] }, prompts: { exclude: ['draft'] } },
      ],
    }).federation!.targets[0]!;
    const names = ['ticket_close', 'ticket_purge', 'other', 'ticket.close'];
    assert.deepEqual(names.filter(selects.tool), ['ticket_close']);
    assert.deepEqual(['draft', 'drafts'].filter(selects.prompt), ['drafts']);
    assert.equal(selects.resource('anything at all'), true);
  });

  test('serves a resource only if every spelling of it is served', () => {
    const { selects } = read({ targets: [{ ...tickets, resources: { exclude: ['file:///secret*'] } }] }).federation!
      .targets[0]!;
    assert.equal(selects.resource('file:///public'), true);
    for (const uri of ['file:///secret', 'FILE:///secret', 'file:///%73ecret', 'file:///a/../secret', 'file:///a%2fb'])
      assert.equal(selects.resource(uri), false, uri);
  });

  test('keeps connections of a target whose prefix changes, and is another one then', () => {
    const before = build({ targets: [tickets, crm] });
    const after = build({ targets: [{ ...tickets, prefix: 'other' }, crm] }, before);
    const [one, other] = [before, after].map(({ runtime }) => runtime.backends.get(key)!);
    assert.notEqual(one!.fingerprint, other!.fingerprint);
    assert.deepEqual(
      one!.federation!.targets.map(({ backend }) => backend.fingerprint),
      other!.federation!.targets.map(({ backend }) => backend.fingerprint),
    );
    assert.equal(build({ targets: [tickets, crm] }, before).runtime.backends.get(key), one);
  });

  test('has a target that cannot be used, without endpoints and with the reason', () => {
    const failure = { status: 500, reason: 'backend_invalid', message: 'Service n/a does not exist' };
    const [, broken] = read({ targets: [tickets, { server: { name: 'crm' }, prefix: 'crm', failure }] }).federation!
      .targets;
    assert.deepEqual([broken?.unusable, broken?.backend.endpoints], ['Service n/a does not exist', []]);
  });

  const bad: readonly (readonly [string, Federation, RegExp])[] = [
    ['no target', { targets: [] }, /has no targets/],
    ['a target without a name', { targets: [{ prefix: 'a' }] }, /has no name/],
    ['a prefix with _', { targets: [{ ...tickets, prefix: 'a_b' }] }, /prefix "a_b" of target tickets/],
    ['no prefix', { targets: [{ ...tickets, prefix: '' }] }, /prefix "" of target tickets/],
    ['equal prefixes', { targets: [tickets, { ...crm, prefix: 'tix' }] }, /two targets have the prefix tix/],
    ['equal names', { targets: [tickets, { ...tickets, prefix: 'b' }] }, /two targets have the name tickets/],
    [
      'neither an upstream nor a failure',
      { targets: [{ server: { name: 'a' }, prefix: 'a' }] },
      /upstream or a failure/,
    ],
    ['a naming that is not known', { targets: [tickets], namePrefix: 9 as never }, /naming 9/],
    ['a failure mode that is not known', { targets: [{ ...tickets, failureMode: 9 as never }] }, /failure mode 9/],
    ['no server info', { targets: [tickets], serverInfo: { name: '' } }, /federation has no name/],
    [
      'a target with a port that is none',
      { targets: [tickets, { ...crm, server: { name: 'crm', upstream: { endpoints: [{ host: 'a', port: 0 }] } } }] },
      /not an address/,
    ],
  ];
  for (const [name, federation, expected] of bad)
    test(`with ${name} is not served`, () => {
      const { runtime, problems } = build(federation);
      assert.equal(runtime.backends.get(key), undefined);
      assert.equal(problems.length, 1);
      assert.match(problems[0]!.message, expected);
    });
});
