// The digest of a set of resources, kept up to date one resource at a time, by the server and by the client alike: equal digests mean equal sets of
// (type, name, version), in whatever order they came. The server says in every response which digest it leads to, so that a gateway knows when it
// has the whole of an update.
//
// It is a sum: each resource is hashed (SHA-256), and the hashes are added in eight lanes of 32 bits. That finds differences; it is no signature.
import { hash } from 'node:crypto';

const lanes = 8;

/** What one resource adds to a digest. Worth keeping where the same resource is added again and again. */
export type ResourceHash = readonly number[];

/** Hashes a resource. The parts are told apart by their lengths, so that none can pass for another. */
export function hashResource(typeUrl: string, name: string, version: string): ResourceHash {
  const bytes = hash('sha256', `${typeUrl.length},${name.length},${typeUrl}${name}${version}`, 'buffer');
  // Plain numbers: a typed array of this size is mostly overhead.
  const summands: number[] = [];
  for (let lane = 0; lane < lanes; lane += 1) summands.push(bytes.readUInt32BE(lane * 4));
  return summands;
}

/** The digest of a set that changes. Each change costs the same, however large the set is. A resource must be in at most once. */
export class Digest {
  readonly #sum = new Uint32Array(lanes);

  add(typeUrl: string, name: string, version: string): void {
    this.addHash(hashResource(typeUrl, name, version));
  }

  /** Takes out what was added: the version must be the one that was added. */
  remove(typeUrl: string, name: string, version: string): void {
    this.removeHash(hashResource(typeUrl, name, version));
  }

  /** Puts one version in the place of another. */
  replace(typeUrl: string, name: string, from: string, to: string): void {
    if (from === to) return;
    this.remove(typeUrl, name, from);
    this.add(typeUrl, name, to);
  }

  addHash(summands: ResourceHash): void {
    for (let lane = 0; lane < lanes; lane += 1) this.#sum[lane] = this.#sum[lane]! + summands[lane]!;
  }

  /** Adds a set that has nothing in common with this one. */
  addAll(other: Digest): void {
    for (let lane = 0; lane < lanes; lane += 1) this.#sum[lane] = this.#sum[lane]! + other.#sum[lane]!;
  }

  removeHash(summands: ResourceHash): void {
    for (let lane = 0; lane < lanes; lane += 1) this.#sum[lane] = this.#sum[lane]! - summands[lane]!;
  }

  /** Its text: 43 characters of base64url. That of the empty set is `AAAA...`. */
  toString(): string {
    const bytes = Buffer.alloc(lanes * 4);
    for (let lane = 0; lane < lanes; lane += 1) bytes.writeUInt32BE(this.#sum[lane]!, lane * 4);
    return bytes.toString('base64url');
  }
}
