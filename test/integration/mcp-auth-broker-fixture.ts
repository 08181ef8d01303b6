// What the mcp-auth-broker tests stand on: gateways in this process (so that a test decides what names resolve to), and a small IdP.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createFetcher, type FetcherOptions } from '../../src/base/fetch-json.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { addSealKeys } from '../../src/cmd/seal-keys.ts';
import { defaultUpstreamLimits } from '../../src/gateway/forward/upstream-limits.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { defaultListenLimits } from '../../src/gateway/listen/limits.ts';
import { createGatewayMetrics } from '../../src/gateway/request-metrics.ts';
import { createFixedSource } from '../../src/sources/fixed-source.ts';
import { translate } from '../../src/translate/translate.ts';
import { formatResources, type ProtectedGatewayOptions } from '../idp/protected-gateway.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { type Closable, listenOnLoopback, readText } from './gateway-fixture.ts';

// ---- the IdP

/** An IdP that logs everybody in at once, and remembers what it was asked. */
export interface SmallIdp extends Closable {
  readonly issuer: string;
  readonly authorizations: URLSearchParams[];
  readonly tokenRequests: { readonly form: URLSearchParams; readonly authorization: string | undefined }[];
  readonly registrations: Record<string, unknown>[];
}

interface OpenLogin {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly resource: string;
}

/** Starts it. Refresh tokens are used once. */
export async function startSmallIdp(): Promise<SmallIdp> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' };
  const logins = new Map<string, OpenLogin>();
  const refreshTokens = new Map<string, OpenLogin>();
  const secrets = new Map<string, string | undefined>([['shared-client', 'shared-secret']]);
  const authorizations: SmallIdp['authorizations'] = [];
  const tokenRequests: SmallIdp['tokenRequests'] = [];
  const registrations: SmallIdp['registrations'] = [];
  let issuer = '';

  const issue = async (login: OpenLogin): Promise<object> => {
    const refresh = randomUUID();
    refreshTokens.set(refresh, login);
    const token = await new SignJWT({ scope: 'tickets:read' })
      .setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: 'at+jwt' })
      .setIssuer(issuer)
      .setSubject('ada')
      .setAudience(login.resource)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey);
    return { access_token: token, token_type: 'Bearer', expires_in: 300, refresh_token: refresh };
  };

  const redeem = async (form: URLSearchParams, clientId: string): Promise<object> => {
    const isCode = form.get('grant_type') === 'authorization_code';
    const open = isCode ? logins : refreshTokens;
    const handle = form.get(isCode ? 'code' : 'refresh_token') ?? '';
    const login = open.get(handle);
    open.delete(handle);
    const hash = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (login === undefined || login.clientId !== clientId) return { error: 'invalid_grant' };
    if (form.get('resource') !== login.resource) return { error: 'invalid_target' };
    if (isCode && (hash !== login.challenge || form.get('redirect_uri') !== login.redirectUri))
      return { error: 'invalid_grant' };
    return issue(login);
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url!, issuer);
    const answer = (value: object, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json', 'set-cookie': 'idp=1' });
      response.end(JSON.stringify(value));
    };
    const body = await readText(request);
    if (url.pathname === '/.well-known/oauth-authorization-server')
      return answer({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
      });
    if (url.pathname === '/jwks') return answer({ keys: [jwk] });
    if (url.pathname === '/register') {
      registrations.push(JSON.parse(body) as Record<string, unknown>);
      const [clientId, secret] = [randomUUID(), randomUUID()];
      secrets.set(clientId, secret);
      return answer(
        { client_id: clientId, client_secret: secret, token_endpoint_auth_method: 'client_secret_basic' },
        201,
      );
    }
    if (url.pathname === '/authorize') {
      const asked = url.searchParams;
      authorizations.push(asked);
      const code = randomBytes(16).toString('base64url');
      logins.set(code, {
        clientId: asked.get('client_id')!,
        redirectUri: asked.get('redirect_uri')!,
        challenge: asked.get('code_challenge')!,
        resource: asked.get('resource')!,
      });
      const back = new URL(asked.get('redirect_uri')!);
      back.search = new URLSearchParams({ code, state: asked.get('state')!, iss: issuer }).toString();
      response.writeHead(302, { location: back.href });
      return void response.end();
    }
    if (url.pathname === '/token') {
      const form = new URLSearchParams(body);
      const { authorization } = request.headers;
      tokenRequests.push({ form, authorization });
      const [clientId = '', secret] = Buffer.from(authorization?.slice(6) ?? '', 'base64')
        .toString()
        .split(':');
      if (!secrets.has(clientId) || secrets.get(clientId) !== secret) return answer({ error: 'invalid_client' }, 401);
      const outcome = await redeem(form, clientId);
      return answer(outcome, 'error' in outcome ? 400 : 200);
    }
    response.writeHead(404);
    response.end();
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const listening = await listenOnLoopback(server);
  issuer = `http://127.0.0.1:${listening.port}`;
  return { close: () => listening.close(), issuer, authorizations, tokenRequests, registrations };
}

// ---- the gateway

/** A gateway in this process. */
export interface BrokerGateway extends Closable {
  readonly port: number;
  readonly url: string;
}

export interface BrokerGatewayOptions extends Pick<ProtectedGatewayOptions, 'backends' | 'secrets' | 'listener'> {
  /** The first seals, both open. */
  readonly keys: readonly [Uint8Array, Uint8Array?];
  readonly fetcher?: FetcherOptions;
  /** The port of one that runs no more: restarted, or another replica behind the same address. */
  readonly port?: number;
  readonly resources?: readonly object[];
}

/** Starts a gateway. */
export async function startBrokerGateway(options: BrokerGatewayOptions): Promise<BrokerGateway> {
  const port = options.port ?? (await findFreePorts(1))[0]!;
  const fetcher = createFetcher(options.fetcher);
  const metrics = createGatewayMetrics(createMetrics(), 'test');
  const gateway = createGateway({
    log: silentLog,
    listenLimits: defaultListenLimits,
    upstreamLimits: defaultUpstreamLimits,
    metrics: metrics.requests,
    connectionMetrics: metrics.connections,
    upstreamMetrics: metrics.upstreams,
    configMetrics: metrics.config,
    accessLog: undefined,
    tracing: undefined,
    fetcher,
  });
  const resources = [...formatResources(port, options), ...(options.resources ?? [])];
  const { configuration } = translate(createFixedSource(resources).resources.get());
  const [current, previous] = options.keys;
  const report = await gateway.apply(addSealKeys(configuration, { current, previous }));
  if (report.problems.length > 0 || report.bindProblems.length > 0) throw new Error(JSON.stringify(report));
  const isTls = options.listener !== undefined && 'tls' in options.listener;
  return {
    port,
    url: `${isTls ? 'https' : 'http'}://127.0.0.1:${port}`,
    close: async () => {
      await gateway.drain(0);
      await fetcher.close();
    },
  };
}

/** A PKCE pair. */
export function createPkce(): { readonly verifier: string; readonly challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}
