// `mcp-gatehouse sessions list|revoke` against the admin port of a gateway.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { sessionsListCommand, type SessionsIo } from '../../src/cmd/sessions-list.ts';
import { sessionsRevokeCommand } from '../../src/cmd/sessions-revoke.ts';
import { createAdminLogin } from '../../src/gateway/admin/admin-login.ts';
import { type PlainServer, startPlainServer } from '../../src/gateway/admin/plain-server.ts';
import { answerSessions, revokeSessions, type SessionsAccess } from '../../src/gateway/admin/sessions-page.ts';
import type { ListedSession } from '../../src/gateway/config/grants.ts';
import { findFreePorts } from '../kit/free-ports.ts';

const nowMs = Date.parse('2026-08-01T12:00:00Z');
const alice = 'person:https%3A%2F%2Fgithub.com:583231';
const adminToken = 'an-admin-token-of-more-than-32-letters';

function session(id: string, members: Partial<ListedSession> = {}): ListedSession {
  return {
    id,
    subject: alice,
    userName: 'alice',
    clientName: 'Editor',
    resource: 'https://mcp.example.com/mcp',
    startedAtMs: nowMs - 3_600_000,
    refreshedAtMs: nowMs - 60_000,
    expiresAtMs: nowMs + 86_400_000,
    ...members,
  };
}

describe('sessions', { concurrency: false }, () => {
  let server: PlainServer;
  let folder: string;
  let access: SessionsAccess = { kind: 'no_issuer' };
  let sessions: ListedSession[] = [];
  const kept: SessionsAccess = {
    kind: 'kept',
    store: { kind: 'sqlite', reach: 'machine' },
    lifetimeMs: 900_000,
    directory: {
      list: () => Promise.resolve({ ok: true, value: sessions }),
      revoke(id) {
        const count = sessions.length;
        sessions = sessions.filter((each) => each.id !== id);
        return Promise.resolve({ ok: true, value: sessions.length < count });
      },
      revokeSubject(subject) {
        const count = sessions.length;
        sessions = sessions.filter((each) => each.subject !== subject);
        return Promise.resolve({ ok: true, value: count - sessions.length });
      },
    },
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sessions-command-'));
    await writeFile(join(folder, 'token'), adminToken, { mode: 0o600 });
    const login = createAdminLogin(adminToken);
    server = await startPlainServer({
      name: 'admin',
      address: '127.0.0.1',
      port: 0,
      portFlag: '--admin-port',
      portEnv: 'MCP_GATEHOUSE_ADMIN_PORT',
      localOnly: true,
      log: silentLog,
      check: login.check,
      pages: {
        '/sessions': { GET: (request) => answerSessions(request, access, nowMs) },
        '/sessions/revoke': { POST: (request) => revokeSessions(request, access, silentLog) },
      },
    });
  });
  after(async () => {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function run(
    command: typeof sessionsListCommand | typeof sessionsRevokeCommand,
    ...args: readonly string[]
  ): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
    let [out, err] = ['', ''];
    const io: SessionsIo = {
      stdout: (text) => void (out += text),
      stderr: (text) => void (err += text),
      color: false,
      env: { MCP_GATEHOUSE_ADMIN_TOKEN_FILE: join(folder, 'token') },
      now: () => nowMs,
    };
    const all = [...args, '--admin', server.url];
    const code = await executeCommand(command as typeof sessionsListCommand, all, io);
    return { code, out, err };
  }

  test('lists them as a table, with what ending one does not do', async () => {
    access = kept;
    sessions = [session('s1'), session('s2', { userName: undefined, clientName: undefined })];
    const { code, out, err } = await run(sessionsListCommand);
    assert.deepEqual([code, err], [0, '']);
    assert.equal(
      out,
      `SESSION  USER   SUBJECT                       CLIENT  SERVER                       SINCE    REFRESHED  ENDS
s1       alice  583231 at https://github.com  Editor  https://mcp.example.com/mcp  1 h ago  1 min ago  in 1 d
s2       -      583231 at https://github.com  -       https://mcp.example.com/mcp  1 h ago  1 min ago  in 1 d
2 sessions. Access tokens live 15 min, also those of a session that is ended.
`,
    );
  });

  test('of one user, as data, and of one who has none', async () => {
    access = kept;
    sessions = [session('s1'), session('s2', { subject: 'person:https%3A%2F%2Fgithub.com:1', userName: 'bob' })];
    const { out } = await run(sessionsListCommand, '--user', 'bob', '--json');
    assert.partialDeepStrictEqual(JSON.parse(out), { sessions: [{ id: 's2', user: 'bob' }], isCut: false });
    assert.deepEqual(await run(sessionsListCommand, '--user', 'carol'), {
      code: 0,
      out: 'carol has no session; --user takes a name, a subject of the identity provider, or the sub of tokens.\n',
      err: '',
    });
    sessions = [];
    assert.equal((await run(sessionsListCommand)).out, 'Nobody is logged in.\n');
  });

  test('ends one by its id, and all of a user', async () => {
    access = kept;
    sessions = [session('s1'), session('s2'), session('s3')];
    assert.deepEqual(await run(sessionsRevokeCommand, 's2'), {
      code: 0,
      out: 'Ended 1 session. Access tokens that were given out live on, for 15 min at most.\n',
      err: '',
    });
    assert.deepEqual(
      sessions.map(({ id }) => id),
      ['s1', 's3'],
    );
    const { out } = await run(sessionsRevokeCommand, '--user', 'alice', '--json');
    assert.partialDeepStrictEqual(JSON.parse(out), { ended: 2, subject: alice });
    assert.deepEqual(sessions, []);
    assert.deepEqual(await run(sessionsRevokeCommand, 's2'), {
      code: 1,
      out: '',
      err: 'mcp-gatehouse sessions revoke: there is no session with this id: it has ended, or never was\n',
    });
  });

  test('without a store, with a store that is down', async () => {
    access = { kind: 'no_store' };
    const without = await run(sessionsListCommand);
    assert.equal(without.code, 1);
    assert.match(
      without.err,
      /^mcp-gatehouse sessions list: sessions cannot be listed or ended without a store: .*docs\/store\.md\n$/,
    );
    access = {
      ...kept,
      directory: {
        list: () => Promise.resolve({ ok: false, detail: 'the connection was refused' }),
        revoke: () => Promise.resolve({ ok: false, detail: 'the connection was refused' }),
        revokeSubject: () => Promise.resolve({ ok: false, detail: 'the connection was refused' }),
      },
    };
    const down = await run(sessionsRevokeCommand, 's1');
    assert.deepEqual(
      [down.code, down.err],
      [1, 'mcp-gatehouse sessions revoke: the store does not answer: the connection was refused\n'],
    );
  });

  test('wrong usage, no gateway, no token', async () => {
    for (const [args, problem] of [
      [[], 'say which: a session by its ID, or --user NAME for all of a user'],
      [['s1', '--user', 'alice'], 'give an ID or --user, not both'],
    ] as const) {
      const { code, err } = await run(sessionsRevokeCommand, ...args);
      assert.deepEqual([code, err.split('\n')[0]], [2, `mcp-gatehouse sessions revoke: ${problem}`]);
    }
    const [port] = await findFreePorts(1);
    let err = '';
    const io = { stdout: () => {}, stderr: (text: string) => void (err += text), color: false, env: {} };
    const nobody = ['--admin', `http://127.0.0.1:${port}`];
    assert.equal(await executeCommand(sessionsListCommand, nobody, io), 2);
    assert.match(err, /no gateway answers at .* \(ECONNREFUSED\); --admin says where its admin port is/);
    err = '';
    assert.equal(await executeCommand(sessionsListCommand, ['--admin', server.url], io), 2);
    assert.match(err, /asks for its token: --admin-token-file says where it is/);
  });
});
