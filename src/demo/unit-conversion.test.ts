import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { convertUnits, unitSymbols } from './unit-conversion.ts';

describe('convertUnits', () => {
  test('converts by factor and by offset', () => {
    assert.deepEqual(convertUnits(1, 'mi', 'km'), { kind: 'converted', value: 1.609344, quantity: 'length' });
    assert.deepEqual(convertUnits(212, 'F', 'C'), { kind: 'converted', value: 100, quantity: 'temperature' });
    assert.deepEqual(convertUnits(-40, 'C', 'F'), { kind: 'converted', value: -40, quantity: 'temperature' });
    assert.deepEqual(convertUnits(36, 'km/h', 'm/s'), { kind: 'converted', value: 10, quantity: 'speed' });
  });

  test('says what does not go together', () => {
    assert.deepEqual(convertUnits(1, 'kg', 'm'), { kind: 'incompatible', from: 'mass', to: 'length' });
  });

  test('there and back again gives the same value', () => {
    const unit = fc.constantFrom(...unitSymbols);
    fc.assert(
      fc.property(fc.double({ min: 1, max: 1e6, noNaN: true }), unit, unit, (value, from, to) => {
        const there = convertUnits(value, from, to);
        if (there.kind === 'incompatible') return;
        const back = convertUnits(there.value, to, from);
        assert.ok(back.kind === 'converted' && Math.abs(back.value - value) <= 1e-6 * value, JSON.stringify(back));
      }),
    );
  });
});
