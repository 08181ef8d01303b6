// A real Spring Authorization Server for tests (test/idp/spring): in memory, with a login page, and two ways to come by clients, each with the policy of docs/idp/spring.md.
import { springVersion } from '../../scripts/install-spring.ts';
import type { AuthSetup, StartedIdp } from './auth-setups.ts';
import { readPagePolicy } from './page-policy.ts';
import { passOn } from './pass-on.ts';
import { startRealIdp } from './real-idp.ts';
import { startSwitchableServer } from './switchable-server.ts';

const page = 'idp/spring.md';
const minor = springVersion.replace(/\.\d+$/, '');
const sharedSecret = 'the-secret-of-the-shared-client';
const registrarSecret = 'the-secret-of-the-registrar';

type Properties = Readonly<Record<string, string>>;

/** Shared and Forward. `program` is the jar. */
export function createSpringSetups(program: string): AuthSetup[] {
  return [
    {
      name: `Spring Authorization Server ${minor}, Shared`,
      flow: 'Broker',
      isShared: true,
      refreshes: true,
      start: (callback) => startSpring(program, describeSharedClient(callback), readPagePolicy(page, 0)),
    },
    {
      name: `Spring Authorization Server ${minor}, Forward`,
      flow: 'Broker',
      isShared: false,
      refreshes: true,
      start: () =>
        startSpring(
          program,
          {
            ...describeClient('registrar', registrarSecret, {
              'authorization-grant-types': 'client_credentials',
              scopes: 'client.create',
            }),
            'idp.audience': 'api://tickets',
            'idp.registration-scopes': 'true',
          },
          readPagePolicy(page, 1),
        ),
    },
  ];
}

function describeSharedClient(callback: string): Properties {
  return describeClient('gateway', sharedSecret, {
    'authorization-grant-types': 'authorization_code,refresh_token',
    'redirect-uris': callback,
    scopes: 'openid,tickets:read',
  });
}

/** A client as properties of Spring Boot. */
function describeClient(id: string, secret: string, registration: Properties): Properties {
  const all: Properties = {
    'client-id': id,
    'client-secret': `{noop}${secret}`,
    'client-authentication-methods': 'client_secret_basic',
    ...registration,
  };
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [
      `spring.security.oauth2.authorizationserver.client.${id}.registration.${name}`,
      value,
    ]),
  );
}

async function startSpring(
  program: string,
  properties: Properties,
  authentication: Readonly<Record<string, unknown>>,
): Promise<StartedIdp> {
  const spring = await startRealIdp({
    title: 'Spring Authorization Server',
    command: 'java',
    args: [
      '-Xmx256m',
      '-XX:TieredStopAtLevel=1',
      '-jar',
      program,
      ...Object.entries(properties).map(([name, value]) => `--${name}=${value}`),
    ],
    findOrigin: (output) => {
      const port = /Tomcat started on port (\d+)[\s\S]*Started SpringIdp/.exec(output)?.[1];
      return port === undefined ? undefined : `http://127.0.0.1:${port}`;
    },
  });
  // It calls itself what the Host header calls it: the server in front, which notes what arrives.
  const server = await startSwitchableServer(() => (incoming, outgoing) => passOn(spring.origin, incoming, outgoing));
  return {
    issuer: server.origin,
    server,
    authentication: { ...authentication, issuer: server.origin },
    secrets: { 'client-secret': sharedSecret, 'registrar-secret': registrarSecret },
    quirky: undefined,
    rotateKeys: () => Promise.reject(new Error('its keys are made at its start, and stay')),
    close: async () => {
      await server.close();
      await spring.stop();
    },
  };
}
