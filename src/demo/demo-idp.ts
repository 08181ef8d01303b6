// The demo's identity provider: a real OpenID provider (oidc-provider) with two users. Keys are made at start and never leave the process.
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import type { InteractionDetails } from 'oidc-provider';
import { Provider } from 'oidc-provider/lib/provider.js';
import { renderConsent, renderLogin, renderProblem } from './demo-idp-pages.ts';
import { type DemoUser, demoUsers, describeClaims } from './demo-users.ts';
import { createIdpStore } from './idp-store.ts';

/** Scopes of the demo beside the standard ones. */
export const demoScopes: readonly string[] = ['tickets'];

interface DemoIdp {
  readonly issuer: string;
  close(): Promise<void>;
}

/** Starts the identity provider on loopback. */
export async function startDemoIdp({ port }: { readonly port: number }): Promise<DemoIdp> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, await describeProvider());
  const serveProvider = provider.callback();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const isInteraction = /^\/interaction\/[\w-]+(?:\/\w+)?(?:\?|$)/.test(request.url ?? '');
    const done = isInteraction ? serveInteraction(provider, request, response) : serveProvider(request, response);
    done.catch((error: unknown) => sendPage(response, 400, renderProblem(describeProblem(error))));
  });
  return {
    issuer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function describeProvider(): Promise<Record<string, unknown>> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256', kid: randomBytes(8).toString('hex') };
  return {
    adapter: createIdpStore(),
    jwks: { keys: [key] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    scopes: ['openid', 'offline_access', ...demoScopes],
    claims: { openid: ['sub'], profile: ['name', 'team', 'groups'] },
    pkce: { required: () => true },
    // Browser-based clients ask from their own origin.
    clientBasedCORS: () => true,
    issueRefreshToken: async (_context: unknown, client: { grantTypeAllowed(type: string): boolean }) =>
      client.grantTypeAllowed('refresh_token'),
    findAccount: (_context: unknown, id: string) => {
      const user = demoUsers.find((each) => each.id === id);
      if (user === undefined) return undefined;
      return { accountId: id, claims: () => ({ sub: id, ...describeClaims(user) }) };
    },
    extraTokenClaims: (_context: unknown, token: { accountId?: string }) => {
      const user = demoUsers.find((each) => each.id === token.accountId);
      return user === undefined ? {} : describeClaims(user);
    },
    renderError: (
      context: { type: string; body: string; set(headers: object): void },
      _out: unknown,
      error: unknown,
    ) => {
      context.set(pageHeaders);
      context.body = renderProblem(describeProblem(error));
    },
    interactions: { url: (_context: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}` },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      RefreshToken: 86_400,
      Session: 86_400,
      Grant: 86_400,
      Interaction: 600,
      IdToken: 600,
    },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        // Tokens are JWTs for the MCP URL that the client named (RFC 8707).
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          audience: resource,
          scope: demoScopes.join(' '),
          accessTokenFormat: 'jwt',
          accessTokenTTL: 600,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  };
}

async function serveInteraction(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const details = await provider.interactionDetails(request, response);
  const client = await provider.Client.find(String(details.params['client_id']));
  const clientName = client?.clientName ?? String(details.params['client_id']);
  if (request.method !== 'POST') {
    const page =
      details.prompt.name === 'login'
        ? renderLogin(details.uid, clientName, listUsers(details))
        : renderConsent({
            uid: details.uid,
            clientName,
            userName: demoUsers.find(({ id }) => id === details.session?.accountId)?.name ?? 'nobody',
            scopes: readScopes(details),
            resource: typeof details.params['resource'] === 'string' ? details.params['resource'] : undefined,
          });
    return sendPage(response, 200, page);
  }
  const form = new URLSearchParams(await readBody(request));
  if (form.get('action') === 'switch') return askWhoAgain(provider, details, response);
  if (form.get('action') === 'cancel') {
    return provider.interactionFinished(request, response, {
      error: 'access_denied',
      error_description: 'The user did not agree.',
    });
  }
  if (details.prompt.name === 'login') {
    const user = demoUsers.find(({ id, password }) => id === form.get('user') && password === form.get('password'));
    if (user === undefined)
      return sendPage(
        response,
        401,
        renderLogin(details.uid, clientName, listUsers(details), 'Wrong user or password.'),
      );
    return provider.interactionFinished(
      request,
      response,
      { login: { accountId: user.id } },
      { mergeWithLastSubmission: false },
    );
  }
  const grantId = await grantWhatIsAsked(provider, details);
  return provider.interactionFinished(request, response, { consent: { grantId } }, { mergeWithLastSubmission: true });
}

/** The user whom the client expects (login_hint) comes first. */
function listUsers({ params }: InteractionDetails): DemoUser[] {
  return demoUsers.toSorted(
    (left, right) => Number(right.id === params['login_hint']) - Number(left.id === params['login_hint']),
  );
}

/** Ends the session and begins the same login anew. */
async function askWhoAgain(provider: Provider, details: InteractionDetails, response: ServerResponse): Promise<void> {
  const session =
    details.session?.cookie === undefined ? undefined : await provider.Session.find(details.session.cookie);
  await session?.destroy();
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(details.params)) if (typeof value === 'string') query.set(name, value);
  response.writeHead(303, { location: `/auth?${query.toString()}`, 'cache-control': 'no-store' }).end();
}

function describeProblem(error: unknown): string {
  if (!(error instanceof Error)) return 'Something unexpected happened.';
  // oidc-provider has the sentence here, and an error code in the message.
  const { error_description: description } = error as { error_description?: unknown };
  const text = typeof description === 'string' ? description : error.message;
  if (error.name === 'SessionNotFound') return 'This login is over, or it was begun in another browser.';
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function readScopes({ params }: InteractionDetails): string[] {
  const { scope } = params;
  return (typeof scope === 'string' ? scope : '').split(' ').filter((each) => each !== '');
}

async function grantWhatIsAsked(provider: Provider, details: InteractionDetails): Promise<string> {
  const known = details.grantId === undefined ? undefined : await provider.Grant.find(details.grantId);
  const grant =
    known ??
    new provider.Grant({ accountId: details.session?.accountId ?? '', clientId: String(details.params['client_id']) });
  const missing = details.prompt.details as {
    missingOIDCScope?: string[];
    missingOIDCClaims?: string[];
    missingResourceScopes?: Record<string, string[]>;
  };
  if (missing.missingOIDCScope !== undefined) grant.addOIDCScope(missing.missingOIDCScope.join(' '));
  if (missing.missingOIDCClaims !== undefined) grant.addOIDCClaims(missing.missingOIDCClaims);
  for (const [resource, scopes] of Object.entries(missing.missingResourceScopes ?? {}))
    grant.addResourceScope(resource, scopes.join(' '));
  return grant.save();
}

const maxBodyBytes = 8_192;

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) throw new Error('the form is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'",
};

function sendPage(response: ServerResponse, status: number, html: string): void {
  if (response.headersSent) return;
  response.writeHead(status, pageHeaders).end(html);
}
