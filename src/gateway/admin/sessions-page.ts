// Sessions of the flow Issuer at the admin port: listed as JSON and as a page that needs no script, and ended one by one or per user.
import { escapeHtml } from '../../base/escape-html.ts';
import type { Log } from '../../base/log.ts';
import { readIssuedSubject } from '../../ir/issued-subject.ts';
import type { Store, StoreResult } from '../../store/store.ts';
import type { ListedSession } from '../config/grants.ts';
import { formatCardTable } from './card-table.ts';
import { type DescribedSession, describeSessions, isOfUser, listSubjects } from './describe-sessions.ts';
import { answerPage, formatMoment, formatSpan } from './page-frame.ts';
import { answerError, answerJson, type PlainAnswer, type PlainRequest } from './plain-server.ts';

/** The sessions in a store. No promise rejects because of the store. */
export interface SessionDirectory {
  /** At most `limit` of them. `subject`: `sub` of tokens; undefined: of everybody. */
  list(query: {
    readonly subject: string | undefined;
    readonly limit: number;
  }): Promise<StoreResult<readonly ListedSession[]>>;
  /** Ends a session; the value tells whether there was one. */
  revoke(id: string): Promise<StoreResult<boolean>>;
  /** Ends all sessions of a subject; the value is their number. */
  revokeSubject(subject: string): Promise<StoreResult<number>>;
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
  const read = await readSessions(access, user);
  if (!read.ok) return format === 'html' ? answerProblemPage(read) : answerError(read.status, read.error, read.text);
  const { sessions, total, isCut } = read;
  const { store, lifetimeMs } = read.access;
  if (format === 'json')
    return answerJson({
      store: { kind: store.kind, reach: store.reach },
      accessTokenLifetimeSeconds: lifetimeMs / 1_000,
      sessions,
      isCut,
    });
  return answerSessionsPage(sessions, { user, total, isCut, lifetimeMs, nowMs });
}

/** Answers POST /sessions/revoke, with `id` or `user` as JSON or as a form. */
export async function revokeSessions(request: PlainRequest, access: SessionsAccess, log: Log): Promise<PlainAnswer> {
  const asked = readAsked(request);
  if (asked === undefined)
    return answerError(400, 'invalid_revocation', 'Send {"id": "..."} or {"user": "..."}, and one of them only.');
  const ended = await (asked.kind === 'id' ? endSession(access, asked.value) : endUser(access, asked.value));
  if (!ended.ok) return answerError(ended.status, ended.error, ended.text);
  const { count, subject, lifetimeMs } = ended;
  log.info({ ...(subject !== null && { subject }), sessions: count }, 'sessions were ended at the admin port');
  if (wantsPage(request))
    return { status: 303, contentType: 'text/plain', body: '', headers: { location: '/sessions' } };
  return answerJson({ ended: count, subject, accessTokenLifetimeSeconds: lifetimeMs / 1_000 });
}

type EndedSessions =
  | {
      readonly ok: true;
      readonly count: number;
      /** Null: a single session was ended by its id. */
      readonly subject: string | null;
      readonly lifetimeMs: number;
    }
  | SessionProblem;

async function endSession(access: SessionsAccess, id: string): Promise<EndedSessions> {
  const kept = findKept(access);
  if (!kept.ok) return kept;
  const { directory, lifetimeMs } = kept.access;
  const done = await directory.revoke(id);
  if (!done.ok) return storeProblem(done.detail);
  if (!done.value)
    return problem(404, 'unknown_session', 'There is no session with this id: it has ended, or never was.');
  return { ok: true, count: 1, subject: null, lifetimeMs };
}

async function endUser(access: SessionsAccess, user: string): Promise<EndedSessions> {
  const read = await readSessions(access, user);
  if (!read.ok) return read;
  const subjects = listSubjects(read.sessions);
  const [subject] = subjects;
  if (subject === undefined) return problem(404, 'unknown_user', 'This user has no session.');
  if (subjects.length > 1)
    return problem(
      409,
      'ambiguous_user',
      `${subjects.length} users are called so. Say which one, by the subject: ${subjects.join(', ')}.`,
    );
  const { directory, lifetimeMs } = read.access;
  const done = await directory.revokeSubject(subject);
  return done.ok ? { ok: true, count: done.value, subject, lifetimeMs } : storeProblem(done.detail);
}

interface SessionProblem {
  readonly ok: false;
  readonly status: number;
  readonly error: string;
  readonly text: string;
}

type KeptSessions = Extract<SessionsAccess, { readonly kind: 'kept' }>;

function findKept(access: SessionsAccess): { readonly ok: true; readonly access: KeptSessions } | SessionProblem {
  switch (access.kind) {
    case 'no_issuer':
      return problem(409, 'no_issuer', 'No policy of this gateway has the flow Issuer: it issues no tokens.');
    case 'no_store':
      return problem(
        409,
        'no_store',
        `Sessions cannot be listed or ended without a store: they travel with the clients, in their refresh tokens. --store sets one: ${docs}.`,
      );
    case 'kept':
      return { ok: true, access };
  }
}

type ReadSessions =
  | {
      readonly ok: true;
      readonly access: KeptSessions;
      /** Those of the user; of everybody when none is asked for. */
      readonly sessions: readonly DescribedSession[];
      /** How many were looked at. */
      readonly total: number;
      readonly isCut: boolean;
    }
  | SessionProblem;

/** `user` empty: everybody. */
async function readSessions(access: SessionsAccess, user: string): Promise<ReadSessions> {
  const kept = findKept(access);
  if (!kept.ok) return kept;
  // A subject in full has an index of its own. For names all are looked at.
  const subject = readIssuedSubject(user) === undefined ? undefined : user;
  const listed = await kept.access.directory.list({ subject, limit: maxSessions + 1 });
  if (!listed.ok) return storeProblem(listed.detail);
  const all = describeSessions(listed.value.slice(0, maxSessions));
  return {
    ok: true,
    access: kept.access,
    sessions: user === '' ? all : all.filter((session) => isOfUser(session, user)),
    total: all.length,
    isCut: listed.value.length > maxSessions,
  };
}

function storeProblem(detail: string): SessionProblem {
  return problem(503, 'store_unavailable', `The store does not answer: ${detail}.`);
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
  ['Action', 5],
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
<p class="soft">${count} ${total === 1 ? 'session' : 'sessions'}, the last refreshed first. An ended session gets no new tokens; its access tokens stay valid for ${formatSpan(lifetimeMs)} at most.
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
