// Identity providers and what an operator writes for each: one axis of the compatibility matrix.
import { type GithubIdp, startGithubIdp } from './github-idp.ts';
import type { GithubApp } from './github-state.ts';
import { idpProfiles } from './idp-profiles.ts';
import { startOidcProviderIdp, type OidcProviderOptions } from './oidc-provider-idp.ts';
import { type QuirkyIdp, startQuirkyIdp } from './quirky-idp.ts';
import type { Quirks } from './quirks.ts';
import type { SwitchableServer } from './switchable-server.ts';

/** An identity provider that runs, and the policy for it. */
export interface StartedIdp {
  readonly issuer: string;
  readonly server: SwitchableServer;
  /** `spec.backend.mcp.authentication`. */
  readonly authentication: Readonly<Record<string, unknown>>;
  /** Entries of the Secret `idp`. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The quirky one's switches and memory. */
  readonly quirky: QuirkyIdp | undefined;
  /** Signs with a new key from now on. */
  rotateKeys(options?: { readonly withdrawOld?: boolean }): Promise<void>;
  close(): Promise<void>;
}

/** An identity provider to start. */
export interface AuthSetup {
  readonly name: string;
  /** The flow that must be in force with it. */
  readonly flow: 'Facade' | 'Broker' | 'Direct' | 'Issuer';
  /** One client stands for all. */
  readonly isShared: boolean;
  /** Public clients get refresh tokens. */
  readonly refreshes: boolean;
  /** The page in docs whose policy this is, and the issuer in that policy. */
  readonly page?: { readonly path: string; readonly issuer: string };
  /** `callback`: the address of the gateway that a pre-registered client redirects to. */
  start(callback: string): Promise<StartedIdp>;
}

/** Whether people see a page of the gateway, and the identity provider only knows the gateway's callback. */
export function isBroker({ flow }: Pick<AuthSetup, 'flow'>): boolean {
  return flow === 'Broker' || flow === 'Issuer';
}

const sharedSecret = 'the-secret-of-the-shared-client';

const sharedRegistration = {
  mode: 'Shared',
  clientId: 'gateway',
  clientSecretRef: { name: 'idp', key: 'client-secret' },
};

interface OidcSetup extends OidcProviderOptions {
  readonly authentication?: Readonly<Record<string, unknown>>;
}

async function startOidc(options: OidcSetup): Promise<StartedIdp> {
  const idp = await startOidcProviderIdp(options);
  return {
    issuer: idp.issuer,
    server: idp.server,
    authentication: { issuer: idp.issuer, requiredScopes: ['tickets:read'], ...options.authentication },
    secrets: { 'client-secret': sharedSecret, 'initial-access-token': idp.initialAccessToken },
    quirky: undefined,
    rotateKeys: (how) => idp.rotateKeys(how),
    close: () => idp.close(),
  };
}

/** The real oidc-provider in its variations. */
export const oidcProviderSetups: readonly AuthSetup[] = [
  {
    name: 'oidc-provider',
    flow: 'Broker',
    isShared: false,
    refreshes: true,
    start: () => startOidc({}),
  },
  {
    name: 'oidc-provider without iss',
    flow: 'Facade',
    isShared: false,
    refreshes: true,
    start: () => startOidc({ iss: false }),
  },
  {
    name: 'oidc-provider with an initial access token',
    flow: 'Broker',
    isShared: false,
    refreshes: true,
    start: () =>
      startOidc({
        registration: 'initial-access-token',
        authentication: {
          registration: { initialAccessTokenRef: { name: 'idp', key: 'initial-access-token' } },
        },
      }),
  },
  {
    name: 'oidc-provider without registration (Shared)',
    flow: 'Broker',
    isShared: true,
    refreshes: true,
    start: (callback) =>
      startOidc({
        registration: 'none',
        clients: [
          {
            client_id: 'gateway',
            client_secret: sharedSecret,
            redirect_uris: [callback],
            application_type: 'native',
            grant_types: ['authorization_code', 'refresh_token'],
          },
        ],
        authentication: { registration: sharedRegistration },
      }),
  },
  {
    name: 'oidc-provider, Direct',
    flow: 'Direct',
    isShared: false,
    refreshes: true,
    start: () => startOidc({ authentication: { flow: 'Direct' } }),
  },
];

/** Starts the quirky one with a policy for it. */
export async function startQuirky(
  quirks: Partial<Quirks>,
  authentication: Readonly<Record<string, unknown>>,
  shared?: { readonly callback: string; readonly method?: string },
): Promise<StartedIdp & { readonly quirky: QuirkyIdp }> {
  const idp = await startQuirkyIdp(quirks);
  const initialAccessToken = 'an-initial-access-token';
  idp.state.initialAccessTokens.add(initialAccessToken);
  idp.state.secrets.add(initialAccessToken);
  // May ask for initial access tokens, and nothing else.
  const registrarSecret = 'the-secret-of-the-registrar';
  idp.addClient({ id: 'registrar', secret: registrarSecret, redirectUris: [] });
  if (shared !== undefined) {
    const { callback, method = 'client_secret_basic' } = shared;
    idp.addClient({ id: 'gateway', secret: sharedSecret, method, redirectUris: [callback] });
  }
  const registration = {
    none: shared === undefined ? {} : { registration: sharedRegistration },
    open: {},
    token: { registration: { initialAccessTokenRef: { name: 'idp', key: 'initial-access-token' } } },
    'one-use-token': {
      registration: {
        initialAccessTokenFrom: {
          clientCredentials: {
            clientId: 'registrar',
            clientSecretRef: { name: 'idp', key: 'registrar-secret' },
            scope: 'client.create',
          },
        },
      },
    },
  }[idp.quirks.registration];
  return {
    issuer: idp.issuer,
    server: idp.server,
    authentication: { issuer: idp.issuer, ...registration, ...authentication },
    secrets: {
      'client-secret': sharedSecret,
      'registrar-secret': registrarSecret,
      'initial-access-token': initialAccessToken,
    },
    quirky: idp,
    rotateKeys: (how) => idp.rotateKeys(how),
    close: () => idp.close(),
  };
}

/** Starts one like GitHub with a policy for it. */
export async function startGithub(
  kind: GithubApp['kind'],
  callback: string,
  identity: Readonly<Record<string, unknown>> = { allow: { organizations: ['acme'] } },
): Promise<StartedIdp & { readonly github: GithubIdp }> {
  const github = await startGithubIdp({ kind, clientId: 'gateway', clientSecret: sharedSecret, callback });
  const { issuer, endpoints, server } = github;
  return {
    issuer,
    server,
    authentication: { provider: 'GitHub', issuer, endpoints, identity, registration: sharedRegistration },
    secrets: { 'client-secret': sharedSecret },
    quirky: undefined,
    github,
    rotateKeys: () => Promise.reject(new Error('it signs nothing')),
    close: () => github.close(),
  };
}

const githubSetups: readonly AuthSetup[] = (['OAuth app', 'App'] as const).map((kind) => ({
  name: `a stub like GitHub, ${kind}`,
  flow: 'Issuer',
  isShared: true,
  refreshes: true,
  start: (callback) => startGithub(kind, callback),
}));

/** Stubs that behave like well-known identity providers. */
export const profileSetups: readonly AuthSetup[] = [
  ...idpProfiles.map((profile): AuthSetup => ({
    name: `a stub like ${profile.name}`,
    flow: profile.flow,
    isShared: profile.registration === 'Shared',
    refreshes: true,
    async start(callback) {
      const shared = profile.registration === 'Shared' ? { callback, method: 'as-listed' } : undefined;
      const idp = await startQuirky(profile.quirks, profile.authentication, shared);
      if (profile.lacksMetadata !== true) return idp;
      return { ...idp, authentication: { ...idp.authentication, endpoints: listPolicyEndpoints(idp.quirky) } };
    },
  })),
  ...githubSetups,
];

/** `endpoints` of a policy. */
export function listPolicyEndpoints({
  state,
  secondServer,
  paths,
}: QuirkyIdp): Readonly<Record<'authorization' | 'token' | 'userinfo', string>> {
  return {
    authorization: state.origin + paths.authorize,
    token: secondServer.origin + paths.token,
    userinfo: secondServer.origin + paths.userinfo,
  };
}
