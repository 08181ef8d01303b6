// One delta ADS stream as a state machine: what a gateway has asked for, what it has been sent, what it answered, and what it is to be sent next.
// (xDS, "Incremental xDS": https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol) No sockets and no timers: the server feeds it requests
// and snapshots, and takes the next response whenever the connection has room for one. So there is never more than one response in memory, and
// a slow stream gets the newest snapshot and skips those in between.
//
// - An update is every response that leads to one snapshot. All carry its digest. Additions of all types go first, in the order of
//   `resourceTypes`, then removals in the reverse order: make before break.
// - A gateway answers when it has the whole of an update, so the number of responses in an update has no limit; the number of updates does.
// - A NACK rejects what its Rejections name, or everything in the response without them. Rejections may also name what was sent before: a new
//   certificate can spoil a listener that did not change. Those hold until the next update is answered without them. An empty reason says
//   that the resource can be used after all.
import { create } from '@bufbuild/protobuf';
import {
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema,
  ResourceSchema,
} from '../ir/gen/discovery_pb.ts';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import type { ResourceRejection } from './connected-gateway.ts';
import { type NodeIdentity, readNodeIdentity } from './node-identity.ts';
import { RejectionRecord, type SentResponse } from './rejection-record.ts';
import { resourceTypes } from './resource-types.ts';
import type { Snapshot, SnapshotResource, TypeResources } from './snapshot.ts';
import { TypeSubscription } from './type-subscription.ts';

/** The result of a request. */
type RequestOutcome =
  | { readonly kind: 'taken'; readonly typeUrl: string; readonly answer: 'ack' | 'nack' | 'stale' | undefined }
  /** The stream must end with this status. */
  | { readonly kind: 'refused'; readonly code: 'invalid_argument' | 'resource_exhausted'; readonly message: string };

interface DeltaStreamOptions {
  readonly identity: NodeIdentity;
  /** Begins its nonces, so that an answer meant for another stream is recognized as stale. */
  readonly nonce: string;
  /** The maximum size of the resources in one response. A larger resource is sent alone. */
  readonly maxResponseBytes?: number;
}

const defaultMaxResponseBytes = 1024 * 1024;
/** One that the gateway is putting in force, and one in flight. */
const maxUnansweredUpdates = 2;
/** Far above any real configuration: a bound for gateways that request again and again and never answer. */
const maxUnansweredResponses = 1_000;
/** A newer gateway may ask for types that this server does not know: they have no resources. */
const maxTypes = 32;
const maxNamesPerType = 200_000;
const nothing: TypeResources = new Map();

export class DeltaStream {
  readonly #identity: NodeIdentity;
  readonly #nonce: string;
  readonly #maxResponseBytes: number;
  readonly #types = new Map<string, TypeSubscription>();
  readonly #unanswered = new Map<string, SentResponse>();
  readonly #rejections = new RejectionRecord();
  #target: Snapshot | undefined;
  #settled: string | undefined;
  #announced: { readonly digest: string; readonly typeUrl: string } | undefined;
  /** Some of an update has been sent, and not yet all of it. */
  #isUpdating = false;
  #responses = 0;

  constructor(options: DeltaStreamOptions) {
    this.#identity = options.identity;
    this.#nonce = options.nonce;
    this.#maxResponseBytes = options.maxResponseBytes ?? defaultMaxResponseBytes;
  }

  /** Digest of the last snapshot that the gateway has answered completely; undefined: none yet. */
  get settled(): string | undefined {
    return this.#settled;
  }

  /** The rejected resources. The same list as long as nothing changes. */
  get rejections(): readonly ResourceRejection[] {
    return this.#rejections.list();
  }

  /** Whether the gateway has subscribed to every type. Before that, a resource could arrive before those that it refers to. */
  get hasAskedForAll(): boolean {
    return resourceTypes.every(({ typeUrl }) => this.#types.has(typeUrl));
  }

  /** Sets the desired snapshot. Undefined: not known; nothing is sent, and the gateway keeps its resources. */
  setTarget(snapshot: Snapshot | undefined): void {
    this.#target = snapshot;
    this.#settle();
  }

  /** Takes a request of the gateway. After a refusal the stream is over. */
  receive(request: DeltaDiscoveryRequest): RequestOutcome {
    const { typeUrl } = request;
    const problem = this.#findProblem(request);
    if (problem !== undefined) return { kind: 'refused', ...problem };
    const answer = request.responseNonce === '' ? undefined : this.#takeAnswer(request);
    const known = this.#types.get(typeUrl);
    if (known === undefined) {
      const { resourceNamesSubscribe, initialResourceVersions } = request;
      this.#types.set(typeUrl, new TypeSubscription(typeUrl, resourceNamesSubscribe, initialResourceVersions));
    } else known.subscribe(request.resourceNamesSubscribe, this.#listUnderWay(typeUrl));
    this.#unsubscribe(this.#types.get(typeUrl)!, request.resourceNamesUnsubscribe);
    this.#settle();
    return { kind: 'taken', typeUrl, answer };
  }

  /** The next response, or undefined if there is nothing to send for now. It counts as sent. */
  takeResponse(): DeltaDiscoveryResponse | undefined {
    const target = this.#target;
    if (target === undefined || !this.#mayProceed(target)) return undefined;
    const response = this.#takeAdditions(target) ?? this.#takeRemovals(target) ?? this.#takeAnnouncement(target);
    this.#isUpdating = response !== undefined && this.#hasWork(target);
    return response;
  }

  /** An update that has begun goes on, towards the newest snapshot. Another begins only when not too many are unanswered. */
  #mayProceed(target: Snapshot): boolean {
    if (this.#unanswered.size >= maxUnansweredResponses) return false;
    if (this.#isUpdating) return true;
    const digests = new Set(Array.from(this.#unanswered.values(), ({ digest }) => digest));
    return digests.has(target.digest) || digests.size < maxUnansweredUpdates;
  }

  #takeAdditions(target: Snapshot): DeltaDiscoveryResponse | undefined {
    for (const type of this.#listTypes()) {
      const resources = getResources(target, type);
      if (type.hasAdditions(resources))
        return this.#respond(target, type, type.takeAdditions(resources, this.#maxResponseBytes), []);
      if (type.owesAnswer && !type.hasRemovals(resources)) return this.#respond(target, type, [], []);
    }
    return undefined;
  }

  #takeRemovals(target: Snapshot): DeltaDiscoveryResponse | undefined {
    for (const type of this.#listTypes().toReversed()) {
      const resources = getResources(target, type);
      if (type.hasRemovals(resources))
        return this.#respond(target, type, [], type.takeRemovals(resources, this.#maxResponseBytes));
    }
    return undefined;
  }

  /** The snapshot changed in the middle of an update to one that the gateway happens to have now. It waits for another digest, and needs one more response. */
  #takeAnnouncement(target: Snapshot): DeltaDiscoveryResponse | undefined {
    if (!this.#isUpdating || this.#announced === undefined || this.#announced.digest === target.digest)
      return undefined;
    return this.#respond(target, this.#types.get(this.#announced.typeUrl)!, [], []);
  }

  /** In the order in which additions are sent. Types that this server does not know come last. */
  #listTypes(): TypeSubscription[] {
    const known = resourceTypes.flatMap(({ typeUrl }) => this.#types.get(typeUrl) ?? []);
    return [...new Set([...known, ...this.#types.values()])];
  }

  #respond(
    target: Snapshot,
    type: TypeSubscription,
    resources: readonly SnapshotResource[],
    removed: string[],
  ): DeltaDiscoveryResponse {
    const { typeUrl } = type;
    const { digest } = target;
    this.#responses += 1;
    const nonce = `${this.#nonce}-${this.#responses}`;
    type.owesAnswer = false;
    this.#announced = { digest, typeUrl };
    this.#unanswered.set(nonce, { digest, typeUrl, resources, removed });
    return create(DeltaDiscoveryResponseSchema, {
      systemVersionInfo: digest,
      typeUrl,
      nonce,
      resources: resources.map(({ name, version, bytes }) =>
        create(ResourceSchema, { name, version, resource: create(AnySchema, { typeUrl, value: bytes }) }),
      ),
      removedResources: removed,
    });
  }

  #findProblem(
    request: DeltaDiscoveryRequest,
  ): { code: 'invalid_argument' | 'resource_exhausted'; message: string } | undefined {
    const { typeUrl, node } = request;
    if (node !== undefined) {
      const identity = readNodeIdentity(node);
      if ('problem' in identity) return { code: 'invalid_argument', message: identity.problem };
      if (identity.nodeId !== this.#identity.nodeId || identity.gateway !== this.#identity.gateway)
        return { code: 'invalid_argument', message: 'the node of a stream must not change' };
    }
    if (!/^type\.googleapis\.com\/[\w.]{1,200}$/.test(typeUrl))
      return { code: 'invalid_argument', message: 'type_url must be type.googleapis.com/ and the name of a message' };
    const known = this.#types.get(typeUrl);
    if (known === undefined && this.#types.size >= maxTypes)
      return { code: 'resource_exhausted', message: `a stream may ask for at most ${maxTypes} types` };
    if ((known?.size ?? 0) + request.resourceNamesSubscribe.length > maxNamesPerType)
      return {
        code: 'resource_exhausted',
        message: `a stream may name at most ${maxNamesPerType} resources of a type`,
      };
    return undefined;
  }

  /** The names of resources in responses that the gateway may not have received yet. */
  *#listUnderWay(typeUrl: string): Generator<string> {
    for (const response of this.#unanswered.values())
      if (response.typeUrl === typeUrl) for (const { name } of response.resources) yield name;
  }

  #unsubscribe(type: TypeSubscription, names: readonly string[]): void {
    type.unsubscribe(names);
    if (names.length === 0) return;
    for (const { typeUrl, name } of this.#rejections.list())
      if (typeUrl === type.typeUrl && type.getSentVersion(name) === undefined) this.#rejections.clear(typeUrl, name);
  }

  /** A nonce of another stream, or one that was answered before, is stale. */
  #takeAnswer({ responseNonce, typeUrl, errorDetail }: DeltaDiscoveryRequest): 'ack' | 'nack' | 'stale' {
    const response = this.#unanswered.get(responseNonce);
    if (response === undefined || response.typeUrl !== typeUrl) return 'stale';
    this.#unanswered.delete(responseNonce);
    return this.#rejections.takeAnswer(response, errorDetail, (type, name) =>
      this.#types.get(type)?.getSentVersion(name),
    );
  }

  #hasWork(target: Snapshot): boolean {
    return this.#listTypes().some((type) => {
      const resources = getResources(target, type);
      return type.owesAnswer || type.hasAdditions(resources) || type.hasRemovals(resources);
    });
  }

  #settle(): void {
    const target = this.#target;
    if (target === undefined || this.#unanswered.size > 0 || !this.hasAskedForAll || this.#hasWork(target)) return;
    this.#settled = target.digest;
    this.#rejections.finishUpdate(target.digest);
  }
}

function getResources(target: Snapshot, type: TypeSubscription): TypeResources {
  return target.resources.get(type.typeUrl) ?? nothing;
}
