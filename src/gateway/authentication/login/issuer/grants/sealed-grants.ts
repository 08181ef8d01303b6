// Grants without a store: all of a grant is inside the refresh token, sealed. Every replica can continue it, also after a restart; nobody can tell whether it
// was used before, list it or end it. The identity provider, which is asked at every refresh, still can.
import type { Sealer } from '../../../../../base/sealed.ts';
import type { Grant, Grants, PresentedGrant } from '../../../../config/grants.ts';

const purpose = 'issued-refresh';

/** Short names: clients keep it. */
interface SealedGrant {
  readonly g: Grant;
}

/** Keeps grants in the hands of clients. */
export function createSealedGrants(sealer: Sealer): Grants {
  const seal = (grant: Grant): string =>
    sealer.seal(purpose, { g: grant } satisfies SealedGrant, { expiresAtMs: grant.expiresAtMs });
  const finish = (grant: Grant) => Promise.resolve({ ok: true as const, refreshToken: seal(grant) });

  function open(text: string, presenter: Parameters<Grants['present']>[1]): PresentedGrant {
    const opened = sealer.open<SealedGrant>(purpose, text);
    if (!opened.ok) return { kind: 'refused', problem: opened.problem === 'expired' ? 'expired' : 'unknown' };
    const { g: grant } = opened.value;
    if (grant.place !== presenter.place) return { kind: 'refused', problem: 'elsewhere' };
    if (grant.clientDigest !== presenter.clientDigest) return { kind: 'refused', problem: 'other_client' };
    // A refresh token that the client still has cannot be taken back or changed.
    return { kind: 'grant', grant, turn: { finish, release: () => Promise.resolve() } };
  }

  return {
    isStored: false,
    probe: () => Promise.resolve({ ok: true }),
    begin: finish,
    present: (text, presenter) => Promise.resolve(open(text, presenter)),
    revoke: () => Promise.resolve({ ok: true, value: false }),
  };
}
