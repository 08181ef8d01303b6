// Whatever happens in a cluster and on the way to it, in whatever order: in the end the source shows what is there.
import { test } from 'node:test';
import * as fc from 'fast-check';
import { resourceTypes } from '../../src/kubernetes/resource-type.ts';
import type {
  KubernetesSource,
  NamespaceSelector,
  SourceSync,
} from '../../src/sources/kubernetes/kubernetes-source.ts';
import { type FakeApiServer, startFakeApiServer } from '../integration/fake-api-server/fake-api-server.ts';
import type { Fault } from '../integration/fake-api-server/fault.ts';
import {
  installationNamespace,
  make,
  quickTiming,
  startSource,
  untilEqual,
} from '../integration/kubernetes-source-fixture.ts';
import { effort } from '../kit/effort.ts';

const selectors: readonly NamespaceSelector[] = [{ matchLabels: { team: 'x' } }];
const namespaces = ['a', 'b', 'c', 'd', installationNamespace];

/** One thing that happens. */
type Step =
  | {
      readonly do: 'put';
      readonly what: 'route' | 'policy' | 'secret' | 'configMap' | 'grant';
      readonly name: string;
      readonly namespace: string;
      readonly value: string;
    }
  /** One of the objects that there are. */
  | { readonly do: 'delete'; readonly at: number }
  /** What happens while no watch is open, and is forgotten by the server before there is one again. */
  | { readonly do: 'outage'; readonly steps: readonly Step[]; readonly form: 'status' | 'event' }
  | { readonly do: 'label'; readonly namespace: string; readonly team: string }
  | { readonly do: 'fault'; readonly verb: 'list' | 'watch'; readonly fault: Fault }
  | {
      readonly do:
        | 'drop'
        | 'end'
        | 'bookmark'
        | 'expire-status'
        | 'expire-event'
        | 'expire-continue'
        | 'restart'
        | 'turn'
        | 'settle';
    }
  | { readonly do: 'crd'; readonly isInstalled: boolean };

const name = fc.constantFrom('a', 'b', 'c');
const namespace = fc.constantFrom(...namespaces);
const changes: fc.WeightedArbitrary<Step>[] = [
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      what: fc.constantFrom(
        'route' as const,
        'policy' as const,
        'secret' as const,
        'configMap' as const,
        'grant' as const,
      ),
      name,
      namespace,
      value: fc.constantFrom('x.example.com', 'y.example.com', 'not valid'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('delete' as const), at: fc.nat({ max: 20 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('label' as const), namespace, team: fc.constantFrom('x', 'x', 'y') }),
  },
];
const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  ...changes,
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('outage' as const),
      steps: fc.array(fc.oneof(...changes), { minLength: 1, maxLength: 4 }),
      form: fc.constantFrom('status' as const, 'event' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      verb: fc.constantFrom('list' as const, 'watch' as const),
      fault: fc.constantFrom<Fault>(
        { type: 'drop' },
        { type: 'cut' },
        { type: 'garbage' },
        { type: 'status', code: 500 },
        { type: 'status', code: 403 },
        { type: 'status', code: 404 },
        { type: 'status', code: 410 },
      ),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'drop' as const,
        'end' as const,
        'bookmark' as const,
        'expire-status' as const,
        'expire-event' as const,
        'expire-continue' as const,
        'restart' as const,
        'turn' as const,
        'settle' as const,
        'settle' as const,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crd' as const), isInstalled: fc.boolean() }) },
);

const deletable = ['HTTPRoute', 'ProxyPolicy', 'Secret', 'ConfigMap', 'ReferenceGrant'];

async function take(cluster: FakeApiServer, step: Step): Promise<void> {
  switch (step.do) {
    case 'put': {
      const { what, value } = step;
      const object =
        what === 'route' ? make.route(step.name, step.namespace, value) : make[what](step.name, step.namespace);
      if (cluster.isInstalled(object.kind))
        cluster.put({ ...object, ...(what === 'secret' && { data: { v: btoa(value) } }) });
      return;
    }
    case 'delete': {
      const objects = deletable.flatMap((kind) => (cluster.isInstalled(kind) ? cluster.list(kind) : []));
      const object = objects[step.at % Math.max(objects.length, 1)];
      if (object !== undefined) cluster.delete(object.kind!, `${object.metadata.namespace}/${object.metadata.name}`);
      return;
    }
    case 'outage':
      cluster.watches.drop();
      for (const inner of step.steps) await take(cluster, inner);
      return cluster.expireHistory(step.form);
    case 'label':
      cluster.put(make.namespace(step.namespace, { team: step.team }));
      return;
    case 'fault':
      cluster.inject({ verb: step.verb, fault: step.fault });
      return;
    case 'drop':
      return cluster.watches.drop();
    case 'end':
      return cluster.watches.end();
    case 'bookmark':
      return cluster.watches.sendBookmarks();
    case 'expire-status':
      return cluster.expireHistory('status');
    case 'expire-event':
      return cluster.expireHistory('event');
    case 'expire-continue':
      return cluster.expireContinueTokens();
    case 'restart':
      await cluster.goAway();
      return await cluster.comeBack();
    case 'turn':
      await new Promise((resolve) => setTimeout(resolve, 3));
      return;
    // Done by whoever has the source.
    case 'settle':
      return;
    case 'crd':
      if (step.isInstalled) cluster.install(resourceTypes.HTTPRoute, ['v1']);
      else if (cluster.isInstalled('HTTPRoute')) cluster.uninstall('HTTPRoute');
  }
}

/**
 * Waits until the source shows what is there. Where a CRD went with its objects while nobody watched, the source cannot tell that from a server that is
 * mistaken: it keeps what it saw and holds all changes, until the kind is served again.
 */
async function settle(
  source: KubernetesSource,
  cluster: FakeApiServer,
  used: readonly NamespaceSelector[],
): Promise<void> {
  const serveAgain = ({ reasons }: SourceSync): void => {
    const isUnsure = reasons.some((reason) => reason.endsWith('the last known objects stay in use'));
    if (isUnsure && !cluster.isInstalled('HTTPRoute')) cluster.install(resourceTypes.HTTPRoute, ['v1']);
  };
  const unsubscribe = source.sync.subscribe(serveAgain);
  serveAgain(source.sync.get());
  try {
    await untilEqual(source, cluster, used);
  } finally {
    unsubscribe();
  }
}

for (const [what, isSelective, maxSeparateNamespaces] of [
  ['of all namespaces', false, 16],
  ['of selected namespaces, one by one', true, 16],
  ['of selected namespaces, together and one by one', true, 1],
] as const)
  test(`the source converges to the cluster ${what}`, { timeout: 240_000 }, async () => {
    const used = isSelective ? selectors : [];
    await fc.assert(
      fc.asyncProperty(fc.array(stepArbitrary, { maxLength: 40, size: 'max' }), async (steps) => {
        const cleanups: (() => unknown)[] = [];
        const context = { after: (run: () => unknown) => void cleanups.unshift(run) };
        try {
          const cluster = await startFakeApiServer(context);
          cluster.install(resourceTypes.HTTPRoute, ['v1']);
          cluster.put(make.namespace('a', { team: 'x' }));
          const timing = { ...quickTiming, maxSeparateNamespaces };
          const source = startSource(context, cluster, { namespaceSelectors: used, timing });
          for (const step of steps) {
            if (step.do === 'settle') await settle(source, cluster, used);
            else await take(cluster, step);
          }
          await settle(source, cluster, used);
        } finally {
          for (const run of cleanups) await run();
        }
      }),
      { numRuns: effort(15, 4), endOnFailure: true },
    );
  });
