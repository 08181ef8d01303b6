// Sessions in a store, for operators: listed and ended by id or by subject.
import type { Sealer } from '../../../../../base/sealed.ts';
import type { Store, StoreResult } from '../../../../../store/store.ts';
import type { ListedSession } from '../../../../config/grants.ts';
import { formatPersonSubject } from '../../identity/format-subject.ts';
import { sealStore } from '../../../../../store/sealed-store.ts';
import { endFamily, listIndexKeys, readFamily } from './families.ts';

/** The part of a store that has the sessions, sealed as gateways do it. All functions here take this part. */
export function findSessions(store: Store, sealer: Sealer): Store {
  return sealStore(store, sealer, 'sessions');
}

interface SessionQuery {
  /** `sub` of issued tokens; undefined: everybody. */
  readonly subject?: string | undefined;
  readonly limit: number;
  readonly nowMs: number;
}

/** The newest sessions first. Families that have expired leave the indexes here. */
export async function listSessions(store: Store, query: SessionQuery): Promise<StoreResult<readonly ListedSession[]>> {
  const { subject, nowMs, limit } = query;
  const sessions: ListedSession[] = [];
  for (const key of listIndexKeys(nowMs, subject)) {
    const members = await store.listMembers(key, Math.max(limit, minListed));
    if (!members.ok) return members;
    for (const id of members.value) {
      const found = await readFamily(store, id);
      if (!found.ok) return found;
      if (found.value === undefined) {
        await store.removeMember(key, id);
        continue;
      }
      const { grant, refreshedAtMs } = found.value;
      const { userName, clientName, resource, startedAtMs, expiresAtMs } = grant;
      const sub = formatPersonSubject(grant.idp, grant.subject);
      sessions.push({ id, subject: sub, userName, clientName, resource, startedAtMs, refreshedAtMs, expiresAtMs });
    }
  }
  const ordered = sessions.toSorted((left, right) => right.refreshedAtMs - left.refreshedAtMs);
  return { ok: true, value: ordered.slice(0, limit) };
}

/** A store lists in no order, so more are read than are shown. */
const minListed = 10_000;

/** Ends a session; the value tells whether there was one. */
export function revokeSession(store: Store, id: string): Promise<StoreResult<boolean>> {
  return endFamily(store, id);
}

/** Ends all sessions of a subject (`sub` of issued tokens); the value is their number. */
export async function revokeSubject(store: Store, subject: string, nowMs: number): Promise<StoreResult<number>> {
  let ended = 0;
  for (const key of listIndexKeys(nowMs, subject))
    for (;;) {
      const members = await store.listMembers(key, minListed);
      if (!members.ok) return members;
      for (const id of members.value) {
        const revoked = await endFamily(store, id);
        if (!revoked.ok) return revoked;
        if (revoked.value) ended += 1;
        const removed = await store.removeMember(key, id);
        if (!removed.ok) return removed;
      }
      if (members.value.length < minListed) break;
    }
  return { ok: true, value: ended };
}
