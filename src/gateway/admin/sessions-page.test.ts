import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import type { ListedSession } from '../config/grants.ts';
import type { PlainRequest } from './plain-server.ts';
import { answerSessions, revokeSessions, type SessionDirectory, type SessionsAccess } from './sessions-page.ts';

const nowMs = Date.parse('2026-08-01T12:00:00Z');

function session(id: string, subject: string, members: Partial<ListedSession> = {}): ListedSession {
  return {
    id,
    subject,
    userName: undefined,
    clientName: undefined,
    resource: 'https://mcp.example.com/mcp',
    startedAtMs: nowMs - 3_600_000,
    refreshedAtMs: nowMs - 60_000,
    expiresAtMs: nowMs + 86_400_000,
    ...members,
  };
}

const alice = 'person:https%3A%2F%2Fgithub.com:583231';
const otherAlice = 'person:https%3A%2F%2Fgitlab.com:7';
const bob = 'person:https%3A%2F%2Fgithub.com:99';

/** Sessions in memory. */
function directoryOf(sessions: ListedSession[]): SessionDirectory & { readonly ended: string[] } {
  const ended: string[] = [];
  return {
    ended,
    list: ({ subject, limit }) =>
      Promise.resolve({
        ok: true,
        value: sessions.filter((each) => subject === undefined || each.subject === subject).slice(0, limit),
      }),
    revoke(id) {
      const isKnown = sessions.some((each) => each.id === id);
      if (isKnown) ended.push(id);
      return Promise.resolve({ ok: true, value: isKnown });
    },
    revokeSubject(subject) {
      const own = sessions.filter((each) => each.subject === subject).map(({ id }) => id);
      ended.push(...own);
      return Promise.resolve({ ok: true, value: own.length });
    },
  };
}

function keptBy(directory: SessionDirectory): SessionsAccess {
  return { kind: 'kept', store: { kind: 'sqlite', reach: 'machine' }, directory, lifetimeMs: 900_000 };
}

function get(query = '', accept = 'application/json'): PlainRequest {
  return { method: 'GET', path: '/sessions', query: new URLSearchParams(query), accept, body: '' };
}

function post(body: string, accept = 'application/json'): PlainRequest {
  return { method: 'POST', path: '/sessions/revoke', query: new URLSearchParams(), accept, body };
}

function readError({ status, body }: { readonly status: number; readonly body: string }): [number, string, string] {
  const { error, error_description: text } = JSON.parse(body) as { error: string; error_description: string };
  return [status, error, text];
}

const three = (): ListedSession[] => [
  session('a1', alice, { userName: 'alice', clientName: '<Editor>' }),
  session('a2', alice, { userName: 'alice', refreshedAtMs: nowMs - 1_000 }),
  session('b1', bob, { refreshedAtMs: nowMs - 120_000 }),
];

describe('sessions at the admin port', () => {
  test('as JSON, the last refreshed first, with the parts of the subject', async () => {
    const answer = await answerSessions(get(), keptBy(directoryOf(three())), nowMs);
    const body = JSON.parse(answer.body) as { sessions: { id: string }[] };
    assert.deepEqual(
      body.sessions.map(({ id }) => id),
      ['a2', 'a1', 'b1'],
    );
    assert.deepEqual(body.sessions[2], {
      id: 'b1',
      subject: bob,
      idpSubject: '99',
      idp: 'https://github.com',
      user: null,
      client: null,
      resource: 'https://mcp.example.com/mcp',
      startedAt: '2026-08-01T11:00:00.000Z',
      refreshedAt: '2026-08-01T11:58:00.000Z',
      endsAt: '2026-08-02T12:00:00.000Z',
    });
    assert.partialDeepStrictEqual(body, {
      store: { kind: 'sqlite', reach: 'machine' },
      accessTokenLifetimeSeconds: 900,
      isCut: false,
    });
  });

  for (const [user, found] of [
    ['alice', ['a2', 'a1']],
    ['ALICE', ['a2', 'a1']],
    ['583231', ['a2', 'a1']],
    [alice, ['a2', 'a1']],
    ['99', ['b1']],
    ['9', []],
    ['bob', []],
  ] as const)
    test(`of the user ${user}`, async () => {
      const answer = await answerSessions(get(`user=${encodeURIComponent(user)}`), keptBy(directoryOf(three())), nowMs);
      const { sessions } = JSON.parse(answer.body) as { sessions: { id: string }[] };
      assert.deepEqual(
        sessions.map(({ id }) => id),
        found,
      );
    });

  test('as a page: names are escaped, and each has a button', async () => {
    const answer = await answerSessions(get('', 'text/html'), keptBy(directoryOf(three())), nowMs);
    assert.match(answer.body, /&lt;Editor&gt;/);
    assert.doesNotMatch(answer.body, /<Editor>|<script/);
    assert.match(
      answer.body,
      /<form method="post" action="\/sessions\/revoke"><input type="hidden" name="id" value="a1">/,
    );
    assert.match(answer.body, /access tokens stay valid for 15 min at most/);
    const empty = await answerSessions(get('', 'text/html'), keptBy(directoryOf([])), nowMs);
    assert.match(empty.body, /Nobody is logged in\./);
  });

  test('a list without an end is cut, and says so', async () => {
    const many = Array.from({ length: 10_050 }, (_, index) => session(`s${index}`, bob));
    const { body } = await answerSessions(get(), keptBy(directoryOf(many)), nowMs);
    const list = JSON.parse(body) as { sessions: unknown[]; isCut: boolean };
    assert.deepEqual([list.sessions.length, list.isCut], [10_000, true]);
  });

  test('where there is no list it says why', async () => {
    const down: SessionDirectory = {
      list: () => Promise.resolve({ ok: false, detail: 'the connection was refused' }),
      revoke: () => Promise.resolve({ ok: false, detail: 'the connection was refused' }),
      revokeSubject: () => Promise.resolve({ ok: false, detail: 'the connection was refused' }),
    };
    for (const [access, status, error, text] of [
      [{ kind: 'no_issuer' }, 409, 'no_issuer', /No policy of this gateway has the flow Issuer/],
      [{ kind: 'no_store' }, 409, 'no_store', /cannot be listed or ended without a store.*docs\/store\.md/],
      [keptBy(down), 503, 'store_unavailable', /The store does not answer: the connection was refused\./],
    ] as const) {
      for (const answer of [
        await answerSessions(get(), access, nowMs),
        await revokeSessions(post('{"id":"a1"}'), access, silentLog),
        await revokeSessions(post('{"user":"a1"}'), access, silentLog),
      ]) {
        const said = readError(answer);
        assert.deepEqual(said.slice(0, 2), [status, error]);
        assert.match(said[2], text);
      }
      assert.match((await answerSessions(get('', 'text/html'), access, nowMs)).body, text);
    }
    assert.equal((await answerSessions(get('format=xml'), { kind: 'no_store' }, nowMs)).status, 400);
  });
});

describe('sessions that are ended', () => {
  test('one by its id, all of a user, from a form', async () => {
    const directory = directoryOf(three());
    const one = await revokeSessions(post('{"id":"b1"}'), keptBy(directory), silentLog);
    assert.deepEqual([one.status, directory.ended], [200, ['b1']]);
    assert.partialDeepStrictEqual(JSON.parse(one.body), { ended: 1, subject: null, accessTokenLifetimeSeconds: 900 });
    const all = await revokeSessions(post('{"user":"Alice"}'), keptBy(directory), silentLog);
    assert.partialDeepStrictEqual(JSON.parse(all.body), { ended: 2, subject: alice });
    assert.deepEqual(directory.ended, ['b1', 'a1', 'a2']);
    const form = await revokeSessions(post('id=a1', 'text/html'), keptBy(directory), silentLog);
    assert.deepEqual([form.status, form.headers?.['location']], [303, '/sessions']);
  });

  test('a name that two users have ends nothing', async () => {
    const directory = directoryOf([
      session('a1', alice, { userName: 'alice' }),
      session('a2', otherAlice, { userName: 'alice' }),
    ]);
    const [status, error, text] = readError(
      await revokeSessions(post('{"user":"alice"}'), keptBy(directory), silentLog),
    );
    assert.deepEqual([status, error, directory.ended], [409, 'ambiguous_user', []]);
    assert.ok(text.includes(alice) && text.includes(otherAlice), text);
  });

  test('nothing is found', async () => {
    const access = keptBy(directoryOf(three()));
    assert.deepEqual(readError(await revokeSessions(post('{"id":"x"}'), access, silentLog)).slice(0, 2), [
      404,
      'unknown_session',
    ]);
    assert.deepEqual(readError(await revokeSessions(post('{"user":"x"}'), access, silentLog)).slice(0, 2), [
      404,
      'unknown_user',
    ]);
  });

  for (const body of ['', '{', '{}', '[]', '{"id":""}', '{"id":1}', '{"id":"a","user":"b"}', 'name=a'])
    test(`${body === '' ? 'an empty body' : body} is refused`, async () => {
      const answer = await revokeSessions(post(body), keptBy(directoryOf(three())), silentLog);
      assert.deepEqual(readError(answer).slice(0, 2), [400, 'invalid_revocation']);
    });
});
