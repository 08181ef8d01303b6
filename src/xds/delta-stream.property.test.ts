// Whatever happens on the way, a gateway ends with exactly what the newest snapshot has for it: any interleaving of connects, drops, ACKs, NACKs, changed
// snapshots and changed subscriptions, with messages on their way in both directions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { DeltaDiscoveryRequest, DeltaDiscoveryResponse } from '../ir/gen/discovery_pb.ts';
import { DeltaStream } from './delta-stream.ts';
import { resourceTypes } from './resource-types.ts';
import type { Snapshot } from './snapshot.ts';
import { ReferenceClient } from './testing/reference-client.ts';
import { makeSnapshot, type SmallConfiguration } from './testing/small-snapshots.ts';
import { effort } from '../../test/kit/effort.ts';

const names = ['a', 'b', 'c'];
const typeUrls = resourceTypes.map(({ typeUrl }) => typeUrl);

/** The order in which types are asked for on a new connection, and by which names; none: everything. */
type FirstRequests = readonly (readonly [typeUrl: string, names: readonly string[]])[];

type Step =
  | { readonly kind: 'snapshot'; readonly small: SmallConfiguration }
  | { readonly kind: 'drop'; readonly first: FirstRequests }
  | { readonly kind: 'forget-snapshot' | 'send' | 'deliver' | 'take-request' }
  | { readonly kind: 'ack'; readonly index: number }
  | { readonly kind: 'nack'; readonly index: number; readonly rejected: readonly string[] | undefined }
  | { readonly kind: 'subscribe' | 'unsubscribe'; readonly typeUrl: string; readonly names: readonly string[] };

const contents = fc.dictionary(fc.constantFrom(...names), fc.constantFrom('1', '2', 'x'.repeat(400)), { maxKeys: 3 });
const small: fc.Arbitrary<SmallConfiguration> = fc.record(
  { secrets: contents, backends: contents, policies: contents, listeners: contents, routes: contents },
  { requiredKeys: [] },
);
/** Mostly in order. */
const index = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3) });
const wanted = fc.subarray(['*', ...names]);
const first: fc.Arbitrary<FirstRequests> = fc
  .tuple(
    fc.shuffledSubarray(typeUrls, { minLength: typeUrls.length }),
    fc.array(wanted, { minLength: 5, maxLength: 5 }),
  )
  .map(([urls, lists]) => urls.map((url, at) => [url, lists[at]!]));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('snapshot' as const), small }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'forget-snapshot' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const), first }) },
  ...(['send', 'deliver', 'take-request'] as const).map((kind) => ({ weight: 8, arbitrary: fc.constant({ kind }) })),
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('ack' as const), index }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('nack' as const),
      index,
      rejected: fc.option(fc.subarray(names, { minLength: 1 }), { nil: undefined }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('subscribe' as const, 'unsubscribe' as const),
      // Few, so that one happens to be changed several times.
      typeUrl: fc.constantFrom(...typeUrls.slice(0, 2)),
      names: wanted,
    }),
  },
);

/** A gateway and a server with a connection between them that may break. */
class World {
  readonly #client = new ReferenceClient();
  /** What the gateway said last about a resource, by type and name: the version that it rejected, if so. */
  readonly #judged = new Map<string, { readonly sequence: number; readonly rejected: string | undefined }>();
  #stream!: DeltaStream;
  #requests: DeltaDiscoveryRequest[] = [];
  #responses: DeltaDiscoveryResponse[] = [];
  #target: Snapshot | undefined;
  #streams = 0;
  #announced: string | undefined;
  /** The digest of an update whose removals have begun. */
  #removing: string | undefined;

  constructor(asked: FirstRequests) {
    this.#connect(asked);
  }

  run(action: Step): void {
    switch (action.kind) {
      case 'snapshot':
        this.#target = makeSnapshot(action.small);
        return this.#stream.setTarget(this.#target);
      case 'forget-snapshot':
        return this.#stream.setTarget(undefined);
      case 'drop':
        return this.#connect(action.first);
      case 'send':
        return void this.#send();
      case 'deliver':
        return void this.#deliver();
      case 'take-request':
        return void this.#takeRequest();
      case 'ack':
        return this.#answer([], action.index);
      case 'nack':
        return this.#answer(action.rejected, action.index);
      case 'subscribe':
        // Without names, only the first request of a type asks for anything.
        if (action.names.length > 0) this.#requests.push(this.#client.subscribe(action.typeUrl, action.names));
        return;
      case 'unsubscribe':
        this.#requests.push(this.#client.unsubscribe(action.typeUrl, action.names));
    }
  }

  /** Lets everything come to rest, and compares. */
  finish(newest: SmallConfiguration | undefined): void {
    const last = newest === undefined && this.#target !== undefined ? this.#target : makeSnapshot(newest ?? {});
    this.#target = last;
    this.#stream.setTarget(last);
    for (let isBusy = true; isBusy;) {
      isBusy = this.#takeRequest() || this.#send() || this.#deliver() || this.#client.unanswered.length > 0;
      this.#answer([], 0);
    }
    for (const [typeUrl, type] of this.#client.types) {
      const resources = [...(last.resources.get(typeUrl)?.values() ?? [])];
      const expected = resources.filter(({ name }) => type.wildcard || type.names.has(name));
      const versions = new Map(expected.map(({ name, version }) => [name, version]));
      assert.deepEqual(type.versions, versions, typeUrl);
    }
    assert.equal(this.#stream.settled, last.digest);
    // Who wants everything knows that it has everything: the digest that was announced is the digest of what it has.
    if ([...this.#client.types.values()].every(({ wildcard }) => wildcard)) {
      assert.equal(this.#announced, last.digest);
      assert.equal(this.#client.digest, last.digest);
    }
    const rejections = this.#stream.rejections.map(({ typeUrl, name, version }) => `${typeUrl} ${name} ${version}`);
    assert.deepEqual(rejections.toSorted(), this.#listRejected().toSorted());
  }

  #connect(requests: FirstRequests): void {
    this.#streams += 1;
    this.#client.connect();
    this.#judged.clear();
    this.#requests = [];
    this.#responses = [];
    this.#removing = undefined;
    this.#stream = new DeltaStream({
      identity: { nodeId: 'pod-1', gateway: 'default/web', version: '' },
      nonce: `stream${this.#streams}`,
      maxResponseBytes: 900,
    });
    this.#stream.setTarget(this.#target);
    for (const [typeUrl, asked] of requests) this.#requests.push(this.#client.subscribe(typeUrl, asked));
  }

  #takeRequest(): boolean {
    const request = this.#requests.shift();
    if (request === undefined) return false;
    if (request.resourceNamesSubscribe.length > 0 || request.resourceNamesUnsubscribe.length > 0)
      this.#removing = undefined;
    const isFirst = !this.#stream.hasAskedForAll;
    if (isFirst) this.#removing = undefined;
    assert.equal(this.#stream.receive(request).kind, 'taken');
    return true;
  }

  #send(): boolean {
    const response = this.#stream.takeResponse();
    if (response === undefined) return false;
    const { systemVersionInfo: digest, resources, removedResources } = response;
    assert.ok(resources.length === 0 || this.#removing !== digest, 'an addition came after a removal');
    this.#removing = removedResources.length > 0 ? digest : this.#removing === digest ? digest : undefined;
    this.#responses.push(response);
    return true;
  }

  #deliver(): boolean {
    const response = this.#responses.shift();
    if (response === undefined) return false;
    this.#client.receive(response);
    this.#announced = response.systemVersionInfo;
    return true;
  }

  /** Rejects these names; undefined: everything, without details. */
  #answer(rejected: readonly string[] | undefined, at: number): void {
    const response = this.#client.unanswered[at];
    if (response === undefined) return;
    const sequence = Number(response.nonce.split('-')[1]);
    const isRejected = (name: string): boolean => rejected === undefined || rejected.includes(name);
    for (const { name, version } of response.resources) {
      const key = `${response.typeUrl} ${name}`;
      // Of two answers, the one to the later response counts.
      if (sequence < (this.#judged.get(key)?.sequence ?? 0)) continue;
      this.#judged.set(key, { sequence, rejected: isRejected(name) ? version : undefined });
    }
    const bad = response.resources.filter(({ name }) => isRejected(name));
    const details = bad.map(({ name }) => ({ name, reason: 'no' }));
    const answer = rejected === undefined && bad.length > 0 ? 'no' : details.length > 0 ? details : undefined;
    this.#requests.push(this.#client.answer(answer, at));
  }

  /** Of what the gateway has, and in the version that it has. */
  #listRejected(): string[] {
    return [...this.#client.types].flatMap(([typeUrl, { versions }]) =>
      [...versions].flatMap(([name, version]) =>
        this.#judged.get(`${typeUrl} ${name}`)?.rejected === version ? [`${typeUrl} ${name} ${version}`] : [],
      ),
    );
  }
}

test('a gateway converges to the newest snapshot, whatever happens on the way', () => {
  fc.assert(
    fc.property(
      first,
      fc.array(step, { maxLength: 120, size: 'max' }),
      fc.option(small, { nil: undefined }),
      (asked, steps, last) => {
        const world = new World(asked);
        for (const action of steps) world.run(action);
        world.finish(last);
      },
    ),
    { numRuns: effort(1_000, 200) },
  );
});
