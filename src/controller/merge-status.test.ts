// What becomes of a status that others write too.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { controllerName } from '../api/gateway-class.ts';
import {
  createCondition,
  type Condition,
  type HttpRouteStatus,
  type InferencePoolStatus,
  type ProxyPolicyStatus,
} from '../translate/conditions.ts';
import { hasConditions, hasOwnEntries, mergeStatus, suspendGateway } from './merge-status.ts';

const context = { controllerName, namespace: 'team', now: '2026-02-02T00:00:00Z' };
const earlier = '2026-01-01T00:00:00Z';

function accept(status: Condition['status'], generation = 1): Condition {
  return createCondition('routeParent', 'Accepted', status, 'Accepted', 'words', generation);
}

function routeStatus(names: readonly string[], status: Condition['status'] = 'True'): HttpRouteStatus {
  return {
    parents: names.map((name) => ({
      parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name },
      controllerName,
      conditions: [accept(status)],
    })),
  };
}

describe('conditions', () => {
  const own = { conditions: [createCondition('proxyBackend', 'Accepted', 'True', 'Accepted', 'words', 3)] };

  test('a first status has the time of now', () => {
    assert.deepEqual(mergeStatus('ProxyBackend', undefined, own, context), {
      conditions: [{ ...own.conditions[0], lastTransitionTime: context.now }],
    });
  });

  test('the time changes only with the status, not with its reason, words or generation', () => {
    const seen = (status: string) => ({
      conditions: [
        {
          type: 'Accepted',
          status,
          reason: 'Invalid',
          message: 'old',
          observedGeneration: 1,
          lastTransitionTime: earlier,
        },
      ],
    });
    assert.deepEqual(mergeStatus('ProxyBackend', seen('True'), own, context), {
      conditions: [{ ...own.conditions[0], lastTransitionTime: earlier }],
    });
    assert.deepEqual(mergeStatus('ProxyBackend', seen('False'), own, context), {
      conditions: [{ ...own.conditions[0], lastTransitionTime: context.now }],
    });
  });

  test('foreign types stay in their place, ours that are not set any more go', () => {
    const foreign = {
      type: 'example.com/Checked',
      status: 'True',
      reason: 'X',
      message: '',
      lastTransitionTime: earlier,
    };
    const stale = { type: 'ResolvedRefs', status: 'True', reason: 'X', message: '', lastTransitionTime: earlier };
    const merged = mergeStatus('ProxyBackend', { conditions: [foreign, stale], extra: 1 }, own, context);
    assert.deepEqual(merged['conditions'], [foreign, { ...own.conditions[0], lastTransitionTime: context.now }]);
    assert.equal(merged['extra'], 1);
  });

  test('when there are too many for the CRD, ours have precedence', () => {
    const foreign = Array.from({ length: 8 }, (_, index) => ({ type: `example.com/C${index}`, status: 'True' }));
    const merged = mergeStatus('ProxyBackend', { conditions: foreign }, own, context)['conditions'] as Condition[];
    assert.equal(merged.length, 8);
    assert.equal(merged.at(-1)?.type, 'Accepted');
  });

  test('merging twice changes nothing', () => {
    const once = mergeStatus('ProxyBackend', undefined, own, context);
    assert.deepEqual(mergeStatus('ProxyBackend', once, own, { ...context, now: 'later' }), once);
  });
});

describe('Gateway', () => {
  const gateway = {
    addresses: [{ type: 'IPAddress', value: '10.0.0.1' }],
    conditions: [createCondition('gateway', 'Accepted', 'True', 'Accepted', 'words', 1)],
    listeners: [
      {
        name: 'http',
        supportedKinds: [],
        attachedRoutes: 2,
        conditions: [createCondition('listener', 'Accepted', 'True', 'Accepted', 'words', 1)],
      },
    ],
  };

  test('listeners keep their times, and those that are gone go', () => {
    const once = mergeStatus('Gateway', undefined, gateway, context);
    const [http] = once['listeners'] as Record<string, unknown>[];
    const seen = { ...once, listeners: [{ name: 'old' }, http] };
    const merged = mergeStatus('Gateway', seen, gateway, { ...context, now: 'later' });
    assert.deepEqual(merged, once);
  });

  test('addresses that are not known any more go', () => {
    const { addresses: _addresses, ...without } = gateway;
    const merged = mergeStatus('Gateway', mergeStatus('Gateway', undefined, gateway, context), without, context);
    assert.equal('addresses' in merged, false);
  });

  test('one that is suspended keeps addresses and listeners', () => {
    const once = mergeStatus('Gateway', undefined, gateway, context);
    const suspended = suspendGateway(once, 'not looked after', 4, 'later');
    assert.deepEqual(suspended['addresses'], gateway.addresses);
    assert.deepEqual(suspended['listeners'], once['listeners']);
    const conditions = suspended['conditions'] as Condition[];
    assert.deepEqual(
      conditions.map(({ type, status, reason, observedGeneration }) => [type, status, reason, observedGeneration]),
      [
        ['Accepted', 'Unknown', 'Pending', 4],
        ['Programmed', 'Unknown', 'Pending', 4],
      ],
    );
  });

  test('our words are told from those of others', () => {
    const once = mergeStatus('Gateway', undefined, gateway, context);
    assert.equal(hasConditions(once, gateway.conditions), true);
    const other = { conditions: [{ ...gateway.conditions[0], message: 'words of another controller' }] };
    assert.equal(hasConditions(other, gateway.conditions), false);
  });
});

describe('parents and ancestors', () => {
  const foreign = {
    parentRef: { name: 'theirs' },
    controllerName: 'example.com/other',
    conditions: [{ type: 'Accepted' }],
  };

  test("others' entries stay in place, ours are replaced in place, added and removed", () => {
    const seen = {
      parents: [
        { parentRef: { name: 'gone' }, controllerName, conditions: [] },
        foreign,
        // As an older API server may give it back: without what is the default, or with the namespace.
        {
          parentRef: { name: 'kept', namespace: 'team' },
          controllerName,
          conditions: [{ type: 'Accepted', status: 'True', lastTransitionTime: earlier }],
        },
      ],
    };
    const own = routeStatus(['new', 'kept']);
    assert.deepEqual(mergeStatus('HTTPRoute', seen, own, context)['parents'], [
      foreign,
      { ...own.parents[1], conditions: [{ ...accept('True'), lastTransitionTime: earlier }] },
      { ...own.parents[0], conditions: [{ ...accept('True'), lastTransitionTime: context.now }] },
    ]);
  });

  test('nothing of ours is left when there is nothing to say', () => {
    const seen = {
      parents: [...(mergeStatus('HTTPRoute', undefined, routeStatus(['a']), context)['parents'] as []), foreign],
    };
    assert.equal(hasOwnEntries('HTTPRoute', seen, controllerName), true);
    const merged = mergeStatus('HTTPRoute', seen, undefined, context);
    assert.deepEqual(merged, { parents: [foreign] });
    assert.equal(hasOwnEntries('HTTPRoute', merged, controllerName), false);
  });

  test('there are at most 16 ancestors with those of others, and what is not well is among them', () => {
    const others = Array.from({ length: 10 }, (_, index) => ({
      ancestorRef: { name: `o${index}` },
      controllerName: 'x/y',
    }));
    const own: ProxyPolicyStatus = {
      ancestors: Array.from({ length: 12 }, (_, index) => ({
        ancestorRef: { group: 'g', kind: 'Gateway', namespace: 'team', name: `g${index}` },
        controllerName,
        conditions: [createCondition('policyAncestor', 'Accepted', index === 11 ? 'False' : 'True', 'Accepted', '', 1)],
      })),
    };
    const merged = mergeStatus('ProxyPolicy', { ancestors: others }, own, context)['ancestors'] as {
      ancestorRef: { name: string };
    }[];
    assert.deepEqual(
      merged.map(({ ancestorRef }) => ancestorRef.name),
      [...others.map(({ ancestorRef }) => ancestorRef.name), 'g11', 'g0', 'g1', 'g2', 'g3', 'g4'],
    );
  });

  test('entries of a pool that name no controller are not ours, also for the same Gateway; there are at most 32', () => {
    const parentRef = { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'team', name: 'web' };
    const unsigned = { parentRef, conditions: [{ type: 'Accepted', status: 'False' }] };
    const own: InferencePoolStatus = {
      parents: [
        {
          parentRef,
          controllerName,
          conditions: [createCondition('inferencePoolParent', 'Accepted', 'True', 'Accepted', '', 1)],
        },
      ],
    };
    const merged = mergeStatus('InferencePool', { parents: [unsigned, foreign] }, own, context);
    const written = {
      ...own.parents[0],
      conditions: [{ ...own.parents[0]!.conditions[0], lastTransitionTime: context.now }],
    };
    assert.deepEqual(merged['parents'], [unsigned, foreign, written]);
    assert.equal(hasOwnEntries('InferencePool', { parents: [unsigned, foreign] }, controllerName), false);
    assert.deepEqual(mergeStatus('InferencePool', merged, { parents: [] }, context), { parents: [unsigned, foreign] });
    assert.deepEqual(mergeStatus('InferencePool', { parents: [written] }, undefined, context), { parents: [] });

    const others = (count: number): object[] => Array.from({ length: count }, () => foreign);
    const full = mergeStatus('InferencePool', { parents: others(31) }, own, context)['parents'] as object[];
    assert.deepEqual([full.length, full.at(-1)], [32, written]);
    assert.deepEqual(mergeStatus('InferencePool', { parents: others(32) }, own, context)['parents'], others(32));
  });

  test('whatever is there: others are kept in order, ours are there once, and a second merge changes nothing', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const entry = fc.oneof(
      fc.record({
        parentRef: fc.record({ name }),
        controllerName: fc.constantFrom(controllerName, 'x/y'),
        conditions: fc.array(
          fc.record({
            type: fc.constantFrom('Accepted', 'PartiallyInvalid', 'x/Y'),
            status: fc.constantFrom('True', 'False'),
          }),
          { maxLength: 3 },
        ),
      }),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(
        fc.oneof(fc.array(entry, { maxLength: 6 }), fc.jsonValue()),
        fc.uniqueArray(name),
        (parents, names) => {
          const own = routeStatus(names);
          const merged = mergeStatus('HTTPRoute', { parents }, own, context);
          const list = merged['parents'] as Record<string, unknown>[];
          const isForeign = (each: unknown): boolean =>
            (each as Record<string, unknown> | null)?.['controllerName'] !== controllerName;
          if (Array.isArray(parents)) {
            const objects = parents.filter((each) => typeof each === 'object' && each !== null && !Array.isArray(each));
            const kept = list.filter((each) => isForeign(each) && Object.keys(each).length > 0);
            assert.deepEqual(
              kept,
              objects.filter((each) => isForeign(each) && Object.keys(each as object).length > 0),
            );
          }
          assert.deepEqual(
            list
              .filter((each) => !isForeign(each))
              .map((each) => (each['parentRef'] as { name: string }).name)
              .toSorted(),
            names.toSorted(),
          );
          assert.deepEqual(mergeStatus('HTTPRoute', merged, own, { ...context, now: 'later' }), merged);
        },
      ),
    );
  });
});
