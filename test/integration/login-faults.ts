// Faults of logins that operators meet, each made with a real gateway and an identity provider that is wrong in one place, and what the four aids say of it.
import { join } from 'node:path';
import { checkCommand } from '../../src/cmd/check.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { loginCommand, type LoginIo } from '../../src/cmd/login.ts';
import type { InspectedFlow } from '../../src/gateway/observe/flow-inspector.ts';
import { BrowserAgent } from '../idp/browser-agent.ts';
import { type ProtectedGateway, startProtectedGateway } from '../idp/protected-gateway.ts';
import type { Quirks } from '../idp/quirks.ts';
import { type QuirkyIdp, startQuirkyIdp } from '../idp/quirky-idp.ts';
import { startMcpUpstream } from '../kit/mcp-upstream.ts';
import { waitFor } from '../kit/wait-for.ts';

/** How to make a fault. */
interface Fault {
  readonly quirks?: Partial<Quirks>;
  /** `spec.backend.mcp.authentication`, beside the issuer. */
  readonly authentication?: Readonly<Record<string, unknown>>;
  /** In place of the issuer of the identity provider. */
  readonly issuer?: (issuer: string) => string;
  /** Redirect URIs of the client that stands for all, with the secret that the identity provider has. */
  readonly shared?: (callback: string) => readonly string[];
  /** The identity provider has gone before the gateway starts. */
  readonly isDown?: boolean;
  readonly checkFlags?: readonly string[];
  readonly loginFlags?: readonly string[];
}

/** Everything that was said about a fault, in the columns of the table. */
export type Said = Readonly<Record<'check --online' | 'login' | 'inspector' | 'log', string>>;

const shared = { mode: 'Shared', clientId: 'gateway', clientSecretRef: { name: 'idp', key: 'client-secret' } };
const rightSecret = 'the-right-secret';

/** The gateway issues the tokens; the identity provider, like most, has userinfo. */
const issuing = (quirks: Partial<Quirks>, allow?: Readonly<Record<string, readonly string[]>>): Fault => ({
  quirks: {
    metadataMembers: { scopes_supported: ['openid', 'email', 'profile'] },
    userinfoMembers: ['email', 'email_verified'],
    accessTokenFormat: 'opaque',
    ...quirks,
  },
  authentication: { flow: 'Issuer', registration: shared, ...(allow !== undefined && { identity: { allow } }) },
  shared: (callback) => [callback, callback.replace('127.0.0.1', 'localhost')],
});

/** By the name of the row in docs/debugging-logins.md. */
export const faults: Readonly<Record<string, Fault>> = {
  'wrong client secret': {
    authentication: { registration: { ...shared, clientSecretRef: { name: 'idp', key: 'wrong-secret' } } },
    shared: (callback) => [callback, callback.replace('127.0.0.1', 'localhost')],
  },
  'callback not registered': {
    authentication: { registration: shared },
    shared: () => ['https://elsewhere.example/callback'],
    loginFlags: ['--timeout', '1s'],
  },
  "callback of a client's own not registered": {
    shared: () => ['https://elsewhere.example/callback'],
    loginFlags: ['--client-id', 'gateway'],
  },
  'wrong audience': {
    quirks: { audience: ['account'], resource: 'ignored' },
    authentication: { audiences: ['https://api.example.com'] },
  },
  "aud is the client's id": { quirks: { audience: 'client-id', resource: 'ignored' } },
  'issuer with a slash too many': { issuer: (issuer) => `${issuer}/` },
  'issuer without its slash': { quirks: { issuerPath: '/' }, issuer: (issuer) => issuer.replace(/\/$/, '') },
  'wrong path of the issuer': { issuer: (issuer) => `${issuer}/tenants/other` },
  'identity provider down': { isDown: true },
  'identity provider hangs': { quirks: { metadataAnswer: 'never' } },
  'clock of the identity provider ahead': { quirks: { clockOffsetSeconds: 600 } },
  'clock of the identity provider behind': { quirks: { clockOffsetSeconds: -900 }, authentication: { flow: 'Broker' } },
  'unknown scope': {
    quirks: { knownScopes: ['openid', 'offline_access', 'tickets:read'] },
    authentication: { flow: 'Broker', requiredScopes: ['tickets:admin'] },
  },
  'initial access token used up': {
    quirks: { registration: 'one-use-token' },
    authentication: { registration: { initialAccessTokenRef: { name: 'idp', key: 'initial-access-token' } } },
    checkFlags: ['--try-registration'],
  },
  'wrong secret for initial access tokens': {
    quirks: { registration: 'one-use-token' },
    authentication: {
      registration: {
        initialAccessTokenFrom: {
          clientCredentials: {
            clientId: 'gateway',
            clientSecretRef: { name: 'idp', key: 'wrong-secret' },
            scope: 'client.create',
          },
        },
      },
    },
    shared: () => [],
  },
  'no egress for client documents': {
    authentication: { flow: 'Broker' },
    loginFlags: ['--client-id', 'https://client.invalid/oauth.json'],
  },
  'Issuer: account not allowed': issuing({}, { domains: ['elsewhere.example'], subjects: ['42'] }),
  'Issuer: email not verified': issuing({ people: { alice: { email_verified: false } } }, { domains: ['example.com'] }),
  'Issuer: userinfo down': issuing(
    { userinfoAnswer: { status: 500, headers: { 'content-type': 'text/plain' }, body: 'oops' } },
    { domains: ['example.com'] },
  ),
  'Issuer: ID token of another login': issuing({ idTokenChanges: { nonce: 'another' } }),
};

/** Makes the fault, and asks all four. What a gateway has to say may come a little after its answer: `isSaid` is asked again until it is there, or never comes. */
export async function askAbout(fault: Fault, isSaid: (said: Said) => boolean): Promise<Said> {
  const upstream = await startMcpUpstream();
  const idp = await startQuirkyIdp(fault.quirks);
  let gateway: ProtectedGateway | undefined;
  try {
    if (fault.isDown === true) await idp.close();
    gateway = await startGateway(fault, idp, upstream.port);
    const redirectUris = fault.shared?.(gateway.urlOf('/.oauth/mcp/callback'));
    if (redirectUris !== undefined) {
      const hasSecret = fault.authentication?.['registration'] !== undefined;
      idp.addClient({ id: 'gateway', redirectUris, ...(hasSecret && { secret: rightSecret }) });
    }
    const checkArgs = ['-f', join(gateway.folder, 'gateway.yaml'), '--online', ...(fault.checkFlags ?? [])];
    const loginArgs = [gateway.urlOf('/mcp'), ...(fault.loginFlags ?? [])];
    // Side by side: an identity provider that hangs is waited for once.
    const [check, login] = await Promise.all([
      collect((io) => executeCommand(checkCommand, checkArgs, io)),
      collect((io) => executeCommand(loginCommand, loginArgs, io)),
    ]);
    const running = gateway;
    const read = async (): Promise<Said> => ({
      'check --online': check,
      login,
      inspector: await readFlow(running.adminPort),
      log: running.readLog().map(describeRecord).join('\n'),
    });
    let said = await read();
    await waitFor('inspector and log say it', async () => isSaid((said = await read())), {
      describe: () => `${said.inspector}\n${said.log}`,
    });
    return said;
  } finally {
    await gateway?.stop();
    await upstream.close();
    if (fault.isDown !== true) await idp.close();
  }
}

function startGateway(fault: Fault, { issuer }: QuirkyIdp, port: number): Promise<ProtectedGateway> {
  return startProtectedGateway({
    backends: [
      {
        path: '/mcp',
        port,
        authentication: { issuer: fault.issuer?.(issuer) ?? issuer, ...fault.authentication },
      },
    ],
    secrets: { 'client-secret': rightSecret, 'wrong-secret': 'a-wrong-one', 'initial-access-token': 'used-up' },
  });
}

/** What a command prints. Its browser is a person who agrees to everything. */
async function collect(execute: (io: LoginIo) => Promise<number>): Promise<string> {
  let out = '';
  const write = (text: string): void => void (out += text);
  const openBrowser = (href: string): Promise<boolean> => {
    const redirectUri = new URL(href).searchParams.get('redirect_uri')!;
    // An error page ends the visit; the command says what it knows.
    void new BrowserAgent().authorize(href, redirectUri).then(fetch, () => {});
    return Promise.resolve(true);
  };
  const code = await execute({ stdout: write, stderr: write, color: false, env: {}, openBrowser });
  return `${out}exit code ${code}\n`;
}

/** The latest login, as the inspector has it. */
async function readFlow(adminPort: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${adminPort}/flows?format=json`);
  const [flow] = ((await answer.json()) as { flows: InspectedFlow[] }).flows;
  return flow === undefined ? 'nothing' : `${flow.state}: ${flow.note}`;
}

/** What a record says, in either format of the log. */
function describeRecord({ msg, reason, detail, advice, redirectUris }: Record<string, unknown>): string {
  const said = [msg, reason, detail, advice].filter((part) => typeof part === 'string');
  if (redirectUris !== undefined) said.push(`redirectUris ${JSON.stringify(redirectUris)}`);
  return said.join(' ');
}
