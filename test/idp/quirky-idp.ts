// An OAuth server of our own in which every deviation of real identity providers is a switch, and which remembers what reached it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Algorithm } from '../../src/gateway/authentication/token/algorithms.ts';
import { authorize, logIn } from './quirky-login.ts';
import { serveKeys, serveMetadata } from './quirky-metadata.ts';
import { register } from './quirky-registration.ts';
import { type Grant, type IdpAnswer, type IdpCall, type IdpState, listEndpoints, readClock } from './quirky-state.ts';
import { createAccessToken, redeem, signClaims } from './quirky-token.ts';
import { answerUserinfo } from './quirky-userinfo.ts';
import { type EndpointName, noQuirks, type Quirks } from './quirks.ts';
import { createSigningKey } from './signing-keys.ts';
import { readWholeBody, startSwitchableServer, type SwitchableServer } from './switchable-server.ts';

/** It runs. */
export interface QuirkyIdp {
  readonly issuer: string;
  readonly server: SwitchableServer;
  /** With the tokens, the keys and userinfo: another one where `hasSecondOrigin` is on. */
  readonly secondServer: SwitchableServer;
  readonly quirks: Quirks;
  readonly state: IdpState;
  /** Paths of the endpoints. */
  readonly paths: ReturnType<typeof listEndpoints>;
  /** Registers a client beforehand, for Shared. */
  addClient(client: { id: string; secret?: string; method?: string; redirectUris: readonly string[] }): void;
  /** A token as a login would give it. */
  issueAccessToken(grant: Partial<Grant>): Promise<string>;
  /** A token with exactly these claims. */
  sign(claims: Record<string, unknown>, typ?: string): Promise<string>;
  rotateKeys(options?: { readonly withdrawOld?: boolean; readonly alg?: Algorithm }): Promise<void>;
  close(): Promise<void>;
}

/** Starts one; all switches that are not named are off. */
export async function startQuirkyIdp(quirks: Partial<Quirks> = {}): Promise<QuirkyIdp> {
  const key = await createSigningKey();
  const listening = Promise.withResolvers<IdpState>();
  const second =
    quirks.hasSecondOrigin === true
      ? await startSwitchableServer((origin) => async (request, response) => {
          await serve(await listening.promise, origin, request, response);
        })
      : undefined;
  let state: IdpState | undefined;
  const server = await startSwitchableServer((origin) => {
    const all = { ...noQuirks, ...quirks };
    state = {
      origin,
      secondOrigin: second?.origin ?? origin,
      issuer: origin + all.issuerPath,
      quirks: all,
      keys: [key],
      clients: new Map(),
      codes: new Map(),
      redeemedCodes: new Set(),
      refreshTokens: new Map(),
      accessTokens: new Map(),
      consents: new Set(),
      removedUsers: new Set(),
      initialAccessTokens: new Set(),
      secrets: new Set(),
    };
    return (request, response) => serve(state!, origin, request, response);
  });
  const own = state!;
  listening.resolve(own);
  return {
    issuer: own.issuer,
    server,
    secondServer: second ?? server,
    quirks: own.quirks,
    state: own,
    paths: listEndpoints(own),
    addClient({ id, secret, method = secret === undefined ? 'none' : 'client_secret_basic', redirectUris }) {
      if (secret !== undefined) own.secrets.add(secret);
      own.clients.set(id, { id, secret, method, redirectUris, metadata: {} });
    },
    issueAccessToken: (grant) =>
      createAccessToken(own, {
        clientId: 'some-client',
        user: 'alice',
        scope: '',
        resource: undefined,
        audience: undefined,
        nonce: undefined,
        ...grant,
      }),
    sign: (claims, typ = 'at+jwt') => signClaims(own, claims, typ),
    async rotateKeys({ withdrawOld = false, alg } = {}) {
      own.keys = [await createSigningKey(alg), ...(withdrawOld ? [] : own.keys)];
    },
    close: async () => {
      await server.close();
      await second?.close();
    },
  };
}

async function serve(
  state: IdpState,
  origin: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', state.origin);
  const call: IdpCall = {
    method: request.method ?? '',
    path: pathname,
    query: searchParams,
    headers: request.headers,
    body: await readWholeBody(request),
  };
  const answer = await route(state, origin, call);
  if (answer === 'never') return;
  if (answer === 'cut') {
    response.destroy();
    return;
  }
  response.setHeader('date', new Date(readClock(state) * 1_000).toUTCString());
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body);
}

/** What belongs to the second origin is there only, and nothing else is. */
const secondNames: readonly string[] = ['token', 'jwks', 'userinfo'] satisfies EndpointName[];

function route(state: IdpState, origin: string, call: IdpCall): IdpAnswer | Promise<IdpAnswer> {
  if (call.method === 'HEAD' && state.quirks.headLeadsToLogin) {
    return { status: 302, headers: { location: `${state.origin}/sso/login` } };
  }
  const paths = listEndpoints(state);
  const name = Object.entries(paths).find(([, path]) => path === call.path)?.[0] ?? '';
  if (origin !== (secondNames.includes(name) ? state.secondOrigin : state.origin)) return notFound;
  const key = `${call.method === 'HEAD' ? 'GET' : call.method} ${call.path}`;
  switch (key) {
    case `GET ${paths.authorize}`:
      return authorize(state, call);
    case `POST ${paths.login}`:
      return logIn(state, call);
    case `POST ${paths.token}`:
      return redeem(state, call);
    case `POST ${paths.register}`:
      return register(state, call);
    case `POST ${paths.otherRegister}`:
      return { status: 401, headers: { 'content-type': 'application/json' }, body: '{"error":"invalid_token"}' };
    case `GET ${paths.jwks}`:
      return serveKeys(state);
    case `GET ${paths.userinfo}`:
    case `POST ${paths.userinfo}`:
      return answerUserinfo(state, call);
    default:
      return serveMetadata(state, call) ?? notFound;
  }
}

const notFound: IdpAnswer = { status: 404, headers: { 'content-type': 'text/html' }, body: '<h1>Not found</h1>' };
