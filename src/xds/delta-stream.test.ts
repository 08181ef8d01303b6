// The state machine of a delta ADS stream, one sentence of the protocol at a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, fromBinary } from '@bufbuild/protobuf';
import type { Configuration } from '../ir/configuration.ts';
import { SecretSchema } from '../ir/gen/config_pb.ts';
import { DeltaDiscoveryRequestSchema } from '../ir/gen/discovery_pb.ts';
import { resourceTypes } from './resource-types.ts';
import type { Snapshot } from './snapshot.ts';
import { ReferenceClient } from './testing/reference-client.ts';
import {
  answerAll,
  assertTaken,
  describeResponse,
  openSettled,
  openStream,
  settleAll,
  subscribeAll,
  takeAll,
} from './testing/open-stream.ts';
import { getTypeUrl, makeSnapshot, type SmallConfiguration } from './testing/small-snapshots.ts';

const secretsUrl = getTypeUrl('secrets');
const routesUrl = getTypeUrl('routes');

test('everything is sent, what is referred to first, with its name, version, bytes, and the digest that it leads to', () => {
  const small: SmallConfiguration = {
    routes: { r: '1' },
    listeners: { l: '1' },
    policies: { p: '1' },
    secrets: { s: '1' },
  };
  const opened = openStream(small);
  const snapshot = makeSnapshot(small);
  subscribeAll(opened);
  const response = opened.stream.takeResponse()!;
  const sent = snapshot.resources.get(secretsUrl)!.get('s')!;
  assert.equal(response.systemVersionInfo, snapshot.digest);
  assert.equal(response.resources[0]!.version, sent.version);
  const any = response.resources[0]!.resource!;
  assert.equal(any.typeUrl, secretsUrl);
  assert.equal(fromBinary(SecretSchema, any.value).value.value, '1');
  opened.client.receive(response);
  assert.deepEqual(takeAll(opened), ['backends', 'policies +p', 'listeners +l', 'routes +r']);
  assert.equal(opened.client.digest, snapshot.digest);
});

test('the first request of a type is answered even if there is nothing; no later one is', () => {
  const opened = openStream({});
  subscribeAll(opened);
  assert.deepEqual(takeAll(opened), ['secrets', 'backends', 'policies', 'listeners', 'routes']);
  answerAll(opened);
  assert.deepEqual(takeAll(opened), []);
});

test('nothing is sent before there is a snapshot, and nothing when it is not known any more', () => {
  const opened = openStream();
  subscribeAll(opened);
  assert.deepEqual(takeAll(opened), []);
  opened.stream.setTarget(makeSnapshot({ secrets: { s: '1' } }));
  assert.equal(takeAll(opened)[0], 'secrets +s');
  answerAll(opened);
  const settled = opened.stream.settled;
  opened.stream.setTarget(undefined);
  assert.deepEqual(takeAll(opened), []);
  assert.equal(opened.stream.settled, settled);
});

test('a change is one resource in one response', () => {
  const opened = openSettled({ secrets: { a: '1', b: '1' }, routes: { r: '1' } });
  opened.stream.setTarget(makeSnapshot({ secrets: { a: '1', b: '2' }, routes: { r: '1' } }));
  assert.deepEqual(takeAll(opened), ['secrets +b']);
});

test('additions of all types go before removals of any, and removals the other way round', () => {
  const opened = openSettled({ secrets: { old: '1' }, policies: { old: '1' }, routes: { old: '1' } });
  opened.stream.setTarget(makeSnapshot({ secrets: { new: '1' }, policies: { new: '1' }, routes: { new: '1' } }));
  assert.deepEqual(takeAll(opened), [
    'secrets +new',
    'policies +new',
    'routes +new',
    'routes -old',
    'policies -old',
    'secrets -old',
  ]);
});

test('a gateway that comes back is sent what changed, told what is gone, and nothing else', () => {
  const first = openSettled({ secrets: { same: '1', changed: '1', gone: '1' }, routes: { r: '1' } });
  const second = openStream({ secrets: { same: '1', changed: '2' }, routes: { r: '1' } }, first.client);
  subscribeAll(second);
  assert.deepEqual(takeAll(second), [
    'secrets +changed',
    'backends',
    'policies',
    'listeners',
    'routes',
    'secrets -gone',
  ]);
  const third = openStream({ secrets: { same: '1', changed: '2' }, routes: { r: '1' } }, first.client);
  subscribeAll(third);
  assert.deepEqual(takeAll(third), ['secrets', 'backends', 'policies', 'listeners', 'routes']);
  assert.equal(third.stream.settled, undefined);
  answerAll(third);
  assert.equal(third.stream.settled, third.client.digest);
});

test('a type may be asked for by name: only that is sent, and what does not exist is told as removed', () => {
  const { stream, client } = openStream({ secrets: { a: '1', b: '1' } });
  assertTaken(stream.receive(client.subscribe(secretsUrl, ['a', 'missing'])));
  assert.deepEqual(takeAll({ stream, client }), ['secrets +a', 'secrets -missing']);
  stream.setTarget(makeSnapshot({ secrets: { a: '1', b: '2', missing: '1' } }));
  assert.deepEqual(takeAll({ stream, client }), ['secrets +missing']);
  answerAll({ stream, client });
  assertTaken(stream.receive(client.unsubscribe(secretsUrl, ['a'])));
  stream.setTarget(makeSnapshot({ secrets: { a: '2' } }));
  assert.deepEqual(takeAll({ stream, client }), ['secrets -missing']);
});

test('what is asked for again is sent again', () => {
  const { stream, client } = openStream({ secrets: { a: '1', b: '1' } });
  assertTaken(stream.receive(client.subscribe(secretsUrl, ['a'])));
  settleAll({ stream, client });
  assertTaken(stream.receive(client.subscribe(secretsUrl, ['a'])));
  assert.deepEqual(takeAll({ stream, client }), ['secrets +a']);
  assertTaken(stream.receive(client.subscribe(secretsUrl, ['*'])));
  assert.deepEqual(takeAll({ stream, client }), ['secrets +b']);
  assertTaken(stream.receive(client.subscribe(secretsUrl, ['*'])));
  assert.deepEqual(takeAll({ stream, client }), ['secrets +a +b']);
});

test('the wildcard can be given up: what is named stays', () => {
  const { stream, client } = openStream({ secrets: { a: '1', b: '1' } });
  assertTaken(stream.receive(client.subscribe(secretsUrl, ['*', 'a'])));
  assert.deepEqual(takeAll({ stream, client }), ['secrets +a +b']);
  assertTaken(stream.receive(client.unsubscribe(secretsUrl, ['*'])));
  stream.setTarget(makeSnapshot({ secrets: { a: '2', b: '2', c: '1' } }));
  assert.deepEqual(takeAll({ stream, client }), ['secrets +a']);
  answerAll({ stream, client });
  stream.setTarget(makeSnapshot({}));
  assert.deepEqual(takeAll({ stream, client }), ['secrets -a']);
});

test('a name that is given up while the wildcard stays is told once more, or told as removed', () => {
  const { stream, client } = openStream({ secrets: { a: '1' } });
  assertTaken(stream.receive(client.subscribe(secretsUrl, ['*', 'a', 'missing'])));
  settleAll({ stream, client });
  assertTaken(stream.receive(client.unsubscribe(secretsUrl, ['a', 'missing'])));
  assert.deepEqual(takeAll({ stream, client }), ['secrets +a', 'secrets -missing']);
});

test('an ACK is silent, and when all are in, the gateway is settled on the snapshot', () => {
  const opened = openStream({ secrets: { s: '1' }, routes: { r: '1' } });
  subscribeAll(opened);
  takeAll(opened);
  while (opened.client.unanswered.length > 0) {
    assert.equal(opened.stream.settled, undefined);
    const outcome = opened.stream.receive(opened.client.answer());
    assert.equal(outcome.kind === 'taken' && outcome.answer, 'ack');
  }
  assert.equal(opened.stream.settled, opened.client.digest);
  assert.deepEqual(takeAll(opened), []);
});

test('a gateway that has not asked for every type is not settled', () => {
  const { stream, client } = openStream({ secrets: { s: '1' } });
  for (const { typeUrl } of resourceTypes.slice(1)) assertTaken(stream.receive(client.subscribe(typeUrl, [])));
  settleAll({ stream, client });
  assert.equal(stream.settled, undefined);
});

test('settled stays what it was until the next update is answered as a whole', () => {
  const opened = openSettled({ secrets: { s: '1' } });
  const before = opened.stream.settled;
  opened.stream.setTarget(makeSnapshot({ secrets: { s: '2' }, routes: { r: '1' } }));
  assert.deepEqual(takeAll(opened), ['secrets +s', 'routes +r']);
  opened.stream.receive(opened.client.answer());
  assert.equal(opened.stream.settled, before);
  opened.stream.receive(opened.client.answer());
  assert.equal(opened.stream.settled, makeSnapshot({ secrets: { s: '2' }, routes: { r: '1' } }).digest);
});

test('what a request asks for counts even if the answer in it is stale', () => {
  const { stream, client } = openStream({ secrets: { a: '1', b: '1' } });
  assertTaken(stream.receive(client.subscribe(secretsUrl, ['a'])));
  settleAll({ stream, client });
  const request = client.subscribe(secretsUrl, ['b']);
  assertTaken(stream.receive(create(DeltaDiscoveryRequestSchema, { ...request, responseNonce: 'n-999' })));
  assert.deepEqual(takeAll({ stream, client }), ['secrets +b']);
});

test('what is under way to a gateway that gave it up is told as removed when it asks for everything again', () => {
  const { stream, client } = openStream({ secrets: { a: '1' } });
  assertTaken(stream.receive(client.subscribe(secretsUrl, ['a'])));
  const underWay = stream.takeResponse()!;
  assertTaken(stream.receive(client.unsubscribe(secretsUrl, ['a'])));
  assertTaken(stream.receive(client.subscribe(secretsUrl, ['*'])));
  client.receive(underWay);
  stream.setTarget(makeSnapshot({}));
  assert.deepEqual(takeAll({ stream, client }), ['secrets -a']);
});

test('responses are bounded in size, and all lead to the same digest; a large resource travels alone', () => {
  const contents = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, name.repeat(300)]));
  const small = { secrets: { ...contents, large: 'x'.repeat(5_000) } };
  const opened = openStream(small, new ReferenceClient(), 1_000);
  opened.stream.receive(opened.client.subscribe(secretsUrl, []));
  assert.deepEqual(takeAll(opened), ['secrets +a +b', 'secrets +c +d', 'secrets +large']);
  const digests = new Set(opened.client.unanswered.map(({ systemVersionInfo }) => systemVersionInfo));
  assert.deepEqual([...digests], [makeSnapshot(small).digest]);
  opened.stream.setTarget(makeSnapshot({}));
  const long = Object.fromEntries(['1', '2', '3'].map((name) => [name.repeat(450), '']));
  const others = openStream({ secrets: long }, new ReferenceClient(), 1_000);
  others.stream.receive(others.client.subscribe(secretsUrl, []));
  settleAll(others);
  others.stream.setTarget(makeSnapshot({}));
  assert.equal(takeAll(others).length, 2);
});

test('a stream that is blocked gets the newest snapshot, and none of those between', () => {
  const opened = openStream({ secrets: { a: '1', b: '1' } }, new ReferenceClient(), 1);
  subscribeAll(opened);
  const first = opened.stream.takeResponse()!;
  assert.equal(describeResponse(first), 'secrets +a');
  opened.client.receive(first);
  for (const version of ['2', '3', '4'])
    opened.stream.setTarget(makeSnapshot({ secrets: { a: '1', b: version, c: version } }));
  assert.deepEqual(takeAll(opened).slice(0, 2), ['secrets +b', 'secrets +c']);
  assert.equal(opened.client.digest, makeSnapshot({ secrets: { a: '1', b: '4', c: '4' } }).digest);
  assert.equal(opened.client.unanswered.at(-1)!.systemVersionInfo, opened.client.digest);
});

test('a gateway that does not answer gets no third update; then it gets the newest', () => {
  const opened = openSettled({ secrets: { s: '0' } });
  const push = (content: string): string[] => {
    opened.stream.setTarget(makeSnapshot({ secrets: { s: content } }));
    return takeAll(opened);
  };
  assert.deepEqual([push('1'), push('2'), push('3'), push('4')], [['secrets +s'], ['secrets +s'], [], []]);
  opened.stream.receive(opened.client.answer());
  assert.deepEqual(takeAll(opened), ['secrets +s']);
  assert.equal(opened.client.digest, makeSnapshot({ secrets: { s: '4' } }).digest);
});

test('a large update is not held up by the answers that only come when it is whole', () => {
  const names = Array.from({ length: 50 }, (_, index) => [`s${index}`, '1']);
  const opened = openStream({ secrets: Object.fromEntries(names) }, new ReferenceClient(), 1);
  for (const { typeUrl } of resourceTypes) {
    opened.stream.receive(opened.client.subscribe(typeUrl, []));
    takeAll(opened);
  }
  assert.equal(opened.client.unanswered.length, 54);
});

test('a snapshot that changes in the middle of an update to what the gateway has by then is announced', () => {
  const opened = openStream({}, new ReferenceClient(), 1);
  subscribeAll(opened);
  settleAll(opened);
  opened.stream.setTarget(makeSnapshot({ secrets: { a: '1', b: '1' } }));
  opened.client.receive(opened.stream.takeResponse()!);
  const target = makeSnapshot({ secrets: { a: '1' } });
  opened.stream.setTarget(target);
  assert.deepEqual(takeAll(opened), ['secrets']);
  assert.equal(opened.client.unanswered.at(-1)!.systemVersionInfo, target.digest);
  assert.equal(opened.client.digest, target.digest);
  answerAll(opened);
  assert.equal(opened.stream.settled, target.digest);
});

test('the same content in new objects moves nothing', () => {
  const small: SmallConfiguration = { secrets: { s: '1' }, routes: { r: '1' } };
  const opened = openSettled(small);
  const settled = opened.stream.settled;
  opened.stream.setTarget(makeSnapshot(small));
  assert.deepEqual(takeAll(opened), []);
  assert.equal(opened.stream.settled, settled);
});

test('a type that this server does not know has no resources, and does not keep a gateway from being settled', () => {
  const opened = openStream({ secrets: { s: '1' } });
  const unknown = 'type.googleapis.com/gateway.proxy.config.v2.Quota';
  subscribeAll(opened);
  assertTaken(opened.stream.receive(opened.client.subscribe(unknown, ['q'])));
  assert.deepEqual(takeAll(opened).slice(-1), [`${unknown} -q`]);
  answerAll(opened);
  assert.equal(opened.stream.settled, makeSnapshot({ secrets: { s: '1' } }).digest);
});

test('malformed requests end the stream, and say which field is wrong', () => {
  const node = { id: 'pod-1', metadata: { namespace: 'default', gateway: 'web' } };
  const cases: readonly [request: object, message: RegExp][] = [
    [{ typeUrl: '' }, /^type_url must be/],
    [{ typeUrl: 'Secret' }, /^type_url must be/],
    [{ typeUrl: secretsUrl, node: { ...node, id: 'pod-2' } }, /node of a stream must not change/],
    [{ typeUrl: secretsUrl, node: { ...node, metadata: { ...node.metadata, gateway: 'other' } } }, /must not change/],
    [{ typeUrl: secretsUrl, node: { id: 'pod-1' } }, /^node\.metadata\.namespace must be/],
    [{ typeUrl: secretsUrl, node: { ...node, id: '' } }, /^node\.id must be/],
  ];
  for (const [request, message] of cases) {
    const outcome = openStream({}).stream.receive(create(DeltaDiscoveryRequestSchema, request));
    assert.ok(outcome.kind === 'refused' && outcome.code === 'invalid_argument');
    assert.match(outcome.message, message);
  }
  const { stream } = openStream({});
  assertTaken(stream.receive(create(DeltaDiscoveryRequestSchema, { typeUrl: secretsUrl, node })));
  assertTaken(stream.receive(create(DeltaDiscoveryRequestSchema, { typeUrl: routesUrl, node })));
});

test('a stream may ask for so many types and names, and no more', () => {
  const { stream } = openStream({});
  const outcomes = Array.from({ length: 33 }, (_, index) =>
    stream.receive(create(DeltaDiscoveryRequestSchema, { typeUrl: `type.googleapis.com/t${index}` })),
  );
  assert.ok(outcomes.slice(0, 32).every(({ kind }) => kind === 'taken'));
  const last = outcomes.at(-1)!;
  assert.ok(last.kind === 'refused' && last.code === 'resource_exhausted');
  const names = Array.from({ length: 200_001 }, (_, index) => `n${index}`);
  const many = openStream({}).stream.receive(
    create(DeltaDiscoveryRequestSchema, { typeUrl: secretsUrl, resourceNamesSubscribe: names }),
  );
  assert.ok(many.kind === 'refused' && many.code === 'resource_exhausted');
});

test('a gateway that never answers is not sent without end, however often it asks', () => {
  const { stream, client } = openStream({ secrets: { s: '1' } });
  let count = 0;
  for (let round = 0; round < 1_100; round += 1) {
    stream.receive(client.subscribe(secretsUrl, ['s']));
    count += takeAll({ stream, client }).length;
  }
  assert.equal(count, 1_000);
});

const order: readonly (keyof Configuration)[] = ['secrets', 'backends', 'policies', 'listeners', 'routes'];

test('types go in the order in which they refer to each other', () => {
  assert.deepEqual(
    resourceTypes.map(({ list }) => list),
    order,
  );
  const snapshot: Snapshot = makeSnapshot({});
  assert.deepEqual([...snapshot.resources.keys()], order.map(getTypeUrl));
});
