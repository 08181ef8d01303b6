// A realm for MCP as an operator of Keycloak sets it up: users, a scope with an audience mapper, and who may register clients.
import type { AuthSetup, StartedIdp } from './auth-setups.ts';
import type { Keycloak } from './keycloak.ts';
import { passOn } from './pass-on.ts';
import { startSwitchableServer } from './switchable-server.ts';
import { type TestUser, testUsers } from './test-users.ts';

/** How clients come to be registered in a realm. */
export type KeycloakRegistration = 'anonymous' | 'initial-access-token' | 'shared';

const scope = 'tickets:read';
const audience = 'api://tickets';
const sharedSecret = 'the-secret-of-the-shared-client';

/** The three ways of registration, each in a realm of its own. */
export function createKeycloakSetups(getKeycloak: () => Keycloak): AuthSetup[] {
  const titles: Readonly<Record<KeycloakRegistration, string>> = {
    anonymous: 'Keycloak 26, anonymous registration',
    'initial-access-token': 'Keycloak 26 with an initial access token',
    shared: 'Keycloak 26, Shared',
  };
  return (Object.keys(titles) as KeycloakRegistration[]).map((registration) => ({
    name: titles[registration],
    flow: 'Broker',
    isShared: registration === 'shared',
    refreshes: true,
    start: (callback) => startRealm(getKeycloak(), registration, callback),
  }));
}

async function startRealm(
  keycloak: Keycloak,
  registration: KeycloakRegistration,
  callback: string,
): Promise<StartedIdp> {
  const realm = `mcp-${registration}`;
  await keycloak.administer('POST', '', { realm, enabled: true });
  for (const user of testUsers) await keycloak.administer('POST', `/${realm}/users`, describeUser(user));
  await addScope(keycloak, realm);
  if (registration === 'anonymous') await trustLoopback(keycloak, realm);
  if (registration === 'shared') await addSharedClient(keycloak, realm, callback);
  // In development mode Keycloak calls itself what the Host header calls it: the server in front, which notes what arrives.
  const server = await startSwitchableServer(() => (incoming, outgoing) => passOn(keycloak.origin, incoming, outgoing));
  const initialAccessToken =
    registration === 'initial-access-token' ? await createInitialAccessToken(keycloak, realm, server.origin) : '';
  const issuer = `${server.origin}/realms/${realm}`;
  return {
    issuer,
    server,
    authentication: {
      issuer,
      provider: 'Keycloak',
      audiences: [audience],
      requiredScopes: [scope],
      ...describeRegistration(registration),
    },
    secrets: { 'client-secret': sharedSecret, 'initial-access-token': initialAccessToken },
    quirky: undefined,
    rotateKeys: ({ withdrawOld = false } = {}) => rotateKeys(keycloak, realm, withdrawOld),
    close: async () => {
      await server.close();
      await keycloak.administer('DELETE', `/${realm}`);
    },
  };
}

function describeRegistration(registration: KeycloakRegistration): object {
  switch (registration) {
    case 'anonymous':
      return {};
    case 'initial-access-token':
      return { registration: { initialAccessTokenRef: { name: 'idp', key: 'initial-access-token' } } };
    case 'shared':
      return {
        registration: {
          mode: 'Shared',
          clientId: 'gateway',
          clientSecretRef: { name: 'idp', key: 'client-secret' },
        },
      };
  }
}

function describeUser({ id, password }: TestUser): object {
  return {
    username: id,
    enabled: true,
    // Without a name and an address Keycloak asks for them at the first login.
    firstName: id,
    lastName: 'Test',
    email: `${id}@example.com`,
    emailVerified: true,
    credentials: [{ type: 'password', value: password, temporary: false }],
  };
}

/** A scope that any client may ask for, and that makes tokens good for the MCP server. */
async function addScope(keycloak: Keycloak, realm: string): Promise<void> {
  await keycloak.administer('POST', `/${realm}/client-scopes`, {
    name: scope,
    protocol: 'openid-connect',
    attributes: { 'include.in.token.scope': 'true', 'display.on.consent.screen': 'true' },
    protocolMappers: [
      {
        name: 'audience of the MCP server',
        protocol: 'openid-connect',
        protocolMapper: 'oidc-audience-mapper',
        config: { 'included.custom.audience': audience, 'access.token.claim': 'true' },
      },
    ],
  });
  const scopes = (await keycloak.administer('GET', `/${realm}/client-scopes`)) as { id: string; name: string }[];
  const { id } = scopes.find(({ name }) => name === scope)!;
  await keycloak.administer('PUT', `/${realm}/default-optional-client-scopes/${id}`, {});
}

interface Component {
  readonly id: string;
  readonly providerId: string;
  readonly subType: string;
  readonly config: Readonly<Record<string, readonly string[]>>;
}

/** As shipped, nobody may register without a token. Clients on loopback may from now on. */
async function trustLoopback(keycloak: Keycloak, realm: string): Promise<void> {
  const type = 'org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy';
  const policies = (await keycloak.administer('GET', `/${realm}/components?type=${type}`)) as Component[];
  const policy = policies.find((each) => each.providerId === 'trusted-hosts' && each.subType === 'anonymous')!;
  await keycloak.administer('PUT', `/${realm}/components/${policy.id}`, {
    ...policy,
    config: { ...policy.config, 'trusted-hosts': ['127.0.0.1'] },
  });
}

async function addSharedClient(keycloak: Keycloak, realm: string, callback: string): Promise<void> {
  await keycloak.administer('POST', `/${realm}/clients`, {
    clientId: 'gateway',
    secret: sharedSecret,
    publicClient: false,
    standardFlowEnabled: true,
    directAccessGrantsEnabled: false,
    redirectUris: [callback],
    attributes: { 'pkce.code.challenge.method': 'S256' },
  });
}

async function createInitialAccessToken(keycloak: Keycloak, realm: string, through: string): Promise<string> {
  const path = `/${realm}/clients-initial-access`;
  const created = await keycloak.administer('POST', path, { count: 1_000, expiration: 86_400 }, through);
  return (created as { token: string }).token;
}

async function rotateKeys(keycloak: Keycloak, realm: string, withdrawOld: boolean): Promise<void> {
  const type = 'org.keycloak.keys.KeyProvider';
  const before = (await keycloak.administer('GET', `/${realm}/components?type=${type}`)) as Component[];
  const signing = before.filter(({ providerId }) => providerId === 'rsa-generated');
  const priorities = signing.map(({ config }) => Number(config['priority']?.[0] ?? 0));
  const { id } = (await keycloak.administer('GET', `/${realm}`)) as { id: string };
  await keycloak.administer('POST', `/${realm}/components`, {
    name: `signing key ${signing.length + 1}`,
    providerId: 'rsa-generated',
    providerType: type,
    parentId: id,
    config: { priority: [String(Math.max(...priorities) + 1)], algorithm: ['RS256'] },
  });
  if (!withdrawOld) return;
  for (const old of signing) await keycloak.administer('DELETE', `/${realm}/components/${old.id}`);
}
