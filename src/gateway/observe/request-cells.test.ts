import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Decision } from '../request/decision.ts';
import { createDecisionFinder, createPlaceFinder, type RequestCellSource } from './request-cells.ts';

/** Notes what had to be looked up. */
function createSource(): { readonly source: RequestCellSource; readonly lookups: string[] } {
  const lookups: string[] = [];
  const lookUp = <T>(text: string, cell: T): T => {
    lookups.push(text);
    return cell;
  };
  const source: RequestCellSource = {
    findRequests: (place, method, status, reason) =>
      lookUp(`requests ${place.listener} ${place.route} ${method} ${status} ${reason}`, { value: 0 }),
    findDuration: (place) => lookUp(`duration ${place.listener} ${place.route}`, { observe() {} }),
    findUpstream: (place) => lookUp(`upstream ${place.listener} ${place.route}`, { observe() {} }),
    findDecisions: ({ policy, outcome }) => lookUp(`decisions ${policy} ${outcome}`, { value: 0 }),
  };
  return { source, lookups };
}

const decision: Decision = {
  step: 'traffic.authorization',
  policy: 'default/a',
  mode: '',
  outcome: 'allow',
  reason: undefined,
  detail: undefined,
  decidedBy: undefined,
  rules: [],
};

describe('what is counted at a place', () => {
  test('is looked up once, and the upstream only when there is one', () => {
    const { source, lookups } = createSource();
    const findPlace = createPlaceFinder(source);
    const cells = Array.from({ length: 3 }, () => findPlace('l', 'r').findRequests('GET', 200, undefined));
    assert.equal(new Set(cells).size, 1);
    assert.deepEqual(lookups, ['duration l r', 'requests l r GET 200 undefined']);
    const { upstream } = findPlace('l', 'r');
    assert.equal(findPlace('l', 'r').upstream, upstream);
    assert.deepEqual(lookups.slice(2), ['upstream l r']);
  });

  test('is forgotten when there is too much of it, and looked up again', () => {
    const { source, lookups } = createSource();
    const place = createPlaceFinder(source)('l', 'r');
    for (let status = 200; status < 240; status += 1) place.findRequests('GET', status, undefined);
    lookups.length = 0;
    place.findRequests('GET', 200, undefined);
    assert.deepEqual(lookups, ['requests l r GET 200 undefined']);
  });

  test('is that of places, which are forgotten as well when there are too many', () => {
    const { source, lookups } = createSource();
    const findPlace = createPlaceFinder(source);
    const first = findPlace('l', 'r0');
    for (let index = 1; index < 1_000; index += 1) findPlace('l', `r${index}`);
    assert.equal(findPlace('l', 'r0'), first);
    findPlace('l', 'one more');
    lookups.length = 0;
    assert.notEqual(findPlace('l', 'r0'), first);
    assert.deepEqual(lookups, ['duration l r0']);
  });
});

test('where a decision is counted is looked up once per policy and outcome, until there are too many', () => {
  const { source, lookups } = createSource();
  const find = createDecisionFinder(source);
  const denied: Decision = { ...decision, outcome: 'deny' };
  const cells = [decision, denied, { ...decision }, { ...denied, detail: 'another one' }].map(find);
  assert.equal(cells[0], cells[2]);
  assert.equal(cells[1], cells[3]);
  assert.deepEqual(lookups, ['decisions default/a allow', 'decisions default/a deny']);
  for (let index = 0; index < 1_000; index += 1) find({ ...decision, policy: `default/p${index}` });
  lookups.length = 0;
  find(decision);
  find(decision);
  assert.deepEqual(lookups, ['decisions default/a allow']);
});
