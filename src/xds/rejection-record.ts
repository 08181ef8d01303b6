// The rejected resources of one gateway, collected from its NACKs.
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { cutText } from '../base/cut-text.ts';
import type { Status } from '../ir/gen/google/rpc/status_pb.ts';
import { type Rejection, RejectionsSchema } from '../ir/gen/report_pb.ts';
import type { ResourceRejection } from './connected-gateway.ts';

/** A response, until it is answered. */
export interface SentResponse {
  /** Of the update that it is a part of. */
  readonly digest: string;
  readonly typeUrl: string;
  readonly resources: readonly { readonly name: string; readonly version: string }[];
  readonly removed: readonly string[];
}

const maxReasonLength = 1_000;

interface Entry {
  readonly rejection: ResourceRejection;
  /** For one that was stated beside a response that does not have the resource: the digest of the update that it was stated for. */
  readonly statedFor: string | undefined;
}

export class RejectionRecord {
  readonly #entries = new Map<string, Entry>();
  #list: readonly ResourceRejection[] | undefined;

  /**
   * Takes the answer to a response: an ACK without `detail`, otherwise a NACK. `getSentVersion` tells what the gateway has been sent by now: an answer
   * does not apply to a resource that has been sent again since.
   */
  takeAnswer(
    response: SentResponse,
    detail: Status | undefined,
    getSentVersion: (typeUrl: string, name: string) => string | undefined,
  ): 'ack' | 'nack' {
    const { typeUrl, digest } = response;
    const inForce = response.resources.filter(({ name, version }) => getSentVersion(typeUrl, name) === version);
    for (const { name } of inForce) this.clear(typeUrl, name);
    for (const name of response.removed) if (getSentVersion(typeUrl, name) === undefined) this.clear(typeUrl, name);
    if (detail === undefined) return 'ack';

    const stated = readRejections(detail);
    if (stated === undefined) {
      const reason = detail.message === '' ? 'the gateway gave no reason' : detail.message;
      for (const { name, version } of inForce) this.#add({ typeUrl, name, version, reason }, undefined);
      return 'nack';
    }
    const carried = new Map(response.resources.map(({ name, version }) => [name, version]));
    for (const { typeUrl: statedType, name, reason } of stated) {
      const type = statedType === '' ? typeUrl : statedType;
      const version = getSentVersion(type, name);
      if (version === undefined) continue;
      if (reason === '') this.clear(type, name);
      else if (type !== typeUrl || !carried.has(name)) this.#add({ typeUrl: type, name, version, reason }, digest);
      else if (carried.get(name) === version) this.#add({ typeUrl: type, name, version, reason }, undefined);
    }
    return stated.some(({ reason }) => reason !== '') ? 'nack' : 'ack';
  }

  /** Clears a rejection: the resource was removed, or the gateway accepted it. */
  clear(typeUrl: string, name: string): void {
    if (this.#entries.delete(formatKey(typeUrl, name))) this.#list = undefined;
  }

  /** An update has been answered: what was said about resources outside of earlier ones, and not said again, is over. */
  finishUpdate(digest: string): void {
    for (const { rejection, statedFor } of this.#entries.values())
      if (statedFor !== undefined && statedFor !== digest) this.clear(rejection.typeUrl, rejection.name);
  }

  #add(rejection: ResourceRejection, statedFor: string | undefined): void {
    const { typeUrl, name, version } = rejection;
    const reason = cutText(rejection.reason, maxReasonLength);
    this.#entries.set(formatKey(typeUrl, name), { rejection: { typeUrl, name, version, reason }, statedFor });
    this.#list = undefined;
  }

  /** The same list as long as nothing changes. */
  list(): readonly ResourceRejection[] {
    this.#list ??= Array.from(this.#entries.values(), ({ rejection }) => rejection);
    return this.#list;
  }
}

function formatKey(typeUrl: string, name: string): string {
  return `${typeUrl}\n${name}`;
}

/** The Rejections in the details of a NACK; undefined: it has none, or none that can be read. */
function readRejections(detail: Status): readonly Rejection[] | undefined {
  for (const any of detail.details) {
    try {
      const rejections = anyUnpack(any, RejectionsSchema)?.rejections;
      if (rejections !== undefined && rejections.length > 0) return rejections;
    } catch {
      // Then it counts as a NACK without details: everything in the response is rejected.
    }
  }
  return undefined;
}
