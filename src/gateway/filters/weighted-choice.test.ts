import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WeightedBackends } from '../config/runtime-config.ts';
import { noFilters } from '../config/compile/compile-filters.ts';
import { noBackendPolicies } from '../config/compile/compile-policies.ts';
import { chooseMirrors } from './mirror-choice.ts';
import { chooseBackend } from './weighted-choice.ts';

function build(...weights: number[]): WeightedBackends {
  const entries = weights.map((weight, index) => ({
    backend: `b${index}`,
    weight,
    failure: undefined,
    policies: noBackendPolicies,
    filters: noFilters,
  }));
  return { entries, totalWeight: weights.reduce((sum, weight) => sum + weight, 0) };
}

function countChoices(backends: WeightedBackends): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let step = 0; step < 1000; step += 1) {
    const choice = chooseBackend(backends, () => step / 1000)!.backend;
    counts[choice] = (counts[choice] ?? 0) + 1;
  }
  return counts;
}

test('each backend gets its share', () => {
  assert.deepEqual(countChoices(build(1, 3, 6)), { b0: 100, b1: 300, b2: 600 });
});

test('a weight of 0 gets nothing', () => {
  assert.deepEqual(countChoices(build(0, 1, 0, 1, 0)), { b1: 500, b3: 500 });
});

test('without any weight there is no choice', () => {
  assert.equal(
    chooseBackend(build(), () => 0),
    undefined,
  );
  assert.equal(
    chooseBackend(build(0, 0), () => 0),
    undefined,
  );
  assert.equal(
    chooseBackend(build(0), () => 0),
    undefined,
  );
});

test('rounding never falls off the end', () => {
  assert.equal(chooseBackend(build(1, 0), () => 1)?.backend, 'b0');
});

test('mirrors are chosen by their fraction, each on its own', () => {
  const mirrors = [
    { backend: 'all', numerator: 1, denominator: 1, policies: noBackendPolicies },
    { backend: 'none', numerator: 0, denominator: 100, policies: noBackendPolicies },
    { backend: 'half', numerator: 50, denominator: 100, policies: noBackendPolicies },
  ];
  const choose = (random: number): string[] => chooseMirrors(mirrors, () => random).map(({ backend }) => backend);
  assert.deepEqual(choose(0), ['all', 'half']);
  assert.deepEqual(choose(0.49), ['all', 'half']);
  assert.deepEqual(choose(0.5), ['all']);
  assert.deepEqual(choose(0.999), ['all']);
  assert.deepEqual(
    chooseMirrors([], () => 0),
    [],
  );
});
