// For tests of metadata and the authentication step without sockets: creates requests, resources and identity providers from a few values.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { GuardedFetcher } from '../../../base/fetch-json.ts';
import { createSealer, createSealKey } from '../../../base/sealed.ts';
import { AuthenticationMode, McpAuthenticationSchema } from '../../../ir/gen/config_pb.ts';
import type { RouteConfig } from '../../config/runtime-config.ts';
import type { BodySink, Exchange } from '../../http/exchange.ts';
import { type RequestContext, startRequest } from '../../request/request-context.ts';
import type { AcceptedAudiences, TokenVerdict, VerifiedToken } from '../token/verified-token.ts';
import type { Idp, IdpMetadata } from '../../config/idp-connection.ts';
import { standardPreset } from '../../config/provider-preset.ts';
import type { McpAuthenticationConfig, ProtectedResource, ResourceHost } from '../../config/protected-resource.ts';
import { idpMetadata } from './broker-fixture.ts';

/** What a fake exchange was answered. */
export interface Answered {
  status: number;
  headers: readonly string[];
  body: string;
}

export interface FakeRequest {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: readonly string[];
  readonly authority?: string;
  readonly scheme?: 'http' | 'https';
  readonly remoteAddress?: string;
  /** Chunks of the body; undefined: none. */
  readonly body?: readonly string[];
  /** The body never ends, or breaks off. */
  readonly bodyEnd?: 'whole' | 'never' | 'broken';
}

/** A request whose answer can be looked at. */
export function createContext(request: FakeRequest = {}): {
  readonly context: RequestContext;
  readonly answered: Answered;
} {
  const answered: Answered = { status: 0, headers: [], body: '' };
  const exchange: Partial<Exchange> = {
    method: request.method ?? 'GET',
    target: `${request.path ?? '/mcp'}${request.query ?? ''}`,
    authority: request.authority ?? 'mcp.example.com',
    scheme: request.scheme ?? 'https',
    httpVersion: '1.1',
    headers: request.headers ?? [],
    remoteAddress: request.remoteAddress ?? '192.0.2.1',
    hasBody: request.body !== undefined,
    onClose: () => {},
    readBody(sink: BodySink) {
      let isWanted = true;
      queueMicrotask(() => {
        for (const chunk of request.body ?? []) if (isWanted) sink.write(Buffer.from(chunk));
        if (request.bodyEnd === 'broken') sink.fail(new Error('gone'));
        else if (request.bodyEnd !== 'never' && isWanted) sink.end([]);
      });
      return { resume: () => {}, discard: () => void (isWanted = false) };
    },
    respond(status, headers, body) {
      Object.assign(answered, { status, headers, body: String(body) });
    },
  };
  const context = startRequest(exchange as Exchange);
  context.path = request.path ?? '/mcp';
  context.query = request.query ?? '';
  return { context, answered };
}

/** The value of a header of an answer; several joined with a bar. */
export function valueOf(headers: readonly string[], name: string): string | undefined {
  const values = headers.filter((_, index) => index % 2 === 1 && headers[index - 1]!.toLowerCase() === name);
  return values.length === 0 ? undefined : values.join(' | ');
}

/** A route with or without CORS settings, as far as the authentication step looks at it. */
export function createRoute(cors: boolean): RouteConfig {
  return { policies: { failure: undefined, 'traffic.cors': cors ? {} : undefined } } as unknown as RouteConfig;
}

export interface ResourceOptions {
  readonly message?: MessageInitShape<typeof McpAuthenticationSchema>;
  readonly host?: ResourceHost;
  readonly path?: string;
  readonly idp?: Partial<Idp>;
  readonly metadata?: Partial<IdpMetadata>;
  readonly config?: Partial<McpAuthenticationConfig>;
}

/** A protected resource whose IdP answers as the test says. */
export function createResource(options: ResourceOptions = {}): ProtectedResource {
  const fetcher: GuardedFetcher = {
    fetch: () => Promise.resolve({ ok: false, code: 'unreachable', message: 'nothing is there' }),
    close: () => Promise.resolve(),
  };
  const metadata = { ...idpMetadata, ...options.metadata };
  const message = create(McpAuthenticationSchema, {
    issuer: idpMetadata.issuer,
    mode: AuthenticationMode.STRICT,
    sessionBinding: true,
    clientIdMetadataDocuments: true,
    ...options.message,
    registration: { perMinute: 60, maxBodyBytes: 65_536, ...options.message?.registration },
  } as MessageInitShape<typeof McpAuthenticationSchema>);
  const idp: Idp = {
    issuer: message.issuer,
    getMetadata: () => ({ ok: true, metadata, url: `${message.issuer}/.well-known/openid-configuration` }),
    getFlow: () => ({ flow: 'Broker', reason: 'test' }),
    validator: { validate: () => ({ ok: false, reason: 'token_malformed', detail: 'not used' }) },
    hasKeys: true,
    fetcher,
    ...options.idp,
  };
  return {
    host: options.host ?? findHost(message.resource),
    path: options.path ?? '/mcp',
    backend: 'ProxyBackend/default/tickets',
    messageScopes: [],
    isOnlyOne: true,
    isOnlyConfiguration: true,
    config: {
      source: 'default/policy',
      message,
      preset: standardPreset,
      sealer: createSealer([createSealKey()]),
      resourcePath: undefined,
      ca: undefined,
      initialAccessToken: undefined,
      clientCredentialsSecret: undefined,
      sharedClientSecret: undefined,
      idp,
      tokens: idp,
      issuer: undefined,
      ...options.config,
    },
  };
}

function findHost(resource: string): ResourceHost {
  if (resource !== '') return { kind: 'configured', origin: new URL(resource).origin };
  return { kind: 'exact', hostname: 'mcp.example.com', port: 443 };
}

/** A valid token, except for the members that the test sets. */
export function createToken(members: Partial<VerifiedToken> = {}): VerifiedToken {
  return {
    issuer: idpMetadata.issuer,
    subject: 'alice',
    claims: { sub: 'alice' },
    scopes: new Set(['tickets:read']),
    expiresAtMs: Date.UTC(2030, 0, 1),
    ...members,
  };
}

/** A validator that returns this verdict for every token, and records its calls. */
export function createValidator(verdict: TokenVerdict | Promise<TokenVerdict>): {
  readonly validator: Idp['validator'];
  readonly asked: { readonly token: string; readonly audiences: AcceptedAudiences }[];
} {
  const asked: { readonly token: string; readonly audiences: AcceptedAudiences }[] = [];
  return {
    asked,
    validator: {
      validate(token, audiences) {
        asked.push({ token, audiences });
        return verdict;
      },
    },
  };
}
