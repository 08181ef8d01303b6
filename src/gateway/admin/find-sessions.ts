// Whether a gateway knows of sessions: only where policies issue tokens, and only with a store that outlives the process.
import { LoginFlow } from '../../ir/gen/config_pb.ts';
import type { Store } from '../../store/store.ts';
import type { RuntimeConfig } from '../config/runtime-config.ts';
import type { SessionDirectory, SessionsAccess } from './sessions-page.ts';

/** What keeps sessions. */
export interface KeptSessions {
  readonly store: Pick<Store, 'kind' | 'reach'>;
  readonly directory: SessionDirectory;
}

/** Looks at the policies in force. `kept` undefined: there is no store. */
export function findSessions(
  { authentications }: Pick<RuntimeConfig, 'authentications'>,
  kept: KeptSessions | undefined,
): SessionsAccess {
  const issuing = authentications.filter(({ message }) => message.flow === LoginFlow.ISSUER);
  if (issuing.length === 0) return { kind: 'no_issuer' };
  // In the memory of one process nothing is kept: refresh tokens hold it all.
  if (kept === undefined || kept.store.reach === 'process') return { kind: 'no_store' };
  const lifetimeMs = Math.max(...issuing.map(({ message }) => message.issuedTokens?.lifetimeMs ?? 0));
  return { kind: 'kept', ...kept, lifetimeMs };
}
