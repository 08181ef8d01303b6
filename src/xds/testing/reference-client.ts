// A delta ADS client as the specification has it, without a connection: the other side of the state machine in tests. It checks what a server must
// never do, and answers only when it is told to.
import assert from 'node:assert/strict';
import { create } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  NodeSchema,
} from '../../ir/gen/discovery_pb.ts';
import { StatusSchema } from '../../ir/gen/google/rpc/status_pb.ts';
import { RejectionsSchema } from '../../ir/gen/report_pb.ts';
import { Digest } from '../digest.ts';

/** What a client has of one type. */
interface HeldType {
  wildcard: boolean;
  readonly names: Set<string>;
  readonly versions: Map<string, string>;
  /** Asked for on this connection: may come although it is there already. */
  readonly expected: Set<string>;
  /** The wildcard was given up and taken back: anything may come again. */
  isUnsure: boolean;
}

export interface ReferenceRejection {
  readonly typeUrl?: string;
  readonly name: string;
  readonly reason: string;
}

const node = create(NodeSchema, {
  id: 'pod-1',
  metadata: { namespace: 'default', gateway: 'web' },
  userAgentVersionType: { case: 'userAgentVersion', value: '1.2.3' },
});

/** Survives connections: `connect` starts a new one with what it has. */
export class ReferenceClient {
  readonly types = new Map<string, HeldType>();
  /** Received and not yet answered. */
  unanswered: DeltaDiscoveryResponse[] = [];
  #asked = new Set<string>();

  /** Everything that it has, for a comparison. */
  get digest(): string {
    const digest = new Digest();
    for (const [typeUrl, { versions }] of this.types)
      for (const [name, version] of versions) digest.add(typeUrl, name, version);
    return digest.toString();
  }

  connect(): void {
    this.#asked = new Set();
    this.unanswered = [];
    for (const type of this.types.values()) {
      type.expected.clear();
      type.isUnsure = false;
    }
  }

  /** The first request of a type on this connection, or a change of what is wanted. */
  subscribe(typeUrl: string, names: readonly string[]): DeltaDiscoveryRequest {
    const isFirst = !this.#asked.has(typeUrl);
    const type = this.#getType(typeUrl);
    const isWildcard = names.includes('*') || (isFirst && names.length === 0);
    if (isFirst) {
      // What was wanted on the last connection counts no more; what is not wanted now is dropped.
      type.names.clear();
      type.wildcard = isWildcard;
    } else if (names.includes('*')) type.isUnsure = true;
    type.wildcard ||= isWildcard;
    for (const name of names) {
      if (name === '*') continue;
      type.names.add(name);
      type.expected.add(name);
    }
    if (isFirst) this.#dropUnwanted(type);
    return this.#request(typeUrl, {
      resourceNamesSubscribe: [...names],
      initialResourceVersions: isFirst ? Object.fromEntries(type.versions) : {},
    });
  }

  unsubscribe(typeUrl: string, names: readonly string[]): DeltaDiscoveryRequest {
    const type = this.#getType(typeUrl);
    for (const name of names) {
      if (name === '*') type.wildcard = false;
      else type.names.delete(name);
      if (type.wildcard) type.expected.add(name);
    }
    this.#dropUnwanted(type);
    return this.#request(typeUrl, { resourceNamesUnsubscribe: [...names] });
  }

  /** Takes a response into what it has, as every client does before it answers. */
  receive(response: DeltaDiscoveryResponse): void {
    const type = this.types.get(response.typeUrl);
    assert.ok(type !== undefined && this.#asked.has(response.typeUrl), `nobody asked for ${response.typeUrl}`);
    for (const { name, version, resource } of response.resources) {
      assert.equal(resource?.typeUrl, response.typeUrl);
      const isNews: boolean = type.versions.get(name) !== version || type.expected.has(name) || type.isUnsure;
      assert.ok(isNews, `${name} was sent a second time in version ${version}`);
      // It was on its way when the client lost interest.
      if (type.wildcard || type.names.has(name)) type.versions.set(name, version);
    }
    for (const name of response.removedResources) type.versions.delete(name);
    this.unanswered.push(response);
  }

  /** Answers the oldest response, or another: with an ACK, or a NACK with or without Rejections. */
  answer(rejections?: readonly ReferenceRejection[] | string, index = 0): DeltaDiscoveryRequest {
    const [response] = this.unanswered.splice(index, 1);
    assert.ok(response !== undefined, 'there is nothing to answer');
    const { typeUrl, nonce } = response;
    if (rejections === undefined) return this.#request(typeUrl, { responseNonce: nonce });
    const details =
      typeof rejections === 'string'
        ? []
        : [
            anyPack(
              RejectionsSchema,
              create(RejectionsSchema, { rejections: rejections.map((entry) => ({ typeUrl, ...entry })) }),
            ),
          ];
    const message = typeof rejections === 'string' ? rejections : 'some cannot be used';
    return this.#request(typeUrl, {
      responseNonce: nonce,
      errorDetail: create(StatusSchema, { code: 3, message, details }),
    });
  }

  /** Whether the type has been asked for on this connection. */
  hasAskedFor(typeUrl: string): boolean {
    return this.#asked.has(typeUrl);
  }

  #getType(typeUrl: string): HeldType {
    let type = this.types.get(typeUrl);
    if (type === undefined)
      this.types.set(
        typeUrl,
        (type = { wildcard: false, names: new Set(), versions: new Map(), expected: new Set(), isUnsure: false }),
      );
    return type;
  }

  #dropUnwanted(type: HeldType): void {
    if (type.wildcard) return;
    for (const name of type.versions.keys()) if (!type.names.has(name)) type.versions.delete(name);
  }

  #request(
    typeUrl: string,
    fields: Partial<Omit<DeltaDiscoveryRequest, '$typeName' | 'typeUrl'>>,
  ): DeltaDiscoveryRequest {
    const isFirst = this.#asked.size === 0;
    this.#asked.add(typeUrl);
    return create(DeltaDiscoveryRequestSchema, { typeUrl, ...fields, ...(isFirst ? { node } : {}) });
  }
}
