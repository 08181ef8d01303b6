// The xDS client against a controller that does what the test says.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { create, type Message } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { type Policy, PolicyTargetKind } from '../../src/ir/gen/config_pb.ts';
import { ResourceSchema } from '../../src/ir/gen/discovery_pb.ts';
import { type BindProblem, BindProblemSchema, KeyProblemSchema } from '../../src/ir/gen/report_pb.ts';
import type { HeldResources } from '../../src/xds/client-resources.ts';
import { silentLog } from '../../src/base/log.ts';
import { ControllerConnection } from '../../src/xds/client-connection.ts';
import type { XdsClientOptions, XdsClientTimes } from '../../src/xds/client.ts';
import { startBlackHole } from './xds-client-black-hole.ts';
import {
  backend, digestOf, type FakeController, type FakeStream, policy, resource, secret, startClient, startFakeController, type TestedClient, typeUrlOf,
} from './xds-client-fixture.ts'; // prettier-ignore
import { waitFor } from '../kit/wait-for.ts';

interface Setup extends TestedClient {
  readonly controller: FakeController;
  readonly stream: FakeStream;
  readonly tested: TestedClient;
}

async function start(t: TestContext, options: Partial<XdsClientOptions> = {}): Promise<Setup> {
  const controller = await startFakeController();
  const tested = startClient(controller.url, options);
  t.after(async () => {
    await tested.client.close();
    await controller.close();
  });
  const stream = await nextStream(controller, 0);
  return { ...tested, tested, controller, stream };
}

async function nextStream(controller: FakeController, index: number): Promise<FakeStream> {
  await waitFor(`stream ${index}`, () => Object.keys(controller.streams[index]?.firsts ?? {}).length === 5);
  return controller.streams[index]!;
}

describe('a stream', () => {
  test('begins with who is asking, and asks for everything', async (t) => {
    const { stream } = await start(t, { readToken: () => Promise.resolve('secret-token') });
    const [first, ...others] = stream.requests;
    assert.equal(first?.node?.id, 'pod-1');
    assert.deepEqual(first.node.metadata, { namespace: 'n', gateway: 'g' });
    assert.equal(first.node.userAgentVersionType.value, '1.2.3');
    assert.equal(stream.authorization, 'Bearer secret-token');
    assert.ok(others.every(({ node }) => node === undefined));
    assert.deepEqual(
      stream.requests.map(({ typeUrl, resourceNamesSubscribe }) => [typeUrl, resourceNamesSubscribe]),
      (['secrets', 'backends', 'policies', 'listeners', 'routes'] as const).map((list) => [typeUrlOf(list), ['*']]),
    );
  });

  test('puts an update in force as a whole, and answers every response then', async (t) => {
    const { stream, applied, events } = await start(t);
    const digest = digestOf(['secrets', 'Secret/n/s', 'v1'], ['backends', 'b', 'v1']);
    const first = stream.send('secrets', digest, [resource('secrets', 'v1', secret('Secret/n/s', 'x'))]);
    await waitFor('the first response', () => events.includes('received Secret 1 0'));
    assert.deepEqual([applied.length, stream.answerTo(first)], [0, undefined]);
    const second = stream.send('backends', digest, [resource('backends', 'v1', backend('b'))]);
    await waitFor('both answers', () => stream.answerTo(first) !== undefined && stream.answerTo(second) !== undefined);
    assert.equal(applied.length, 1);
    assert.deepEqual(
      [applied[0]!.secrets.map(({ key }) => key), applied[0]!.backends.map(({ key }) => key)],
      [['Secret/n/s'], ['b']],
    );
    assert.deepEqual([stream.rejectionsIn(first), stream.rejectionsIn(second)], [undefined, undefined]);
  });

  test('never puts half of an update in force: when the rest does not come it is asked for again', async (t) => {
    const { controller, stream, applied, lines } = await start(t, { times: { quietMs: 20 } });
    const digest = digestOf(['secrets', 's', 'v1'], ['policies', 'n/p/x/y', 'v1'], ['backends', 'b', 'v1']);
    stream.send('backends', digest, [resource('backends', 'v1', backend('b'))]);

    // The first time, received resources count; the second time nothing does: client and server disagree about what the client has.
    const second = await nextStream(controller, 1);
    assert.deepEqual(second.firsts.backends?.initialResourceVersions, { b: 'v1' });
    second.send('secrets', digest, [resource('secrets', 'v1', secret('s', 'x'))]);
    const third = await nextStream(controller, 2);
    assert.deepEqual(third.firsts.backends?.initialResourceVersions, { b: '' });
    assert.deepEqual(third.firsts.secrets?.initialResourceVersions, { s: '' });
    assert.equal(applied.length, 0);
    assert.deepEqual(
      [stream, second].flatMap(({ requests }) => requests.filter(({ responseNonce }) => responseNonce !== '')),
      [],
    );
    const complaints = lines.filter((line) => line.includes('an update was incomplete'));
    assert.ok(complaints.length > 0 && complaints.every((line) => line.startsWith('warn ')), lines.join('\n'));

    const nonce = third.send('policies', digest, [resource('policies', 'v1', policy('n/p/x/y'))]);
    await waitFor('it is in force', () => applied.length === 1 && third.answerTo(nonce) !== undefined);
    assert.deepEqual([applied[0]!.backends.length, applied[0]!.secrets.length, applied[0]!.policies.length], [1, 1, 1]);
  });

  test('knows for how long nothing has come', async (t) => {
    const controller = await startFakeController();
    const times = { connectMs: 60_000, pingIntervalMs: 10, pingTimeoutMs: 60_000, reportRetryMs: 60_000 };
    const connection = new ControllerConnection({
      server: controller.url,
      ca: undefined,
      token: undefined,
      times,
      log: silentLog,
    });
    t.after(async () => {
      connection.close();
      await controller.close();
    });
    const responses = connection.open();
    const first = responses.next();
    await waitFor('a stream', () => controller.streams.length === 1);
    await waitFor('pings are answered, and count for nothing', () => connection.silentMs > 50);
    const sentAt = performance.now();
    controller.streams[0]!.send('backends', digestOf(), []);
    await first;
    const { silentMs } = connection;
    assert.ok(silentMs <= performance.now() - sentAt, 'it has come since it was sent');
    const second = responses.next();
    connection.giveUp(new ConnectError('enough', Code.DeadlineExceeded));
    await assert.rejects(second, /enough/);
  });

  test('an empty answer is a configuration too, and the same one is not put in force again', async (t) => {
    const { stream, applied } = await start(t);
    const first = stream.send('secrets', digestOf(), []);
    const second = stream.send('backends', digestOf(), []);
    await waitFor('both answers', () => stream.answerTo(first) !== undefined && stream.answerTo(second) !== undefined);
    assert.equal(applied.length, 1);
  });

  test('keeps messages that did not change as they are', async (t) => {
    const { stream, applied } = await start(t);
    stream.send('backends', digestOf(['backends', 'a', 'v1'], ['backends', 'b', 'v1']), [
      resource('backends', 'v1', backend('a')),
      resource('backends', 'v1', backend('b')),
    ]);
    await waitFor('the first', () => applied.length === 1);
    stream.send('backends', digestOf(['backends', 'a', 'v2'], ['backends', 'b', 'v1']), [
      resource('backends', 'v2', backend('a', 81)),
      resource('backends', 'v1', backend('b')),
    ]);
    await waitFor('the second', () => applied.length === 2);
    const [before, after] = applied;
    assert.notEqual(after!.backends[0], before!.backends[0]);
    assert.equal(after!.backends[1], before!.backends[1]);
    assert.equal(after!.secrets, before!.secrets);
    stream.send('backends', digestOf(['backends', 'b', 'v1']), [], ['a', 'unknown']);
    await waitFor('the third', () => applied.length === 3);
    assert.deepEqual(applied[2]!.backends, [before!.backends[1]]);
  });

  test('one application at a time; what comes meanwhile is put in force next', async (t) => {
    const { stream, applied, events, tested } = await start(t);
    let release = (): void => {};
    tested.hold = new Promise((resolve) => (release = resolve));
    const first = stream.send('backends', digestOf(['backends', 'a', 'v1']), [
      resource('backends', 'v1', backend('a')),
    ]);
    await waitFor('received', () => events.includes('received Backend 1 0'));
    const second = stream.send('backends', digestOf(['backends', 'a', 'v1'], ['backends', 'b', 'v1']), [
      resource('backends', 'v1', backend('b')),
    ]);
    await waitFor('received', () => events.filter((event) => event === 'received Backend 1 0').length === 2);
    assert.deepEqual([applied.length, stream.answerTo(first), stream.answerTo(second)], [0, undefined, undefined]);
    release();
    await waitFor('both answers', () => stream.answerTo(first) !== undefined && stream.answerTo(second) !== undefined);
    assert.deepEqual(
      applied.map(({ backends }) => backends.length),
      [1, 2],
    );
  });
});

describe('what cannot be used', () => {
  test('is rejected by the answer to the response that had it, and by no other', async (t) => {
    const { stream, tested, events } = await start(t);
    tested.problems = [
      { list: 'policies', key: 'n/p/x/y', message: 'no such expression' },
      { list: 'policies', key: 'n/p/x/y', message: 'and another thing' },
      { list: 'backends', key: 'n/p/x/y', message: 'has the same key by accident' },
    ];
    const digest = digestOf(
      ['policies', 'n/p/x/y', 'v1'],
      ['policies', 'n/q/x/y', 'v1'],
      ['backends', 'n/p/x/y', 'v1'],
    );
    const policies = stream.send('policies', digest, [
      resource('policies', 'v1', policy('n/p/x/y')),
      resource('policies', 'v1', policy('n/q/x/y')),
    ]);
    const backends = stream.send('backends', digest, [resource('backends', 'v1', backend('n/p/x/y'))]);
    await waitFor(
      'both answers',
      () => stream.answerTo(policies) !== undefined && stream.answerTo(backends) !== undefined,
    );
    assert.deepEqual(stream.rejectionsIn(policies), [['n/p/x/y', 'no such expression; and another thing']]);
    assert.deepEqual(stream.rejectionsIn(backends), [['n/p/x/y', 'has the same key by accident']]);
    assert.equal(stream.answerTo(policies)!.errorDetail!.code, 3);
    assert.match(stream.answerTo(policies)!.errorDetail!.message, /^n\/p\/x\/y: no such expression/);
    assert.ok(events.includes('rejected n/p/x/y'));
  });

  test('because of another resource is told with the next answer, and so is that it can be used again', async (t) => {
    const { stream, tested } = await start(t);
    const first = stream.send('policies', digestOf(['policies', 'n/p/x/y', 'v1']), [
      resource('policies', 'v1', policy('n/p/x/y')),
    ]);
    await waitFor('an ACK', () => stream.answerTo(first) !== undefined);
    assert.equal(stream.rejectionsIn(first), undefined);
    tested.problems = [{ list: 'policies', key: 'n/p/x/y', message: 'the secret is broken' }];
    const broken = ['secrets', 's', 'v1'] as const;
    const second = stream.send('secrets', digestOf(['policies', 'n/p/x/y', 'v1'], broken), [
      resource('secrets', 'v1', secret('s', 'broken')),
    ]);
    await waitFor('a NACK', () => stream.answerTo(second) !== undefined);
    assert.deepEqual(stream.rejectionsIn(second), [['n/p/x/y', 'the secret is broken']]);
    const third = stream.send('backends', digestOf(['policies', 'n/p/x/y', 'v1'], broken, ['backends', 'b', 'v1']), [
      resource('backends', 'v1', backend('b')),
    ]);
    await waitFor('a NACK', () => stream.answerTo(third) !== undefined);
    assert.deepEqual(stream.rejectionsIn(third), [['n/p/x/y', 'the secret is broken']], 'said again while it lasts');
    tested.problems = [];
    const fourth = stream.send(
      'secrets',
      digestOf(['policies', 'n/p/x/y', 'v1'], ['secrets', 's', 'v2'], ['backends', 'b', 'v1']),
      [resource('secrets', 'v2', secret('s', 'good'))],
    );
    await waitFor('an ACK', () => stream.answerTo(fourth) !== undefined);
    assert.equal(stream.rejectionsIn(fourth), undefined);
  });

  test('and was told in its own response is told to be well again by an empty reason', async (t) => {
    const { stream, tested } = await start(t);
    tested.problems = [{ list: 'policies', key: 'n/p/x/y', message: 'the secret is broken' }];
    const first = stream.send('policies', digestOf(['policies', 'n/p/x/y', 'v1']), [
      resource('policies', 'v1', policy('n/p/x/y')),
    ]);
    await waitFor('a NACK', () => stream.answerTo(first) !== undefined);
    tested.problems = [];
    const second = stream.send('secrets', digestOf(['policies', 'n/p/x/y', 'v1'], ['secrets', 's', 'v2']), [
      resource('secrets', 'v2', secret('s', 'good')),
    ]);
    await waitFor('an answer', () => stream.answerTo(second) !== undefined);
    assert.deepEqual(stream.rejectionsIn(second), [['n/p/x/y', '']]);
  });

  const garbage = (name: string, list: 'backends' | 'policies', version: string) =>
    create(ResourceSchema, {
      name,
      version,
      resource: create(AnySchema, { typeUrl: typeUrlOf(list), value: new Uint8Array([0xff, 0xff, 0xff]) }),
    });

  test('because it cannot be read is rejected alone, and the version before it stays', async (t) => {
    const { stream, applied } = await start(t);
    stream.send('backends', digestOf(['backends', 'a', 'v1']), [resource('backends', 'v1', backend('a', 81))]);
    await waitFor('the first', () => applied.length === 1);
    const digest = digestOf(
      ['backends', 'a', 'v2'],
      ['backends', 'b', 'v1'],
      ['backends', 'c', 'v1'],
      ['backends', 'd', 'v1'],
      ['backends', 'e', 'v1'],
    );
    const nonce = stream.send('backends', digest, [
      garbage('a', 'backends', 'v2'),
      resource('backends', 'v1', backend('b')),
      garbage('c', 'backends', 'v1'),
      create(ResourceSchema, { ...resource('backends', 'v1', backend('other')), name: 'd' }),
      create(ResourceSchema, { ...resource('secrets', 'v1', secret('e', 'x')), name: 'e' }),
    ]);
    await waitFor('an answer', () => stream.answerTo(nonce) !== undefined);
    const reasons = new Map(stream.rejectionsIn(nonce));
    assert.deepEqual([...reasons.keys()], ['a', 'c', 'd', 'e']);
    assert.match(reasons.get('a')!, /cannot be decoded/);
    assert.match(reasons.get('d')!, /the key "other", which differs from its name/);
    assert.match(reasons.get('e')!, /Secret, not a .*Backend/);
    assert.deepEqual(
      applied.at(-1)!.backends.map(({ key }) => key),
      ['a', 'b'],
    );
    assert.equal(applied.at(-1)!.backends[0], applied[0]!.backends[0]);

    // A good version later puts it right.
    const repaired = stream.send(
      'backends',
      digestOf(
        ['backends', 'a', 'v3'],
        ['backends', 'b', 'v1'],
        ['backends', 'c', 'v1'],
        ['backends', 'd', 'v1'],
        ['backends', 'e', 'v1'],
      ),
      [resource('backends', 'v3', backend('a', 82))],
    );
    await waitFor('an answer', () => stream.answerTo(repaired) !== undefined);
    assert.equal(stream.rejectionsIn(repaired), undefined);
  });

  test('a policy that cannot be read closes what it protected', async (t) => {
    const { stream, applied } = await start(t);
    stream.send('policies', digestOf(['policies', 'n/p/x/y', 'v1']), [resource('policies', 'v1', policy('n/p/x/y'))]);
    await waitFor('the first', () => applied.length === 1);
    const nonce = stream.send('policies', digestOf(['policies', 'n/p/x/y', 'v2']), [
      garbage('n/p/x/y', 'policies', 'v2'),
    ]);
    await waitFor('an answer', () => stream.answerTo(nonce) !== undefined);
    const [closed] = applied.at(-1)!.policies as [Policy];
    assert.equal(closed.spec.case, 'failure');
    assert.deepEqual(closed.target, (applied[0]!.policies[0] as Policy).target);
    assert.equal(closed.source, 'n/p');
    assert.match(stream.rejectionsIn(nonce)![0]![1], /cannot be decoded/);
  });

  test('a policy of a newer controller is not enforced in part: it closes what it is for', async (t) => {
    const { stream, applied } = await start(t);
    const newer = (key: string, target: Policy['target']): Policy => {
      const made = policy(key);
      made.target = target;
      (made.spec.value as Message).$unknown = [{ no: 99, wireType: WireType.Varint, data: new Uint8Array([1]) }];
      return made;
    };
    const [route, strange] = [policy('n/p/x/y').target!, policy('n/q/x/y').target!];
    strange.kind = 99 as PolicyTargetKind;
    const names = ['n/p/x/y', 'n/q/x/y'] as const;
    const nonce = stream.send('policies', digestOf(...names.map((name) => ['policies', name, 'v1'] as const)), [
      resource('policies', 'v1', newer(names[0], route)),
      resource('policies', 'v1', newer(names[1], strange)),
    ]);
    await waitFor('an answer', () => stream.answerTo(nonce) !== undefined);
    assert.deepEqual(stream.rejectionsIn(nonce), [
      [names[0], 'the resource has content that this gateway does not know: cors (field 99); upgrade the gateway'],
      [
        names[1],
        'the resource has content that this gateway does not know: target.kind (value 99); upgrade the gateway',
      ],
    ]);
    assert.deepEqual(
      applied[0]!.policies.map(({ spec, target }) => [spec.case, target?.kind, target?.namespace, target?.name]),
      [
        ['failure', PolicyTargetKind.HTTP_ROUTE, 'n', 'r'],
        ['failure', PolicyTargetKind.NAMESPACE, 'n', ''],
      ],
    );
  });

  test('anything else of a newer controller stays as it was', async (t) => {
    const { stream, applied } = await start(t);
    stream.send('backends', digestOf(['backends', 'a', 'v1']), [resource('backends', 'v1', backend('a', 81))]);
    await waitFor('the first', () => applied.length === 1);
    const newer = backend('a', 82);
    newer.$unknown = [{ no: 99, wireType: WireType.Varint, data: new Uint8Array([1]) }];
    const nonce = stream.send('backends', digestOf(['backends', 'a', 'v2']), [resource('backends', 'v2', newer)]);
    await waitFor('an answer', () => stream.answerTo(nonce) !== undefined);
    assert.match(stream.rejectionsIn(nonce)![0]![1], /does not know: \(field 99\)/);
    assert.equal(applied.at(-1)!.backends[0], applied[0]!.backends[0]);
  });

  test('a policy that was never read closes its namespace, or everything', async (t) => {
    const { stream, applied } = await start(t);
    const names = ['team/p/x/y', 'nonsense'];
    stream.send(
      'policies',
      digestOf(...names.map((name) => ['policies', name, 'v1'] as const)),
      names.map((name) => garbage(name, 'policies', 'v1')),
    );
    await waitFor('it is in force', () => applied.length === 1);
    assert.deepEqual(
      applied[0]!.policies.map(({ spec, target }) => [spec.case, target?.kind, target?.namespace, target?.name]),
      [
        ['failure', PolicyTargetKind.GATEWAY, 'n', 'g'],
        ['failure', PolicyTargetKind.NAMESPACE, 'team', ''],
      ],
    );
  });

  test('a configuration that cannot be put in force at all is rejected as a whole, and tried again with the next', async (t) => {
    let calls = 0;
    const { stream, lines } = await start(t, {
      apply() {
        calls += 1;
        if (calls === 1) throw new Error('out of luck');
        return Promise.resolve({ problems: [] });
      },
    });
    const first = stream.send('backends', digestOf(['backends', 'a', 'v1']), [
      resource('backends', 'v1', backend('a')),
    ]);
    await waitFor('an answer', () => stream.answerTo(first) !== undefined);
    assert.match(stream.answerTo(first)!.errorDetail!.message, /out of luck/);
    assert.ok(lines.some((line) => line.startsWith('error a configuration could not be put in force')));
    const second = stream.send('backends', digestOf(['backends', 'a', 'v1']), []);
    await waitFor('an answer', () => stream.answerTo(second) !== undefined);
    assert.equal(calls, 2);
    assert.equal(stream.answerTo(second)!.errorDetail, undefined);
  });
});

describe('a connection that is lost', () => {
  test('is resumed by version; what was rejected is asked for again', async (t) => {
    const { controller, stream, tested, applied } = await start(t);
    tested.problems = [{ list: 'backends', key: 'bad', message: 'no' }];
    stream.send('backends', digestOf(['backends', 'good', 'v1'], ['backends', 'bad', 'v1']), [
      resource('backends', 'v1', backend('good')),
      resource('backends', 'v1', backend('bad')),
    ]);
    await waitFor('it is in force', () => applied.length === 1);
    controller.breakConnections();
    const next = await nextStream(controller, 1);
    assert.deepEqual(next.firsts.backends!.initialResourceVersions, { good: 'v1', bad: '' });
    assert.equal(next.requests[0]!.node?.id, 'pod-1');
    const nonce = next.send('backends', digestOf(['backends', 'good', 'v1'], ['backends', 'bad', 'v1']), [
      resource('backends', 'v1', backend('bad')),
    ]);
    await waitFor('an answer', () => next.answerTo(nonce) !== undefined);
    assert.deepEqual(next.rejectionsIn(nonce), [['bad', 'no']], 'the new server is told');
    assert.equal(applied.length, 1, 'nothing changed');
  });

  test('in the middle of an update changes nothing; the rest comes with the next one', async (t) => {
    const { controller, stream, applied, events } = await start(t);
    const digest = digestOf(['secrets', 's', 'v1'], ['backends', 'b', 'v1']);
    stream.send('secrets', digest, [resource('secrets', 'v1', secret('s', 'x'))]);
    await waitFor('the first half', () => events.includes('received Secret 1 0'));
    controller.breakConnections();
    const next = await nextStream(controller, 1);
    assert.equal(applied.length, 0);
    assert.deepEqual(next.firsts.secrets!.initialResourceVersions, { s: 'v1' });
    next.send('secrets', digest, []);
    next.send('backends', digest, [resource('backends', 'v1', backend('b'))]);
    await waitFor('it is in force', () => applied.length === 1);
    assert.deepEqual([applied[0]!.secrets.length, applied[0]!.backends.length], [1, 1]);
  });

  test('while a configuration is being put in force: no answer goes to the next stream', async (t) => {
    const { controller, stream, applied, tested, events } = await start(t);
    let release = (): void => {};
    tested.hold = new Promise((resolve) => (release = resolve));
    stream.send('backends', digestOf(['backends', 'b', 'v1']), [resource('backends', 'v1', backend('b'))]);
    await waitFor('received', () => events.includes('received Backend 1 0'));
    controller.breakConnections();
    const next = await nextStream(controller, 1);
    release();
    await waitFor('it is in force', () => applied.length === 1);
    const nonce = next.send('backends', digestOf(['backends', 'b', 'v1']), []);
    await waitFor('an answer', () => next.answerTo(nonce) !== undefined);
    assert.deepEqual(
      next.requests.filter(({ responseNonce }) => responseNonce !== '').map(({ responseNonce }) => responseNonce),
      [nonce],
    );
  });

  test('after a good-bye the gateway is back at once', async (t) => {
    // Any other end would keep it away for an hour.
    const { controller, stream, applied } = await start(t, {
      times: { firstMs: 3_600_000, maxMs: 3_600_000 },
      random: () => 1,
    });
    stream.send('backends', digestOf(), []);
    await waitFor('it is in force', () => applied.length === 1);
    stream.fail(Code.Unavailable, 'shutting down');
    await nextStream(controller, 1);
  });

  test('is found again when the controller comes back, and meanwhile the log says it once', async (t) => {
    const { controller, stream, applied, lines, client } = await start(t);
    stream.send('backends', digestOf(), []);
    await waitFor('it is in force', () => applied.length === 1);
    await controller.close();
    await waitFor('it was noticed', () => lines.some((line) => line.includes('ECONNREFUSED')));
    const count = () => lines.filter((line) => line.startsWith('warn no connection')).length;
    const before = count();
    const other = await startFakeController(controller.port);
    t.after(async () => {
      await client.close();
      await other.close();
    });
    await nextStream(other, 0);
    assert.ok(count() <= before + 1, lines.join('\n'));
    assert.ok(lines.some((line) => line.includes('the configuration in force stays in force')));
  });

  test('says in words that it broke off when the controller is killed', async (t) => {
    const { controller, stream, applied, lines } = await start(t);
    stream.send('backends', digestOf(), []);
    await waitFor('it is in force', () => applied.length === 1);
    controller.dropConnections();
    await nextStream(controller, 1);
    const said = lines.find((line) => line.startsWith('warn')) ?? '';
    assert.match(said, /no connection to the controller; the configuration in force stays in force/);
    assert.match(said, /"the connection broke: the process at the other end was killed, or /);
  });

  /** Pings are quick here, and a slow machine may lose a connection to them at any time: the controller answers every stream. */
  async function startBehindHole(t: TestContext, isOpen: boolean, times: Partial<XdsClientTimes>) {
    const controller = await startFakeController();
    controller.onStream = (stream) => stream.send('backends', digestOf(), []);
    const hole = await startBlackHole(controller.port);
    if (!isOpen) hole.swallow();
    const tested = startClient(hole.url, { times });
    t.after(async () => {
      await tested.client.close();
      await hole.close();
      await controller.close();
    });
    const count = (event: string): number => tested.events.filter((each) => each.startsWith(event)).length;
    return { hole, count };
  }

  test('is noticed when nothing comes back any more', async (t) => {
    const { hole, count } = await startBehindHole(t, true, { pingIntervalMs: 50, pingTimeoutMs: 500 });
    await waitFor('it is connected', () => count('connected') > count('disconnected'));
    const before = count('disconnected');
    hole.swallow();
    await waitFor('it was noticed', () => count('disconnected') > before);
    const connections = count('connected');
    hole.letThrough();
    await waitFor('it is back', () => count('connected') > connections);
  });

  test('an attempt to connect that hangs is given up', async (t) => {
    // The hole takes connections, as the kernel of a process that hangs does: no ping is needed to find out that nobody speaks.
    const slowPings = { pingIntervalMs: 60_000, pingTimeoutMs: 60_000 };
    const { hole, count } = await startBehindHole(t, false, { connectMs: 500, ...slowPings });
    await waitFor('it was given up', () => count('disconnected') > 1);
    assert.equal(count('connected'), 0);
    hole.letThrough();
    await waitFor('it is connected', () => count('connected') > 0);
  });

  test('a GOAWAY is a good-bye too', async (t) => {
    const { controller, stream, applied } = await start(t, {
      times: { firstMs: 3_600_000, maxMs: 3_600_000 },
      random: () => 1,
    });
    stream.send('backends', digestOf(), []);
    await waitFor('it is in force', () => applied.length === 1);
    controller.sayGoodBye();
    await nextStream(controller, 1);
  });

  test('a message may be large', async (t) => {
    const { stream, applied } = await start(t);
    const text = 'x'.repeat(6 * 1024 * 1024);
    stream.send('secrets', digestOf(['secrets', 's', 'v1']), [resource('secrets', 'v1', secret('s', text))]);
    await waitFor('it is in force', () => applied.length === 1);
    assert.equal(applied[0]!.secrets[0]!.value.value, text);
  });
});

describe('who is asking', () => {
  test('is read anew for each connection', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'xds-client-'));
    t.after(() => rm(folder, { recursive: true }));
    const file = join(folder, 'token');
    await writeFile(file, 'first');
    const { controller, stream } = await start(t, { readToken: () => readFile(file, 'utf8') });
    assert.equal(stream.authorization, 'Bearer first');
    await writeFile(file, 'second');
    controller.breakConnections();
    assert.equal((await nextStream(controller, 1)).authorization, 'Bearer second');
  });

  test('a token that cannot be read is a reason like another, and is tried again', async (t) => {
    let calls = 0;
    const { lines } = await start(t, {
      readToken() {
        calls += 1;
        return calls < 3 ? Promise.reject(new Error('there is no token')) : Promise.resolve('x');
      },
    });
    assert.equal(lines.filter((line) => line.includes('there is no token')).length, 1);
  });

  test('a refusal is said once, clearly, and tried again', async (t) => {
    const { controller, stream, applied, lines } = await start(t);
    stream.send('backends', digestOf(), []);
    await waitFor('it is in force', () => applied.length === 1);
    controller.refuseWith = new ConnectError('the token is of another Gateway', Code.PermissionDenied);
    stream.fail(Code.Unavailable);
    await waitFor('it was said', () =>
      lines.some((line) => line.startsWith('error the controller refuses this gateway')),
    );
    controller.refuseWith = new ConnectError('who are you?', Code.Unauthenticated);
    await waitFor('the change was said', () => lines.some((line) => line.includes('who are you?')));
    controller.refuseWith = undefined;
    await nextStream(controller, 1);
    assert.equal(lines.filter((line) => line.includes('the token is of another Gateway')).length, 1);
    assert.equal(lines.filter((line) => line.includes('who are you?')).length, 1);
  });
});

describe('reports', () => {
  const problem = (port: number): BindProblem => create(BindProblemSchema, { port, reason: 'taken' });

  test('go beside the stream, once the controller has answered, and again after a reconnect', async (t) => {
    const { controller, stream, client, applied } = await start(t);
    client.report({ keyProblems: [create(KeyProblemSchema, { policy: 'n/p/x/y' })], bindProblems: [] });
    stream.send('backends', digestOf(), []);
    await waitFor('the first report', () => controller.reports.length === 1);
    assert.deepEqual([controller.reports[0]!.nodeId, controller.reports[0]!.gateway], ['pod-1', 'n/g']);
    assert.equal(controller.reports[0]!.keyProblems[0]!.policy, 'n/p/x/y');
    client.report({ keyProblems: [], bindProblems: [problem(80)] });
    await waitFor('the second report', () => controller.reports.length === 2);
    await waitFor('it is in force', () => applied.length === 1);
    controller.breakConnections();
    const next = await nextStream(controller, 1);
    assert.equal(controller.reports.length, 2, 'not before the controller knows who is asking');
    next.send('backends', digestOf(), []);
    await waitFor('the report again', () => controller.reports.length === 3);
    assert.equal(controller.reports[2]!.bindProblems[0]!.port, 80);
  });
});

describe('what was saved before a restart', () => {
  const initial: HeldResources = new Map([
    [typeUrlOf('backends'), [{ name: 'b', version: 'v1', message: backend('b'), problem: undefined }]],
    [typeUrlOf('secrets'), [{ name: 's', version: 'v1', message: secret('s', 'x'), problem: undefined }]],
  ]);

  test('is put in force without a controller', async (t) => {
    const tested = startClient('http://127.0.0.1:1', { initial });
    t.after(() => tested.client.close());
    await waitFor('it is in force', () => tested.applied.length === 1);
    assert.equal(tested.applied[0]!.backends[0]!.key, 'b');
  });

  test('is resumed by version, and taken for no more than it is', async (t) => {
    const { stream, applied } = await start(t, { initial });
    assert.deepEqual(stream.firsts.backends!.initialResourceVersions, { b: 'v1' });
    const digest = digestOf(['backends', 'b', 'v1'], ['secrets', 's', 'v2']);
    stream.send('secrets', digest, [resource('secrets', 'v2', secret('s', 'y'))]);
    await waitFor('it is in force', () => applied.length === 2);
    assert.equal(applied[1]!.backends[0], applied[0]!.backends[0]);
  });

  test('is told to whoever keeps it, after each application', async (t) => {
    const saved: HeldResources[] = [];
    const { stream, applied } = await start(t, { save: (resources) => saved.push(resources) });
    stream.send('backends', digestOf(['backends', 'b', 'v1']), [resource('backends', 'v1', backend('b'))]);
    await waitFor('it is in force', () => applied.length === 1 && saved.length === 1);
    const [kept] = saved[0]!.get(typeUrlOf('backends'))!;
    assert.deepEqual([kept!.name, kept!.version, kept!.message], ['b', 'v1', applied[0]!.backends[0]]);
  });
});
