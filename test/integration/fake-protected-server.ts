// A protected MCP server and its authorization server in one small process part, each of whose answers a test can replace: for tools that look at servers.
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What was asked. */
export interface FakeRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What is answered. */
export interface FakeAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | object;
}

/** In place of the good answer, which `answerWell` would give; undefined keeps it. */
export type Override = (request: FakeRequest, answerWell: () => FakeAnswer) => FakeAnswer | undefined;

/** Answers by path; `METHOD /path` for one method only. */
export type Overrides = Readonly<Record<string, Override>>;

export interface FakeProtectedServer {
  readonly origin: string;
  /** The MCP server: {origin}/mcp. */
  readonly url: string;
  readonly requests: readonly FakeRequest[];
  /** Secrets that were given out or taken: none of them may ever be shown. */
  readonly secrets: readonly string[];
  /** client_ids that are registered at the moment. */
  readonly clients: ReadonlySet<string>;
  close(): Promise<void>;
}

export interface FakeServerOptions {
  readonly overrides?: (origin: string) => Overrides;
  /** Changes the metadata of the authorization server. */
  readonly metadata?: (document: Record<string, unknown>, origin: string) => void;
  /** Sends tools as an event stream, in two pages. */
  readonly streams?: boolean;
}

const tools = [
  { name: 'ticket_list', description: 'Lists tickets.\nWith details.', inputSchema: { type: 'object' } },
  { name: 'ticket_close', description: 'Closes a ticket.', inputSchema: { type: 'object' } },
];

const signingKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
const keySet = { keys: [{ ...signingKey, kid: 'k1', alg: 'ES256', use: 'sig' }] };

/** Starts it on loopback. */
export async function startFakeProtectedServer(options: FakeServerOptions = {}): Promise<FakeProtectedServer> {
  const requests: FakeRequest[] = [];
  const secrets: string[] = [];
  const clients = new Set<string>();
  const codes = new Map<string, { challenge: string; redirectUri: string }>();
  const tokens = new Set<string>();
  let origin = '';
  const makeSecret = (): string => {
    const secret = randomBytes(24).toString('base64url');
    secrets.push(secret);
    return secret;
  };
  const makeToken = (): string => {
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = {
      iss: origin,
      aud: `${origin}/mcp`,
      sub: 'alice-the-person',
      exp: 4102444800,
      scope: 'tickets:read',
    };
    const token = `${encode({ alg: 'none' })}.${encode(claims)}.${makeSecret()}`;
    secrets.push(token);
    tokens.add(token);
    return token;
  };

  const answerMcp = (request: FakeRequest): FakeAnswer => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined || !tokens.has(token)) {
      const error = token === undefined ? '' : ', error="invalid_token", error_description="unknown token"';
      const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="tickets:read"${error}`;
      return {
        status: 401,
        headers: { 'www-authenticate': challenge },
        body: { error: 'invalid_token', request_id: 'rid-7' },
      };
    }
    if (request.method === 'DELETE') return { status: 204 };
    const { id, method, params } = JSON.parse(request.body) as {
      id?: number;
      method: string;
      params: { cursor?: string };
    };
    if (id === undefined) return { status: 202 };
    if (method === 'initialize') {
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'tickets', version: '2.1' },
      };
      return { status: 200, headers: { 'mcp-session-id': 'session-1' }, body: { jsonrpc: '2.0', id, result } };
    }
    const page = options.streams === true ? (params.cursor === undefined ? tools.slice(0, 1) : tools.slice(1)) : tools;
    const hasMore = options.streams === true && params.cursor === undefined;
    const message = { jsonrpc: '2.0', id, result: { tools: page, ...(hasMore && { nextCursor: 'next' }) } };
    if (options.streams !== true) return { status: 200, body: message };
    const notice = { jsonrpc: '2.0', method: 'notifications/message', params: {} };
    const body = `event: message\ndata: ${JSON.stringify(notice)}\n\nevent: message\ndata: ${JSON.stringify(message)}\n\n`;
    return { status: 200, headers: { 'content-type': 'text/event-stream' }, body };
  };

  const describeServer = (): Record<string, unknown> => {
    const document: Record<string, unknown> = {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      jwks_uri: `${origin}/jwks`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
      authorization_response_iss_parameter_supported: true,
    };
    options.metadata?.(document, origin);
    return document;
  };

  const register = (request: FakeRequest): FakeAnswer => {
    const asked = JSON.parse(request.body) as Record<string, unknown>;
    const clientId = `client-${clients.size + 1}`;
    clients.add(clientId);
    return {
      status: 201,
      body: {
        ...asked,
        client_id: clientId,
        registration_client_uri: `${origin}/register/${clientId}`,
        registration_access_token: makeSecret(),
      },
    };
  };

  const authorize = ({ url }: FakeRequest): FakeAnswer => {
    const read = (name: string): string => url.searchParams.get(name) ?? '';
    const code = makeSecret();
    codes.set(code, { challenge: read('code_challenge'), redirectUri: read('redirect_uri') });
    const location = new URL(read('redirect_uri'));
    location.search = new URLSearchParams({ code, state: read('state'), iss: origin }).toString();
    return { status: 302, headers: { location: location.href } };
  };

  const giveToken = (request: FakeRequest): FakeAnswer => {
    const form = new URLSearchParams(request.body);
    const verifier = form.get('code_verifier') ?? '';
    secrets.push(verifier);
    const grant = codes.get(form.get('code') ?? '');
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    if (grant === undefined || grant.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri')) {
      return { status: 400, body: { error: 'invalid_grant' } };
    }
    const body = { access_token: makeToken(), token_type: 'Bearer', expires_in: 600, refresh_token: makeSecret() };
    return { status: 200, headers: { 'cache-control': 'no-store' }, body };
  };

  const answerGood = (request: FakeRequest): FakeAnswer => {
    const { pathname } = request.url;
    if (pathname === '/mcp') return answerMcp(request);
    if (pathname === '/.well-known/oauth-protected-resource/mcp') {
      return { status: 200, body: { resource: `${origin}/mcp`, authorization_servers: [origin] } };
    }
    if (pathname === '/.well-known/oauth-authorization-server') return { status: 200, body: describeServer() };
    if (pathname === '/register' && request.method === 'POST') return register(request);
    if (pathname.startsWith('/register/') && request.method === 'DELETE') {
      clients.delete(pathname.slice('/register/'.length));
      return { status: 204 };
    }
    if (pathname === '/authorize') return authorize(request);
    if (pathname === '/token') return giveToken(request);
    if (pathname === '/jwks') return { status: 200, body: keySet };
    return { status: 404, body: { error: 'not_found' } };
  };

  const server = createServer((incoming, response) => {
    void serve(incoming, response).catch((error: unknown) => response.destroy(error as Error));
  });
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of incoming.setEncoding('utf8')) body += String(chunk);
    const method = incoming.method ?? '';
    const request: FakeRequest = { method, url: new URL(incoming.url ?? '', origin), headers: incoming.headers, body };
    requests.push(request);
    const overrides = options.overrides?.(origin) ?? {};
    const override = overrides[`${method} ${request.url.pathname}`] ?? overrides[request.url.pathname];
    const answerWell = (): FakeAnswer => answerGood(request);
    const answer = override?.(request, answerWell) ?? answerWell();
    const isText = typeof answer.body === 'string';
    const type = isText ? {} : { 'content-type': 'application/json' };
    response.writeHead(answer.status, { ...type, ...answer.headers });
    response.end(isText ? answer.body : answer.body === undefined ? '' : JSON.stringify(answer.body));
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    url: `${origin}/mcp`,
    requests,
    secrets,
    clients,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A browser in which everything is agreed to: follows redirects to their end. */
export async function followLogin(url: string): Promise<boolean> {
  let response = await fetch(url, { redirect: 'manual' });
  for (
    let location = response.headers.get('location');
    location !== null;
    location = response.headers.get('location')
  ) {
    response = await fetch(location, { redirect: 'manual' });
  }
  await response.text();
  return true;
}
