// Every way in which real identity providers deviate, as a switch. All off: a standard one (OAuth 2.1, OpenID Connect, RFC 7591, RFC 8414, RFC 8707).

/** An answer in place of the right one. `never` takes the request and stays silent, `cut` ends the connection. */
export type WrongAnswer =
  | 'never'
  | 'cut'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

/** The endpoints, by the names that this project's code has for them. */
export type EndpointName = 'authorize' | 'login' | 'token' | 'register' | 'otherRegister' | 'jwks' | 'userinfo';

/** The switches. A test may turn them while the server runs. */
export interface Quirks {
  // Metadata
  /** Which documents exist. */
  metadataDocuments: readonly ('oauth-authorization-server' | 'openid-configuration')[];
  /** Lies in the path of the issuer, such as /realms/mcp. Set at start only. */
  issuerPath: string;
  /** The document says this issuer. */
  metadataIssuer: string | undefined;
  metadataAnswer: WrongAnswer | undefined;
  /** Members that replace those of both documents; undefined removes one. */
  metadataMembers: Readonly<Record<string, unknown>>;
  /** The OpenID document names another registration endpoint, which refuses everybody. */
  twoRegistrationEndpoints: boolean;
  /** HEAD is answered with a redirect to a login page. */
  headLeadsToLogin: boolean;
  /** `code_challenge_methods_supported` is missing, although PKCE works. */
  hidesPkce: boolean;
  advertisesIss: boolean;
  tokenEndpointAuthMethods: readonly string[] | undefined;
  /** Paths below the issuer's that differ from the usual ones. Set at start only. */
  endpointPaths: Partial<Readonly<Record<EndpointName, string>>>;
  /** Google: tokens, keys and userinfo have an origin of their own. Set at start only. */
  hasSecondOrigin: boolean;

  // Authorization responses (RFC 9207)
  emitsIss: 'always' | 'never' | 'on-success';
  /** In place of the issuer. */
  issValue: string | undefined;
  /** Further parameters of a successful answer. */
  callbackParameters: Readonly<Record<string, string>>;

  // Registration (RFC 7591)
  registration: 'open' | 'none' | 'token' | 'one-use-token';
  registrationScheme: string;
  registrationStatus: 200 | 201;
  registrationAnswer: WrongAnswer | undefined;
  /** Scopes that a registration may not name: openid alone, or any. */
  registrationRefusesScope: 'no' | 'openid' | 'any';
  registrationScopeError: '400 invalid_scope' | '403';
  registrationRefusesUnknownMembers: boolean;
  /** A client that asked for `none` gets `none`, and a secret with it. */
  secretComesWithNone: boolean;
  /** Every client gets a secret and this method, whatever it asked for. */
  insistsOnMethod: 'client_secret_basic' | 'client_secret_post' | undefined;
  /** Answers carry headers and members of the identity provider's own that are nobody else's business. */
  talksTooMuch: boolean;

  // Authorization requests
  requiresNonce: boolean;
  requiresOpenid: boolean;
  resource: 'accepted' | 'one-only' | 'refused' | 'ignored';
  /** Auth0: `audience` decides what the token is for. */
  takesAudienceParameter: boolean;
  /** This user is logged in already: nobody sees the login page. */
  knownUser: string | undefined;
  /** Others end the login with invalid_scope. Undefined: any is known. */
  knownScopes: readonly string[] | undefined;
  /** The login ends with this error. */
  loginError: string | undefined;
  authorizeAnswer: WrongAnswer | undefined;

  // Token requests
  /** Knows nothing of PKCE: any verifier is as good as none. */
  ignoresPkce: boolean;
  tokenAnswer: WrongAnswer | undefined;
  refreshAnswer: WrongAnswer | undefined;
  /** What a refresh token that is no longer good gets. */
  deadRefreshToken: 'invalid_grant' | 'invalid_request' | '403 invalid_code' | 'empty 400';
  rotatesRefreshTokens: boolean;
  /** A refresh token that stays valid is not in the answer to a refresh. */
  keepsRefreshTokenToItself: boolean;
  /** `with-access_type`: Google gives one with `access_type=offline`, at the first consent or at one that `prompt` asks for. */
  refreshTokens: 'all' | 'confidential-clients' | 'with-offline_access' | 'with-access_type' | 'none';
  /** Dex: a second login of the same user ends the refresh token of the first. */
  secondLoginEndsFirst: boolean;

  // Access tokens
  accessTokenFormat: 'jwt' | 'opaque' | 'opaque-without-resource';
  /** `aud` when the request did not decide. */
  audience: 'resource' | 'client-id' | 'none' | readonly string[];
  scopeClaim: 'string' | 'array' | 'scp-string' | 'scp-array' | 'none';
  omitsSubject: boolean;
  tokenIssuer: string | undefined;
  tokenClaims: Readonly<Record<string, unknown>>;
  accessTokenSeconds: number;

  // People (OpenID Connect)
  /** Which members of people the ID token has, when their scopes were asked for; `sub` it always has. */
  idTokenMembers: readonly string[];
  /** `made-up`: a hash of a code that there is none of. */
  idTokenHash: 'made-up' | 'at_hash' | 'none';
  idTokenHasAzp: boolean;
  /** In place of what is right; undefined removes a claim. */
  idTokenChanges: Readonly<Record<string, unknown>>;
  /** No ID token comes, whatever the scope. */
  omitsIdToken: boolean;
  /** No ID token comes with a refresh. */
  omitsIdTokenOnRefresh: boolean;
  /** Which members of people userinfo has. Undefined: there is no userinfo. */
  userinfoMembers: readonly string[] | undefined;
  /** The member of userinfo with the subject: `sub` but for servers without OpenID Connect. */
  userinfoSubject: string;
  userinfoAnswer: WrongAnswer | undefined;
  userinfoChanges: Readonly<Record<string, unknown>>;
  /** Subjects are numbers (as text), not names. */
  numericSubjects: boolean;
  /** Members of single people that differ from those of quirky-people.ts; undefined removes one. */
  people: Readonly<Record<string, Readonly<Record<string, unknown>>>>;

  // Its clock
  /** How far it is ahead: in Date, and in the times of tokens. */
  clockOffsetSeconds: number;

  // Keys
  keysWithoutAlg: boolean;
  keysWithoutKid: boolean;
  encryptionKeysMixedIn: boolean;
  badKeysMixedIn: boolean;
  jwksAnswer: WrongAnswer | undefined;
}

/** A standard identity provider. */
export const noQuirks: Readonly<Quirks> = {
  metadataDocuments: ['oauth-authorization-server', 'openid-configuration'],
  issuerPath: '',
  metadataIssuer: undefined,
  metadataAnswer: undefined,
  metadataMembers: {},
  twoRegistrationEndpoints: false,
  headLeadsToLogin: false,
  hidesPkce: false,
  advertisesIss: false,
  tokenEndpointAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
  endpointPaths: {},
  hasSecondOrigin: false,
  emitsIss: 'never',
  issValue: undefined,
  callbackParameters: {},
  registration: 'open',
  registrationScheme: 'Bearer',
  registrationStatus: 201,
  registrationAnswer: undefined,
  registrationRefusesScope: 'no',
  registrationScopeError: '400 invalid_scope',
  registrationRefusesUnknownMembers: false,
  secretComesWithNone: false,
  insistsOnMethod: undefined,
  talksTooMuch: false,
  requiresNonce: false,
  requiresOpenid: false,
  resource: 'accepted',
  takesAudienceParameter: false,
  knownUser: undefined,
  knownScopes: undefined,
  loginError: undefined,
  authorizeAnswer: undefined,
  ignoresPkce: false,
  tokenAnswer: undefined,
  refreshAnswer: undefined,
  deadRefreshToken: 'invalid_grant',
  rotatesRefreshTokens: true,
  keepsRefreshTokenToItself: false,
  refreshTokens: 'all',
  secondLoginEndsFirst: false,
  accessTokenFormat: 'jwt',
  audience: 'resource',
  scopeClaim: 'string',
  omitsSubject: false,
  tokenIssuer: undefined,
  tokenClaims: {},
  accessTokenSeconds: 600,
  idTokenMembers: [],
  idTokenHash: 'made-up',
  idTokenHasAzp: false,
  idTokenChanges: {},
  omitsIdToken: false,
  omitsIdTokenOnRefresh: false,
  userinfoMembers: undefined,
  userinfoSubject: 'sub',
  userinfoAnswer: undefined,
  userinfoChanges: {},
  numericSubjects: false,
  people: {},
  clockOffsetSeconds: 0,
  keysWithoutAlg: false,
  keysWithoutKid: false,
  encryptionKeysMixedIn: false,
  badKeysMixedIn: false,
  jwksAnswer: undefined,
};

/** Faults of an identity provider at one step, by the words that operators have for them. */
export const wrongAnswers = {
  down: 'cut',
  slow: 'never',
  'a 500': { status: 500, headers: { 'content-type': 'application/json' }, body: '{"error":"server_error"}' },
  HTML: { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>We are improving our service</h1>' },
  garbage: { status: 200, headers: { 'content-type': 'application/json' }, body: '{"access_token":\u0000[}' },
} as const satisfies Readonly<Record<string, WrongAnswer>>;
