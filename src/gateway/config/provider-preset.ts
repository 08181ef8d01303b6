// A preset lists the quirks of an identity provider. A standard one needs no preset.
import type { JsonObject } from '../../base/json-object.ts';

export interface ProviderPreset {
  readonly name: string;
  /** In place of RFC 8414 insertion and OpenID discovery: where the metadata is, given the issuer. */
  readonly metadataUrls?: (issuer: string) => readonly string[];
  /** The issuer of tokens may differ from the metadata's in these ways (Entra v1 and v2). */
  readonly acceptsIssuer?: (configured: string, found: string) => boolean;
  /** How `resource` (RFC 8707) is sent to the authorization endpoint: unchanged, as another parameter, or not at all. */
  readonly resourceParameter?: 'resource' | 'audience' | 'none';
  /** The `aud` of its tokens is the id of the client, unless it is told otherwise by other means than the login. */
  readonly audienceIsClient?: boolean;
  /** The audience that a scope brings, in place of any other. */
  readonly audienceOfScope?: (scope: string) => string | undefined;
  /** PKCE works although the metadata does not say so. */
  readonly supportsPkce?: boolean;
  /** Scopes that every login needs. */
  readonly requiredLoginScopes?: readonly string[];
  /** The scope without which there is no refresh token; asked for unless the identity provider lists its scopes without it. */
  readonly refreshScope?: string;
  /** Values of `scope` that registration refuses, although a login takes them. */
  readonly omitRegistrationScopes?: readonly string[];
  /** A client may ask for the scopes of its registration only: one that registered without `scope` cannot log in. */
  readonly bindsRegisteredScopes?: boolean;
  /** There is no dynamic registration: Forward cannot work. */
  readonly hasNoRegistration?: boolean;
  /** How the initial access token is sent; default Bearer. */
  readonly initialAccessTokenScheme?: string;
  /** Why Facade does not work with this provider. */
  readonly needsBroker?: string;
  /** There is neither metadata nor OpenID Connect: this is all that is known, unless the policy has `endpoints`. Nothing is discovered. */
  readonly fixedMetadata?: FixedMetadata;
  /** Error codes of its token endpoint that mean one of RFC 6749 5.2. */
  readonly tokenErrors?: Readonly<Record<string, string>>;
  /** Statuses of its endpoints that mean "not now", beside 408, 429 and those from 500 on. */
  readonly downStatuses?: readonly number[];
  /** How it says who somebody is, for the flow Issuer. */
  readonly identity?: IdentityQuirks;
  /** Access tokens are opaque or lack claims: what `check` tells the operator. */
  readonly remarks?: readonly string[];
  /** The same, where the gateway registers clients. */
  readonly forwardRemarks?: readonly string[];
  /** The same, where it does so without a credential. */
  readonly anonymousRemarks?: readonly string[];
}

/** What metadata would say. The issuer is the policy's. */
interface FixedMetadata {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly userinfo_endpoint: string;
  readonly code_challenge_methods_supported?: readonly string[];
  readonly token_endpoint_auth_methods_supported?: readonly string[];
}

/** How an identity provider says who somebody is. Without any of it: OpenID Connect. */
export interface IdentityQuirks {
  /** Scopes to ask for. Default: openid, email, profile. */
  readonly scopes?: readonly string[];
  /** Asked for as well when organizations are wanted. */
  readonly organizationScopes?: readonly string[];
  /** Parameters of authorization requests, without which there is no refresh token. */
  readonly authorizationParameters?: Readonly<Record<string, string>>;
  /** With the flow Issuer, in place of acceptsIssuer. */
  readonly acceptsMetadataIssuer?: (configured: string, found: string) => boolean;
  /** The issuer of an ID token, where it differs from the configured one. */
  readonly acceptsIdTokenIssuer?: (configured: string, claims: JsonObject) => boolean;
  /** The subject that never changes; undefined: it is not there. Default: `sub`. */
  readonly readSubject?: (members: JsonObject) => string | undefined;
  /** What readSubject reads, for people. */
  readonly subjectMembers?: string;
  /** The identity provider vouches for `email`. `members` are of one document. Default: `email_verified` is true. */
  readonly vouchesForEmail?: (members: JsonObject) => boolean;
  /** claim <- member, where a claim is not called like its member. */
  readonly claims?: Readonly<Record<string, string>>;
  /** The member that lists organizations, by the configured issuer. Default, and for undefined: that of the claim `groups`. */
  readonly organizations?: (issuer: string) => string | undefined;
  /** False: userinfo has nothing to add to the ID token, or does not accept the access token. */
  readonly hasUserinfo?: boolean;
  /** Lists beside userinfo. */
  readonly lists?: readonly UserinfoList[];
  /** An access token without `expires_in` does not expire, so that a refresh can ask userinfo with it. */
  readonly tokensLast?: boolean;
}

/** A list of which each page is a JSON array (`per_page`, `page`). */
export interface UserinfoList {
  /** Below the path of userinfo. */
  readonly path: string;
  /** When it is fetched. */
  readonly wantedFor: 'email' | 'organizations';
  /** The members of userinfo that follow from it. */
  readonly read: (entries: readonly unknown[]) => JsonObject;
}

export const standardPreset: ProviderPreset = { name: '', identity: { tokensLast: true } };
