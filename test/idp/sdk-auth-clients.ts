// Real MCP clients with their own OAuth code, SDK v1 and SDK v2, and a scripted person at the browser: from the 401 to a tool call.
import assert from 'node:assert/strict';
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
  UnauthorizedError as UnauthorizedV2,
} from '@modelcontextprotocol/client';
import { UnauthorizedError as UnauthorizedV1 } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { BrowserAgent, type Person } from './browser-agent.ts';

/** How to reach a protected server, and who logs in. */
export interface AuthConnectOptions {
  readonly url: string;
  readonly browser?: BrowserAgent;
  readonly person?: Person;
  readonly redirectUri?: string;
  /** Called between any two requests of the login. */
  readonly beforeRequest?: (url: string) => Promise<void>;
  readonly clientName?: string;
  /** The address of the client's metadata document, if it has one: the SDKs use it wherever it is offered. */
  readonly metadataUrl?: string;
}

/** One request that the client made, of whatever kind. */
export interface ClientRequest {
  readonly method: string;
  readonly url: string;
  status: number | undefined;
}

/** A client that is logged in. */
export interface AuthedClient {
  readonly requests: readonly ClientRequest[];
  /** The pages that the person saw. */
  readonly pages: readonly { readonly url: URL }[];
  /** The access token that is in use, and how many times there was a new one. */
  readTokens(): Promise<{ readonly accessToken: string; readonly saved: number }>;
  listTools(): Promise<string[]>;
  callTool(name: string, args: Record<string, unknown>): Promise<string>;
  /** As if the access token had expired: the client has to refresh. */
  spoilAccessToken(): Promise<void>;
  close(): Promise<void>;
}

/** A client library with OAuth. */
export interface AuthClientLibrary {
  readonly name: string;
  connect(options: AuthConnectOptions): Promise<AuthedClient>;
}

interface StoredTokens {
  access_token: string;
  token_type: string;
  refresh_token?: string | undefined;
  issuer?: string | undefined;
}

interface StoredClient {
  client_id: string;
  client_secret?: string | undefined;
  issuer?: string | undefined;
}

/** What an application keeps for the SDK: the OAuthClientProvider of both versions. */
export class AuthMemory {
  readonly redirectUrl: string;
  declare readonly clientMetadataUrl?: string;
  readonly #clientName: string;
  stored: StoredTokens | undefined;
  client: StoredClient | undefined;
  authorizationUrl: URL | undefined;
  savedTokens = 0;
  #verifier = '';
  #discovery: unknown;

  constructor(redirectUrl: string, clientName: string, metadataUrl?: string) {
    this.redirectUrl = redirectUrl;
    if (metadataUrl !== undefined) this.clientMetadataUrl = metadataUrl;
    this.#clientName = clientName;
  }

  get clientMetadata(): {
    client_name: string;
    redirect_uris: string[];
    grant_types: string[];
    response_types: string[];
    token_endpoint_auth_method: string;
  } {
    return {
      client_name: this.#clientName,
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state(): string {
    return 'state-of-the-client';
  }

  clientInformation(): StoredClient | undefined {
    return this.client;
  }

  saveClientInformation(client: StoredClient): void {
    this.client = client;
  }

  tokens(): StoredTokens | undefined {
    return this.stored;
  }

  saveTokens(tokens: StoredTokens): void {
    this.savedTokens += 1;
    this.stored = tokens;
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(state: unknown): void {
    this.#discovery = state;
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- each SDK has a type of its own for the same value
  discoveryState(): any {
    return this.#discovery;
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (scope === 'all' || scope === 'client') this.client = undefined;
    if (scope === 'all' || scope === 'tokens') this.stored = undefined;
    if (scope === 'all' || scope === 'discovery') this.#discovery = undefined;
  }
}

interface Attempt {
  readonly memory: AuthMemory;
  readonly fetch: (input: string | URL, init?: RequestInit) => Promise<Response>;
  readonly url: URL;
}

interface Connection {
  readonly client: ClientV1 | ClientV2;
  finishAuth(callback: URL): Promise<void>;
  isUnauthorized(error: unknown): boolean;
  connect(): Promise<void>;
}

interface ContentBlock {
  readonly type: string;
  readonly text?: string;
}

function createLibrary(name: string, open: (attempt: Attempt) => Connection): AuthClientLibrary {
  return {
    name,
    async connect({
      url,
      browser = new BrowserAgent(),
      person = {},
      redirectUri = 'http://127.0.0.1:33419/callback',
      beforeRequest,
      clientName = name,
      metadataUrl,
    }) {
      const requests: ClientRequest[] = [];
      const memory = new AuthMemory(redirectUri, clientName, metadataUrl);
      const attempt: Attempt = {
        memory,
        url: new URL(url),
        fetch: async (input, init) => {
          await beforeRequest?.(String(input));
          const made: ClientRequest = { method: init?.method ?? 'GET', url: String(input), status: undefined };
          requests.push(made);
          const response = await fetch(input, init ?? {});
          made.status = response.status;
          return response;
        },
      };
      let connection = open(attempt);
      try {
        await connection.connect();
      } catch (error) {
        if (!connection.isUnauthorized(error)) throw error;
        const { authorizationUrl } = memory;
        assert.ok(authorizationUrl !== undefined, 'the client was not sent to log in');
        const callback = await browser.authorize(authorizationUrl, redirectUri, person);
        assert.equal(callback.searchParams.get('state'), memory.state());
        assert.equal(callback.searchParams.get('error'), null, callback.href);
        await connection.finishAuth(callback);
        await connection.client.close();
        connection = open(attempt);
        await connection.connect();
      }
      const { client } = connection;
      return {
        requests,
        pages: browser.pages,
        readTokens: async () => ({ accessToken: memory.stored!.access_token, saved: memory.savedTokens }),
        listTools: async () => (await client.listTools()).tools.map((tool) => tool.name),
        async callTool(tool, args) {
          const { content } = await client.callTool({ name: tool, arguments: args });
          return (content as ContentBlock[]).map((block) => block.text ?? '').join('\n');
        },
        async spoilAccessToken() {
          assert.ok(memory.stored !== undefined);
          memory.stored = { ...memory.stored, access_token: `${memory.stored.access_token.slice(0, -8)}AAAAAAAA` };
        },
        close: () => client.close(),
      };
    },
  };
}

const identity = { name: 'mcp-gatehouse-test', version: '1.0.0' };

/** SDK v1: `@modelcontextprotocol/sdk`. Does not know RFC 9207. */
export const authSdkV1 = createLibrary('SDK v1', ({ memory, fetch: tapped, url }) => {
  const client = new ClientV1(identity);
  const transport = new HttpV1(url, { authProvider: memory, fetch: tapped });
  return {
    client,
    connect: () => client.connect(transport),
    isUnauthorized: (error) => error instanceof UnauthorizedV1,
    finishAuth: (callback) => transport.finishAuth(callback.searchParams.get('code') ?? ''),
  };
});

/** SDK v2: `@modelcontextprotocol/client`. Checks issuers. */
export const authSdkV2 = createLibrary('SDK v2', ({ memory, fetch: tapped, url }) => {
  const client = new ClientV2(identity);
  const transport = new HttpV2(url, { authProvider: memory, fetch: tapped });
  return {
    client,
    connect: () => client.connect(transport),
    isUnauthorized: (error) => error instanceof UnauthorizedV2,
    finishAuth: (callback) => transport.finishAuth(callback.searchParams),
  };
});
