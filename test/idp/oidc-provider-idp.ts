// The identity provider of most flow tests: the real oidc-provider on loopback, with two users whose logins a script can drive.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import OidcProvider, { type InteractionDetails } from 'oidc-provider';
import { createSigningKey, type SigningKey } from './signing-keys.ts';
import {
  type ListenOptions,
  readWholeBody,
  startSwitchableServer,
  type SwitchableServer,
} from './switchable-server.ts';
import { findUser, renderIdpConsentPage, renderLoginPage, testUsers } from './test-users.ts';

/** How this one is set up. */
export interface OidcProviderOptions {
  /** Emits and advertises `iss` in authorization responses (RFC 9207), as oidc-provider does by itself. Default true. */
  readonly iss?: boolean;
  /** Who may register clients. Default `open`. */
  readonly registration?: 'open' | 'initial-access-token' | 'none';
  /** Clients that are registered beforehand. */
  readonly clients?: readonly Readonly<Record<string, unknown>>[];
  /** Life of an access token in seconds. Default 600. */
  readonly accessTokenSeconds?: number;
  /** Scopes beyond openid and offline_access. Default tickets:read and tickets:write. */
  readonly scopes?: readonly string[];
  /** Default: http on loopback. */
  readonly listen?: ListenOptions;
}

/** It runs. */
export interface OidcProviderIdp {
  readonly issuer: string;
  readonly server: SwitchableServer;
  /** An initial access token; good any number of times. */
  readonly initialAccessToken: string;
  /** Signs with a new key from now on; the old ones stay published unless told otherwise. */
  rotateKeys(options?: { readonly withdrawOld?: boolean }): Promise<void>;
  /** Life of the access tokens from now on. */
  accessTokenSeconds: number;
  close(): Promise<void>;
}

/** Starts one. */
export async function startOidcProviderIdp(options: OidcProviderOptions = {}): Promise<OidcProviderIdp> {
  const scopes = options.scopes ?? ['tickets:read', 'tickets:write'];
  const initialAccessToken = randomBytes(24).toString('base64url');
  const cookieKey = randomBytes(32).toString('base64url');
  const store = createStore();
  let keys: readonly SigningKey[] = [await createSigningKey()];
  let accessTokenSeconds = options.accessTokenSeconds ?? 600;

  const createProvider = (issuer: string): OidcProvider => {
    const provider = new OidcProvider(issuer, {
      adapter: store,
      clients: options.clients ?? [],
      cookies: { keys: [cookieKey] },
      jwks: { keys: keys.map(({ privateJwk }) => privateJwk) },
      scopes: ['openid', 'offline_access', ...scopes],
      claims: { openid: ['sub'], profile: ['groups'] },
      pkce: { required: () => true },
      clientBasedCORS: () => true,
      findAccount: (_context: unknown, id: string) => {
        const user = testUsers.find((each) => each.id === id);
        return user === undefined ? undefined : { accountId: id, claims: () => ({ sub: id, groups: user.groups }) };
      },
      extraTokenClaims: (_context: unknown, token: { accountId?: string }) => ({
        groups: testUsers.find((user) => user.id === token.accountId)?.groups ?? [],
      }),
      issueRefreshToken: (_context: unknown, client: { grantTypeAllowed(type: string): boolean }) =>
        client.grantTypeAllowed('refresh_token'),
      rotateRefreshToken: true,
      expiresWithSession: () => false,
      interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      ttl: {
        AccessToken: 600,
        AuthorizationCode: 60,
        Grant: 86_400,
        IdToken: 600,
        Interaction: 600,
        RefreshToken: 86_400,
        Session: 86_400,
      },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        registration: {
          enabled: options.registration !== 'none',
          initialAccessToken: options.registration === 'initial-access-token' ? initialAccessToken : false,
        },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_context: unknown, resource: string) => ({
            audience: resource,
            scope: scopes.join(' '),
            accessTokenFormat: 'jwt',
            accessTokenTTL: accessTokenSeconds,
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
    });
    if (options.iss === false) provider.use(hideIss);
    return provider;
  };

  let provider: OidcProvider | undefined;
  let callback: ReturnType<OidcProvider['callback']> | undefined;
  const server = await startSwitchableServer((origin) => {
    provider = createProvider(origin);
    callback = provider.callback();
    return (request, response) =>
      request.url!.startsWith('/interaction/')
        ? serveInteraction(provider!, request, response)
        : callback!(request, response);
  }, options.listen);
  return {
    issuer: server.origin,
    server,
    initialAccessToken,
    async rotateKeys({ withdrawOld = false } = {}) {
      // The first key that fits is the one that signs.
      keys = [await createSigningKey(), ...(withdrawOld ? [] : keys)];
      provider = createProvider(server.origin);
      callback = provider.callback();
    },
    get accessTokenSeconds() {
      return accessTokenSeconds;
    },
    set accessTokenSeconds(value) {
      accessTokenSeconds = value;
    },
    close: () => server.close(),
  };
}

interface KoaContext {
  readonly path: string;
  body: unknown;
  readonly response: { get(name: string): string };
  set(name: string, value: string): void;
}

/** As an identity provider that knows nothing of RFC 9207. */
async function hideIss(context: unknown, next: () => Promise<void>): Promise<void> {
  await next();
  const koa = context as KoaContext;
  if (koa.path.startsWith('/.well-known/') && typeof koa.body === 'object') {
    delete (koa.body as Record<string, unknown>)['authorization_response_iss_parameter_supported'];
  }
  const location = koa.response.get('location');
  if (location === '' || !URL.canParse(location)) return;
  const url = new URL(location);
  if (!url.searchParams.has('iss')) return;
  url.searchParams.delete('iss');
  koa.set('location', url.href);
}

async function serveInteraction(
  provider: OidcProvider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const details = await provider.interactionDetails(request, response);
  const isLogin = details.prompt.name === 'login';
  const showPage = (status: number, problem?: string): void => {
    const page = isLogin
      ? renderLoginPage(`/interaction/${details.uid}`, problem)
      : renderIdpConsentPage(
          `/interaction/${details.uid}`,
          String(details.params['client_id']),
          String(details.params['scope']),
        );
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
    response.end(page);
  };
  if (request.method !== 'POST') return showPage(200);
  const form = new URLSearchParams(await readWholeBody(request));
  const decision = form.get('decision');
  if (decision === 'cancel' || decision === 'deny') {
    const refusal = { error: 'access_denied', error_description: 'The person said no.' };
    return provider.interactionFinished(request, response, refusal, { mergeWithLastSubmission: false });
  }
  if (!isLogin) {
    const grantId = await grantWhatIsMissing(provider, details);
    return provider.interactionFinished(request, response, { consent: { grantId } });
  }
  const user = findUser(form.get('username'), form.get('password'));
  if (user === undefined) return showPage(401, 'Wrong name or password.');
  const result = { login: { accountId: user.id } };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

interface Missing {
  readonly missingOIDCScope?: readonly string[];
  readonly missingOIDCClaims?: readonly string[];
  readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>>;
}

async function grantWhatIsMissing(provider: OidcProvider, details: InteractionDetails): Promise<string> {
  const known = details.grantId === undefined ? undefined : await provider.Grant.find(details.grantId);
  const owner = { accountId: details.session?.accountId ?? '', clientId: String(details.params['client_id']) };
  const grant = known ?? new provider.Grant(owner);
  const missing = details.prompt.details as Missing;
  if (missing.missingOIDCScope !== undefined) grant.addOIDCScope(missing.missingOIDCScope.join(' '));
  if (missing.missingOIDCClaims !== undefined) grant.addOIDCClaims(missing.missingOIDCClaims);
  for (const [resource, scopes] of Object.entries(missing.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(' '));
  }
  return grant.save();
}

type Stored = Record<string, unknown> & { grantId?: string; uid?: string; consumed?: number };

/** What oidc-provider keeps, outside of it: a new instance with new keys goes on where the old one stopped. */
function createStore(): new (model: string) => object {
  const entries = new Map<string, Stored>();
  return class Adapter {
    readonly #model: string;
    constructor(model: string) {
      this.#model = model;
    }
    async upsert(id: string, payload: Stored): Promise<void> {
      entries.set(`${this.#model}:${id}`, payload);
    }
    async find(id: string): Promise<Stored | undefined> {
      return entries.get(`${this.#model}:${id}`);
    }
    async findByUid(uid: string): Promise<Stored | undefined> {
      return [...entries].find(([key, value]) => key.startsWith(`${this.#model}:`) && value.uid === uid)?.[1];
    }
    async findByUserCode(): Promise<undefined> {}
    async consume(id: string): Promise<void> {
      const entry = entries.get(`${this.#model}:${id}`);
      if (entry !== undefined) entry.consumed = Math.floor(Date.now() / 1_000);
    }
    async destroy(id: string): Promise<void> {
      entries.delete(`${this.#model}:${id}`);
    }
    async revokeByGrantId(grantId: string): Promise<void> {
      for (const [key, value] of entries) if (value.grantId === grantId) entries.delete(key);
    }
  };
}
