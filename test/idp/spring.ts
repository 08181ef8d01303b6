// A real Spring Authorization Server for tests (test/idp/spring): in memory, with a login page, and two ways to come by clients, each with the policy of docs/idp/spring.md.
import { springVersion } from '../../scripts/install-spring.ts';
import type { AuthSetup, StartedIdp } from './auth-setups.ts';
import { readBlockWith } from './page-blocks.ts';
import { readPagePolicy } from './page-policy.ts';
import { passOn } from './pass-on.ts';
import { startRealIdp } from './real-idp.ts';
import { startSwitchableServer } from './switchable-server.ts';

const page = 'idp/spring.md';
const minor = springVersion.replace(/\.\d+$/, '');
const sharedSecret = 'the-secret-of-the-shared-client';
const registrarSecret = 'the-secret-of-the-registrar';

type Properties = Readonly<Record<string, string>>;

/** Shared and Forward, and Shared with tokens of the gateway's own. `program` is the jar. */
export function createSpringSetups(program: string): AuthSetup[] {
  const common = { flow: 'Broker', refreshes: true, page: { path: page, issuer: 'https://idp.example.com' } } as const;
  const { audiences: _, ...withoutAudience } = readPagePolicy(page, 0);
  return [
    {
      name: `Spring Authorization Server ${minor}, Issuer`,
      flow: 'Issuer',
      refreshes: true,
      isShared: true,
      start: (callback) => {
        const others = { 'redirect-uris': callback, scopes: 'openid,email,profile' };
        const properties = readClient('gateway', sharedSecret, others);
        return startSpring(program, properties, { ...withoutAudience, flow: 'Issuer' });
      },
    },
    {
      ...common,
      name: `Spring Authorization Server ${minor}, Shared`,
      isShared: true,
      start: (callback) => {
        const properties = readClient('gateway', sharedSecret, { 'redirect-uris': callback });
        return startSpring(program, properties, readPagePolicy(page, 0));
      },
    },
    {
      ...common,
      name: `Spring Authorization Server ${minor}, Forward`,
      isShared: false,
      start: () => {
        const properties = {
          ...readClient('registrar', registrarSecret),
          'idp.audience': 'api://tickets',
          'idp.registration-scopes': 'true',
        };
        return startSpring(program, properties, readPagePolicy(page, 1));
      },
    },
  ];
}

/** A client as the page has it in properties of Spring Boot, with what differs here. */
function readClient(id: string, secret: string, others: Properties = {}): Properties {
  const start = `spring.security.oauth2.authorizationserver.client.${id}.registration.`;
  const lines = readBlockWith(page, 'properties', start).trim().split('\n');
  const changed = { 'client-secret': `{noop}${secret}`, ...others };
  return {
    ...Object.fromEntries(
      lines.map((line): [string, string] => [line.split('=')[0]!, line.slice(line.indexOf('=') + 1)]),
    ),
    ...Object.fromEntries(Object.entries(changed).map(([name, value]) => [start + name, value])),
  };
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
      '-XX:+UseSerialGC',
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
