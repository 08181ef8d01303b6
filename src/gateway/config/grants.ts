// What stays of a login: the grant behind a refresh token. Without a store it travels sealed inside the refresh token; with one the refresh token only names it.
import type { StoreFailure } from '../../store/store.ts';

/** A login that can be continued. */
export interface Grant {
  /** Names the login; the same for all its refresh tokens. */
  readonly family: string;
  /** The identity provider's subject: a refresh that yields another one is refused. */
  readonly subject: string;
  /** The issuer of the identity provider. */
  readonly idp: string;
  /** What the identity provider is asked with: its refresh token, or an access token that does not expire. */
  readonly credential: { readonly kind: 'refresh_token' | 'access_token'; readonly token: string };
  /** Granted scopes, with spaces between them. */
  readonly scope: string;
  readonly clientDigest: string;
  /** Digest of the place (resource and identity provider). */
  readonly place: string;
  /** URL of the resource, for `aud`. */
  readonly resource: string;
  /** For people who list sessions. */
  readonly clientName: string | undefined;
  readonly userName: string | undefined;
  readonly startedAtMs: number;
  /** When a new login is needed. */
  readonly expiresAtMs: number;
}

/** The outcome of presenting a refresh token. */
export type PresentedGrant =
  | { readonly kind: 'grant'; readonly grant: Grant; readonly turn: RefreshTurn }
  /** The same answer again: a repetition within 30 s, whose first answer may have been lost. */
  | { readonly kind: 'repeated'; readonly answer: Readonly<Record<string, unknown>> }
  /** `reused`: an older token of the family; the family is revoked now. */
  | {
      readonly kind: 'refused';
      readonly problem: 'unknown' | 'expired' | 'elsewhere' | 'other_client' | 'reused' | 'revoked';
    }
  /** Another request refreshes the same family, or the store does not answer. */
  | { readonly kind: 'unavailable'; readonly detail: string; readonly retryAfterSeconds: number };

/** The right to continue a family once. Exactly one of `finish` and `release` is called. */
export interface RefreshTurn {
  /** Writes the continued grant and the answer without its refresh token; the value is the next refresh token. */
  finish(grant: Grant, answer: Readonly<Record<string, unknown>>): Promise<FinishedTurn>;
  /** Nothing came of it: the same refresh token may be presented again. */
  release(options?: ReleaseOptions): Promise<void>;
}

/** `isRevoked`: the family ended meanwhile, and the answer must not be given out. */
export type FinishedTurn =
  | { readonly ok: true; readonly refreshToken: string }
  | (StoreFailure & { readonly isRevoked?: boolean });

interface ReleaseOptions {
  /** The identity provider no longer vouches for the account: the family ends. */
  readonly revoke?: boolean;
  /** The identity provider replaced the credential, although nothing was issued: the old one may be worthless now. */
  readonly credential?: Grant['credential'];
}

/** A session that can be listed. */
export interface ListedSession {
  readonly id: string;
  /** `sub` of issued tokens. */
  readonly subject: string;
  readonly userName: string | undefined;
  readonly clientName: string | undefined;
  readonly resource: string;
  readonly startedAtMs: number;
  readonly refreshedAtMs: number;
  readonly expiresAtMs: number;
}

/** Keeps grants. No promise rejects because of a store. */
export interface Grants {
  /** Sessions are in a store: reuse is noticed, tokens can be revoked, sessions listed. */
  readonly isStored: boolean;
  /** Whether a family could be begun now: asked before a login is redeemed, which works once only. */
  probe(): Promise<{ readonly ok: true } | StoreFailure>;
  /** A new family; the value is its first refresh token. */
  begin(grant: Grant): Promise<{ readonly ok: true; readonly refreshToken: string } | StoreFailure>;
  /** For the client and the place that present it. */
  present(
    refreshToken: string,
    presenter: { readonly clientDigest: string; readonly place: string },
  ): Promise<PresentedGrant>;
  /** RFC 7009; the value tells whether there was anything to revoke. Only where `isStored`. */
  revoke(
    refreshToken: string,
    presenter: { readonly clientDigest: string; readonly place: string },
  ): Promise<{ readonly ok: true; readonly value: boolean } | StoreFailure>;
}
