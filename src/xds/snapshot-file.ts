// The file from which a gateway serves after a restart without a controller: the configuration that was in force, replaced as a whole.
//
//   mcp-gateway-snapshot 1 n/gateway 1234 5feceb66...\n   format version, Gateway, bytes that follow, SHA-256 of the line up to here and of them
//   DeltaDiscoveryResponse...                             one per type, each behind its length: resources with their versions
//
// It holds private keys: only its owner can read it. A file that is not exactly this is not used at all: serving a part of a configuration
// could mean serving it without a policy.
import { createHash, type Hash, randomUUID } from 'node:crypto';
import * as nodeFiles from 'node:fs/promises';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, sizeDelimitedPeek } from '@bufbuild/protobuf/wire';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import type { Log } from '../base/log.ts';
import { DeltaDiscoveryResponseSchema, type Resource, ResourceSchema } from '../ir/gen/discovery_pb.ts';
import type { HeldResource, HeldResources } from './client-resources.ts';
import { type ResourceMessage, type ResourceType, resourceTypes } from './resource-types.ts';
import { findUnknownContent } from './unknown-content.ts';

const formatVersion = 1;
const magic = 'mcp-gateway-snapshot';
/** Larger than any configuration that a gateway could hold. */
const maxFileBytes = 512 * 1024 * 1024;
const maxHeaderBytes = 1024;
/** Encoded in one go; between two of them requests are served. */
const resourcesPerTurn = 200;
const resourcesPerMessage = 1_000;

/** What is needed of node:fs/promises. */
type SnapshotFileSystem = Pick<typeof nodeFiles, 'open' | 'rename' | 'unlink'>;

/** The content of a file, or why it cannot be used; the problem continues "the snapshot file PATH". */
type SnapshotFileResult =
  /** `checksum` identifies this content. */
  | { readonly kind: 'read'; readonly resources: HeldResources; readonly checksum: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly problem: string };

/** Reads the file of this Gateway (namespace/name). */
export async function readSnapshotFile(
  path: string,
  gateway: string,
  files: SnapshotFileSystem = nodeFiles,
): Promise<SnapshotFileResult> {
  let bytes: Buffer;
  try {
    const handle = await files.open(path, 'r');
    try {
      const { size } = await handle.stat();
      if (size > maxFileBytes) return refuse('is too large to be one');
      bytes = await handle.readFile();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (readCode(error) === 'ENOENT') return { kind: 'missing' };
    return refuse(`cannot be read: ${describe(error)}`);
  }
  return parseSnapshot(bytes, gateway);
}

function parseSnapshot(bytes: Buffer, gateway: string): SnapshotFileResult {
  const end = bytes.subarray(0, maxHeaderBytes).indexOf('\n');
  const [word, version, owner, length, checksum, ...others] = bytes.toString('utf8', 0, Math.max(0, end)).split(' ');
  if (word !== magic) return refuse('is not a snapshot file');
  if (version !== String(formatVersion)) return refuse('was written by another version of this program');
  const body = bytes.subarray(end + 1);
  if (others.length > 0 || checksum === undefined || length !== String(body.length)) return refuse('is damaged');
  const hash = createHash('sha256')
    .update(formatHeaderStart(owner ?? '', body.length))
    .update(body);
  if (hash.digest('hex') !== checksum) return refuse('is damaged');
  if (owner !== gateway) return refuse(`belongs to the Gateway ${owner}, not to ${gateway}`);
  try {
    return { kind: 'read', resources: parseBody(body), checksum };
  } catch (error) {
    return refuse(`cannot be decoded: ${describe(error)}`);
  }
}

function parseBody(body: Buffer): HeldResources {
  const resources = new Map<string, HeldResource[]>(resourceTypes.map(({ typeUrl }) => [typeUrl, []]));
  for (let at = 0; at < body.length;) {
    const { size, offset } = sizeDelimitedPeek(body.subarray(at));
    if (size === null || at + offset + size > body.length) throw new SnapshotFileError('a message is cut off');
    const response = fromBinary(DeltaDiscoveryResponseSchema, body.subarray(at + offset, at + offset + size));
    const type = resourceTypes.find(({ typeUrl }) => typeUrl === response.typeUrl);
    if (type === undefined) throw new SnapshotFileError(`resources of the unknown type ${response.typeUrl}`);
    for (const resource of response.resources) resources.get(type.typeUrl)!.push(parseResource(type, resource));
    at += offset + size;
  }
  return resources;
}

function parseResource({ schema }: ResourceType, { name, version, resource }: Resource): HeldResource {
  const message = fromBinary(schema, resource?.value ?? new Uint8Array()) as ResourceMessage;
  if (message.key !== name) throw new SnapshotFileError(`the resource ${name} has another key`);
  const unknown = findUnknownContent(schema, message);
  if (unknown !== undefined) throw new SnapshotFileError(`the resource ${name} has unknown content: ${unknown}`);
  return { name, version, message, problem: undefined };
}

/** The content is not a valid snapshot. */
class SnapshotFileError extends Error {
  readonly code = 'invalid_snapshot_file';
}

function formatHeaderStart(gateway: string, length: number): string {
  return `${magic} ${formatVersion} ${gateway} ${length} `;
}

export interface SnapshotWriterOptions {
  readonly path: string;
  /** namespace/name */
  readonly gateway: string;
  readonly log: Log;
  /** How long to wait after a change for further ones. Default 1 s. */
  readonly settleMs?: number;
  readonly files?: SnapshotFileSystem;
  /** Called when the file has been replaced. */
  readonly onWritten?: () => void;
}

/** Writes snapshots in the background, debounced: of several in a row only the last. */
export class SnapshotWriter {
  readonly #options: SnapshotWriterOptions;
  readonly #files: SnapshotFileSystem;
  #latest: HeldResources | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #lastProblem: string | undefined;
  #checksum: string | undefined;

  constructor(options: SnapshotWriterOptions) {
    this.#options = options;
    this.#files = options.files ?? nodeFiles;
  }

  /** Of the file, if it has what was saved last; undefined: that is not written yet, or cannot be. */
  get checksum(): string | undefined {
    return this.#checksum;
  }

  save(resources: HeldResources): void {
    this.#latest = resources;
    this.#checksum = undefined;
    this.#timer ??= setTimeout(() => this.#start(), this.#options.settleMs ?? 1_000).unref();
  }

  /** Writes the pending snapshot. */
  async close(): Promise<void> {
    if (this.#timer !== undefined) this.#start();
    await this.#writing;
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#writeLatest());
  }

  async #writeLatest(): Promise<void> {
    const resources = this.#latest;
    this.#latest = undefined;
    if (resources === undefined) return;
    const { path, log } = this.#options;
    try {
      const checksum = await this.#write(resources);
      // Something newer may be waiting.
      this.#checksum = this.#latest === undefined ? checksum : undefined;
      this.#options.onWritten?.();
      if (this.#lastProblem !== undefined) log.info({ file: path }, 'the snapshot file can be written again');
      this.#lastProblem = undefined;
    } catch (error) {
      const problem = readCode(error) ?? describe(error);
      // Logged once: serving goes on, only a restart is affected.
      if (problem !== this.#lastProblem)
        log.error(
          { file: path, detail: describe(error) },
          `the snapshot file cannot be written${isFull(error) ? ': the disk is full' : ''}; after a restart without a controller, this gateway would serve an older configuration or none`,
        );
      this.#lastProblem = problem;
    }
  }

  async #write(resources: HeldResources): Promise<string> {
    const { path, gateway } = this.#options;
    const parts = await encodeBody(resources);
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const start = formatHeaderStart(gateway, length);
    const checksum = await digestParts(createHash('sha256').update(start), parts);
    const temporary = `${path}.${randomUUID()}.tmp`;
    // Readable only by its owner from the first byte on.
    const handle = await this.#files.open(temporary, 'wx', 0o600);
    try {
      try {
        await handle.writeFile(`${start}${checksum}\n`);
        for (const part of parts) await handle.writeFile(part);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await this.#files.rename(temporary, path);
      return checksum;
    } catch (error) {
      await this.#files.unlink(temporary).catch(() => {});
      throw error;
    }
  }
}

async function encodeBody(resources: HeldResources): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = [];
  for (const type of resourceTypes) {
    const held = (resources.get(type.typeUrl) ?? []).filter(({ message }) => message !== undefined);
    for (let at = 0; at < held.length; at += resourcesPerMessage) {
      // Fields of a message that stand one after the other are the message that has them all.
      const fields: Uint8Array[] = [
        toBinary(DeltaDiscoveryResponseSchema, create(DeltaDiscoveryResponseSchema, { typeUrl: type.typeUrl })),
      ];
      for (const [index, resource] of held.slice(at, at + resourcesPerMessage).entries()) {
        if (index % resourcesPerTurn === 0) await giveWay();
        fields.push(encodeOnce(type, resource));
      }
      const length = fields.reduce((sum, field) => sum + field.length, 0);
      parts.push(Buffer.concat([new BinaryWriter().uint32(length).finish(), ...fields]));
    }
  }
  return parts;
}

const encoded = new WeakMap<HeldResource, Uint8Array>();

/** A resource as a field of a DeltaDiscoveryResponse. Of thousands, one may have changed since the last time. */
function encodeOnce({ typeUrl, schema }: ResourceType, resource: HeldResource): Uint8Array {
  let bytes = encoded.get(resource);
  if (bytes === undefined) {
    const { name, version, message, problem } = resource;
    const any = create(AnySchema, { typeUrl, value: toBinary(schema, message!) });
    // A placeholder for an unreadable version has no version itself: the server is to send the resource again.
    const own = create(ResourceSchema, { name, version: problem === undefined ? version : '', resource: any });
    bytes = toBinary(DeltaDiscoveryResponseSchema, create(DeltaDiscoveryResponseSchema, { resources: [own] }));
    encoded.set(resource, bytes);
  }
  return bytes;
}

async function digestParts(hash: Hash, parts: readonly Uint8Array[]): Promise<string> {
  for (const part of parts) {
    await giveWay();
    hash.update(part);
  }
  return hash.digest('hex');
}

function giveWay(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function refuse(problem: string): SnapshotFileResult {
  return { kind: 'refused', problem };
}

function readCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

function isFull(error: unknown): boolean {
  return readCode(error) === 'ENOSPC' || readCode(error) === 'EDQUOT';
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
