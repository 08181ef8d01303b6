// What the quirky identity provider knows and keeps, and the shape of its answers.
import type { IncomingHttpHeaders } from 'node:http';
import type { EndpointName, Quirks, WrongAnswer } from './quirks.ts';
import type { SigningKey } from './signing-keys.ts';

/** A client that is registered. */
export interface RegisteredClient {
  readonly id: string;
  readonly secret: string | undefined;
  /** `as-listed`: any method of the metadata, as for clients that an administrator made. */
  readonly method: string;
  readonly redirectUris: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What somebody agreed to. */
export interface Grant {
  readonly clientId: string;
  readonly user: string;
  readonly scope: string;
  readonly resource: string | undefined;
  readonly audience: string | undefined;
  readonly nonce: string | undefined;
  /** A refresh token may come with it (`access_type`). */
  readonly isOffline?: boolean;
}

/** A code that waits to be redeemed. */
export interface IssuedCode extends Grant {
  readonly redirectUri: string;
  readonly challenge: string | undefined;
}

/** All of it. */
export interface IdpState {
  readonly origin: string;
  /** Of tokens, keys and userinfo. */
  readonly secondOrigin: string;
  readonly issuer: string;
  readonly quirks: Quirks;
  /** The first one signs. */
  keys: readonly SigningKey[];
  readonly clients: Map<string, RegisteredClient>;
  readonly codes: Map<string, IssuedCode>;
  readonly redeemedCodes: Set<string>;
  readonly refreshTokens: Map<string, Grant>;
  /** What access tokens were given for, for userinfo. */
  readonly accessTokens: Map<string, Grant>;
  /** Who agreed to what client's wishes before: `client user`. */
  readonly consents: Set<string>;
  /** Whose accounts are gone. */
  readonly removedUsers: Set<string>;
  /** Initial access tokens that are good. */
  readonly initialAccessTokens: Set<string>;
  /** Every secret that was ever given out or expected: none of them may reach an MCP client. */
  readonly secrets: Set<string>;
}

/** A request, read. */
export interface IdpCall {
  /** `as-listed`: any method of the metadata, as for clients that an administrator made. */
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An answer. */
export type IdpAnswer = WrongAnswer;

/** Seconds since 1970, by its own clock. */
export function readClock({ quirks }: IdpState): number {
  return Math.floor(Date.now() / 1_000) + quirks.clockOffsetSeconds;
}

/** A JSON answer. */
export function answerJson(status: number, body: unknown, headers: Record<string, string> = {}): IdpAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(body),
  };
}

/** An OAuth error. */
export function answerError(status: number, error: string, description: string): IdpAnswer {
  return answerJson(status, { error, error_description: description });
}

/** Paths of the endpoints, below the path of the issuer. */
export function listEndpoints({ quirks }: Pick<IdpState, 'quirks'>): Readonly<Record<EndpointName, string>> {
  const base = quirks.issuerPath.replace(/\/$/, '');
  const usual = {
    authorize: '/authorize',
    login: '/login',
    token: '/token',
    register: '/register',
    otherRegister: '/internal/clients-registrations',
    jwks: '/jwks',
    userinfo: '/userinfo',
  };
  const paths = Object.entries({ ...usual, ...quirks.endpointPaths }).map(([name, path]) => [name, base + path]);
  return Object.fromEntries(paths) as Record<EndpointName, string>;
}
