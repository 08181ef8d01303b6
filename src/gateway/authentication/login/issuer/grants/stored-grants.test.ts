import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createManualClock } from '../../../../../../test/kit/manual-clock.ts';
import { createSealer, createSealKey } from '../../../../../base/sealed.ts';
import { createMemoryStore } from '../../../../../store/memory-store.ts';
import type { Store } from '../../../../../store/store.ts';
import type { Grant, Grants, PresentedGrant } from '../../../../config/grants.ts';
import { createSealedGrants } from './sealed-grants.ts';
import { listIndexKeys } from './families.ts';
import { listSessions, revokeSession, revokeSubject } from './sessions.ts';
import { createStoredGrants } from './stored-grants.ts';

type StoreMethod = Exclude<keyof Store, 'kind' | 'reach'>;

const presenter = { clientDigest: 'client', place: 'place' };
const idp = 'https://idp.example.com';
const alice = `person:${encodeURIComponent(idp)}:alice`;

function setUp() {
  const clock = createManualClock();
  const sealer = createSealer([createSealKey()], () => clock.now());
  const memory = createMemoryStore({ now: () => clock.now() });
  /** Which calls fail: the method, and whether it takes place all the same. */
  let failing: { readonly method: StoreMethod | 'all'; readonly after: boolean } | undefined;
  const store = new Proxy(memory, {
    get(target, name: keyof Store) {
      const member = target[name];
      if (name === 'reach') return 'shared';
      if (typeof member !== 'function') return member;
      return async (...args: never[]) => {
        const isFailing = failing !== undefined && (failing.method === 'all' || failing.method === name);
        const outcome =
          isFailing && !failing!.after ? undefined : await (member as (...all: never[]) => unknown)(...args);
        return isFailing ? { ok: false, detail: 'the store is down' } : outcome;
      };
    },
  });
  const grants = createStoredGrants({ store, sealer, clock });
  const grant = (members: Partial<Grant> = {}): Grant => ({
    family: 'family-1',
    subject: 'alice',
    idp,
    credential: { kind: 'refresh_token', token: 'r0' },
    scope: 'tickets',
    resource: 'https://mcp.example.com/mcp',
    clientName: 'Editor',
    userName: 'alice@example.com',
    startedAtMs: clock.now(),
    expiresAtMs: clock.now() + 3_600_000,
    ...presenter,
    ...members,
  });
  const begin = async (members: Partial<Grant> = {}): Promise<string> => {
    const begun = await grants.begin(grant(members));
    assert.ok(begun.ok);
    return begun.refreshToken;
  };
  const fail = async <T>(method: StoreMethod | 'all', act: () => Promise<T>, after = false): Promise<T> => {
    failing = { method, after };
    try {
      return await act();
    } finally {
      failing = undefined;
    }
  };
  return { clock, sealer, store, grants, grant, begin, fail };
}

function turnOf(presented: PresentedGrant): Extract<PresentedGrant, { kind: 'grant' }> {
  assert.ok(presented.kind === 'grant', JSON.stringify(presented));
  return presented;
}

/** Refreshes as the token endpoint does, at an identity provider that answers with this refresh token. */
async function refresh(grants: Grants, token: string, next = 'r1'): Promise<string> {
  const { grant, turn } = turnOf(await grants.present(token, presenter));
  const continued = { ...grant, credential: { kind: 'refresh_token' as const, token: next } };
  const finished = await turn.finish(continued, { access_token: `at for ${next}` });
  assert.ok(finished.ok);
  return finished.refreshToken;
}

describe('grants in a store', () => {
  test('each refresh gives a new token, and the credential of the identity provider stays in the store', async () => {
    const { grants, begin, sealer } = setUp();
    const first = await begin();
    const second = await refresh(grants, first, 'r1');
    const { grant, turn } = turnOf(await grants.present(second, presenter));
    assert.equal(grant.credential.token, 'r1');
    await turn.release();
    for (const token of [first, second])
      assert.doesNotMatch(JSON.stringify(sealer.open('stored-refresh', token)), /r0|r1/);
  });

  test('what is not presented where and by whom it was given is refused, and nothing changes', async () => {
    const { grants, begin, clock, sealer } = setUp();
    const token = await begin();
    const refused = async (text: string, members: object = {}): Promise<unknown> => {
      const presented = await grants.present(text, { ...presenter, ...members });
      assert.equal(presented.kind, 'refused');
      return (presented as { readonly problem: string }).problem;
    };
    assert.equal(await refused(token, { place: 'other' }), 'elsewhere');
    assert.equal(await refused(token, { clientDigest: 'other' }), 'other_client');
    assert.equal(await refused(`${token}A`), 'unknown');
    assert.equal(await refused(''), 'unknown');
    assert.equal(await refused(sealer.seal('code', { f: 'family-1', n: 0, p: 'place', c: 'client' })), 'unknown');
    assert.equal((await grants.revoke(token, { ...presenter, clientDigest: 'other' })).ok, true);
    assert.equal((await grants.present(token, presenter)).kind, 'grant');
    await clock.advance(3_600_000);
    assert.equal(await refused(token), 'expired');
  });

  test('the repetition of the previous token within 30 s gets the same answer, and later ends the family', async () => {
    const { grants, begin, clock } = setUp();
    const first = await begin();
    const second = await refresh(grants, first);
    await clock.advance(29_999);
    const repeated = await grants.present(first, presenter);
    assert.deepEqual(repeated, { kind: 'repeated', answer: { access_token: 'at for r1', refresh_token: second } });
    await clock.advance(1);
    assert.deepEqual(await grants.present(first, presenter), { kind: 'refused', problem: 'reused' });
    assert.deepEqual(await grants.present(second, presenter), { kind: 'refused', problem: 'revoked' });
  });

  test('an older token than the previous one ends the family at once', async () => {
    const { grants, begin } = setUp();
    const first = await begin();
    const third = await refresh(grants, await refresh(grants, first), 'r2');
    assert.deepEqual(await grants.present(first, presenter), { kind: 'refused', problem: 'reused' });
    assert.deepEqual(await grants.present(third, presenter), { kind: 'refused', problem: 'revoked' });
  });

  test('one refresh per family is in flight: another one waits, and gets the same answer', async () => {
    const { grants, begin, clock } = setUp();
    const token = await begin();
    const { grant, turn } = turnOf(await grants.present(token, presenter));
    const waiting = grants.present(token, presenter);
    await clock.advance(0);
    await clock.advance(1_000);
    const finished = await turn.finish(grant, { access_token: 'at' });
    await clock.advance(200);
    assert.deepEqual(await waiting, {
      kind: 'repeated',
      answer: { access_token: 'at', refresh_token: finished.ok && finished.refreshToken },
    });
  });

  test('of many at once exactly one refreshes', async () => {
    const { grants, begin, clock } = setUp();
    const token = await begin();
    let turns = 0;
    const all = Array.from({ length: 20 }, async () => {
      const presented = await grants.present(token, presenter);
      if (presented.kind !== 'grant') return presented;
      turns += 1;
      return presented.turn.finish(presented.grant, { access_token: 'at' });
    });
    await clock.advance(0);
    await clock.advance(1_000);
    const kinds = (await Promise.all(all)).filter((outcome) => 'kind' in outcome).map(({ kind }) => kind);
    assert.equal(turns, 1);
    assert.deepEqual([...new Set(kinds)], ['repeated']);
  });

  test('a process that died in its turn holds up the family for 30 s at most, and nobody waits longer than 10 s', async () => {
    const { grants, begin, clock, store, sealer } = setUp();
    const token = await begin();
    // It does nothing any more.
    const dying = createStoredGrants({ store, sealer, clock: { now: () => clock.now(), setTimer: () => () => {} } });
    turnOf(await dying.present(token, presenter));
    const waiting = grants.present(token, presenter);
    await clock.advance(0);
    await clock.advance(10_200);
    const gaveUp = await waiting;
    assert.equal(gaveUp.kind, 'unavailable');
    await clock.advance(20_000);
    turnOf(await grants.present(token, presenter));
  });

  test('a refresh that takes long keeps its turn: a second one would present what the identity provider has replaced', async () => {
    const { grants, begin, clock } = setUp();
    const token = await begin();
    const slow = turnOf(await grants.present(token, presenter));
    for (let seconds = 0; seconds < 75; seconds += 5) await clock.advance(5_000);
    const waiting = grants.present(token, presenter);
    await clock.advance(0);
    await clock.advance(10_200);
    assert.equal((await waiting).kind, 'unavailable');
    assert.equal((await slow.turn.finish(slow.grant, { access_token: 'at' })).ok, true);
    assert.equal((await grants.present(token, presenter)).kind, 'repeated');
  });

  test('and one that never ends does not keep it for ever', async () => {
    const { grants, begin, clock } = setUp();
    const token = await begin();
    turnOf(await grants.present(token, presenter));
    for (let seconds = 0; seconds < 150; seconds += 5) await clock.advance(5_000);
    turnOf(await grants.present(token, presenter));
  });

  test('nothing came of a refresh: the same token works again; with the credential that it may have got', async () => {
    const { grants, begin } = setUp();
    const token = await begin();
    await turnOf(await grants.present(token, presenter)).turn.release();
    const again = turnOf(await grants.present(token, presenter));
    assert.equal(again.grant.credential.token, 'r0');
    await again.turn.release({ credential: { kind: 'refresh_token', token: 'r1' } });
    const third = turnOf(await grants.present(token, presenter));
    assert.equal(third.grant.credential.token, 'r1');
    await third.turn.release({ revoke: true });
    assert.deepEqual(await grants.present(token, presenter), { kind: 'refused', problem: 'revoked' });
  });

  test('a family that is revoked during its refresh yields nothing', async () => {
    const { grants, begin } = setUp();
    const token = await begin();
    const { grant, turn } = turnOf(await grants.present(token, presenter));
    assert.deepEqual(await grants.revoke(token, presenter), { ok: true, value: true });
    const finished = await turn.finish(grant, { access_token: 'at' });
    assert.deepEqual([finished.ok, !finished.ok && finished.isRevoked], [false, true]);
  });

  test('a turn that took so long that another one came first does not overwrite it', async () => {
    const { grants, begin, clock } = setUp();
    const token = await begin();
    const slow = turnOf(await grants.present(token, presenter));
    clock.leap(31_000);
    const second = await refresh(grants, token);
    const finished = await slow.turn.finish(slow.grant, { access_token: 'late' });
    assert.equal(finished.ok, false);
    assert.equal(!finished.ok && finished.isRevoked, undefined);
    turnOf(await grants.present(second, presenter));
  });
});

describe('a store that does not answer', () => {
  test('at a login is noticed before and during it', async () => {
    const { grants, grant, fail } = setUp();
    assert.equal((await fail('all', () => grants.probe())).ok, false);
    for (const method of ['addMember', 'put'] as const)
      assert.deepEqual(await fail(method, () => grants.begin(grant())), { ok: false, detail: 'the store is down' });
  });

  test('at a refresh is unavailable, and the token stays usable', async () => {
    const { grants, begin, fail, clock } = setUp();
    const token = await begin();
    for (const method of ['get', 'compareAndSet'] as const) {
      const presented = await fail(method, () => grants.present(token, presenter));
      assert.equal(presented.kind, 'unavailable', method);
    }
    await clock.advance(30_000);
    await refresh(grants, token);
  });

  test('when an old token is used again, nothing is given out', async () => {
    const { grants, begin, fail } = setUp();
    const first = await begin();
    await refresh(grants, await refresh(grants, first), 'r2');
    assert.equal((await fail('take', () => grants.present(first, presenter))).kind, 'unavailable');
    assert.deepEqual(await grants.present(first, presenter), { kind: 'refused', problem: 'reused' });
  });

  for (const after of [false, true])
    test(`after the identity provider has answered: the family goes on, whether it was written (${after}) or not`, async () => {
      const { grants, begin, fail, clock } = setUp();
      const token = await begin();
      const { grant, turn } = turnOf(await grants.present(token, presenter));
      const continued = { ...grant, credential: { kind: 'refresh_token' as const, token: 'r1' } };
      const finished = await fail('compareAndSet', () => turn.finish(continued, { access_token: 'at' }), after);
      assert.ok(finished.ok);
      await clock.advance(60_000);
      const next = turnOf(await grants.present(finished.refreshToken, presenter));
      assert.equal(next.grant.credential.token, 'r1');
      const last = await next.turn.finish(next.grant, { access_token: 'at2' });
      assert.ok(last.ok);
      await clock.advance(60_000);
      assert.deepEqual(await grants.present(finished.refreshToken, presenter), { kind: 'refused', problem: 'reused' });
    });

  test('at a revocation says so', async () => {
    const { grants, begin, fail } = setUp();
    const token = await begin();
    assert.equal((await fail('take', () => grants.revoke(token, presenter))).ok, false);
    assert.deepEqual(await grants.revoke(token, presenter), { ok: true, value: true });
    assert.deepEqual(await grants.revoke(token, presenter), { ok: true, value: false });
  });
});

describe('sessions', () => {
  test('are listed for everybody and for one subject, and expired ones are not', async () => {
    const { store, begin, clock } = setUp();
    await begin({ family: 'a' });
    await clock.advance(1_000);
    await begin({ family: 'b', expiresAtMs: clock.now() + 10_000_000 });
    await begin({ family: 'c', subject: 'bob', userName: undefined, expiresAtMs: clock.now() + 10_000_000 });
    const list = async (subject?: string) => {
      const listed = await listSessions(store, { subject, limit: 100, nowMs: clock.now() });
      assert.ok(listed.ok);
      return listed.value;
    };
    assert.deepEqual((await list()).map(({ id }) => id).toSorted(), ['a', 'b', 'c']);
    assert.deepEqual(
      (await list(alice)).map(({ id }) => id),
      ['b', 'a'],
    );
    assert.deepEqual((await list(alice))[1], {
      id: 'a',
      subject: alice,
      userName: 'alice@example.com',
      clientName: 'Editor',
      resource: 'https://mcp.example.com/mcp',
      startedAtMs: clock.now() - 1_000,
      refreshedAtMs: clock.now() - 1_000,
      expiresAtMs: clock.now() - 1_000 + 3_600_000,
    });
    await clock.advance(3_600_000);
    assert.deepEqual(
      (await list(alice)).map(({ id }) => id),
      ['b'],
    );
    assert.deepEqual((await list('person:nobody')).length, 0);
  });

  test('of months ago are listed', async () => {
    const { store, begin, clock } = setUp();
    await begin({ expiresAtMs: clock.now() + 365 * 86_400_000 });
    clock.leap(364 * 86_400_000);
    const listed = await listSessions(store, { limit: 10, nowMs: clock.now() });
    assert.equal(listed.ok && listed.value.length, 1);
  });

  test('whose time is over leave nothing in the store, whether anybody lists them or not', async () => {
    const { store, begin, clock } = setUp();
    const months = Array.from({ length: 12 }, (_, month) => clock.now() + month * 30 * 86_400_000);
    const findAll = async (): Promise<readonly string[]> => {
      const found: string[] = [];
      for (const atMs of months)
        for (const subject of [undefined, alice])
          for (const key of listIndexKeys(atMs, subject)) {
            const members = await store.listMembers(key, 1_000);
            assert.ok(members.ok);
            found.push(...members.value);
          }
      return [...new Set(found)].toSorted();
    };
    for (const [month, atMs] of months.entries()) {
      clock.leap(atMs - clock.now());
      for (const each of ['a', 'b']) await begin({ family: `${each}${month}`, expiresAtMs: clock.now() + 3_600_000 });
    }
    const last = await findAll();
    assert.ok(last.includes('a11') && last.includes('b11') && last.length <= 4, last.join());
    clock.leap(31 * 86_400_000);
    assert.deepEqual(await findAll(), []);
  });

  test('end by id and by subject', async () => {
    const { store, begin, grants, clock } = setUp();
    const [one, two, three] = [
      await begin({ family: 'a' }),
      await begin({ family: 'b' }),
      await begin({ family: 'c', subject: 'bob' }),
    ];
    assert.deepEqual(await revokeSession(store, 'a'), { ok: true, value: true });
    assert.deepEqual(await revokeSession(store, 'a'), { ok: true, value: false });
    assert.deepEqual(await revokeSubject(store, alice, clock.now()), { ok: true, value: 1 });
    for (const token of [one, two]) assert.equal((await grants.present(token, presenter)).kind, 'refused');
    turnOf(await grants.present(three, presenter));
  });

  test('a store that does not answer is not an empty list', async () => {
    const { store, begin, fail, clock } = setUp();
    await begin();
    for (const method of ['listMembers', 'get'] as const)
      assert.equal((await fail(method, () => listSessions(store, { limit: 10, nowMs: clock.now() }))).ok, false);
    assert.equal((await fail('listMembers', () => revokeSubject(store, alice, clock.now()))).ok, false);
    assert.equal((await fail('take', () => revokeSubject(store, alice, clock.now()))).ok, false);
  });
});

describe('grants without a store', () => {
  test('go on with any of their tokens, and end by time', async () => {
    const { sealer, grant, clock } = setUp();
    const grants = createSealedGrants(sealer);
    assert.equal(grants.isStored, false);
    const begun = await grants.begin(grant());
    assert.ok(begun.ok);
    const next = await refresh(grants, begun.refreshToken);
    assert.equal(turnOf(await grants.present(next, presenter)).grant.credential.token, 'r1');
    turnOf(await grants.present(begun.refreshToken, presenter));
    assert.deepEqual(await grants.revoke(next, presenter), { ok: true, value: false });
    assert.deepEqual(await grants.present(next, { ...presenter, place: 'x' }), {
      kind: 'refused',
      problem: 'elsewhere',
    });
    assert.deepEqual(await grants.present(next, { ...presenter, clientDigest: 'x' }), {
      kind: 'refused',
      problem: 'other_client',
    });
    await clock.advance(3_600_000);
    assert.deepEqual(await grants.present(next, presenter), { kind: 'refused', problem: 'expired' });
  });

  test('tokens of one kind are nothing to the other', async () => {
    const { sealer, grant, grants, begin } = setUp();
    const sealed = createSealedGrants(sealer);
    const begun = await sealed.begin(grant());
    assert.ok(begun.ok);
    assert.deepEqual(await grants.present(begun.refreshToken, presenter), { kind: 'refused', problem: 'unknown' });
    assert.deepEqual(await sealed.present(await begin(), presenter), { kind: 'refused', problem: 'unknown' });
  });
});
