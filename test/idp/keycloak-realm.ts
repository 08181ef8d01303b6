// A realm for MCP as an operator of Keycloak sets it up: users, a scope with an audience mapper, and who may register clients; one of them by the commands of docs/idp/keycloak.md.
import type { AuthSetup, StartedIdp } from './auth-setups.ts';
import type { Keycloak } from './keycloak.ts';
import { readBlockWith } from './page-blocks.ts';
import { readPagePolicy } from './page-policy.ts';
import { passOn } from './pass-on.ts';
import { startSwitchableServer } from './switchable-server.ts';
import { type TestUser, testUsers } from './test-users.ts';

/** How clients come to be registered in a realm. */
export type KeycloakRegistration = 'anonymous' | 'initial-access-token' | 'shared';

const page = 'idp/keycloak.md';
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
    ...(registration === 'initial-access-token' && {
      page: { path: page, issuer: 'https://idp.example.com/realms/mcp' },
    }),
    start: (callback) => startRealm(getKeycloak(), registration, callback),
  }));
}

async function startRealm(
  keycloak: Keycloak,
  registration: KeycloakRegistration,
  callback: string,
): Promise<StartedIdp> {
  // In development mode Keycloak calls itself what the Host header calls it: the server in front, which notes what arrives.
  const server = await startSwitchableServer(() => (incoming, outgoing) => passOn(keycloak.origin, incoming, outgoing));
  const isByPage = registration === 'initial-access-token';
  const realm = isByPage ? 'mcp' : `mcp-${registration}`;
  const initialAccessToken = isByPage ? await followPage(keycloak, server.origin) : '';
  if (!isByPage) {
    await keycloak.administer('POST', '', { realm, enabled: true });
    await addScope(keycloak, realm);
  }
  for (const user of testUsers) await keycloak.administer('POST', `/${realm}/users`, describeUser(user));
  if (registration === 'anonymous') await trustLoopback(keycloak, realm);
  if (registration === 'shared') await addSharedClient(keycloak, realm, callback);
  const issuer = `${server.origin}/realms/${realm}`;
  return {
    issuer,
    server,
    authentication: { ...describeAuthentication(registration), issuer },
    secrets: { 'client-secret': sharedSecret, 'initial-access-token': initialAccessToken },
    quirky: undefined,
    rotateKeys: ({ withdrawOld = false } = {}) => rotateKeys(keycloak, realm, withdrawOld),
    close: async () => {
      await server.close();
      await keycloak.administer('DELETE', `/${realm}`);
    },
  };
}

/** The policy of the page. */
function describeAuthentication(registration: KeycloakRegistration): Readonly<Record<string, unknown>> {
  if (registration === 'shared') return readPagePolicy(page, 1);
  const { registration: withToken, ...anonymous } = readPagePolicy(page, 0);
  return registration === 'anonymous' ? anonymous : { ...anonymous, registration: withToken };
}

/** Runs the commands of the page, and returns the initial access token that they print. */
async function followPage(keycloak: Keycloak, through: string): Promise<string> {
  const commands = readBlockWith(page, 'sh', 'kcadm.sh').replaceAll('https://idp.example.com', through);
  const output = await keycloak.runCommands(commands);
  const token = /"token" : "([^"]+)"/.exec(output)?.[1];
  if (token === undefined) throw new Error(`docs/${page}: the commands print no token:\n${output}`);
  return token;
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
