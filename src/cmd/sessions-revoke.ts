// `mcp-gatehouse sessions revoke`: ends a session, or all of a user, at a running gateway with a store.
import { defineCommand, fail, refuse } from './command.ts';
import { revokeSessions } from './sessions/ask-sessions.ts';
import { describeLifetime } from './sessions/format-sessions.ts';
import { sessionsFlags } from './sessions/sessions-flags.ts';

export const sessionsRevokeCommand = defineCommand({
  name: 'sessions revoke',
  usage: 'ID | --user NAME [--admin URL] [--json]',
  summary: `Ends a session, or all sessions of a user, where a gateway issues tokens of its own (flow: Issuer). Refresh tokens of an ended session are refused at once,
by every gateway with the same store. Access tokens that were given out live on until they expire, tokens.lifetime of the policy at most. The user can log in again:
who must not takes identity.allow of the policy, or the identity provider, to keep out.

Exit code: 0 they are ended; 1 there is no such session or user, or the gateway has no list; 2 wrong usage, or no gateway answers.

With --json: {ended: number, subject: string | null, accessTokenLifetimeSeconds}`,
  flags: {
    id: {
      type: 'string',
      placeholder: 'ID',
      help: 'The session, as sessions list names it; may be given without the flag',
    },
    ...sessionsFlags,
  },
  positionals: 'id',
  examples: ['mcp-gatehouse sessions revoke Yx2Vb1S8', 'mcp-gatehouse sessions revoke --user alice@example.com'],
  async run(values, io) {
    const { id, user } = values;
    if (id === undefined && user === undefined)
      return refuse('say which: a session by its ID, or --user NAME for all of a user');
    if (id !== undefined && user !== undefined) return refuse('give an ID or --user, not both');
    const ended = await revokeSessions(values, id === undefined ? { user: user! } : { id });
    if (!ended.ok) return fail(ended.exitCode, ended.problem);
    const { ended: count, accessTokenLifetimeSeconds } = ended.revocation;
    if (values.json) io.stdout(`${JSON.stringify(ended.revocation, null, 2)}\n`);
    else
      io.stdout(
        `Ended ${count === 1 ? '1 session' : `${count} sessions`}. Access tokens that were given out live on, for ${describeLifetime(accessTokenLifetimeSeconds)} at most.\n`,
      );
    return 0;
  },
});
