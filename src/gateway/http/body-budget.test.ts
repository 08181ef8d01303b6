import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { BodySink, Exchange } from './exchange.ts';
import { BodyBudget, bodyBudget, maxHeldBytes } from './body-budget.ts';
import { type MessageBody, readMessageBody } from '../mcp/read/read-message-body.ts';

test('the budget of the process', () => {
  assert.equal(bodyBudget.maxBytes, maxHeldBytes);
  assert.equal(maxHeldBytes, 268_435_456);
});

test('shares take and give back, within the budget', () => {
  const budget = new BodyBudget(100);
  const first = budget.open();
  const second = budget.open();
  assert.ok(first.resize(60));
  assert.ok(second.resize(40));
  assert.equal(second.resize(41), false);
  assert.equal(budget.heldBytes, 100);
  assert.ok(first.resize(10));
  assert.ok(second.resize(41));
  assert.equal(budget.heldBytes, 51);
  first.release();
  first.release();
  // It is over: nobody would give this back.
  assert.ok(first.resize(50));
  assert.equal(budget.heldBytes, 41);
  second.release();
  assert.equal(budget.heldBytes, 0);
});

/** A request whose events happen when the test says so. */
function createExchange(headers: readonly string[] = []): {
  readonly exchange: Pick<Exchange, 'hasBody' | 'headers' | 'readBody' | 'onClose'>;
  readonly sink: () => BodySink;
  readonly close: () => void;
} {
  let sink: BodySink | undefined;
  let callbacks: (() => void)[] = [];
  return {
    exchange: {
      hasBody: true,
      headers,
      readBody: (given) => ((sink = given), { resume: () => {}, discard: () => {} }),
      onClose: (callback) => void callbacks.push(() => callback(false, 0, 0)),
    },
    sink: () => sink!,
    close() {
      const waiting = callbacks;
      callbacks = [];
      for (const callback of waiting) callback();
    },
  };
}

const kilobytes = (count: number): Buffer => Buffer.alloc(count * 1_024, ' ');

describe('a body that is read', () => {
  const budget = new BodyBudget(64 * 1_024);
  const start = (
    maxBytes = 32 * 1_024,
    timeoutMs = 60_000,
  ): ReturnType<typeof createExchange> & { readonly body: Promise<MessageBody> } => {
    const created = createExchange();
    return { ...created, body: Promise.resolve(readMessageBody(created.exchange, maxBytes, timeoutMs, budget)) };
  };
  const reasonOf = (body: MessageBody): string => (body.ok ? 'ok' : body.reason);

  const ends: [title: string, run: () => Promise<void>][] = [
    [
      'is forwarded',
      async () => {
        const { body, sink, close } = start();
        sink().write(kilobytes(20));
        sink().end([]);
        const read = await body;
        assert.ok(read.ok);
        assert.equal(budget.heldBytes, 20 * 1_024);
        read.share.resize(0);
        assert.equal(budget.heldBytes, 0);
        close();
      },
    ],
    [
      'is answered, and nobody says that it is needed no more',
      async () => {
        const { body, sink, close } = start();
        sink().write(kilobytes(20));
        sink().end([]);
        assert.equal(reasonOf(await body), 'ok');
        assert.equal(budget.heldBytes, 20 * 1_024);
        close();
      },
    ],
    [
      'leaves something behind until its stream ends',
      async () => {
        const { body, sink, close } = start();
        sink().write(kilobytes(2));
        sink().end([]);
        const read = await body;
        assert.ok(read.ok && read.share.resize(100));
        assert.equal(budget.heldBytes, 100);
        close();
        read.share.resize(50);
      },
    ],
    [
      'has a client that leaves in the middle',
      async () => {
        const { body, sink, close } = start();
        sink().write(kilobytes(20));
        close();
        assert.equal(reasonOf(await body), 'client_disconnected');
        sink().write(kilobytes(1));
        sink().fail(new Error('gone'));
      },
    ],
    [
      'breaks off',
      async () => {
        const { body, sink } = start();
        sink().write(kilobytes(20));
        sink().fail(new Error('gone'));
        assert.equal(reasonOf(await body), 'client_disconnected');
      },
    ],
    [
      'takes too long',
      async () => {
        const { body, sink, close } = start(undefined, 1);
        sink().write(kilobytes(20));
        assert.equal(reasonOf(await body), 'body_timeout');
        sink().write(kilobytes(1));
        assert.equal(budget.heldBytes, 0);
        close();
      },
    ],
    [
      'is too large',
      async () => {
        const { body, sink, close } = start();
        sink().write(kilobytes(20));
        sink().write(kilobytes(13));
        assert.equal(reasonOf(await body), 'body_too_large');
        assert.equal(budget.heldBytes, 0);
        close();
      },
    ],
    [
      'is over the budget',
      async () => {
        const first = start();
        const second = start();
        const third = start();
        first.sink().write(kilobytes(32));
        second.sink().write(kilobytes(30));
        third.sink().write(kilobytes(1));
        third.sink().write(kilobytes(3));
        assert.equal(reasonOf(await third.body), 'bodies_over_budget');
        assert.equal(budget.heldBytes, 62 * 1_024);
        // The others go on.
        second.sink().end([]);
        assert.equal(reasonOf(await second.body), 'ok');
        for (const each of [first, second, third]) each.close();
      },
    ],
  ];
  for (const [title, run] of ends)
    test(`${title}: it counts for nothing in the end`, async () => {
      await run();
      assert.equal(budget.heldBytes, 0);
    });

  test('property: whatever happens to many of them, the budget is kept and in the end all of it is there again', async () => {
    const event = fc.record({
      who: fc.nat(5),
      what: fc.constantFrom('write', 'write', 'write', 'end', 'fail', 'close', 'release'),
      size: fc.nat(20_000),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 60 }), async (events) => {
        const requests = Array.from({ length: 6 }, () => start());
        const over = new Set<number>();
        for (const { who, what, size } of events) {
          const request = requests[who]!;
          if (what === 'close') request.close();
          else if (what === 'release') {
            if (over.has(who)) await request.body.then((read) => read.ok && read.share.resize(0));
          } else if (!over.has(who)) {
            if (what === 'write') request.sink().write(Buffer.alloc(size));
            else {
              over.add(who);
              if (what === 'end') request.sink().end([]);
              else request.sink().fail(new Error('gone'));
            }
          }
          assert.ok(budget.heldBytes >= 0 && budget.heldBytes <= budget.maxBytes);
        }
        for (const request of requests) request.close();
        assert.equal(budget.heldBytes, 0);
        await Promise.all(requests.map(({ body }) => body));
      }),
    );
  });
});
