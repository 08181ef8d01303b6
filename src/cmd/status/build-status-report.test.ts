// Whatever an API server holds, `status` shows it: objects without a schema, and statuses that anybody may have written.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { buildStatusReport } from './build-status-report.ts';
import { listChanges } from './change-lines.ts';
import { statusKinds } from './cluster-view.ts';
import { formatStatus } from './format-status.ts';
import { createNameFilter } from './name-filter.ts';
import { viewObjects } from './testing/cluster-case.ts';

/** Of one type there is one: the API server keeps them so. */
const conditionsOf = fc.uniqueArray(
  fc.record({
    type: fc.constantFrom('Accepted', 'Programmed', 'Attached', 'ResolvedRefs', 'Conflicted'),
    status: fc.constantFrom('True', 'True', 'True', 'False', 'Unknown'),
    reason: fc.constantFrom('Accepted', 'Invalid', 'Pending'),
    message: fc.constantFrom('', 'one', 'two'),
    observedGeneration: fc.constantFrom(1, 3, 3),
  }),
  { maxLength: 5, selector: ({ type }) => type },
);

const objectOf = fc.record(
  {
    kind: fc.constantFrom(...statusKinds),
    metadata: fc.record({
      name: fc.constantFrom('a', 'b'),
      namespace: fc.constantFrom('x', 'y'),
      generation: fc.nat(3),
    }),
    spec: fc.oneof(
      fc.anything(),
      fc.record({
        controllerName: fc.constant('gateway.proxy/controller'),
        gatewayClassName: fc.constantFrom('a', 'b'),
        listeners: fc.array(fc.anything(), { maxLength: 2 }),
        parentRefs: fc.array(fc.oneof(fc.anything(), fc.record({ name: fc.constant('a') })), { maxLength: 2 }),
        targetRefs: fc.array(fc.anything(), { maxLength: 2 }),
        hostnames: fc.anything(),
      }),
    ),
    status: fc.oneof(
      fc.anything(),
      fc.record({
        conditions: fc.oneof(fc.anything(), conditionsOf, conditionsOf),
        parents: fc.array(
          fc.oneof(
            fc.anything(),
            fc.record({
              parentRef: fc.constant({ name: 'a' }),
              controllerName: fc.constant('gateway.proxy/controller'),
              conditions: conditionsOf,
            }),
          ),
          { maxLength: 2 },
        ),
        ancestors: fc.array(
          fc.record({
            controllerName: fc.constant('gateway.proxy/controller'),
            ancestorRef: fc.anything(),
            conditions: conditionsOf,
          }),
        ),
        listeners: fc.anything(),
      }),
    ),
  },
  { requiredKeys: ['kind', 'metadata'] },
);

const objectsOf = fc.uniqueArray(objectOf, {
  maxLength: 8,
  selector: ({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`,
});

test('nothing in a cluster breaks it, and every object is shown, or counted as somebody else’s', () => {
  fc.assert(
    fc.property(objectsOf, (objects) => {
      const view = viewObjects(objects);
      const report = buildStatusReport(view, createNameFilter([]), 0);
      const text = formatStatus(report, { color: false, width: 80 });
      assert.ok(text.endsWith('\n'));
      const { gateways, httpRoutes, proxyPolicies, proxyBackends, inferencePools, ofOthers } = report;
      assert.equal(
        gateways.length +
          httpRoutes.length +
          proxyPolicies.length +
          proxyBackends.length +
          inferencePools.length +
          ofOthers.inferencePools +
          ofOthers.gateways +
          ofOthers.httpRoutes,
        objects.filter(({ kind }) => kind !== 'GatewayClass').length,
      );
      assert.doesNotThrow(() => JSON.stringify(report));
      assert.deepEqual(listChanges(report, report), []);
      const states = [...gateways, ...httpRoutes, ...proxyPolicies, ...proxyBackends, ...inferencePools].map(
        ({ state }) => state,
      );
      assert.equal(report.well && states.some((state) => state !== 'well'), false, 'all well, and something is not');
    }),
  );
});

test('something that is not well always has a problem that says so', () => {
  fc.assert(
    fc.property(objectsOf, (objects) => {
      const report = buildStatusReport(viewObjects(objects), createNameFilter([]), 0);
      for (const [kind, list] of [
        ['Gateway', report.gateways],
        ['HTTPRoute', report.httpRoutes],
        ['ProxyPolicy', report.proxyPolicies],
        ['ProxyBackend', report.proxyBackends],
        ['InferencePool', report.inferencePools],
      ] as const)
        for (const { namespace, name, state } of list)
          assert.equal(
            state !== 'well',
            report.problems.some(
              (problem) => problem.kind === kind && problem.namespace === namespace && problem.name === name,
            ),
            `${kind} ${namespace}/${name} is ${state}`,
          );
    }),
  );
});
