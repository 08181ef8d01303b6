import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { appendFields, UnsendableHeadError } from './message-head.ts';
import { SentFields } from './sent-fields.ts';

const field = fc.tuple(
  fc.constantFrom('a', 'b', 'accept'),
  fc.constantFrom('1', '2', 'é', '\u010a', 'x'.repeat(3_000)),
);

test('the lines are those of the fields, whatever was sent before', () => {
  fc.assert(
    fc.property(
      fc.array(field, { maxLength: 5 }),
      fc.array(fc.record({ at: fc.nat(5), removed: fc.nat(2), added: fc.array(field, { maxLength: 2 }) }), {
        maxLength: 40,
      }),
      (first, changes) => {
        const sent = new SentFields();
        let fields = first;
        for (const { at, removed, added } of changes) {
          assert.equal(sent.format(fields.flat()), appendFields('', fields.flat()));
          fields = fields.toSpliced(at, removed, ...added);
        }
      },
    ),
  );
});

test('a field that cannot be sent is found before and after its neighbours are known', () => {
  const sent = new SentFields();
  for (let round = 0; round < 20; round++) {
    assert.equal(sent.format(['a', '1', 'b', '2', 'c', '3']), '\r\na: 1\r\nb: 2\r\nc: 3');
    assert.throws(() => sent.format(['a', '1', 'b', '2', 'c', '3\r\nd: 4']), UnsendableHeadError);
    assert.throws(() => sent.format(['a', '1\0', 'b', '2', 'c', '3']), UnsendableHeadError);
    assert.throws(() => sent.format(['a', '1', 'b ', '2']), UnsendableHeadError);
  }
});
