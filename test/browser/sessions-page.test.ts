// The admin page of sessions in a browser: who is logged in, and a button that ends a session.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { silentLog } from '../../src/base/log.ts';
import { type PlainServer, startPlainServer } from '../../src/gateway/admin/plain-server.ts';
import { answerSessions, revokeSessions, type SessionsAccess } from '../../src/gateway/admin/sessions-page.ts';
import type { ListedSession } from '../../src/gateway/config/grants.ts';
import { openPage, startChromium } from './chromium.ts';
import { checkAppearances } from './page-checks.ts';

const nowMs = Date.parse('2026-08-01T12:00:00Z');

function session(id: string, members: Partial<ListedSession>): ListedSession {
  return {
    id,
    subject: 'person:https%3A%2F%2Fgithub.com:583231',
    userName: 'alice',
    clientName: 'Editor',
    resource: 'https://mcp.example.com/tickets',
    startedAtMs: nowMs - 3_600_000,
    refreshedAtMs: nowMs - 60_000,
    expiresAtMs: nowMs + 86_400_000,
    ...members,
  };
}

let browser: Browser;
let server: PlainServer;
let sessions: ListedSession[] = [
  session('s1', {}),
  session('s2', {
    userName: 'grace.with.a.long.name@mail.engineering.example.com',
    clientName: 'A client with a long name',
  }),
  session('s3', {
    userName: undefined,
    clientName: undefined,
    subject: 'person:https%3A%2F%2Faccounts.google.com:1130',
  }),
];
const access: SessionsAccess = {
  kind: 'kept',
  store: { kind: 'sqlite', reach: 'machine' },
  lifetimeMs: 900_000,
  directory: {
    list: () => Promise.resolve({ ok: true, value: sessions }),
    revoke(id) {
      const isThere = sessions.some((each) => each.id === id);
      sessions = sessions.filter((each) => each.id !== id);
      return Promise.resolve({ ok: true, value: isThere });
    },
    revokeSubject: () => Promise.resolve({ ok: true, value: 0 }),
  },
};

before(async () => {
  browser = await startChromium();
  server = await startPlainServer({
    name: 'admin',
    address: '127.0.0.1',
    port: 0,
    portFlag: '--admin-port',
    portEnv: 'MCP_GATEHOUSE_ADMIN_PORT',
    localOnly: true,
    log: silentLog,
    pages: {
      '/sessions': { GET: (request) => answerSessions(request, access, nowMs) },
      '/sessions/revoke': { POST: (request) => revokeSessions(request, access, silentLog) },
    },
  });
});
after(async () => {
  await browser?.close();
  await server?.close();
});

describe('the sessions in Chromium', () => {
  test('on a desktop and on a phone, in light and in dark', async () => {
    await checkAppearances(browser, async (page, look) => {
      await page.goto(`${server.url}/sessions`);
      await look('admin-sessions');
      await page.goto(`${server.url}/sessions?user=nobody`);
      await look('admin-sessions-none');
    });
  });

  test('a button ends one of them', async () => {
    const { page, complaints, close } = await openPage(browser);
    await page.goto(`${server.url}/sessions`);
    await page.getByRole('button', { name: 'End the session of alice' }).click();
    await page.getByText('2 sessions').waitFor();
    assert.equal(await page.getByRole('button', { name: 'End the session of alice' }).count(), 0);
    assert.deepEqual(
      sessions.map(({ id }) => id),
      ['s2', 's3'],
    );
    assert.deepEqual(complaints, []);
    await close();
  });
});
