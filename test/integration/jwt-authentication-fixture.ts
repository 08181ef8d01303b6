// What the jwt-authentication*.test.ts files stand on: policies as users write them, and a server of keys.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { encodePart } from '../kit/test-issuer.ts';
import { type Answer, type Closable, listenOnLoopback, readError, resource } from './gateway-fixture.ts';

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
