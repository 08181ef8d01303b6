// What a gateway knows of sessions: something only where policies issue tokens, and only with a store that outlives the process.
import type { Store } from '../../store/store.ts';
import {
  findSessions,
  listSessions,
  revokeSession,
  revokeSubject,
} from '../authentication/login/issuer/grants/sessions.ts';
import type { RuntimeConfig } from '../config/runtime-config.ts';
import type { SessionsAccess } from './sessions-page.ts';

/** Looks at the policies in force. */
export function openSessions(
  { authentications }: Pick<RuntimeConfig, 'authentications'>,
  store: Store | undefined,
  now: () => number = Date.now,
): SessionsAccess {
  const issuing = authentications.filter(({ issuer }) => issuer !== undefined);
  if (issuing.length === 0) return { kind: 'no_issuer' };
  // All policies of a gateway have the same seal keys.
  const sealer = issuing.find((config) => config.sealer !== undefined)?.sealer;
  // In the memory of one process nothing is kept: refresh tokens hold it all.
  if (store === undefined || store.reach === 'process' || sealer === undefined) return { kind: 'no_store' };
  const sessions = findSessions(store, sealer);
  return {
    kind: 'kept',
    store,
    directory: {
      list: ({ subject, limit }) => listSessions(sessions, { subject, limit, nowMs: now() }),
      revoke: (id) => revokeSession(sessions, id),
      revokeSubject: (subject) => revokeSubject(sessions, subject, now()),
    },
    lifetimeMs: Math.max(...issuing.map(({ issuer }) => issuer?.lifetimeMs ?? 0)),
  };
}
