// Programmed is true only where running gateways say so, and describing it again makes nothing new. The sentences are in goldens (testdata/programmed-*).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Configuration } from '../ir/configuration.ts';
import { conditionReasons, type Condition } from './conditions.ts';
import type { GatewayFacts } from './gateway-facts.ts';
import { describeProgrammed } from './programmed-status.ts';
import { arbitraryResources } from './testdata/arbitrary-resources.ts';
import { type Translation, translate } from './translate.ts';
import { inferenceTranslation } from './inference-translation.ts';
import { effort } from '../../test/kit/effort.ts';

const lists: readonly (keyof Configuration)[] = ['listeners', 'routes', 'policies', 'backends', 'secrets'];

/** Facts that are about messages of a translation, chosen by numbers. */
function createFacts({ configuration }: Translation, [gateway, choice]: readonly [string, Choice]): GatewayFacts {
  const pick = (list: keyof Configuration, at: number): string => configuration[list][at]?.key ?? 'nothing';
  const unsettled = new Set(choice.unsettled.map(({ list, at }) => `${list} ${pick(list, at)}`));
  return {
    addresses: choice.addresses,
    deployProblem: choice.deployProblem,
    addressProblem: choice.addressProblem,
    processes: choice.processes,
    isSettled: (list, key) => !unsettled.has(`${list} ${key}`),
    behind: choice.behind,
    listBehind: (list, key) => (unsettled.has(`${list} ${key}`) ? choice.behind : []),
    rejections: choice.rejections.map(({ list, at }) => ({ list, key: pick(list, at), reason: `${gateway} says no` })),
    keyProblems: new Map(
      choice.keyProblems.map(({ at, neverLoaded }) => [
        pick('policies', at),
        { issuer: 'https://a.example.com', reason: 'it is away', neverLoaded },
      ]),
    ),
    bindProblems: new Map(choice.bindProblems.map((port) => [port, 'it is taken'])),
    targets: new Map(
      choice.targets.map(({ at, name, down }) => [
        pick('backends', at),
        new Map([[name, { down, since: 0, error: 'it is away' }]]),
      ]),
    ),
  };
}

const message = fc.record({ list: fc.constantFrom(...lists), at: fc.nat(5) });
const choice = fc.record({
  addresses: fc.constantFrom<GatewayFacts['addresses'][]>(
    [],
    [{ type: 'IPAddress', value: '127.0.0.1' }],
    [{ type: 'Hostname', value: 'a.example.com' }],
  ),
  deployProblem: fc.constantFrom(undefined, undefined, undefined, 'it is not ours'),
  addressProblem: fc.constantFrom(undefined, undefined, undefined, 'it cannot be had'),
  processes: fc.nat(2),
  unsettled: fc.array(message, { maxLength: 2 }),
  behind: fc.array(fc.record({ name: fc.constantFrom('pod-a', 'pod-b'), isConnected: fc.boolean() }), { maxLength: 2 }),
  rejections: fc.array(message, { maxLength: 2 }),
  keyProblems: fc.array(fc.record({ at: fc.nat(5), neverLoaded: fc.boolean() }), { maxLength: 2 }),
  bindProblems: fc.array(fc.constantFrom(80, 443, 7777), { maxLength: 1 }),
  targets: fc.array(fc.record({ at: fc.nat(5), name: fc.constantFrom('a', 'b', 'tickets'), down: fc.nat(2) }), {
    maxLength: 3,
  }),
});
type Choice = typeof choice extends fc.Arbitrary<infer C> ? C : never;

const choices = fc.dictionary(fc.constantFrom('default/a', 'default/b', 'default/served', 'team/a'), choice);

function isTrue(conditions: readonly Condition[]): boolean {
  return conditions.find(({ type }) => type === 'Programmed')?.status === 'True';
}

function checkConditions(subject: keyof typeof conditionReasons, conditions: readonly Condition[]): void {
  const types: Readonly<Record<string, readonly string[]>> = conditionReasons[subject];
  assert.equal(new Set(conditions.map(({ type }) => type)).size, conditions.length);
  for (const { type, reason, message: text } of conditions)
    assert.ok(types[type]?.includes(reason) && text !== '', `${subject} ${type} ${reason}`);
}

function describeArbitrarily(resources: Parameters<typeof translate>[0], chosen: Readonly<Record<string, Choice>>) {
  const translation = translate(resources, { placement: 'pods', inference: inferenceTranslation });
  const facts = new Map(Object.entries(chosen).map((entry) => [entry[0], createFacts(translation, entry)]));
  return { translation, facts, statuses: describeProgrammed(translation, facts, ['v1.6.1']) };
}

describe('what is programmed', () => {
  test('is told in known words', () => {
    fc.assert(
      fc.property(arbitraryResources, choices, (resources, chosen) => {
        const { statuses } = describeArbitrarily(resources, chosen);
        for (const { conditions } of Object.values(statuses.gatewayClasses))
          checkConditions('gatewayClass', conditions);
        for (const { conditions, listeners } of Object.values(statuses.gateways)) {
          checkConditions('gateway', conditions);
          for (const listener of listeners) checkConditions('listener', listener.conditions);
        }
        for (const { parents } of Object.values(statuses.httpRoutes))
          for (const { conditions } of parents) checkConditions('routeParent', conditions);
        for (const { conditions } of Object.values(statuses.proxyBackends)) checkConditions('proxyBackend', conditions);
        for (const { ancestors } of Object.values(statuses.proxyPolicies))
          for (const { conditions } of ancestors) checkConditions('policyAncestor', conditions);
      }),
      { numRuns: effort(200, 40) },
    );
  });

  test('is never said without a process, an address and an answer', () => {
    fc.assert(
      fc.property(arbitraryResources, choices, (resources, chosen) => {
        const { translation, facts, statuses } = describeArbitrarily(resources, chosen);
        for (const [name, { conditions, listeners }] of Object.entries(statuses.gateways)) {
          const known = facts.get(name);
          for (const listener of listeners) {
            if (!isTrue(listener.conditions)) continue;
            const key = `${name}/${listener.name}`;
            assert.ok(known !== undefined && known.processes > 0 && known.isSettled('listeners', key), key);
            assert.ok(!known.rejections.some((each) => each.list === 'listeners' && each.key === key), key);
          }
          if (!isTrue(conditions)) continue;
          assert.ok(known !== undefined && known.addresses.length > 0, name);
          assert.ok(known.deployProblem === undefined && known.addressProblem === undefined, name);
          assert.ok(
            listeners.some((listener) => isTrue(listener.conditions)),
            name,
          );
        }
        for (const [name, { ancestors }] of Object.entries(statuses.proxyPolicies)) {
          for (const { ancestorRef, conditions } of ancestors) {
            if (!isTrue(conditions)) continue;
            const gateway = `${ancestorRef.namespace}/${ancestorRef.name}`;
            const known = facts.get(gateway);
            const keys = translation.policyKeys.get(name)?.get(gateway) ?? [];
            assert.ok(known !== undefined && known.processes > 0 && keys.length > 0, name);
            for (const key of keys) {
              assert.ok(known.isSettled('policies', key) && known.keyProblems.get(key)?.neverLoaded !== true, key);
              assert.ok(!known.rejections.some((each) => each.list === 'policies' && each.key === key), key);
            }
          }
        }
      }),
      { numRuns: effort(300, 60) },
    );
  });

  test('says nothing better than translation does, and makes nothing twice', () => {
    fc.assert(
      fc.property(arbitraryResources, choices, (resources, chosen) => {
        const { translation, facts, statuses } = describeArbitrarily(resources, chosen);
        for (const [name, { conditions }] of Object.entries(statuses.gateways))
          assert.ok(!isTrue(conditions) || isTrue(translation.statuses.gateways[name]?.conditions ?? []), name);
        const again = describeProgrammed(translation, facts, ['v1.6.1']);
        for (const [kind, described] of Object.entries(again) as [keyof typeof again, Record<string, unknown>][])
          for (const [name, status] of Object.entries(described))
            assert.equal(status, (statuses[kind] as Record<string, unknown>)[name], `${kind} ${name}`);
      }),
      { numRuns: effort(100, 20) },
    );
  });
});
