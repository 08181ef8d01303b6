// A preset lists the quirks of an identity provider. A standard one needs no preset.

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
  /** Access tokens are opaque or lack claims: what `check` tells the operator. */
  readonly remarks?: readonly string[];
  /** The same, where the gateway registers clients. */
  readonly forwardRemarks?: readonly string[];
  /** The same, where it does so without a credential. */
  readonly anonymousRemarks?: readonly string[];
}

export const standardPreset: ProviderPreset = { name: '' };
