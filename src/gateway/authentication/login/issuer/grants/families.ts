// Families in a store: a login and everything that continues it. One entry per family, and two indexes by the time when it ends: of its subject, and of everybody.
import type { Store, StoreResult } from '../../../../../store/store.ts';
import type { Grant } from '../../../../config/grants.ts';
import { formatPersonSubject } from '../../identity/format-subject.ts';

/** A family as it is stored. */
export interface Family {
  /** Of the newest refresh token; 0: the one of the login. */
  readonly generation: number;
  readonly grant: Grant;
  readonly refreshedAtMs: number;
  /** The newest answer with its refresh token, for a client that did not get it. */
  readonly answer?: Readonly<Record<string, unknown>>;
}

/** A family, and the exact text that it was read from: the next version replaces that one and no other. */
export interface ReadFamily extends Family {
  readonly text: string;
}

/** Part of every entry, so that a later version of this program can tell. */
const version = 1;

/** The entry of a family. */
export function formatFamilyKey(id: string): string {
  return `family ${id}`;
}

/** Reads a family; undefined: it was never begun, was revoked, or has expired. */
export async function readFamily(store: Store, id: string): Promise<StoreResult<ReadFamily | undefined>> {
  const read = await store.get(formatFamilyKey(id));
  return read.ok ? { ok: true, value: parseFamily(read.value) } : read;
}

/** The text of a family. */
export function formatFamily(family: Family): string {
  return JSON.stringify({ v: version, ...family });
}

function parseFamily(text: string | undefined): ReadFamily | undefined {
  if (text === undefined) return undefined;
  // Written by formatFamily, and sealed by the store.
  const { v, ...family } = JSON.parse(text) as Family & { readonly v: number };
  return v === version ? { ...family, text } : undefined;
}

/** Begins a family. One that nobody could list must not exist, so without its indexes it ends again. */
export async function beginFamily(store: Store, family: Family, nowMs: number): Promise<StoreResult<undefined>> {
  const { grant } = family;
  const lifetimeMs = Math.max(1, grant.expiresAtMs - nowMs);
  const written = await store.put(formatFamilyKey(grant.family), formatFamily(family), lifetimeMs);
  if (!written.ok) return written;
  const indexLifetimeMs = Math.max(1, findPeriodEnd(grant.expiresAtMs) - nowMs) + clockDifferenceMs;
  for (const key of listIndexes(grant)) {
    const added = await store.addMember(key, grant.family, indexLifetimeMs);
    if (added.ok) continue;
    await endFamily(store, grant.family);
    return added;
  }
  return { ok: true, value: undefined };
}

/** Ends a family; the value tells whether there was one. What the indexes still have of it is cleared up by the next listing. */
export async function endFamily(store: Store, id: string): Promise<StoreResult<boolean>> {
  const taken = await store.take(formatFamilyKey(id));
  if (!taken.ok) return taken;
  const family = parseFamily(taken.value);
  if (family !== undefined) await Promise.all(listIndexes(family.grant).map((key) => store.removeMember(key, id)));
  return { ok: true, value: taken.value !== undefined };
}

/** Families that end within so many days have an index together, and it ends when the last of them can: it never has more than those. */
const periodMs = 30 * 24 * 3_600_000;
/** Of gateways with the same store. */
const clockDifferenceMs = 3_600_000;
/** No refresh lifetime is longer. */
const longestLifetimeMs = 366 * 24 * 3_600_000;

/** The indexes of all families that have not ended: of everybody, or of a subject (`sub` of issued tokens). */
export function listIndexKeys(nowMs: number, subject?: string): readonly string[] {
  const first = findPeriod(nowMs - clockDifferenceMs);
  const count = findPeriod(nowMs + longestLifetimeMs) - first + 1;
  return Array.from({ length: count }, (_, after) => formatIndexKey(first + after, subject));
}

function listIndexes({ idp, subject, expiresAtMs }: Grant): readonly string[] {
  const period = findPeriod(expiresAtMs);
  return [formatIndexKey(period, formatPersonSubject(idp, subject)), formatIndexKey(period)];
}

function formatIndexKey(period: number, subject?: string): string {
  return subject === undefined ? `families until ${period}` : `families until ${period} of ${subject}`;
}

function findPeriod(atMs: number): number {
  return Math.floor(atMs / periodMs);
}

function findPeriodEnd(atMs: number): number {
  return (findPeriod(atMs) + 1) * periodMs;
}
