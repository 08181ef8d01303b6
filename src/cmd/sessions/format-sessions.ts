// Sessions for a person. Pure.
import { createPalette } from '../../base/terminal.ts';
import type { DescribedSession } from '../../gateway/admin/describe-sessions.ts';
import { type Cell, formatTable } from '../format-check-report.ts';
import { describeDistance } from '../token/describe-distance.ts';
import type { SessionList } from './ask-sessions.ts';

/** The list with a line below it. `user` undefined: of everybody. */
export function formatSessions(
  { sessions, isCut, accessTokenLifetimeSeconds }: SessionList,
  user: string | undefined,
  nowMs: number,
  color: boolean,
): string {
  const palette = createPalette(color);
  if (sessions.length === 0)
    return user === undefined
      ? 'Nobody is logged in.\n'
      : `${user} has no session; --user takes a name, a subject of the identity provider, or the sub of tokens.\n`;
  const titles = ['SESSION', 'USER', 'SUBJECT', 'CLIENT', 'SERVER', 'SINCE', 'REFRESHED', 'ENDS'];
  const rows = [
    titles.map((text): Cell => ({ text, color: 'dim' })),
    ...sessions.map((session) => formatSession(session, nowMs)),
  ];
  const count = `${sessions.length}${isCut ? ' or more' : ''} ${sessions.length === 1 && !isCut ? 'session' : 'sessions'}`;
  return `${formatTable(rows, palette).join('\n')}\n${count}. Access tokens live ${describeLifetime(accessTokenLifetimeSeconds)}, also those of a session that is ended.\n`;
}

function formatSession(session: DescribedSession, nowMs: number): Cell[] {
  const { id, user, subject, idpSubject, idp, client, resource, startedAt, refreshedAt, endsAt } = session;
  const distance = (time: string): string => describeDistance(Date.parse(time) - nowMs);
  return [
    { text: id },
    { text: user ?? '-' },
    { text: idpSubject === null ? subject : `${idpSubject} at ${idp}` },
    { text: client ?? '-' },
    { text: resource, color: 'cyan' },
    { text: distance(startedAt) },
    { text: distance(refreshedAt) },
    { text: distance(endsAt) },
  ];
}

/** "15 min", for sentences. */
export function describeLifetime(seconds: number): string {
  return describeDistance(seconds * 1_000).replace(/^in /, '');
}
