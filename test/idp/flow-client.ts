// An MCP client that takes the steps of the login one at a time, so that a test can look, or pull a plug, between any two of them.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { request } from 'undici';
import type { BrowserAgent, Person } from './browser-agent.ts';

/** An answer, read to its end. */
export interface FlowAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** The body as JSON; fails the test when it is none. */
  json(): Record<string, unknown>;
}

/** A token response (RFC 6749, 5.1). */
export interface Tokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly refresh_token?: string;
  readonly scope?: string;
  readonly expires_in?: number;
}

/** Metadata of a protected resource (RFC 9728), what a client needs of it. */
export interface ResourceMetadata {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly scopes_supported?: readonly string[];
  readonly [member: string]: unknown;
}

/** Metadata of an authorization server, what a client needs of it. */
export interface ServerMetadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly registration_endpoint?: string;
  readonly authorization_response_iss_parameter_supported?: boolean;
  readonly [member: string]: unknown;
}

/** Asks on a connection of its own: whoever listens there now answers. */
export async function ask(
  url: string | URL,
  options: { method?: string; headers?: Record<string, string | string[]>; body?: string } = {},
): Promise<FlowAnswer> {
  const answer = await request(url, {
    method: (options.method ?? 'GET') as 'GET',
    headers: options.headers ?? {},
    body: options.body ?? null,
    reset: true,
    headersTimeout: 60_000,
    bodyTimeout: 60_000,
  });
  const body = await answer.body.text();
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body,
    json: () => {
      try {
        return JSON.parse(body) as Record<string, unknown>;
      } catch {
        return assert.fail(`not JSON, ${answer.statusCode} from ${String(url)}: ${body}`);
      }
    },
  };
}

/** Posts a form. `host`: what the server is called, when that is not its address. */
export function postForm(
  url: string,
  form: Record<string, string> | URLSearchParams,
  host?: string,
): Promise<FlowAnswer> {
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    ...(host === undefined ? {} : { host }),
  };
  return ask(url, { method: 'POST', headers, body: new URLSearchParams(form).toString() });
}

/** A JSON-RPC request for the tools list; answered by any MCP server that needs no session. */
export const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

/** Posts an MCP message. */
export function postMcp(
  url: string,
  message: object,
  headers: Record<string, string | string[]> = {},
): Promise<FlowAnswer> {
  return ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(message),
  });
}

/** One client's progress. */
export class FlowClient {
  readonly url: string;
  readonly redirectUri: string;
  resource: ResourceMetadata | undefined;
  server: ServerMetadata | undefined;
  registration: Readonly<Record<string, unknown>> | undefined;
  tokens: Tokens | undefined;
  challengeHeader = '';
  /** Everything that the client was told at registration and at the token endpoint. */
  readonly told: FlowAnswer[] = [];
  scope: string | undefined;
  readonly state = randomBytes(12).toString('base64url');
  readonly verifier = randomBytes(32).toString('base64url');

  constructor(url: string, redirectUri = 'http://127.0.0.1:33418/callback') {
    this.url = url;
    this.redirectUri = redirectUri;
  }

  get clientId(): string {
    return String(this.registration?.['client_id']);
  }

  /** Step 1: no token, 401. */
  async getChallenge(): Promise<void> {
    const answer = await postMcp(this.url, listTools);
    assert.equal(answer.status, 401, answer.body);
    this.challengeHeader = String(answer.headers['www-authenticate']);
    this.scope = readParameter(this.challengeHeader, 'scope');
  }

  /** Step 2: whose resource is it (RFC 9728). */
  async discoverResource(): Promise<void> {
    const url = readParameter(this.challengeHeader, 'resource_metadata');
    assert.ok(url !== undefined, `no resource_metadata in ${this.challengeHeader}`);
    const answer = await ask(url);
    assert.equal(answer.status, 200, answer.body);
    this.resource = answer.json() as unknown as ResourceMetadata;
    assert.equal(this.resource?.resource, this.url);
  }

  /** Step 3: what does its authorization server say of itself (RFC 8414, in the order of the MCP specification). */
  async discoverServer(): Promise<void> {
    const issuer = new URL(this.resource!.authorization_servers[0]!);
    const path = issuer.pathname.replace(/\/$/, '');
    const candidates = [
      `${issuer.origin}/.well-known/oauth-authorization-server${path}`,
      `${issuer.origin}/.well-known/openid-configuration${path}`,
      `${issuer.origin}${path}/.well-known/openid-configuration`,
    ];
    for (const candidate of candidates) {
      const answer = await ask(candidate);
      if (answer.status === 404) continue;
      assert.equal(answer.status, 200, answer.body);
      this.server = answer.json() as ServerMetadata;
      // RFC 8414, 3.3.
      assert.equal(this.server.issuer, this.resource!.authorization_servers[0]);
      return;
    }
    assert.fail(`no metadata at ${candidates.join(', ')}`);
  }

  /** Step 4: registration (RFC 7591). */
  async register(metadata: Record<string, unknown> = {}): Promise<FlowAnswer> {
    const answer = await this.tryRegister(metadata);
    assert.equal(answer.status, 201, answer.body);
    this.registration = answer.json();
    assert.equal(typeof this.registration?.['client_id'], 'string');
    return answer;
  }

  /** Step 4, whatever the answer. */
  async tryRegister(metadata: Record<string, unknown> = {}): Promise<FlowAnswer> {
    const body = {
      client_name: 'Flow client',
      redirect_uris: [this.redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...(this.scope === undefined ? {} : { scope: this.scope }),
      ...metadata,
    };
    const answer = await ask(this.server!.registration_endpoint!, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
    });
    this.told.push(answer);
    return answer;
  }

  /** The address that the browser is sent to (RFC 6749 with RFC 7636 and RFC 8707). Undefined values are left out. */
  formatAuthorizationUrl(changes: Record<string, string | undefined> = {}): URL {
    const url = new URL(this.server!.authorization_endpoint);
    const parameters = {
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      state: this.state,
      code_challenge: createHash('sha256').update(this.verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: this.resource!.resource,
      scope: this.scope,
      ...changes,
    };
    for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
    return url;
  }

  /** Step 5: login in the browser, back to the client with a code. */
  async logIn(
    browser: BrowserAgent,
    person: Person = {},
    changes: Record<string, string | undefined> = {},
  ): Promise<URL> {
    const callback = await browser.authorize(this.formatAuthorizationUrl(changes), this.redirectUri, person);
    assert.equal(callback.searchParams.get('state'), this.state);
    return callback;
  }

  /** RFC 9207, as current clients check it. */
  checkIssuer(callback: URL): void {
    const iss = callback.searchParams.get('iss');
    if (this.server!.authorization_response_iss_parameter_supported === true || iss !== null) {
      assert.equal(iss, this.server!.issuer);
    }
  }

  /** Step 6: code for tokens. */
  async redeem(callback: URL, changes: Record<string, string | undefined> = {}): Promise<void> {
    this.checkIssuer(callback);
    const answer = await this.tryRedeem(callback, changes);
    assert.equal(answer.status, 200, answer.body);
    this.tokens = answer.json() as unknown as Tokens;
  }

  /** Step 6, whatever the answer. */
  tryRedeem(callback: URL, changes: Record<string, string | undefined> = {}): Promise<FlowAnswer> {
    return this.#postToken({
      grant_type: 'authorization_code',
      code: callback.searchParams.get('code') ?? undefined,
      redirect_uri: this.redirectUri,
      code_verifier: this.verifier,
      resource: this.resource!.resource,
      ...changes,
    });
  }

  /** Step 8: a fresh token. */
  async refresh(changes: Record<string, string | undefined> = {}): Promise<void> {
    const answer = await this.tryRefresh(changes);
    assert.equal(answer.status, 200, answer.body);
    this.tokens = { ...this.tokens, ...(answer.json() as unknown as Tokens) };
  }

  /** Step 8, whatever the answer. */
  tryRefresh(changes: Record<string, string | undefined> = {}): Promise<FlowAnswer> {
    return this.#postToken({
      grant_type: 'refresh_token',
      refresh_token: this.tokens?.refresh_token,
      resource: this.resource!.resource,
      ...changes,
    });
  }

  async #postToken(parameters: Record<string, string | undefined>): Promise<FlowAnswer> {
    const form = new URLSearchParams({ client_id: this.clientId });
    for (const [name, value] of Object.entries(parameters)) if (value !== undefined) form.set(name, value);
    const secret = this.registration?.['client_secret'];
    if (typeof secret === 'string') form.set('client_secret', secret);
    const answer = await postForm(this.server!.token_endpoint, form);
    this.told.push(answer);
    return answer;
  }

  /** Step 7: MCP with the token. */
  post(message: object = listTools, headers: Record<string, string> = {}): Promise<FlowAnswer> {
    return postMcp(this.url, message, { authorization: `Bearer ${this.tokens!.access_token}`, ...headers });
  }

  /** Steps 1 to 4. */
  async prepare(metadata: Record<string, unknown> = {}): Promise<this> {
    await this.getChallenge();
    await this.discoverResource();
    await this.discoverServer();
    await this.register(metadata);
    return this;
  }

  /** Steps 1 to 6. */
  async connect(browser: BrowserAgent, person: Person = {}): Promise<this> {
    await this.prepare();
    await this.redeem(await this.logIn(browser, person));
    return this;
  }
}

/** A parameter of the Bearer challenge, read as loosely as clients do. */
export function readParameter(challenge: string, name: string): string | undefined {
  return new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1];
}
