// Translating again and again: after any edits the outcome is that of a new translator, and what did not change is the same object.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import type { HttpRoute } from '../api/http-route.ts';
import type { Pod } from '../api/pod.ts';
import type { Resources } from '../api/resources.ts';
import type { Configuration } from '../ir/configuration.ts';
import { arbitraryResources } from './testdata/arbitrary-resources.ts';
import { collectResources } from './testdata/collect-resources.ts';
import type { Placement } from './placement.ts';
import { sliceConfiguration } from './slice-configuration.ts';
import { type Translation, createTranslator, translate } from './translate.ts';
import { inferenceTranslation } from './inference-translation.ts';
import { drawOnce } from '../../test/kit/draw-once.ts';
import { effort, seed } from '../../test/kit/effort.ts';

type Lists = { [L in keyof Resources]: readonly unknown[] };

interface Edit {
  readonly list: keyof Resources;
  readonly kind: 'remove' | 'add' | 'replace' | 'touch' | 'tweak' | 'nothing';
  readonly at: number;
  readonly from: number;
}

const listNames: readonly (keyof Resources)[] = [
  'gatewayClasses',
  'gateways',
  'httpRoutes',
  'referenceGrants',
  'services',
  'endpointSlices',
  'secrets',
  'configMaps',
  'namespaces',
  'gatewayParameters',
  'proxyBackends',
  'proxyPolicies',
  'inferencePools',
  'pods',
  'invalid',
];

// Most depends on these.
const busyLists: readonly (keyof Resources)[] = [
  'gateways',
  'httpRoutes',
  'httpRoutes',
  'proxyPolicies',
  'proxyPolicies',
];

const edit: fc.Arbitrary<Edit> = fc.record({
  list: fc.constantFrom(...listNames, ...busyLists, ...busyLists, ...busyLists),
  kind: fc.constantFrom('remove', 'add', 'add', 'replace', 'replace', 'touch', 'tweak', 'nothing'),
  at: fc.nat(7),
  from: fc.nat(7),
});

/** Edits take what they bring in from other resources; all else stays the same object, as a source has it. */
function applyEdit(lists: Lists, others: Lists, { list, kind, at, from }: Edit): Lists {
  const present = lists[list];
  const other = others[list][from];
  if (kind === 'add') return other === undefined ? lists : { ...lists, [list]: [...present, other] };
  if (at >= present.length || kind === 'nothing') return { ...lists, [list]: [...present] };
  if (kind === 'remove') return { ...lists, [list]: present.toSpliced(at, 1) };
  if (kind === 'replace') return other === undefined ? lists : { ...lists, [list]: present.with(at, other) };
  const changed = kind === 'tweak' && list === 'httpRoutes' ? tweakRoute(present[at], from) : touch(present[at]);
  return { ...lists, [list]: present.with(at, changed) };
}

// Something that messages have and statuses do not.
function tweakRoute(resource: unknown, seconds: number): unknown {
  const route = resource as HttpRoute;
  const rules = route.spec.rules.map((rule) => ({ ...rule, timeouts: { request: `${seconds}s` } }));
  return { ...route, spec: { ...route.spec, rules } };
}

// What the API server does when someone else writes to an object: the same content, another version.
function touch(resource: unknown): unknown {
  const { metadata } = resource as { readonly metadata?: object };
  if (metadata === undefined) return { ...(resource as object) };
  return { ...(resource as object), metadata: { ...metadata, resourceVersion: '2' } };
}

function findChangedTwins(previous: Translation, next: Translation): readonly string[] {
  const found: string[] = [];
  for (const list of Object.keys(next.configuration) as (keyof Configuration)[]) {
    const known = new Map(previous.configuration[list].map((message) => [message.key, message]));
    for (const message of next.configuration[list])
      if (known.get(message.key) !== message && isDeepStrictEqual(known.get(message.key), message))
        found.push(`${list} ${message.key}`);
  }
  for (const [kind, statuses] of Object.entries(next.statuses)) {
    const known = previous.statuses[kind as keyof typeof previous.statuses] as Readonly<Record<string, unknown>>;
    for (const [name, status] of Object.entries(statuses as object))
      if (known[name] !== status && isDeepStrictEqual(known[name], status)) found.push(`${kind} ${name}`);
  }
  return found;
}

const drawn = drawOnce(arbitraryResources);
/** What edits bring in is from the first ones that are drawn: an edit takes no more than a resource of them. */
const others = fc.sample(drawn, { numRuns: effort(100, 10), seed });

/** The first resources, others to change them into, and what changes. */
const histories = drawOnce(
  fc.tuple(
    drawn,
    fc.constantFrom(...others),
    fc.array(fc.array(edit, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 8 }),
  ),
);

describe('translating again', () => {
  for (const placement of ['host', 'pods'] as const satisfies readonly Placement[]) {
    test(`is translating from scratch (${placement})`, () => {
      fc.assert(
        fc.property(histories, ([first, other, rounds]) => {
          const options = { placement, inference: inferenceTranslation };
          const translator = createTranslator(options);
          let resources: Lists = first;
          let previous = translator.translate(first);
          let slices = sliceConfiguration(previous.configuration);
          for (const edits of rounds) {
            for (const each of edits) resources = applyEdit(resources, other, each);
            const input = resources as unknown as Resources;
            const next = translator.translate(input);
            assert.deepEqual(next, translate(input, options));
            assert.deepEqual(findChangedTwins(previous, next), []);
            const nextSlices = sliceConfiguration(next.configuration, slices);
            assert.deepEqual(nextSlices, sliceConfiguration(next.configuration));
            for (const [gateway, slice] of nextSlices)
              assert.ok(slices.get(gateway) === slice || !isDeepStrictEqual(slices.get(gateway), slice), gateway);
            [previous, slices] = [next, nextSlices];
          }
        }),
        { numRuns: effort(500, 10) },
      );
    });
  }

  test('gives the same translation for the same resources', () => {
    const translator = createTranslator();
    const [input] = fc.sample(arbitraryResources, { numRuns: 1, seed: 3 });
    const first = translator.translate(input!);
    assert.equal(translator.translate({ ...input! }), first);
    assert.equal(sliceConfiguration(first.configuration).size > 0, true);
  });

  test('a Pod that changes in what does not matter changes nothing; one that comes or goes, its pool only', () => {
    const translator = createTranslator({ inference: inferenceTranslation });
    const [input] = fc.sample(arbitraryResources, { numRuns: 1, seed: 3 });
    const models = input!.pods.find(({ metadata }) => metadata.name === 'models')!;
    const state = { phase: 'Running', podIP: '10.0.0.9', conditions: [{ type: 'Ready', status: 'True' }] };
    const withPod = (pod: Pod): Resources => ({
      ...input!,
      pods: [...input!.pods.filter((each) => each !== models), { ...pod, status: { ...state, ...pod.status } }],
    });
    const first = translator.translate(withPod({ ...models, status: state }));
    const labels = { ...models.metadata.labels, other: 'label' };
    assert.equal(
      translator.translate(withPod({ ...models, metadata: { ...models.metadata, labels }, status: state })),
      first,
    );
    const stranger = { ...models, metadata: { ...models.metadata, name: 'stranger', labels: { app: 'none' } } };
    const added = { ...withPod({ ...models, status: state }) };
    assert.equal(translator.translate({ ...added, pods: [...added.pods, stranger] }), first);

    const gone = translator.translate(withPod({ ...models, status: { ...state, conditions: [] } }));
    assert.equal(gone.statuses, first.statuses);
    assert.equal(gone.configuration.routes, first.configuration.routes);
    const changed = gone.configuration.backends.filter((each) => !first.configuration.backends.includes(each));
    assert.deepEqual(
      changed.map(({ key }) => key),
      ['InferencePool/default/models'],
    );
  });

  test('forgets what is gone, and finds it again', () => {
    const translator = createTranslator();
    const empty = collectResources([], 'kubernetes');
    const many = collectResources(
      [
        gateway,
        ...Array.from({ length: 400 }, (_, at) => [
          createRoute(`r${at}`, 'a'),
          createPolicy(`p${at}`, `r${at}`),
        ]).flat(),
      ],
      'kubernetes',
    );
    const full = translate(many);
    for (let round = 0; round < 3; round++) {
      assert.deepEqual(translator.translate(many), full);
      assert.deepEqual(translator.translate(empty), translate(empty));
    }
  });

  test('looks again at what was not there: a Service, a Gateway, a grant, a target, a rival', () => {
    const translator = createTranslator();
    const documents: object[] = [createRoute('a', 'web'), createPolicy('p', 'a'), createPolicy('o', 'a')];
    const later: object[] = [
      gateway,
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } },
      createPolicy('n', 'a'),
    ];
    for (;;) {
      const resources = collectResources(documents, 'kubernetes');
      assert.deepEqual(translator.translate(resources), translate(resources));
      const [next] = later.splice(0, 1);
      if (next === undefined) break;
      documents.push(next);
    }
    const { configuration, conflicts } = translator.translate(collectResources(documents, 'kubernetes'));
    assert.equal(configuration.routes[0]?.backends[0]?.backend, 'Service/default/web/80');
    assert.deepEqual(
      conflicts.map(({ policy, owner }) => `${policy} < ${owner}`),
      ['default/o < default/n', 'default/p < default/n'],
    );
  });
});

const gateway = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'edge' },
  spec: { gatewayClassName: 'proxy', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
};

function createRoute(name: string, service: string): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name },
    spec: { parentRefs: [{ name: 'edge' }], rules: [{ backendRefs: [{ name: service, port: 80 }] }] },
  };
}

function createPolicy(name: string, route: string): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: route }],
      traffic: { cors: { allowOrigins: ['*'] } },
    },
  };
}
