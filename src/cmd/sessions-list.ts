// `mcp-gatehouse sessions list`: who is logged in, as a running gateway with a store knows it.
import { defineCommand, fail } from './command.ts';
import type { CommandIo } from './process-host.ts';
import { listSessions } from './sessions/ask-sessions.ts';
import { formatSessions } from './sessions/format-sessions.ts';
import { sessionsFlags } from './sessions/sessions-flags.ts';

/** What the command needs beyond standard output. */
export interface SessionsIo extends CommandIo {
  /** Milliseconds since 1970; the system's when absent. */
  readonly now?: () => number;
}

export const sessionsListCommand = defineCommand({
  name: 'sessions list',
  usage: '[--user NAME] [--admin URL] [--json]',
  summary: `Lists who is logged in where a gateway issues tokens of its own (flow: Issuer): the user, the client, the MCP server, since when, the last refresh, and
when a new login is needed. A running gateway is asked, at its admin port. It knows sessions only with a store: docs/store.md.
In a cluster: kubectl exec -n NAMESPACE deploy/NAME -- mcp-gatehouse sessions list

Exit code: 0 they are listed, also when there are none; 1 the gateway has no list; 2 wrong usage, or no gateway answers.

With --json: {store: {kind, reach}, accessTokenLifetimeSeconds, sessions: [{id, subject, idpSubject, idp, user, client, resource, startedAt, refreshedAt, endsAt}],
isCut}; isCut says that there are more.`,
  flags: sessionsFlags,
  examples: ['mcp-gatehouse sessions list', 'mcp-gatehouse sessions list --user alice@example.com --json'],
  async run(values, io: SessionsIo) {
    const listed = await listSessions(values, values.user);
    if (!listed.ok) return fail(listed.exitCode, listed.problem);
    const nowMs = (io.now ?? Date.now)();
    io.stdout(
      values.json
        ? `${JSON.stringify(listed.list, null, 2)}\n`
        : formatSessions(listed.list, values.user, nowMs, io.color),
    );
    return 0;
  },
});
