// Sessions of the flow Issuer as they are shown: who, by which client, where, since when and until when. Pure.
import { readIssuedSubject } from '../../ir/issued-subject.ts';
import type { ListedSession } from '../config/grants.ts';

/** A session in the words of the admin port. Times are ISO 8601. */
export interface DescribedSession {
  readonly id: string;
  /** `sub` of its tokens. */
  readonly subject: string;
  /** What the identity provider calls the user; null: the subject is in no form that is known. */
  readonly idpSubject: string | null;
  /** Issuer of the identity provider. */
  readonly idp: string | null;
  /** For people; null: the identity provider told none. */
  readonly user: string | null;
  readonly client: string | null;
  /** URL of the MCP server. */
  readonly resource: string;
  readonly startedAt: string;
  readonly refreshedAt: string;
  /** When a new login is needed. */
  readonly endsAt: string;
}

/** Describes sessions, the one that was refreshed last first. */
export function describeSessions(sessions: readonly ListedSession[]): DescribedSession[] {
  return sessions
    .toSorted((left, right) => right.refreshedAtMs - left.refreshedAtMs || (left.id < right.id ? -1 : 1))
    .map(describeSession);
}

function describeSession(session: ListedSession): DescribedSession {
  const read = readIssuedSubject(session.subject);
  return {
    id: session.id,
    subject: session.subject,
    idpSubject: read?.subject ?? null,
    idp: read?.idp ?? null,
    user: session.userName ?? null,
    client: session.clientName ?? null,
    resource: session.resource,
    startedAt: formatTime(session.startedAtMs),
    refreshedAt: formatTime(session.refreshedAtMs),
    endsAt: formatTime(session.expiresAtMs),
  };
}

function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Whether a session is of this user: by the `sub` of tokens, by what the identity provider calls them, or by name. Names do not tell large and small letters apart. */
export function isOfUser({ subject, idpSubject, user }: DescribedSession, wanted: string): boolean {
  return subject === wanted || idpSubject === wanted || user?.toLowerCase() === wanted.toLowerCase();
}

/** Everybody whom the sessions are of, each once. */
export function listSubjects(sessions: readonly DescribedSession[]): string[] {
  return [...new Set(sessions.map(({ subject }) => subject))].toSorted();
}
