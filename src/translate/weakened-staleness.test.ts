import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GatewayParametersSpec } from '../api/gateway-parameters.ts';
import { findWeakenedStaleness } from './weakened-staleness.ts';

const closing: GatewayParametersSpec = { maxStaleness: '5m', onStale: 'Close' };

test('parameters of a Gateway may say as much, more, or nothing', () => {
  const allowed: readonly GatewayParametersSpec[] = [
    {},
    { maxStaleness: '300s' },
    { maxStaleness: '10s' },
    { maxStaleness: '5m', onStale: 'Close' },
  ];
  for (const own of allowed) assert.equal(findWeakenedStaleness(own, closing), undefined, JSON.stringify(own));
});

test('they must not wait longer than a class that closes, and not only become unready', () => {
  const end = '; parameters of the GatewayClass close stale gateways, and a Gateway cannot weaken that';
  const refused: readonly (readonly [GatewayParametersSpec, string])[] = [
    [{ maxStaleness: '5m1ms' }, 'spec.maxStaleness must be 5m or shorter'],
    [{ maxStaleness: '1m', onStale: 'Unready' }, 'spec.onStale must be Close or absent'],
    [
      { maxStaleness: '1h', onStale: 'Unready' },
      'spec.maxStaleness must be 5m or shorter, spec.onStale must be Close or absent',
    ],
  ];
  for (const [own, message] of refused) assert.equal(findWeakenedStaleness(own, closing), `${message}${end}`);
});

test('a class that does not close has a default, which a Gateway replaces', () => {
  const own: GatewayParametersSpec = { maxStaleness: '1h', onStale: 'Unready' };
  for (const ofClass of [undefined, {}, { maxStaleness: '5m' }, { maxStaleness: '5m', onStale: 'Unready' as const }])
    assert.equal(findWeakenedStaleness(own, ofClass), undefined);
});
