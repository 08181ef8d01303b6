// Asks one MCP server whether it is one: reachable, at the right path, with which name, version and tools. What is wrong comes with what to change.
import type { BackendConfig } from '../../gateway/config/runtime-config.ts';
import type { ServerConfig } from '../../gateway/config/server-config.ts';
import { formatBackendName } from '../../gateway/request/backend-name.ts';
import type { Endpoint, ServerAddress, ServerAnswer } from './call-server.ts';
import { type Conversation, type Hello, type ListedItems, type ListScope, talkSse, talkStreamable } from './mcp-conversation.ts'; // prettier-ignore
import { Findings, type ServerReport } from './online-report.ts';

/** What the rest of the configuration says about tokens. */
export interface CheckServerOptions {
  /** Some policy passes the client's token on. */
  readonly forwardsTokens: boolean;
  /** For each answer of a server. */
  readonly timeoutMs?: number;
}

/** More addresses of one backend than this are replicas of the same. */
const maxEndpoints = 8;
const defaultTimeoutMs = 10_000;
type Transport = 'streamable-http' | 'sse';

/** Where MCP servers usually are. */
const likelyPlaces: readonly (readonly [transport: Transport, path: string])[] = [
  ['streamable-http', '/mcp'],
  ['streamable-http', '/'],
  ['streamable-http', '/mcp/'],
  ['streamable-http', '/api/mcp'],
  ['sse', '/sse'],
];

/** Looks at every address of a backend. Never throws on what a server answers. None for backends that are no MCP servers, or several. */
export async function checkServers(backend: BackendConfig, options: CheckServerOptions): Promise<ServerReport[]> {
  if (backend.mcp === undefined) return [];
  const asked = await askServers(backend, 'tools', options);
  return asked.map((each) => buildReport(backend.key, null, each));
}

/** What one address of a server said. */
export interface AskedServer {
  readonly url: string;
  readonly findings: Findings;
  /** Undefined: it did not come to that. */
  readonly hello: Hello | undefined;
}

/** Asks every address of a server. */
export function askServers(
  server: ServerConfig,
  scope: ListScope,
  options: CheckServerOptions,
): Promise<readonly AskedServer[]> {
  return Promise.all(server.endpoints.slice(0, maxEndpoints).map((each) => askServer(server, each, scope, options)));
}

/** The report, once all findings are there. */
export function buildReport(
  key: string,
  target: string | null,
  { url, findings: { list }, hello }: AskedServer,
): ServerReport {
  const tools = hello?.lists.find(({ kind }) => kind === 'tools');
  return {
    backend: formatBackendName(key),
    target,
    url,
    ok: list.every(({ mark }) => mark !== 'bad'),
    findings: list,
    server: hello === undefined || hello.name === '' ? null : { name: hello.name, version: hello.version },
    protocolVersion: hello === undefined || hello.protocolVersion === '' ? null : hello.protocolVersion,
    tools: tools === undefined || tools.problem !== undefined ? null : tools.count,
  };
}

async function askServer(
  backend: ServerConfig,
  endpoint: Endpoint,
  scope: ListScope,
  { forwardsTokens, timeoutMs = defaultTimeoutMs }: CheckServerOptions,
): Promise<AskedServer> {
  const findings = new Findings();
  const { path, transport } = backend.mcp!;
  const address: ServerAddress = { backend, endpoint, timeoutMs };
  const talked = await talk(address, transport, path, scope);
  if (talked.ok) reportHello(findings, talked.hello);
  else await reportFailure(findings, address, talked, forwardsTokens);
  return { url: formatUrl(address, path), findings, hello: talked.ok ? talked.hello : undefined };
}

function talk(address: ServerAddress, transport: Transport, path: string, scope: ListScope): Promise<Conversation> {
  return transport === 'sse' ? talkSse(address, path, scope) : talkStreamable(address, path, scope);
}

function reportHello(findings: Findings, { name, version, protocolVersion, lists }: Hello): void {
  const who = [name, version].filter((part) => part !== '').join(' ');
  findings.good(
    'server',
    `${who === '' ? 'it gives no name' : who}, MCP ${protocolVersion || 'of an unknown version'}`,
  );
  if (!lists.some(({ kind }) => kind === 'tools')) findings.remark('tools', 'it offers none');
  for (const list of lists) reportList(findings, list);
}

const listWords: Readonly<Record<ListedItems['kind'], string>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'resource template',
};

function reportList(findings: Findings, { kind, method, count, isCut, problem }: ListedItems): void {
  const check = kind === 'resourceTemplates' ? 'templates' : kind;
  if (problem !== undefined)
    findings.bad(check, `${method} failed: ${problem}`, 'The log of the MCP server may say more.');
  else findings.good(check, `${isCut ? 'more than ' : ''}${count} ${listWords[kind]}${count === 1 ? '' : 's'}`);
}

type Failed = Extract<Conversation, { readonly ok: false }>;

async function reportFailure(
  findings: Findings,
  address: ServerAddress,
  { answer, problem }: Failed,
  forwardsTokens: boolean,
): Promise<void> {
  if (!answer.ok) {
    findings.bad('connection', answer.detail, adviseOnConnection(answer, address));
    return;
  }
  const { status, contentType, headers } = answer;
  if (status === 401 || status === 403) {
    const text = `the server asks for credentials itself: it answers ${status}${describeChallenge(headers['www-authenticate'])}`;
    if (forwardsTokens) findings.remark('credentials', `${text}; clients bring theirs, with forwardToken`);
    else
      findings.bad(
        'credentials',
        text,
        'The gateway has none for it: let the server trust the gateway, or pass the tokens of clients on with forwardToken: true.',
      );
    return;
  }
  const what =
    contentType === 'text/html'
      ? `answers ${status} with a web page (HTML), not with MCP`
      : status >= 200 && status < 300
        ? `answers ${status}, but this is not MCP: ${problem}`
        : `answers ${status}${contentType === 'application/json' && problem.startsWith('JSON-RPC') ? ` (${problem})` : ''}`;
  const { path, transport } = address.backend.mcp!;
  findings.bad('path', `${path} ${what}`, await advise(address, transport, path, answer));
}

function describeChallenge(challenge: string | undefined): string {
  const scheme = challenge?.split(' ')[0] ?? '';
  return /^[\w-]{1,32}$/.test(scheme) ? ` (${scheme})` : '';
}

async function advise(
  address: ServerAddress,
  transport: Transport,
  path: string,
  answer: ServerAnswer,
): Promise<string> {
  if (answer.ok && answer.status >= 300 && answer.status < 400)
    return `It redirects to ${(answer.headers.location ?? 'an unknown place').slice(0, 200)}: set the path, host and port of where it leads.`;
  if (answer.ok && answer.status >= 500) return 'The server is in trouble. Its log may say more.';
  const own: readonly (readonly [Transport, string])[] = [
    [transport === 'sse' ? 'streamable-http' : 'sse', path],
    ...likelyPlaces.filter(([each, place]) => each !== transport || place !== path),
  ];
  for (const [each, place] of own) {
    const talked = await talk(address, each, place, 'tools');
    const asksForCredentials = !talked.ok && talked.answer.ok && talked.answer.status === 401;
    if (!talked.ok && !asksForCredentials) continue;
    const setting = `path: ${place}${each === transport ? '' : `, protocol: ${each === 'sse' ? 'SSE' : 'StreamableHTTP'}`}`;
    return `${talked.ok ? 'An MCP server answers' : 'Something that asks for credentials answers'} at ${place}: set ${setting} of the target.`;
  }
  return 'Is this an MCP server, and the path right? Usual ones (/mcp, /, /sse) do not answer either.';
}

function adviseOnConnection({ cause, detail }: Extract<ServerAnswer, { ok: false }>, address: ServerAddress): string {
  const { endpoint, backend } = address;
  const where = `${endpoint.host}:${endpoint.port}`;
  switch (cause) {
    case 'dns':
      return `Is the name ${endpoint.host} right, and does it resolve on this machine?`;
    case 'refused':
      return `Nothing listens at ${where}. Is the server started, and the port right?`;
    case 'timeout':
      return `Is ${where} overloaded, or behind a firewall?`;
    case 'tls':
      return /wrong version|packet length/i.test(detail)
        ? 'The server speaks no TLS there: take tls out of the target, or use its https port.'
        : 'For a private authority name its certificate in tls of the target; the name there must be one of the certificate.';
    case 'other':
      if (backend.protocol === 'h2c')
        return `Does ${where} speak HTTP/2 without TLS? For HTTP/1.1 take appProtocol kubernetes.io/h2c out of the Service.`;
      return backend.tls === undefined
        ? `Does ${where} speak HTTP? A server with TLS needs tls in the target.`
        : `Does ${where} speak HTTP over TLS?`;
  }
}

function formatUrl({ backend, endpoint: { host, port } }: ServerAddress, path: string): string {
  return `${backend.tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}${path}`;
}
