// Grants in a store: a refresh token only names its family and its generation. So reuse is noticed, one refresh per family is in flight, the identity
// provider's current refresh token is never in the hands of a client, and sessions can be listed and ended.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../../../base/clock.ts';
import type { Sealer } from '../../../../../base/sealed.ts';
import type { Store } from '../../../../../store/store.ts';
import type { FinishedTurn, Grant, Grants, PresentedGrant, RefreshTurn } from '../../../../config/grants.ts';
import {
  beginFamily,
  endFamily,
  type Family,
  formatFamily,
  formatFamilyKey,
  type ReadFamily,
  readFamily,
} from './families.ts';

const purpose = 'stored-refresh';

/** When the process of a refresh dies, the family can be refreshed again after this time. */
const turnLifetimeMs = 30_000;
/**
 * A refresh may ask a slow identity provider several questions. A second one in between would present a refresh token there that was used already, which ends the
 * session: so the turn is renewed while the process lives, for about two minutes.
 */
const renewEveryMs = 10_000;
const maxRenewals = 9;
/** The answer to a refresh may get lost: its repetition gets the same one for so long. */
const repetitionMs = 30_000;
/** How long a request waits for another one that refreshes the same family. */
const patienceMs = 10_000;
const pauseMs = 200;

/** The content of a refresh token. Short names: clients keep it. */
interface SealedReference {
  readonly f: string;
  readonly n: number;
  readonly p: string;
  readonly c: string;
  /** Only when the store did not take it: the identity provider's current credential. */
  readonly k?: Grant['credential'];
}

type Presenter = Parameters<Grants['present']>[1];
type Refused = Extract<PresentedGrant, { readonly kind: 'refused' }>;

interface StoredGrantsOptions {
  /** Its values are sealed. */
  readonly store: Store;
  readonly sealer: Sealer;
  readonly clock: Clock;
}

/** Keeps grants in a store. */
export function createStoredGrants(options: StoredGrantsOptions): Grants {
  const { store, sealer, clock } = options;

  function seal(grant: Grant, generation: number, credential?: Grant['credential']): string {
    const { family, place, clientDigest, expiresAtMs } = grant;
    const reference: SealedReference = { f: family, n: generation, p: place, c: clientDigest };
    const content = credential === undefined ? reference : { ...reference, k: credential };
    return sealer.seal(purpose, content, { expiresAtMs });
  }

  function open(text: string, { place, clientDigest }: Presenter): SealedReference | Refused {
    const opened = sealer.open<SealedReference>(purpose, text);
    if (!opened.ok) return refuse(opened.problem === 'expired' ? 'expired' : 'unknown');
    if (opened.value.p !== place) return refuse('elsewhere');
    return opened.value.c === clientDigest ? opened.value : refuse('other_client');
  }

  /** 'busy': another request refreshes the family. */
  async function takeTurn(reference: SealedReference): Promise<PresentedGrant | 'busy'> {
    const read = await readFamily(store, reference.f);
    if (!read.ok) return unavailable(read.detail);
    const family = read.value;
    if (family === undefined) return refuse('revoked');
    const settled = await settle(family, reference);
    if (settled !== undefined) return settled;
    const turn = randomUUID();
    const locked = await store.compareAndSet(formatTurnKey(reference.f), undefined, turn, turnLifetimeMs);
    if (!locked.ok) return unavailable(locked.detail);
    if (!locked.value) return 'busy';
    // Another turn may have ended between reading and locking.
    const again = await readFamily(store, reference.f);
    if (!again.ok || again.value?.text !== family.text) {
      await unlock(reference.f, turn);
      return again.ok ? 'busy' : unavailable(again.detail);
    }
    const grant = reference.k === undefined ? family.grant : { ...family.grant, credential: reference.k };
    return { kind: 'grant', grant, turn: createTurn({ ...family, grant }, reference.n, turn) };
  }

  /** What is to be said to a refresh token that is not the current one; undefined: it is. */
  async function settle(family: Family, { f: id, n: presented, k: carried }: SealedReference) {
    if (presented === family.generation) return undefined;
    // It carries what the store did not take, so it is newer than what the store has.
    if (presented > family.generation) return carried === undefined ? refuse('unknown') : undefined;
    const { answer, refreshedAtMs } = family;
    const isRepetition = presented === family.generation - 1 && clock.now() < refreshedAtMs + repetitionMs;
    if (isRepetition && answer !== undefined) return { kind: 'repeated', answer } as const;
    const ended = await endFamily(store, id);
    return ended.ok ? refuse('reused') : unavailable(ended.detail);
  }

  function createTurn(family: ReadFamily, generation: number, turn: string): RefreshTurn {
    const id = family.grant.family;
    const stopRenewing = keepTurn(id, turn);
    const replace = (next: Family) =>
      store.compareAndSet(
        formatFamilyKey(id),
        family.text,
        formatFamily(next),
        Math.max(1, next.grant.expiresAtMs - clock.now()),
      );

    async function write(grant: Grant, answer: Readonly<Record<string, unknown>>): Promise<FinishedTurn> {
      const refreshToken = seal(grant, generation + 1);
      const written = await replace({
        generation: generation + 1,
        grant,
        refreshedAtMs: clock.now(),
        answer: { ...answer, refresh_token: refreshToken },
      });
      // The identity provider may have replaced its refresh token, and whether the store has the new one is not known. The client gets it, sealed: with it the
      // family goes on whatever the store has; without it the person would have to log in again.
      if (!written.ok) return { ok: true, refreshToken: seal(grant, generation + 1, grant.credential) };
      if (written.value) return { ok: true, refreshToken };
      const found = await readFamily(store, id);
      if (!found.ok) return found;
      return found.value === undefined
        ? { ok: false, isRevoked: true, detail: 'the session was revoked during its refresh' }
        : { ok: false, detail: 'another request refreshed the session meanwhile' };
    }

    return {
      async finish(grant, answer) {
        const finished = await write(grant, answer);
        stopRenewing();
        await unlock(id, turn);
        return finished;
      },
      async release({ revoke = false, credential } = {}) {
        if (revoke) await endFamily(store, id);
        else if (credential !== undefined)
          await replace({ ...withoutText(family), grant: { ...family.grant, credential } });
        stopRenewing();
        await unlock(id, turn);
      },
    };
  }

  /** Renews a turn until the returned function is called. */
  function keepTurn(family: string, turn: string): () => void {
    let cancel: () => void = () => {};
    let isOver = false;
    const renewLater = (renewals: number): void => {
      if (isOver || renewals === maxRenewals) return;
      cancel = clock.setTimer(() => {
        void store.compareAndSet(formatTurnKey(family), turn, turn, turnLifetimeMs);
        renewLater(renewals + 1);
      }, renewEveryMs);
    };
    renewLater(0);
    return () => {
      isOver = true;
      cancel();
    };
  }

  async function unlock(family: string, turn: string): Promise<void> {
    // When that fails, the turn ends by itself.
    await store.compareAndSet(formatTurnKey(family), turn, undefined, turnLifetimeMs);
  }

  return {
    isStored: true,
    async probe() {
      const found = await store.probe();
      return found.ok ? { ok: true } : found;
    },
    async begin(grant) {
      const nowMs = clock.now();
      const begun = await beginFamily(store, { generation: 0, grant, refreshedAtMs: nowMs }, nowMs);
      return begun.ok ? { ok: true, refreshToken: seal(grant, 0) } : begun;
    },
    async present(text, presenter) {
      const reference = open(text, presenter);
      if ('kind' in reference) return reference;
      const until = clock.now() + patienceMs;
      for (;;) {
        const outcome = await takeTurn(reference);
        if (outcome !== 'busy') return outcome;
        if (clock.now() >= until) return unavailable('another request refreshes the same session', 2);
        await new Promise<void>((resolve) => void clock.setTimer(resolve, pauseMs));
      }
    },
    async revoke(text, presenter) {
      const reference = open(text, presenter);
      return 'kind' in reference ? { ok: true, value: false } : endFamily(store, reference.f);
    },
  };
}

/** Whose turn it is to refresh a family. */
function formatTurnKey(family: string): string {
  return `turn of ${family}`;
}

function withoutText({ generation, grant, refreshedAtMs, answer }: ReadFamily): Family {
  return { generation, grant, refreshedAtMs, ...(answer !== undefined && { answer }) };
}

function refuse(problem: Refused['problem']): Refused {
  return { kind: 'refused', problem };
}

const defaultRetrySeconds = 5;

function unavailable(detail: string, retryAfterSeconds: number = defaultRetrySeconds): PresentedGrant {
  return { kind: 'unavailable', detail, retryAfterSeconds };
}
