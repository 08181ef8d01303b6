// The flow Issuer: the gateway is the authorization server, and the identity provider only says who somebody is. Compiled when the configuration changes.
import type { KeyObject } from 'node:crypto';
import type { IdentityAllow } from '../../ir/gen/config_pb.ts';
import type { TokenRefusal, TokenValidator } from '../authentication/token/verified-token.ts';
import type { Grants } from './grants.ts';

/** What judges the access tokens of a policy: keys of the identity provider, or the gateway's own. */
export interface AccessTokens {
  readonly validator: TokenValidator;
  /** False: keys were never loaded; every request fails closed with 503. */
  readonly hasKeys: boolean;
  /** While hasKeys is false: waits for the pending fetch. */
  loadKeys?(): Promise<TokenRefusal | undefined>;
}

/** A key of the gateway's own (ES256). */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** The keys that are published and accepted, and the one that signs. */
export interface SigningKeys {
  readonly keys: readonly SigningKey[];
  /** Undefined: none may sign yet. */
  readonly active: SigningKey | undefined;
}

/** How one policy issues tokens. */
export interface TokenIssuer {
  /** Undefined: there are none, so nothing is issued and nothing is accepted. */
  readonly signingKeys: SigningKeys | undefined;
  readonly lifetimeMs: number;
  /** Since the login. 0: no refresh tokens. */
  readonly refreshLifetimeMs: number;
  /** Claims of an identity that go into tokens. */
  readonly claims: readonly string[];
  readonly identity: IdentityRules;
  /** The scopes that a token with these claims may have. */
  readonly grantScopes: (claims: Readonly<Record<string, unknown>>) => ReadonlySet<string>;
  /** Every scope that any token may have. */
  readonly scopes: readonly string[];
  /** Refresh tokens and sessions, where they need a store. */
  readonly grants: Grants;
}

/** How an identity is read and judged. */
export interface IdentityRules {
  /** claim <- member of the ID token or of userinfo; presets' own included. */
  readonly claims: ReadonlyMap<string, string>;
  /** The member that never changes; undefined: the preset decides. */
  readonly subject: string | undefined;
  /** Undefined: everybody whom the identity provider knows. */
  readonly allow: IdentityAllow | undefined;
}

/** Who somebody is, as the identity provider vouches for it. */
export interface PersonIdentity {
  /** The identity provider's own, immutable. */
  readonly subject: string;
  /** Under the names that tokens use; `email` only when the identity provider vouches for it. No registered claim (iss, sub, aud, exp, ...) is among them. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** In lower case; undefined: none that the identity provider vouches for. */
  readonly email: string | undefined;
  /** Organizations or groups, as the identity provider names them. */
  readonly organizations: readonly string[];
  /** For people who read lists and logs; decides nothing, and may change. */
  readonly userName?: string | undefined;
}
