// What the tests of `explain` and `token inspect` stand on: an issuer, a configuration in which every kind of policy has a say,
// and the commands with their standard input and output.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { explainCommand } from '../../src/cmd/explain.ts';
import { executeCommand } from '../../src/cmd/command.ts';
import { runCommandLine } from '../../src/cmd/command-line.ts';
import { gatewayCommands } from '../../src/cmd/gateway-commands.ts';
import type { ProcessHost } from '../../src/cmd/process-host.ts';
import type { TokenIo } from '../../src/cmd/token.ts';
import type { TokenInput } from '../../src/cmd/token/read-token-input.ts';
import { backendResource, gatewayResource, routeResource, ruleTo } from '../kit/gateway-resources.ts';
import { createIssuer, type TestIssuer } from '../kit/test-issuer.ts';

/** What a command did. */
export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface RunOptions {
  /** Undefined: a terminal. */
  readonly stdin?: string;
  readonly color?: boolean;
  readonly env?: NodeJS.ProcessEnv;
  readonly now?: () => number;
}

/** `mcp-gatehouse explain`. */
export function runExplain(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return run((io) => executeCommand(explainCommand, args, io), options);
}

/** `mcp-gatehouse token`. */
export function runToken(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return run((io) => runCommandLine(gatewayCommands, ['token', ...args], io), options);
}

type RunIo = ProcessHost & TokenIo;

async function run(command: (io: RunIo) => Promise<number>, options: RunOptions): Promise<Run> {
  let out = '';
  let err = '';
  const { stdin, color = false, env = {}, now } = options;
  const input: TokenInput = {
    isTerminal: stdin === undefined,
    read: (maxBytes) => {
      const bytes = Buffer.from(stdin ?? '');
      return Promise.resolve(bytes.length > maxBytes ? undefined : bytes);
    },
  };
  const code = await command({
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    color,
    env,
    isWhole: false,
    stdin: input,
    ...(now !== undefined && { now }),
  });
  return { code, out, err };
}

/** Writes files into a folder that goes away with the test. */
export async function writeFolder(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'explain-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

/** Resources as a file has them. */
export function printResources(resources: readonly object[]): string {
  return resources.map((resource) => JSON.stringify(resource)).join('\n---\n');
}

export const issuerUrl = 'https://idp.example.com';

/** Whose tokens the policies here want. */
export function createTicketIssuer(): TestIssuer {
  const jwk = { alg: 'ES256', use: 'sig' };
  return createIssuer(issuerUrl, { audience: 'tickets', algorithm: 'ES256', kid: 'k1', jwk });
}

/** The policy that wants tokens on the Gateway. */
export function jwtPolicy(
  keys: object,
  options: { readonly name?: string; readonly target?: object; readonly jwt?: object } = {},
): object {
  return policy(options.name ?? 'who', options.target ?? gatewayTarget, {
    traffic: {
      jwtAuthentication: {
        providers: [{ name: 'corp', issuer: issuerUrl, audiences: ['tickets'], jwks: keys }],
        claimsToHeaders: [{ claim: 'sub', header: 'x-auth-subject' }],
        ...options.jwt,
      },
    },
  });
}

/** A policy with rules over requests. */
export function rulesPolicy(name: string, target: object, action: string, matchExpressions: readonly string[]): object {
  return policy(name, target, { traffic: { authorization: { action, policy: { matchExpressions } } } });
}

/** A ProxyPolicy. */
export function policy(name: string, target: object, spec: object): object {
  return {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name },
    spec: { targetRefs: [target], ...spec },
  };
}

export const gatewayTarget = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'test' };
export const routeTarget = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'tickets' };
export const backendTarget = { group: 'gateway.proxy', kind: 'ProxyBackend', name: 'tickets' };

/** A Gateway, a route with an old path that redirects, and an MCP server. */
export function baseResources(port: number, upstreamPort = 3001): readonly object[] {
  const beta = { path: { type: 'PathPrefix', value: '/mcp' }, headers: [{ name: 'x-beta', value: '1' }] };
  const redirect = { statusCode: 302, path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/mcp' } };
  return [
    gatewayResource(port),
    routeResource('tickets', [
      ruleTo('/mcp', 'tickets', { name: 'mcp' }),
      ruleTo('/mcp', 'tickets', { name: 'stream', matches: [beta] }),
      {
        name: 'old',
        matches: [{ path: { type: 'PathPrefix', value: '/old' } }],
        filters: [{ type: 'RequestRedirect', requestRedirect: redirect }],
      },
    ]),
    backendResource('tickets', upstreamPort),
  ];
}

/** Rules over messages: support may use tickets, and closing one takes a scope. */
export const toolRules = policy('tools', backendTarget, {
  backend: {
    mcp: {
      authorization: {
        action: 'Allow',
        policy: { matchExpressions: ['"support" in jwt.groups && mcp.tool.name.startsWith("ticket_")'] },
        scopes: [{ tools: ['ticket_close*'], scopes: ['tickets:write'] }],
      },
    },
  },
});
