// `run --target URL`: the resources that one MCP server behind a loopback listener stands for, and how they are printed.
import { isIP } from 'node:net';
import { stringify } from 'yaml';
import { formatFieldPath } from '../api/problem.ts';
import { validateResource } from '../sources/validate.ts';

/** What was asked for on the command line. */
export interface ShortFormOptions {
  /** --target: the URL of the MCP server. */
  readonly target: string;
  /** --port: where the gateway listens; 3000 when absent. */
  readonly port?: number | undefined;
  /** --transport: what the server speaks; Streamable HTTP when absent. */
  readonly transport?: 'streamable-http' | 'sse' | undefined;
}

/** The resources, or one sentence on which flag is wrong. */
export type ShortForm =
  | { readonly ok: true; readonly resources: object[] }
  | { readonly ok: false; readonly message: string };

const defaultPort = 3000;
const example = 'http://127.0.0.1:3001/mcp';
const name = 'mcp';

/** Builds the resources: a Gateway on 127.0.0.1, an HTTPRoute for the target's path, a ProxyBackend with the target. */
export function buildShortForm(options: ShortFormOptions): ShortForm {
  const { port = defaultPort, transport = 'streamable-http' } = options;
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    return refuse(`--port must be between 1 and 65535, not ${port}`);
  const read = readTarget(options.target);
  if (!read.ok) return read;
  const { url } = read;

  const isTls = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const upstream = {
    name,
    static: {
      host,
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      path: url.pathname,
      protocol: transport === 'sse' ? 'SSE' : 'StreamableHTTP',
    },
    // A certificate can be asked for by name only; for an address the address itself is verified.
    ...(isTls && { tls: isIP(host) === 0 ? { sni: host } : {} }),
  };
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
            matches: [{ path: { type: 'PathPrefix', value: url.pathname } }],
            backendRefs: [{ group: 'gateway.proxy', kind: 'ProxyBackend', name }],
          },
        ],
      },
    },
    {
      apiVersion: 'gateway.proxy/v1alpha1',
      kind: 'ProxyBackend',
      metadata: { name },
      spec: { mcp: { targets: [upstream] } },
    },
  ];
  // A URL can hold what a resource cannot, such as a host with an underscore.
  for (const resource of resources) {
    const result = validateResource(resource, 'file');
    if (result.ok) continue;
    const [problem] = result.problems;
    const field =
      problem === undefined ? '' : ` (${formatFieldPath(problem.path)} of the ${resource.kind} ${problem.message})`;
    return refuse(`--target cannot be served as it is${field}; use a URL such as ${example}`);
  }
  return { ok: true, resources };
}

/** The resources as YAML that `-f` reads back. */
export function printResources(resources: readonly object[]): string {
  return resources.map((resource) => stringify(resource, { lineWidth: 0 })).join('---\n');
}

type Target = { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly message: string };

function readTarget(text: string): Target {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    const guess = /^[\w.[\]:-]+(?:\/\S*)?$/.test(text) ? URL.parse(`http://${text}`) : null;
    const advice = guess === null || text.includes('://') ? `such as ${example}` : `did you mean http://${text} ?`;
    return refuse(`--target must be a URL that begins with http:// or https://, ${advice}`);
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
