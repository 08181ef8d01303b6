// For tests of the broker's endpoints without sockets: a protected resource, an IdP that is a function, and a browser's cookie jar.
import { createHash, randomBytes } from 'node:crypto';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { FetchOutcome, GuardedFetcher, GuardedRequest } from '../../../base/fetch-json.ts';
import { createSealer, createSealKey, type Sealer } from '../../../base/sealed.ts';
import { ClientRegistrationSchema, McpAuthenticationSchema, RegistrationMode } from '../../../ir/gen/config_pb.ts';
import type { Exchange } from '../../http/exchange.ts';
import { type RequestContext, startRequest } from '../../request/request-context.ts';
import type { Idp, IdpMetadata, MetadataState } from '../../config/idp-connection.ts';
import { type ProviderPreset, standardPreset } from '../../config/provider-preset.ts';
import type { OAuthAnswer, OAuthEndpoint, OAuthRequest } from '../login/oauth-endpoint.ts';
import type { McpAuthenticationConfig, ProtectedResource } from '../../config/protected-resource.ts';

export const idpIssuer = 'https://idp.example.com';
export const base = 'https://mcp.example.com';
export const resourceUrl = `${base}/mcp`;

/** The metadata of a standard IdP. */
export const idpMetadata: IdpMetadata = {
  issuer: idpIssuer,
  authorization_endpoint: `${idpIssuer}/authorize`,
  token_endpoint: `${idpIssuer}/token`,
  registration_endpoint: `${idpIssuer}/register`,
  grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
  token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
  code_challenge_methods_supported: ['S256'],
};

const usualRedirectUris = [
  'http://127.0.0.1:33418/callback',
  'http://127.0.0.1:33418/callback?keep=1',
  'http://127.0.0.1:5/callback',
  'https://app.example.com/cb',
];

export interface BrokerOptions {
  readonly message?: Omit<MessageInitShape<typeof McpAuthenticationSchema>, 'registration'>;
  readonly registration?: MessageInitShape<typeof ClientRegistrationSchema>;
  readonly metadata?: Partial<IdpMetadata>;
  readonly metadataState?: MetadataState;
  readonly preset?: ProviderPreset;
  readonly keys?: readonly Uint8Array[];
  readonly noSealer?: boolean;
  readonly sharedClientSecret?: string;
  readonly path?: string;
  /** The user is shown every client. Default: with Shared, and where redirect URIs are limited; otherwise not those that are usual in tests. */
  readonly asksForConsent?: boolean;
  /** Members of the connection to the IdP. */
  readonly idp?: Partial<Idp>;
  /** The flow Issuer, made for the parts that are here. */
  readonly createIssuer?: (
    parts: Pick<McpAuthenticationConfig, 'message' | 'preset'> & {
      readonly sealer: Sealer;
      readonly now: () => number;
    },
  ) => Pick<McpAuthenticationConfig, 'issuer' | 'tokens'>;
  /** Answers what the broker fetches. */
  readonly fetch?: (request: GuardedRequest) => FetchOutcome | Promise<FetchOutcome>;
}

/** A call of an endpoint. */
interface Call {
  readonly query?: Readonly<Record<string, string>> | URLSearchParams;
  readonly form?: Readonly<Record<string, string>> | URLSearchParams;
  readonly body?: string;
  readonly contentType?: string;
  readonly headers?: readonly string[];
  readonly base?: string;
  readonly isRootForm?: boolean;
}

/** A resource behind a broker, with a clock of its own. */
export class TestBroker {
  readonly config: McpAuthenticationConfig;
  readonly resource: ProtectedResource;
  readonly sealer: Sealer;
  /** Everything that was fetched. */
  readonly fetched: GuardedRequest[] = [];
  nowMs = Date.UTC(2026, 0, 1);

  constructor(options: BrokerOptions = {}) {
    this.sealer = createSealer(options.keys ?? [createSealKey()], () => this.nowMs);
    const fetcher: GuardedFetcher = {
      fetch: async (request) => {
        this.fetched.push(request);
        return (await options.fetch?.(request)) ?? { ok: false, code: 'unreachable', message: 'nothing is there' };
      },
      close: () => Promise.resolve(),
    };
    const { mode, allowedRedirectUris } = options.registration ?? {};
    const asks = options.asksForConsent ?? (mode === RegistrationMode.SHARED || allowedRedirectUris !== undefined);
    const metadata = { ...idpMetadata, ...options.metadata };
    const idp: Idp = {
      issuer: idpIssuer,
      getMetadata: () => options.metadataState ?? { ok: true, metadata, url: `${idpIssuer}/.well-known/x` },
      getFlow: () => ({ flow: 'Broker', reason: 'test' }),
      validator: { validate: () => ({ ok: false, reason: 'token_malformed', detail: 'not used' }) },
      hasKeys: true,
      fetcher,
      ...options.idp,
    };
    const message = create(McpAuthenticationSchema, {
      issuer: idpIssuer,
      clientIdMetadataDocuments: true,
      ...options.message,
      registration: {
        mode: RegistrationMode.FORWARD,
        perMinute: 60,
        maxBodyBytes: 65_536,
        // No consent page, unless the test is about it.
        trustedRedirectUris: asks ? [] : usualRedirectUris,
        ...options.registration,
      },
    } as MessageInitShape<typeof McpAuthenticationSchema>);
    const preset = options.preset ?? standardPreset;
    const parts = { message, preset, sealer: this.sealer, now: () => this.nowMs };
    this.config = {
      source: 'default/policy',
      message,
      preset,
      idp,
      tokens: idp,
      issuer: undefined,
      ...options.createIssuer?.(parts),
      sealer: options.noSealer === true ? undefined : this.sealer,
      resourcePath: undefined,
      ca: undefined,
      initialAccessToken: undefined,
      clientCredentialsSecret: undefined,
      sharedClientSecret: options.sharedClientSecret,
    };
    this.resource = {
      host: { kind: 'exact', hostname: 'mcp.example.com', port: 443 },
      path: options.path ?? '/mcp',
      config: this.config,
      backend: 'ProxyBackend/default/tickets',
      messageScopes: [],
      isOnlyOne: true,
      isOnlyConfiguration: true,
    };
  }

  /** The request as an endpoint gets it. */
  request(endpoint: OAuthEndpoint, call: Call, browser?: TestBrowser): OAuthRequest {
    const usesPost = call.form !== undefined || call.body !== undefined;
    const headers = [...(call.headers ?? [])];
    return {
      context: fakeContext(usesPost ? 'POST' : 'GET', headers, `/.oauth${this.resource.path}/${endpoint.name}`),
      resource: this.resource,
      base: call.base ?? base,
      isRootForm: call.isRootForm ?? false,
      query: new URLSearchParams(call.query),
      body: call.body ?? new URLSearchParams(call.form).toString(),
      contentType: call.contentType ?? (usesPost ? 'application/x-www-form-urlencoded' : ''),
      cookies: new Map(browser?.cookies),
      now: () => this.nowMs,
    };
  }

  /** Calls an endpoint, as this browser when there is one. */
  async call(endpoint: OAuthEndpoint, call: Call, browser?: TestBrowser): Promise<OAuthAnswer> {
    const answer = await endpoint.handle(this.request(endpoint, call, browser));
    browser?.keepCookies(answer);
    return answer;
  }
}

/** Keeps cookies as a browser does. */
export class TestBrowser {
  readonly cookies = new Map<string, string>();

  keepCookies(answer: OAuthAnswer): void {
    for (const line of listHeaders(answer, 'set-cookie')) {
      const [pair = '', ...attributes] = line.split('; ');
      const name = pair.slice(0, pair.indexOf('='));
      if (attributes.includes('Max-Age=0')) this.cookies.delete(name);
      else this.cookies.set(name, pair.slice(name.length + 1));
    }
  }
}

/** All values of a header of an answer. */
export function listHeaders(answer: OAuthAnswer, name: string): readonly string[] {
  return answer.headers.filter((_, index) => index % 2 === 1 && answer.headers[index - 1] === name);
}

/** The Location of an answer. */
export function readLocation(answer: OAuthAnswer): URL {
  const [location] = listHeaders(answer, 'location');
  if (location === undefined) throw new Error(`no Location in an answer with status ${answer.status}: ${answer.body}`);
  return new URL(location);
}

/** The value of the hidden field of a consent page. */
export function readTransaction(answer: OAuthAnswer): string {
  const value = /name="transaction" value="([^"]+)"/.exec(answer.body)?.[1];
  if (value === undefined) throw new Error('no consent form in the answer');
  return value;
}

/** A PKCE pair. */
export function createPkce(): { readonly verifier: string; readonly challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** An answer of the IdP in JSON. */
export function answerJson(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): FetchOutcome {
  const all = { 'content-type': 'application/json', ...headers };
  return { ok: true, status, headers: new Map(Object.entries(all)), body: JSON.stringify(value) };
}

/** A context for code that looks at the request's head only. */
function fakeContext(method: string, headers: readonly string[], path: string): RequestContext {
  const exchange = {
    method,
    target: path,
    authority: 'mcp.example.com',
    scheme: 'https',
    headers,
    remoteAddress: '127.0.0.1',
  } as unknown as Exchange;
  const context = startRequest(exchange);
  context.path = path;
  return context;
}
