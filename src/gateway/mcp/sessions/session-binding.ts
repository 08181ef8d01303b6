// Binds MCP sessions to the user who opened them (MCP specification, "Session Hijacking"). The `Mcp-Session-Id` that a client sees is the
// upstream's own, sealed together with issuer, subject, backend and the endpoint that has the session. The gateway keeps no state: every
// replica with the same key can serve every session. Another user's id is treated like one that never existed.
import { createHash } from 'node:crypto';
import type { Sealer } from '../../../base/sealed.ts';
import type { SessionIdentity } from '../../request/admission.ts';
import { BoundedCache } from '../../authentication/token/bounded-cache.ts';
import type { MessageSigner } from './legacy-sse.ts';

/** A session as the gateway knows it. */
export interface BoundSession {
  /** The upstream's own id. */
  readonly sessionId: string;
  /** The endpoint that has the session; undefined: any will do. */
  readonly tag: string | undefined;
}

const sessionPurpose = 'mcp-session';
const messagePurpose = 'mcp-message-url';

/** The session id that the client gets to see. */
export function sealSession(identity: SessionIdentity, { sessionId, tag }: BoundSession): string {
  return identity.sealer.seal(sessionPurpose, [digestIdentity(identity), sessionId, tag ?? '']);
}

/** Opens a session id of this user at this backend; undefined for the id of another user or backend, and for any unsealed id. */
export function openSession(identity: SessionIdentity, text: string): BoundSession | undefined {
  const sessions = findOpened(identity.sealer);
  const known = sessions.get(text);
  if (known !== undefined && isSame(known.identity, identity)) return known.session;
  const opened = open(identity, sessionPurpose, text);
  if (opened === undefined) return undefined;
  const session = { sessionId: opened[0], tag: opened[1] === '' ? undefined : opened[1] };
  const { issuer, subject, backend } = identity;
  sessions.set(text, { identity: { issuer, subject, backend }, session });
  return session;
}

interface OpenedSession {
  readonly identity: Owner;
  readonly session: BoundSession;
}

type Owner = Pick<SessionIdentity, 'issuer' | 'subject' | 'backend'>;

/**
 * Opened ids with their owners, since every request of a session sends the same id. A cache hit counts only for the same owner. The cache goes away
 * with the keys: new keys are a new sealer.
 */
const openedBySealer = new WeakMap<Sealer, BoundedCache<OpenedSession>>();

function findOpened(sealer: Sealer): BoundedCache<OpenedSession> {
  let opened = openedBySealer.get(sealer);
  if (opened === undefined) {
    opened = new BoundedCache({ maxEntries: 10_000, maxWeight: 4_194_304 });
    openedBySealer.set(sealer, opened);
  }
  return opened;
}

function isSame(left: Owner, right: Owner): boolean {
  return left.subject === right.subject && left.issuer === right.issuer && left.backend === right.backend;
}

/** The message URLs of a legacy SSE server identify its sessions, so they are bound in the same way. */
export function createBoundSigner(identity: SessionIdentity): MessageSigner {
  return {
    sign: (tag, target) => identity.sealer.seal(messagePurpose, [digestIdentity(identity), tag, target]),
    open(text) {
      const opened = open(identity, messagePurpose, text);
      return opened === undefined ? undefined : { tag: opened[0], target: opened[1] };
    },
  };
}

function open(
  identity: SessionIdentity,
  purpose: string,
  text: string,
): readonly [first: string, second: string] | undefined {
  const opened = identity.sealer.open<readonly [string, string, string]>(purpose, text);
  if (!opened.ok) return undefined;
  const [owner, first, second] = opened.value;
  return owner === digestIdentity(identity) ? [first, second] : undefined;
}

/** A short digest. JSON delimits the parts, so that no issuer, subject or backend can imitate another combination. */
function digestIdentity({ issuer, subject, backend }: SessionIdentity): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, subject, backend]))
    .digest('base64url')
    .slice(0, 22);
}
