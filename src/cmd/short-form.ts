// `run --target [NAME=]URL... [--issuer URL | --provider NAME]`: the resources that one MCP server, or a few as one, behind a loopback listener stand for,
// and how they are printed.
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { stringify } from 'yaml';
import {
  type IdentityProviderName,
  findIssuer,
  findPublicAccount,
  issuesTokens,
  providersWithOpaqueTokens,
} from '../api/identity-providers.ts';
import { formatFieldPath } from '../api/problem.ts';
import { listAlternatives } from '../base/nearest-name.ts';
import { validateResource } from '../sources/validate.ts';
import { allowExamples, readAllow } from './allow-flag.ts';

/** What was asked for on the command line. */
export interface ShortFormOptions {
  /** --target: the URL of the MCP server; with names in front of them several servers. */
  readonly targets: readonly string[];
  /** --port: where the gateway listens; 3000 when absent. */
  readonly port?: number | undefined;
  /** --transport: what the server speaks; Streamable HTTP when absent. */
  readonly transport?: 'streamable-http' | 'sse' | undefined;
  /** --issuer: the identity provider; no MCP authentication when absent, unless the provider always has the same one. */
  readonly issuer?: string | undefined;
  /** --audience: what tokens must be for; the resource's own URL when there is none. */
  readonly audiences?: readonly string[];
  /** --required-scope: what every token needs. */
  readonly requiredScopes?: readonly string[];
  /** --extra-scope: what is asked for in every login. */
  readonly extraScopes?: readonly string[];
  /** --provider: the preset for the quirks of the identity provider; none when absent. */
  readonly provider?: IdentityProviderName | undefined;
  /** --client-id: a client that is registered at the identity provider already and stands for all. */
  readonly clientId?: string | undefined;
  /** --client-secret-file: the file with its secret. Its content is not part of the resources. */
  readonly clientSecretFile?: string | undefined;
  /** --allow: who gets in, where the gateway issues the tokens. */
  readonly allow?: readonly string[];
}

/** The resources, or one sentence on which flag is wrong. */
type ShortForm = { readonly ok: true; readonly resources: object[] } | { readonly ok: false; readonly message: string };

const defaultPort = 3000;
const example = 'http://127.0.0.1:3001/mcp';
const namedExample = `tickets=${example}`;
const name = 'mcp';

/**
 * Builds the resources: a Gateway on 127.0.0.1, an HTTPRoute for the target's path (for several /mcp), a ProxyBackend with the targets; with an issuer a
 * ProxyPolicy, and with a client's secret a Secret whose value is a reference to the file.
 */
export function buildShortForm(options: ShortFormOptions): ShortForm {
  const { port = defaultPort, transport = 'streamable-http' } = options;
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    return refuse(`--port must be between 1 and 65535, not ${port}`);
  const read = readTargets(options.targets);
  if (!read.ok) return read;
  const { targets } = read;
  const authentication = buildAuthentication(options);
  if (!authentication.ok) return authentication;

  const [first] = targets;
  const isFederation = first.name !== undefined;
  const resources = [
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name },
      spec: {
        gatewayClassName: 'proxy',
        addresses: [{ type: 'IPAddress', value: '127.0.0.1' }],
        listeners: [{ name: 'http', port, protocol: 'HTTP' }],
      },
    },
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name },
      spec: {
        parentRefs: [{ name }],
        rules: [
          {
            // The paths of several servers may differ.
            matches: [{ path: { type: 'PathPrefix', value: isFederation ? '/mcp' : first.url.pathname } }],
            backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name }],
          },
        ],
      },
    },
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyBackend',
      metadata: { name },
      spec: {
        mcp: {
          // With a name, one server is a federation as well: another one beside it renames nothing.
          ...(isFederation && targets.length === 1 && { mode: 'Federated' }),
          targets: targets.map((target) => buildTarget(target, transport)),
        },
      },
    },
  ];
  // A URL can hold what a resource cannot, such as a host with an underscore.
  for (const resource of resources) {
    const problem = findProblem(resource);
    if (problem === undefined) continue;
    return refuse(`--target cannot be served as it is (${problem}); use a URL such as ${example}`);
  }
  for (const resource of authentication.resources) {
    const problem = findAuthenticationProblem(resource);
    if (problem !== undefined) return refuse(problem);
  }
  return { ok: true, resources: [...resources, ...authentication.resources] };
}

function buildTarget({ name: own = name, url }: NamedTarget, transport: 'streamable-http' | 'sse'): object {
  const isTls = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return {
    name: own,
    static: {
      host,
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      path: url.pathname,
      protocol: transport === 'sse' ? 'SSE' : 'StreamableHTTP',
    },
    // A certificate can be asked for by name only; for an address the address itself is verified.
    ...(isTls && { tls: isIP(host) === 0 ? { sni: host } : {} }),
  };
}

function findProblem(resource: object): string | undefined {
  const result = validateResource(resource, 'file');
  if (result.ok) return undefined;
  const [problem] = result.problems;
  return problem === undefined
    ? 'it is not valid'
    : `${formatFieldPath(problem.path)} of the ${result.identity.kind} ${problem.message}`;
}

const flagsOfFields: Readonly<Record<string, string>> = {
  issuer: '--issuer',
  audiences: '--audience',
  requiredScopes: '--required-scope',
  extraScopes: '--extra-scope',
  provider: '--provider',
  clientId: '--client-id',
  organizations: '--allow',
  domains: '--allow',
  emails: '--allow',
  subjects: '--allow',
};

/** The same, said of the flag that the field is made of. */
function findAuthenticationProblem(resource: object): string | undefined {
  const result = validateResource(resource, 'file');
  const [problem] = result.ok ? [] : result.problems;
  const field = problem?.path.findLast((step) => typeof step === 'string' && Object.hasOwn(flagsOfFields, step));
  if (problem !== undefined && field !== undefined) return `${flagsOfFields[field]} ${problem.message}`;
  const other = findProblem(resource);
  return other === undefined ? undefined : `--issuer and its flags cannot be used as they are (${other})`;
}

const secretName = 'idp-client';
const secretEntry = 'client-secret';

/** The policy for an identity provider, and the Secret that it names; nothing without one. */
function buildAuthentication(options: ShortFormOptions): ShortForm {
  const {
    issuer,
    audiences = [],
    requiredScopes = [],
    extraScopes = [],
    provider,
    clientId,
    clientSecretFile,
    allow = [],
  } = options;
  if (findIssuer({ issuer, provider }) === '') {
    const lonely = [
      audiences.length > 0 ? '--audience' : undefined,
      requiredScopes.length > 0 ? '--required-scope' : undefined,
      extraScopes.length > 0 ? '--extra-scope' : undefined,
      provider === undefined ? undefined : '--provider',
      clientId === undefined ? undefined : '--client-id',
      clientSecretFile === undefined ? undefined : '--client-secret-file',
      allow.length === 0 ? undefined : '--allow',
    ].find((flag) => flag !== undefined);
    return lonely === undefined
      ? { ok: true, resources: [] }
      : refuse(
          `${lonely} goes with --issuer: the URL of the identity provider${lonely === '--allow' ? `, or with ${issuingProviders}` : ''}`,
        );
  }
  if (clientSecretFile !== undefined && clientId === undefined) {
    return refuse('--client-secret-file goes with --client-id: whose secret is it?');
  }
  if (clientSecretFile?.includes('}') === true) {
    return refuse('--client-secret-file must have no } in its path: a Secret could not refer to it');
  }
  const allowed = readAllow(allow);
  if (!allowed.ok) return allowed;
  const mistake = findIssuerMistake(options);
  if (mistake !== undefined) return refuse(mistake);
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName },
    // Absolute: what --print writes may be moved to another folder.
    stringData: { [secretEntry]: `\${file:${resolve(clientSecretFile ?? '')}}` },
  };
  const policy = {
    apiVersion: 'gateway.proxy/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name },
    spec: {
      targetRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name }],
      backend: {
        mcp: {
          authentication: {
            ...(issuer !== undefined && { issuer }),
            ...(audiences.length > 0 && { audiences }),
            ...(provider !== undefined && { provider }),
            ...(requiredScopes.length > 0 && { requiredScopes }),
            ...(extraScopes.length > 0 && { authorizationRequest: { extraScopes } }),
            ...(allow.length > 0 && { identity: { allow: allowed.lists } }),
            ...(clientId !== undefined && {
              registration: {
                mode: 'Shared',
                clientId,
                ...(clientSecretFile !== undefined && { clientSecretRef: { name: secretName, key: secretEntry } }),
              },
            }),
          },
        },
      },
    },
  };
  return { ok: true, resources: clientSecretFile === undefined ? [policy] : [secret, policy] };
}

const issuingProviders = `--provider ${listAlternatives(providersWithOpaqueTokens)}`;

/** What is wrong with who would get in. */
function findIssuerMistake({ issuer, provider, clientId, allow = [] }: ShortFormOptions): string | undefined {
  const account = findPublicAccount({ issuer, provider });
  if (!issuesTokens({ flow: 'Auto', provider })) {
    if (allow.length > 0) return `--allow goes with ${issuingProviders}, where the gateway decides who gets in`;
    return account === undefined
      ? undefined
      : `anybody with ${account} would get in: name the --issuer of your own organization, or say who gets in with a policy (-f)`;
  }
  if (clientId === undefined)
    return `--provider ${provider} needs --client-id: the client that you have registered there for the gateway`;
  return account === undefined || allow.length > 0
    ? undefined
    : `anybody with ${account} would get in: say who with --allow, such as ${allowExamples}`;
}

/** The resources as YAML that `-f` reads back. */
export function printResources(resources: readonly object[]): string {
  return resources.map((resource) => stringify(resource, { lineWidth: 0 })).join('---\n');
}

interface NamedTarget {
  /** Undefined: the one server of a gateway that is no federation. */
  readonly name: string | undefined;
  readonly url: URL;
}

type Targets =
  | { readonly ok: true; readonly targets: readonly [NamedTarget, ...NamedTarget[]] }
  | { readonly ok: false; readonly message: string };

function readTargets(texts: readonly string[]): Targets {
  const targets: NamedTarget[] = [];
  for (const [index, text] of texts.entries()) {
    const [, own, address = text] = /^([^=/:?#]*)=(.*)$/s.exec(text) ?? [];
    if (own === undefined && texts.length > 1)
      return refuse(
        `--target must have a name in front of its URL where there are several, such as ${namedExample}; number ${index + 1} has none`,
      );
    if (own !== undefined && !/^[a-z](?:[a-z0-9-]{0,18}[a-z0-9])?$/.test(own))
      return refuse(
        `--target must have a name of at most 20 lower-case letters, digits and "-", which begins with a letter and does not end with "-", not ${JSON.stringify(own)}`,
      );
    if (own !== undefined && targets.some(({ name: other }) => other === own))
      return refuse(`--target must have names that differ; two are called ${own}`);
    const read = readTarget(address);
    if (!read.ok) return read;
    targets.push({ name: own, url: read.url });
  }
  const [first, ...rest] = targets;
  return first === undefined
    ? refuse(`--target is missing; use a URL such as ${example}`)
    : { ok: true, targets: [first, ...rest] };
}

type Target = { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly message: string };

function readTarget(text: string): Target {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    const guess = /^[\w.[\]:-]+(?:\/\S*)?$/.test(text) ? URL.parse(`http://${text}`) : null;
    const advice = guess === null || text.includes('://') ? `, such as ${example}` : `; did you mean http://${text} ?`;
    return refuse(`--target must be a URL that begins with http:// or https://${advice}`);
  }
  // Not repeated in the message: it goes to logs and screens.
  if (url.username !== '' || url.password !== '') {
    return refuse('--target must have no user name or password; the gateway does not send credentials of its own');
  }
  if (url.search !== '' || text.includes('?')) return refuse('--target must have no query; only the path is passed on');
  if (url.hash !== '' || text.includes('#')) return refuse('--target must have no fragment (#); servers never see it');
  if (url.port === '0') return refuse('--target must have a port between 1 and 65535');
  return { ok: true, url };
}

function refuse(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}
