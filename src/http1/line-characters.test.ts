import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { areLinesClean } from './line-characters.ts';
import { effort } from '../../test/kit/effort.ts';

const clean = /^(?:[\t\x20-\x7e\x80-\xff]|\r\n)*$/;

test('every byte at every place, however the bytes lie in memory', () => {
  for (let offset = 0; offset < 4; offset++) {
    for (const length of [16, 83]) {
      const memory = Buffer.alloc(96, 'a').subarray(offset, offset + length);
      for (let at = 0; at < memory.length; at++) {
        for (let byte = 0; byte < 256; byte++) {
          memory.fill('a');
          memory[at] = byte;
          assert.equal(areLinesClean(memory, 0, length), clean.test(memory.toString('latin1')), `${byte} at ${at}`);
        }
      }
    }
  }
});

test('what lies before and behind does not count', () => {
  const memory = Buffer.from('\r\nabc\r\n\0', 'latin1');
  assert.equal(areLinesClean(memory, 2, 7), true);
  assert.equal(areLinesClean(memory, 2, 6), false);
  assert.equal(areLinesClean(memory, 1, 7), false);
  assert.equal(areLinesClean(memory, 2, 8), false);
});

test('as the pattern says', () => {
  const byte = fc.oneof(fc.constantFrom(0x09, 0x0a, 0x0d, 0x20, 0x7f, 0x1f, 0x80, 0xff, 0x41), fc.nat(255));
  const bytes = fc.array(fc.oneof(byte, fc.constant(-1)), { maxLength: 200, size: 'max' });
  fc.assert(
    fc.property(bytes, fc.nat(7), (values, offset) => {
      const flat = values.flatMap((value) => (value === -1 ? [0x0d, 0x0a] : [value]));
      const memory = Buffer.from([...Array.from({ length: offset }, () => 0x41), ...flat]);
      const expected = clean.test(memory.toString('latin1', offset));
      assert.equal(areLinesClean(memory, offset, memory.length), expected);
    }),
    { numRuns: effort(5_000) },
  );
});
