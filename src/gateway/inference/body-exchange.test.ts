import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { CommonResponseSchema } from '../../ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import { BodyBudget } from '../http/body-budget.ts';
import { BodyExchange } from './body-exchange.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const words = (pieces: readonly Uint8Array[] | undefined): string | undefined =>
  pieces && pieces.map((piece) => Buffer.from(piece).toString()).join('|');

type Mutation = NonNullable<NonNullable<MessageInitShape<typeof CommonResponseSchema>['bodyMutation']>['mutation']>;
const respond = (mutation?: Mutation) =>
  create(CommonResponseSchema, mutation === undefined ? {} : { bodyMutation: { mutation } });
const pass = respond();
const anew = (text: string, endOfStream = false) =>
  respond({ case: 'streamedResponse', value: { body: bytes(text), endOfStream } });

function open(maxBytes = 100, budget = new BodyBudget(1_000)) {
  const exchange = new BodyExchange(maxBytes, budget.open());
  const answer = (response: ReturnType<typeof respond>): string => {
    const outcome = exchange.answer(response);
    if (!outcome.ok) return `refused: ${outcome.detail}`;
    return `${outcome.bytes === undefined ? '-' : Buffer.from(outcome.bytes).toString()}${outcome.isChanged ? ' changed' : ''}`;
  };
  return { exchange, answer, budget };
}

describe('piece by piece', () => {
  test('pieces pass, are replaced and dropped in order', () => {
    const { exchange, answer } = open();
    for (const text of ['a', 'b', 'c']) exchange.show(bytes(text), false);
    exchange.show(bytes(''), true);
    assert.equal(exchange.mode, 'unknown');
    assert.equal(answer(pass), 'a');
    assert.equal(answer(respond({ case: 'body', value: bytes('B') })), 'B changed');
    assert.equal(answer(respond({ case: 'clearBody', value: true })), '- changed');
    assert.equal(exchange.isAnswered, false);
    assert.equal(answer(pass), '-');
    assert.deepEqual([exchange.isAnswered, exchange.mode, exchange.isAwaited], [true, 'plain', false]);
    assert.match(answer(pass), /^refused: .*not sent/);
  });

  test('the original is there until something has gone, and after that what is not answered', () => {
    const { exchange, answer } = open();
    for (const text of ['a', 'b', 'c']) exchange.show(bytes(text), false);
    answer(pass);
    assert.equal(words(exchange.takeOriginal()), 'a|b|c');
    exchange.commit();
    assert.equal(words(exchange.takeOriginal()), 'b|c');
    answer(pass);
    assert.equal(words(exchange.takeOriginal()), 'c');
  });
});

describe('sent anew', () => {
  test('what is sent is the body, to the end that is sent', () => {
    const { exchange, answer } = open();
    exchange.show(bytes('abc'), true);
    assert.equal(answer(anew('A')), 'A changed');
    assert.equal(exchange.isAnswered, false);
    assert.equal(answer(anew('', true)), '- changed');
    assert.equal(exchange.isAnswered, true);
    assert.match(answer(anew('more')), /^refused: .*after its end/);
  });

  test('the original is there until something has gone, and not after that', () => {
    const { exchange, answer } = open();
    exchange.show(bytes('abc'), true);
    answer(anew('A'));
    assert.equal(words(exchange.takeOriginal()), 'abc');
    exchange.commit();
    assert.equal(exchange.takeOriginal(), undefined);
    answer(anew('', true));
    assert.deepEqual(exchange.takeOriginal(), []);
  });

  test('does not end before the original, nor mix with the other way', () => {
    const early = open();
    early.exchange.show(bytes('abc'), false);
    assert.match(early.answer(anew('A', true)), /^refused: .*before it had received all of it/);
    const mixed = open();
    mixed.exchange.show(bytes('a'), false);
    mixed.exchange.show(bytes('b'), false);
    mixed.answer(pass);
    assert.match(mixed.answer(anew('A')), /^refused: .*one by one/);
    const other = open();
    other.exchange.show(bytes('a'), false);
    other.answer(anew('A'));
    assert.match(other.answer(respond({ case: 'body', value: bytes('x') })), /^refused/);
  });
});

describe('what is kept', () => {
  test('is no more than allowed; without it pieces cannot pass, but a body that is sent anew can', () => {
    const plain = open(4);
    plain.exchange.show(bytes('abc'), false);
    plain.exchange.show(bytes('def'), true);
    assert.equal(plain.exchange.takeOriginal(), undefined);
    assert.equal(plain.budget.heldBytes, 0);
    assert.match(plain.answer(pass), /^refused: .*too large/);
    const streamed = open(4);
    streamed.exchange.show(bytes('abcdef'), true);
    assert.equal(streamed.answer(anew('ABCDEF', true)), 'ABCDEF changed');
  });

  test('is counted with that of all others, and let go of', () => {
    const budget = new BodyBudget(10);
    const first = open(100, budget);
    const second = open(100, budget);
    first.exchange.show(bytes('12345678'), false);
    second.exchange.show(bytes('abc'), false);
    assert.equal(second.exchange.takeOriginal(), undefined);
    assert.equal(budget.heldBytes, 8);
    first.answer(pass);
    assert.equal(budget.heldBytes, 8);
    first.exchange.commit();
    assert.equal(budget.heldBytes, 0);
    const third = open(100, budget);
    third.exchange.show(bytes('1234567890'), true);
    third.exchange.commit();
    third.answer(anew('x'));
    assert.equal(budget.heldBytes, 0);
    const fourth = open(100, budget);
    fourth.exchange.show(bytes('1234'), true);
    fourth.exchange.release();
    assert.equal(budget.heldBytes, 0);
  });
});
