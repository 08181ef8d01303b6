// Asks a running gateway about its sessions, or to end some, at its admin port.
import { isJsonObject, type JsonObject } from '../../base/json-object.ts';
import type { DescribedSession } from '../../gateway/admin/describe-sessions.ts';
import { type AdminPort, askAdminPort } from '../explain/ask-gateway.ts';

/** Why there is no answer. `exitCode` 1: the gateway says no; 2: no gateway could be asked. */
interface SessionsFailure {
  readonly ok: false;
  readonly exitCode: 1 | 2;
  readonly problem: string;
}

/** What a gateway lists. */
export interface SessionList {
  readonly store: { readonly kind: string; readonly reach: string };
  readonly accessTokenLifetimeSeconds: number;
  readonly sessions: readonly DescribedSession[];
  /** There are more than an answer has. */
  readonly isCut: boolean;
}

/** What a gateway has ended. */
interface Revocation {
  /** How many. */
  readonly ended: number;
  /** Whose, where a user was named. */
  readonly subject: string | null;
  readonly accessTokenLifetimeSeconds: number;
}

/** Lists them; `user` undefined: of everybody. */
export async function listSessions(
  admin: AdminPort,
  user: string | undefined,
): Promise<SessionsFailure | { readonly ok: true; readonly list: SessionList }> {
  const query = new URLSearchParams({ format: 'json', ...(user !== undefined && { user }) });
  const answer = await ask(admin, `/sessions?${query.toString()}`);
  if (!answer.ok) return answer;
  return isList(answer.body) ? { ok: true, list: answer.body } : noGateway(answer.origin);
}

/** Ends one session, or all of a user. */
export async function revokeSessions(
  admin: AdminPort,
  asked: { readonly id: string } | { readonly user: string },
): Promise<SessionsFailure | { readonly ok: true; readonly revocation: Revocation }> {
  const answer = await ask(admin, '/sessions/revoke', asked);
  if (!answer.ok) return answer;
  return isRevocation(answer.body) ? { ok: true, revocation: answer.body } : noGateway(answer.origin);
}

type Answered = { readonly ok: true; readonly body: JsonObject; readonly origin: string } | SessionsFailure;

async function ask(admin: AdminPort, target: string, sent?: JsonObject): Promise<Answered> {
  const answer = await askAdminPort(admin, target, sent);
  if (!answer.ok) return { ok: false, exitCode: 2, problem: answer.problem };
  const { status, body, origin } = answer;
  if (status === 200 && body !== undefined) return { ok: true, body, origin };
  const said = body?.['error_description'];
  const isOurs = typeof said === 'string' && typeof body?.['error'] === 'string' && body['error'] !== 'not_found';
  return isOurs ? { ok: false, exitCode: 1, problem: uncapitalize(said) } : noGateway(origin, status);
}

function noGateway(origin: string, status?: number): SessionsFailure {
  const answered = status === undefined ? '' : `: it answers ${status}`;
  return {
    ok: false,
    exitCode: 2,
    problem: `${origin} is not the admin port of a gateway that lists sessions${answered}`,
  };
}

/** Error lines begin small and end without a full stop. */
function uncapitalize(text: string): string {
  return `${text[0]?.toLowerCase() ?? ''}${text.slice(1)}`.replace(/\.$/, '');
}

function isList(body: JsonObject): body is JsonObject & SessionList {
  return Array.isArray(body['sessions']) && isJsonObject(body['store']);
}

function isRevocation(body: JsonObject): body is JsonObject & Revocation {
  return typeof body['ended'] === 'number' && typeof body['accessTokenLifetimeSeconds'] === 'number';
}
