// Sessions of the flow Issuer at the admin port: listed as JSON and as a page that needs no script, and ended one by one or per user.
import { escapeHtml } from '../../base/escape-html.ts';
import type { Log } from '../../base/log.ts';
import type { Store, StoreResult } from '../../store/store.ts';
import type { ListedSession } from '../config/grants.ts';
import { formatCardTable } from './card-table.ts';
import { type DescribedSession, describeSessions, isOfUser, listSubjects } from './describe-sessions.ts';
import { answerPage, formatMoment, formatSpan } from './page-frame.ts';
import { answerError, answerJson, type PlainAnswer, type PlainRequest } from './plain-server.ts';

/** The sessions in a store. No promise rejects because of the store. */
export interface SessionDirectory {
  /** At most `limit` of them, in no order. */
  list(limit: number): Promise<StoreResult<readonly ListedSession[]>>;
  /** Ends a session; the value tells whether there was one. */
  revoke(id: string): Promise<StoreResult<boolean>>;
}

/** What this gateway knows of sessions. */
export type SessionsAccess =
  /** No policy issues tokens. */
  | { readonly kind: 'no_issuer' }
  /** They travel with the clients, in their refresh tokens: no list has them. */
  | { readonly kind: 'no_store' }
  | {
      readonly kind: 'kept';
      readonly store: Pick<Store, 'kind' | 'reach'>;
      readonly directory: SessionDirectory;
      /** Of access tokens, the longest of all policies. */
      readonly lifetimeMs: number;
    };

/** More are counted nowhere: an answer has an end. */
const maxSessions = 10_000;
const docs = 'docs/store.md';

/** Answers GET /sessions: `format` json or html (a browser gets html), `user` a name or a subject. */
export async function answerSessions(
  request: PlainRequest,
  access: SessionsAccess,
  nowMs: number,
): Promise<PlainAnswer> {
  const format = request.query.get('format') ?? (wantsPage(request) ? 'html' : 'json');
  if (format !== 'json' && format !== 'html') return answerError(400, 'invalid_format', 'format must be json or html.');
  const user = (request.query.get('user') ?? '').trim();
  const read = await readSessions(access);
  if (!read.ok) return format === 'html' ? answerProblemPage(read) : answerError(read.status, read.error, read.text);
  const { sessions, isCut } = read;
  const fitting = user === '' ? sessions : sessions.filter((session) => isOfUser(session, user));
  const { store, lifetimeMs } = read.access;
  if (format === 'json')
    return answerJson({
      store: { kind: store.kind, reach: store.reach },
      accessTokenLifetimeSeconds: lifetimeMs / 1_000,
      sessions: fitting,
      total: sessions.length,
      isCut,
    });
  return answerSessionsPage(fitting, { user, total: sessions.length, isCut, lifetimeMs, nowMs });
}

/** Answers POST /sessions/revoke, with `id` or `user` as JSON or as a form. */
export async function revokeSessions(request: PlainRequest, access: SessionsAccess, log: Log): Promise<PlainAnswer> {
  const asked = readAsked(request);
  if (asked === undefined)
    return answerError(400, 'invalid_revocation', 'Send {"id": "..."} or {"user": "..."}, and one of them only.');
  const read = await readSessions(access);
  if (!read.ok) return answerError(read.status, read.error, read.text);
  const { directory, lifetimeMs } = read.access;
  const chosen = read.sessions.filter((session) =>
    asked.kind === 'id' ? session.id === asked.value : isOfUser(session, asked.value),
  );
  if (chosen.length === 0)
    return asked.kind === 'id'
      ? answerError(404, 'unknown_session', 'There is no session with this id: it has ended, or never was.')
      : answerError(404, 'unknown_user', 'This user has no session.');
  const subjects = listSubjects(chosen);
  if (subjects.length > 1)
    return answerError(
      409,
      'ambiguous_user',
      `${subjects.length} users are called so. Say which one, by the subject: ${subjects.join(', ')}.`,
    );
  const revoked: DescribedSession[] = [];
  for (const session of chosen) {
    const done = await directory.revoke(session.id);
    if (!done.ok)
      return answerError(
        503,
        'store_unavailable',
        `The store does not answer (${done.detail}). ${revoked.length} of ${chosen.length} sessions are ended; try again.`,
      );
    if (done.value) revoked.push(session);
  }
  log.info({ subject: subjects[0], sessions: revoked.length }, 'sessions were ended at the admin port');
  if (wantsPage(request))
    return { status: 303, contentType: 'text/plain', body: '', headers: { location: '/sessions' } };
  return answerJson({ revoked, accessTokenLifetimeSeconds: lifetimeMs / 1_000 });
}

interface SessionProblem {
  readonly ok: false;
  readonly status: number;
  readonly error: string;
  readonly text: string;
}

type ReadSessions =
  | {
      readonly ok: true;
      readonly access: Extract<SessionsAccess, { readonly kind: 'kept' }>;
      readonly sessions: readonly DescribedSession[];
      readonly isCut: boolean;
    }
  | SessionProblem;

async function readSessions(access: SessionsAccess): Promise<ReadSessions> {
  switch (access.kind) {
    case 'no_issuer':
      return problem(409, 'no_issuer', 'No policy of this gateway has the flow Issuer: it issues no tokens.');
    case 'no_store':
      return problem(
        409,
        'no_store',
        `Sessions cannot be listed or ended without a store: they travel with the clients, in their refresh tokens. --store sets one: ${docs}.`,
      );
    case 'kept': {
      const listed = await access.directory.list(maxSessions + 1);
      if (!listed.ok) return problem(503, 'store_unavailable', `The store does not answer: ${listed.detail}.`);
      const isCut = listed.value.length > maxSessions;
      return { ok: true, access, sessions: describeSessions(listed.value.slice(0, maxSessions)), isCut };
    }
  }
}

function problem(status: number, error: string, text: string): SessionProblem {
  return { ok: false, status, error, text };
}

interface AskedRevocation {
  readonly kind: 'id' | 'user';
  readonly value: string;
}

/** Undefined: neither, or both. */
function readAsked({ body }: PlainRequest): AskedRevocation | undefined {
  const members = readMembers(body.trim());
  const id = members.get('id');
  const user = members.get('user');
  if ((id === undefined) === (user === undefined)) return undefined;
  return id === undefined ? { kind: 'user', value: user! } : { kind: 'id', value: id };
}

function readMembers(body: string): ReadonlyMap<string, string> {
  const given = body.startsWith('{') ? Object.entries(parse(body)) : [...new URLSearchParams(body)];
  return new Map(
    given.flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()]] : [],
    ),
  );
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function wantsPage({ accept }: PlainRequest): boolean {
  return /\btext\/html\b/.test(accept);
}

const title = 'Sessions - mcp-gatehouse admin';

function answerProblemPage({ text }: SessionProblem): PlainAnswer {
  return answerPage(title, `<h1>Sessions</h1>\n<p>${escapeHtml(text)}</p>`, { current: '/flows', wide: true });
}

interface Shown {
  readonly user: string;
  readonly total: number;
  readonly isCut: boolean;
  readonly lifetimeMs: number;
  readonly nowMs: number;
}

const columns = [
  ['User', 25],
  ['Client', 15],
  ['Server', 25],
  ['Since', 10],
  ['Last refresh', 10],
  ['Ends', 10],
  ['', 5],
] as const;

function answerSessionsPage(sessions: readonly DescribedSession[], shown: Shown): PlainAnswer {
  const { user, total, isCut, lifetimeMs, nowMs } = shown;
  const count = user === '' ? `${total}${isCut ? ' or more' : ''}` : `${sessions.length} of ${total}`;
  const table = formatCardTable(
    'Sessions',
    columns,
    sessions.map((session) => formatSession(session, nowMs)),
  );
  const empty = total === 0 ? 'Nobody is logged in.' : 'Nobody with this name or subject is logged in.';
  return answerPage(
    title,
    `<h1>Sessions</h1>
<p class="soft">${count} of people who logged in, the one that was refreshed last first. An ended session gives out no new tokens; access tokens live on for ${formatSpan(lifetimeMs)} at most.
<a href="/sessions?format=json">As JSON</a></p>
<form method="get" action="/sessions">
<label for="user">User</label>
<input id="user" name="user" type="search" value="${escapeHtml(user)}" placeholder="name or subject">
<button>Show</button>
</form>
${sessions.length === 0 ? `<p>${empty}</p>` : table}`,
    { current: '/flows', wide: true },
  );
}

function formatSession(session: DescribedSession, nowMs: number): string[] {
  const { id, subject, idpSubject, idp, user, client, resource, startedAt, refreshedAt, endsAt } = session;
  const who = idpSubject === null ? subject : `${idpSubject} at ${idp}`;
  return [
    user === null
      ? `<code>${escapeHtml(who)}</code>`
      : `${escapeHtml(user)}<p class="soft"><code>${escapeHtml(who)}</code></p>`,
    client === null ? '<span class="soft">unnamed</span>' : escapeHtml(client),
    `<code>${escapeHtml(resource)}</code>`,
    formatMoment(Date.parse(startedAt)),
    `${formatSpan(nowMs - Date.parse(refreshedAt))} ago`,
    `in ${formatSpan(Date.parse(endsAt) - nowMs)}`,
    `<form method="post" action="/sessions/revoke"><input type="hidden" name="id" value="${escapeHtml(id)}"><button aria-label="End the session of ${escapeHtml(user ?? who)}">End</button></form>`,
  ];
}
