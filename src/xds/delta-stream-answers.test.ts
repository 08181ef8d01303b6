// ACKs and NACKs: what a gateway cannot use, for as long as it cannot.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { DeltaDiscoveryRequestSchema } from '../ir/gen/discovery_pb.ts';
import {
  answerAll,
  assertTaken,
  openSettled,
  openStream,
  settleAll,
  subscribeAll,
  takeAll,
} from './testing/open-stream.ts';
import type { ReferenceRejection } from './testing/reference-client.ts';
import { getTypeUrl, makeSnapshot } from './testing/small-snapshots.ts';

const routesUrl = getTypeUrl('routes');

test('an answer to a response of another stream, or a second one, is ignored', () => {
  const opened = openStream({ secrets: { s: '1' } });
  subscribeAll(opened);
  takeAll(opened);
  const answer = opened.client.answer([{ name: 's', reason: 'no' }]);
  const foreign = create(DeltaDiscoveryRequestSchema, { ...answer, responseNonce: 'other-1' });
  const wrongType = create(DeltaDiscoveryRequestSchema, { ...answer, typeUrl: routesUrl });
  for (const stale of [foreign, wrongType]) {
    const outcome = opened.stream.receive(stale);
    assert.equal(outcome.kind === 'taken' && outcome.answer, 'stale');
  }
  assert.deepEqual(opened.stream.rejections, []);
  const first = opened.stream.receive(answer);
  assert.equal(first.kind === 'taken' && first.answer, 'nack');
  const { errorDetail: _, ...ack } = answer;
  const second = opened.stream.receive(create(DeltaDiscoveryRequestSchema, ack));
  assert.equal(second.kind === 'taken' && second.answer, 'stale');
  assert.equal(opened.stream.rejections.length, 1);
});

test('a NACK rejects what it names, in the words of the gateway, and nothing is sent again until its version changes', () => {
  const opened = openStream({ policies: { good: '1', bad: '1' } });
  subscribeAll(opened);
  takeAll(opened);
  answerAll(opened, { bad: 'the expression is not valid' });
  const version = makeSnapshot({ policies: { bad: '1' } })
    .resources.get(getTypeUrl('policies'))!
    .get('bad')!.version;
  const rejection = { typeUrl: getTypeUrl('policies'), name: 'bad', version, reason: 'the expression is not valid' };
  assert.deepEqual(opened.stream.rejections, [rejection]);
  assert.equal(opened.stream.settled, opened.client.digest);
  assert.deepEqual(takeAll(opened), []);

  // Other changes leave it as it is.
  opened.stream.setTarget(makeSnapshot({ policies: { good: '2', bad: '1' } }));
  assert.deepEqual(takeAll(opened), ['policies +good']);
  answerAll(opened);
  assert.deepEqual(opened.stream.rejections, [rejection]);

  opened.stream.setTarget(makeSnapshot({ policies: { good: '2', bad: '2' } }));
  assert.deepEqual(takeAll(opened), ['policies +bad']);
  answerAll(opened);
  assert.deepEqual(opened.stream.rejections, []);
});

test('a rejection is gone when its resource is', () => {
  const opened = openStream({ policies: { bad: '1' } });
  subscribeAll(opened);
  takeAll(opened);
  answerAll(opened, { bad: 'no' });
  assert.equal(opened.stream.rejections.length, 1);
  opened.stream.setTarget(makeSnapshot({}));
  settleAll(opened);
  assert.deepEqual(opened.stream.rejections, []);
});

test('a NACK without Rejections rejects everything in the response', () => {
  const opened = openStream({ policies: { a: '1', b: '1' } });
  subscribeAll(opened);
  takeAll(opened);
  while (opened.client.unanswered.length > 0) {
    const hasResources = opened.client.unanswered[0]!.resources.length > 0;
    assertTaken(opened.stream.receive(opened.client.answer(hasResources ? 'cannot parse' : undefined)));
  }
  assert.deepEqual(
    opened.stream.rejections.map(({ name, reason }) => [name, reason]),
    [
      ['a', 'cannot parse'],
      ['b', 'cannot parse'],
    ],
  );
});

test('a rejection of an older version says nothing about the one that has been sent since', () => {
  const opened = openSettled({ policies: { p: '1' } });
  opened.stream.setTarget(makeSnapshot({ policies: { p: '2' } }));
  takeAll(opened);
  opened.stream.setTarget(makeSnapshot({ policies: { p: '3' } }));
  takeAll(opened);
  opened.stream.receive(opened.client.answer([{ name: 'p', reason: 'no' }]));
  assert.deepEqual(opened.stream.rejections, []);
  opened.stream.receive(opened.client.answer());
  assert.deepEqual(opened.stream.rejections, []);
});

test('answers may come in another order: a late one says nothing about what has been sent since', () => {
  const opened = openSettled({ policies: { p: '1' } });
  for (const small of [{}, { policies: { p: '2' } }]) {
    opened.stream.setTarget(makeSnapshot(small));
    takeAll(opened);
  }
  opened.stream.receive(opened.client.answer([{ name: 'p', reason: 'no' }], 1));
  opened.stream.receive(opened.client.answer());
  assert.equal(opened.stream.rejections.length, 1);
  assert.equal(opened.stream.settled, opened.client.digest);
});

test('a NACK may also name what was sent before; the next update that is answered without it ends that', () => {
  const opened = openSettled({ secrets: { cert: '1' }, listeners: { l: '1' } });
  const spoiled: ReferenceRejection[] = [
    { typeUrl: getTypeUrl('listeners'), name: 'l', reason: 'its certificate cannot be used' },
    { typeUrl: getTypeUrl('listeners'), name: 'unknown', reason: 'not here' },
  ];
  opened.stream.setTarget(makeSnapshot({ secrets: { cert: 'broken' }, listeners: { l: '1' } }));
  takeAll(opened);
  opened.stream.receive(opened.client.answer(spoiled));
  assert.deepEqual(
    opened.stream.rejections.map(({ name }) => name),
    ['l'],
  );
  opened.stream.setTarget(makeSnapshot({ secrets: { cert: '2' }, listeners: { l: '1' } }));
  takeAll(opened);
  answerAll(opened);
  assert.deepEqual(opened.stream.rejections, []);
});

test('a rejection without a reason says that the resource can be used after all', () => {
  const opened = openStream({ secrets: { s: 'broken' }, policies: { p: '1' } });
  subscribeAll(opened);
  takeAll(opened);
  answerAll(opened, { p: 'its secret cannot be read' });
  opened.stream.setTarget(makeSnapshot({ secrets: { s: 'good' }, policies: { p: '1' } }));
  assert.deepEqual(takeAll(opened), ['secrets +s']);
  const healed = { typeUrl: getTypeUrl('policies'), name: 'p', reason: '' };
  const outcome = opened.stream.receive(opened.client.answer([healed]));
  assert.equal(outcome.kind === 'taken' && outcome.answer, 'ack');
  assert.deepEqual(opened.stream.rejections, []);
});
