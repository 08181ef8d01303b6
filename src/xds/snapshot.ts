// The snapshot of one gateway: every message with its version. Versions are hashes of the content, equal on every replica, so that a gateway may
// resume at another replica.
import { createHash } from 'node:crypto';
import { toBinary } from '@bufbuild/protobuf';
import type { Configuration } from '../ir/configuration.ts';
import { Digest, hashResource, type ResourceHash } from './digest.ts';
import { type ResourceMessage, type ResourceType, resourceTypes } from './resource-types.ts';
import { sortMaps } from './sort-maps.ts';

/** A message as it goes over the wire. */
export interface SnapshotResource {
  readonly name: string;
  readonly version: string;
  readonly message: ResourceMessage;
  /** Its binary form, made once and shared by every gateway that gets it. */
  readonly bytes: Uint8Array;
}

/** The resources of one type, by name. */
export type TypeResources = ReadonlyMap<string, SnapshotResource>;

/** Everything for one gateway. */
export interface Snapshot {
  /** Equal for equal sets of (type, name, version), whoever computes it. */
  readonly digest: string;
  /** By type URL, then by name. Every type of `resourceTypes` is there, also when it has no resources. */
  readonly resources: ReadonlyMap<string, TypeResources>;
}

/** Two messages of one kind have the same key. Neither can be left out: either may protect a route. */
export class DuplicateResourceError extends Error {
  readonly code = 'duplicate_resource';

  constructor(typeUrl: string, name: string) {
    super(`there are two messages with the key ${JSON.stringify(name)} of type ${typeUrl}`);
    this.name = 'DuplicateResourceError';
  }
}

/**
 * Makes the snapshot of a configuration. A message object that was in an earlier snapshot is not encoded or hashed again (messages are never changed
 * after they were made). With `previous`, types in which nothing changed are shared with it, and it is returned itself if nothing changed at all.
 * Throws a DuplicateResourceError.
 */
export function buildSnapshot(configuration: Configuration, previous?: Snapshot): Snapshot {
  const digest = new Digest();
  const resources = new Map<string, TypeResources>();
  for (const type of resourceTypes) {
    const { resources: ofType, digest: own } = collectOnce(type, configuration[type.list]);
    digest.addAll(own);
    const before = previous?.resources.get(type.typeUrl);
    resources.set(type.typeUrl, before !== undefined && isSame(before, ofType) ? before : ofType);
  }
  const isUnchanged =
    previous !== undefined && [...resources].every(([url, map]) => previous.resources.get(url) === map);
  return isUnchanged ? previous : { digest: digest.toString(), resources };
}

interface CollectedType {
  readonly resources: TypeResources;
  readonly digest: Digest;
}

const collected = new WeakMap<readonly ResourceMessage[], CollectedType>();

/** Lists are never changed after they were made, and most are the same ones as in the round before. */
function collectOnce(type: ResourceType, messages: readonly ResourceMessage[]): CollectedType {
  let ofType = collected.get(messages);
  if (ofType === undefined) collected.set(messages, (ofType = collectResources(type, messages)));
  return ofType;
}

function collectResources(type: ResourceType, messages: readonly ResourceMessage[]): CollectedType {
  const resources = new Map<string, SnapshotResource>();
  const digest = new Digest();
  for (const message of messages) {
    const { resource, summands } = encodeOnce(type, message);
    resources.set(resource.name, resource);
    digest.addHash(summands);
  }
  if (resources.size < messages.length) throw new DuplicateResourceError(type.typeUrl, findRepeated(messages));
  return { resources, digest };
}

function findRepeated(messages: readonly ResourceMessage[]): string {
  const seen = new Set<string>();
  for (const { key } of messages) {
    if (seen.has(key)) return key;
    seen.add(key);
  }
  return '';
}

function isSame(left: TypeResources, right: TypeResources): boolean {
  if (left.size !== right.size) return false;
  for (const [name, resource] of right) if (left.get(name)?.version !== resource.version) return false;
  return true;
}

interface EncodedMessage {
  readonly resource: SnapshotResource;
  readonly summands: ResourceHash;
}

const encoded = new WeakMap<ResourceMessage, EncodedMessage>();

function encodeOnce(type: ResourceType, message: ResourceMessage): EncodedMessage {
  const known = encoded.get(message);
  if (known !== undefined) return known;
  const bytes = toBinary(type.schema, sortMaps(type.schema, message));
  const version = hashContent(type.typeUrl, bytes);
  const entry = {
    resource: { name: message.key, version, message, bytes },
    summands: hashResource(type.typeUrl, message.key, version),
  };
  encoded.set(message, entry);
  return entry;
}

/** 132 bits of a hash over the type and the bytes. Versions of Secrets are hashes of secrets: they go to gateways, and never into logs. */
function hashContent(typeUrl: string, bytes: Uint8Array): string {
  return createHash('sha256').update(`${typeUrl}\n`).update(bytes).digest('base64url').slice(0, 22);
}
