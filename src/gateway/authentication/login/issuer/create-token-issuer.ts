// Everything that a policy with the flow Issuer issues tokens with, from its message.
import { type Clock, systemClock } from '../../../../base/clock.ts';
import type { Sealer } from '../../../../base/sealed.ts';
import type { McpAuthentication } from '../../../../ir/gen/config_pb.ts';
import type { Store } from '../../../../store/store.ts';
import type { Grants } from '../../../config/grants.ts';
import type { ProviderPreset } from '../../../config/provider-preset.ts';
import type { SigningKeys, TokenIssuer } from '../../../config/token-issuer.ts';
import { createIdentityRules } from '../identity/identity-rules.ts';
import { compileScopeGrants } from './grant-scopes.ts';
import { createSealedGrants } from './grants/sealed-grants.ts';
import { findSessions } from './grants/sessions.ts';
import { createStoredGrants } from './grants/stored-grants.ts';

interface IssuerParts {
  readonly signingKeys: SigningKeys | undefined;
  /** Undefined: no seal key is configured. */
  readonly sealer: Sealer | undefined;
  /** Undefined: grants travel with clients. */
  readonly store: Store | undefined;
  readonly preset: ProviderPreset;
  readonly clock?: Clock;
}

/** Undefined: the policy has another flow. Throws when a condition over claims is no expression. */
export function createTokenIssuer(message: McpAuthentication, parts: IssuerParts): TokenIssuer | undefined {
  const { issuedTokens, identity } = message;
  if (issuedTokens === undefined || identity === undefined) return undefined;
  return {
    signingKeys: parts.signingKeys,
    lifetimeMs: issuedTokens.lifetimeMs,
    refreshLifetimeMs: Number(issuedTokens.refreshLifetimeMs),
    claims: issuedTokens.claims,
    identity: createIdentityRules(parts.preset, identity, issuedTokens.claims),
    ...compileScopeGrants(issuedTokens.scopes),
    grants: createGrants(parts),
  };
}

function createGrants({ sealer, store, clock = systemClock }: IssuerParts): Grants {
  if (sealer === undefined) return withoutSealKey;
  // What ends with the process, or is seen by one of several, would log people out where sealed tokens do not.
  if (store === undefined || store.reach === 'process') return createSealedGrants(sealer);
  return createStoredGrants({ store: findSessions(store, sealer), sealer, clock });
}

const noSealKey = { ok: false, detail: 'no seal key is configured' } as const;

/** Endpoints refuse before they come to this. */
const withoutSealKey: Grants = {
  isStored: false,
  probe: () => Promise.resolve(noSealKey),
  begin: () => Promise.resolve(noSealKey),
  present: () => Promise.resolve({ kind: 'unavailable', detail: noSealKey.detail, retryAfterSeconds: 60 }),
  revoke: () => Promise.resolve(noSealKey),
};
