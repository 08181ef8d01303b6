// What the jwt-authentication*.test.ts files stand on: issuers with real keys, and policies as users write them.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createTestKey, encodePart, signWithJose, type TestKey } from '../kit/test-issuer.ts';
import { type Answer, type Closable, listenOnLoopback, readError, resource } from './gateway-fixture.ts';

/** Whoever issues tokens. */
export interface TestIssuer {
  readonly issuer: string;
  readonly kid: string;
  /** The key that signs now. */
  readonly key: TestKey;
  /** All that are published, as JSON. */
  readonly jwks: string;
  /** A token that is fine but for what the claims and the header say; undefined takes a claim away. */
  readonly sign: (claims?: object, header?: object) => Promise<string>;
  /** From now on another key signs and is published, the old one no more. */
  rotate(kid: string): void;
}

/** Now, as tokens say it. */
export const seconds = (): number => Math.floor(Date.now() / 1_000);

/** Makes an issuer with one key. */
export function createIssuer(issuer: string, kid = 'one'): TestIssuer {
  let current = { kid, key: createTestKey('RS256', { kid }) };
  return {
    issuer,
    get kid() {
      return current.kid;
    },
    get key() {
      return current.key;
    },
    get jwks() {
      return JSON.stringify({ keys: [current.key.publicJwk] });
    },
    sign: (claims = {}, header = {}) =>
      signWithJose(
        current.key,
        { alg: 'RS256', kid: current.kid, ...header },
        { iss: issuer, sub: 'alice', aud: 'api', iat: seconds(), exp: seconds() + 600, ...claims },
      ),
    rotate(next) {
      current = { kid: next, key: createTestKey('RS256', { kid: next }) };
    },
  };
}

/** A provider of a policy whose keys are in the policy. */
export function providerOf(name: string, { issuer, jwks }: TestIssuer, rest: object = {}): object {
  return { name, issuer, audiences: ['api'], jwks: { inline: jwks }, ...rest };
}

const gatewayApi = 'gateway.networking.k8s.io';

/** A ProxyPolicy with JWT authentication on a Gateway or an HTTPRoute, or on a part of it. */
export function jwtPolicyOf(
  name: string,
  target: { readonly kind: 'Gateway' | 'HTTPRoute'; readonly name: string; readonly sectionName?: string },
  jwtAuthentication: object,
): object {
  return resource('gateway.proxy/v1alpha1', 'ProxyPolicy', name, {
    spec: { targetRefs: [{ group: gatewayApi, ...target }], traffic: { jwtAuthentication } },
  });
}

/** Serves a key set, which a test can change, hold back or break. */
export interface KeyServer extends Closable {
  readonly url: string;
  readonly port: number;
  readonly fetches: number;
  /** The document; undefined: no answer is given any more. */
  document: string | undefined;
}

/** Starts it on a free port, or on this one. */
export async function startKeyServer(document: string | undefined, port = 0): Promise<KeyServer> {
  let fetches = 0;
  let served = document;
  const listening = await listenOnLoopback(
    createServer((_request, response) => {
      fetches += 1;
      if (served !== undefined) response.setHeader('content-type', 'application/json').end(served);
    }),
    port,
  );
  return {
    ...listening,
    url: `http://127.0.0.1:${listening.port}/keys`,
    get fetches() {
      return fetches;
    },
    get document() {
      return served;
    },
    set document(next) {
      served = next;
    },
  };
}

/** Status and reason of an answer, its challenge, and what it says to people. */
export function describeDenial(answer: Answer): { error: string; challenge: string | undefined; description: string } {
  const error = readError(answer);
  const { error_description: description } = JSON.parse(answer.body) as { error_description: string };
  assert.equal(answer.headers['cache-control'], 'no-store');
  return { error, challenge: answer.headers['www-authenticate'], description };
}

/** `Authorization: Bearer`. */
export const bearerOf = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });

/** A token with no signature, or with one that somebody else made: header and claims as they are. */
export function forge(header: unknown, claims: unknown, signature = ''): string {
  return `${encodePart(header)}.${encodePart(claims)}.${signature}`;
}
