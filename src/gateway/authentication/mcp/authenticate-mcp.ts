// The authentication step of a protected MCP backend (`spec.backend.mcp.authentication`, RFC 9728 5, MCP authorization): the bearer token for the resource,
// its scopes, and the owner of the session. The rest is in the engine (authenticate.ts).
import type { McpAuthenticationConfig, ProtectedResource } from '../../config/protected-resource.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import type { McpAdmission, SessionIdentity } from '../../request/admission.ts';
import type { RequestContext } from '../../request/request-context.ts';
import { continueUnchanged, type Denial, type Verdict } from '../../request/verdict.ts';
import type { BackendRequest } from '../../request/run-steps.ts';
import { findProtectedResource } from '../../route/find-protection.ts';
import { authenticate, type Authentication, type AuthenticationStrategy } from '../authenticate.ts';
import { formatClaimHeaders, listClaimHeaders } from '../claims-to-headers.ts';
import { createDenial, noteAccess } from '../deny-token.ts';
import { recallIssued, validateIssued } from '../login/issuer/issued-token-validator.ts';
import { formatFacadeIssuer, formatResourceUrl, readBase, spellResource } from '../read-base.ts';
import { checkScopes } from '../token/check-claims.ts';
import { bearerHeader, findToken, type FoundToken, hasQueryToken } from '../token/find-token.ts';
import type { TokenRefusal, VerifiedToken } from '../token/verified-token.ts';

/** Judges the token of a request when its backend has MCP authentication. */
export function authenticateMcp({ context, matched, choice }: BackendRequest): Verdict | Promise<Verdict> {
  const config = choice.policies['backend.mcp.authentication'];
  if (config === undefined) return continueUnchanged;
  const resource = findProtectedResource(context, matched, choice);
  if (resource !== undefined) return authenticateFor(context, resource);
  const detail = `policy ${config.source}: the path of this request belongs to another policy, or to none`;
  return { kind: 'deny', reason: 'policy_invalid', detail, responseHeaders: [] };
}

/** Judges a request to a protected resource. `context.backend` is the key of the chosen backend. */
export function authenticateFor(context: RequestContext, resource: ProtectedResource): Verdict | Promise<Verdict> {
  noteAccess(context, resource);
  const { config } = resource;
  return authenticate(mcpAuthentication, {
    context,
    config,
    location: bearerHeader,
    resource,
    findLogin: () => resource,
  });
}

interface AskedForResource extends Authentication {
  readonly config: McpAuthenticationConfig;
  readonly resource: ProtectedResource;
}

const mcpAuthentication: AuthenticationStrategy<AskedForResource> = {
  step: 'backend.mcp.authentication',
  findToken: ({ context }) => findBearerToken(context.exchange.headers, context.query),
  recall(asked, text) {
    const { validator } = asked.config.tokens;
    return asked.config.issuer === undefined
      ? validator.recall?.(text, listAudiences(asked))
      : recallIssued(validator, text, listAudiences(asked), listIssuers(asked));
  },
  validate(asked, text) {
    const { validator } = asked.config.tokens;
    return asked.config.issuer === undefined
      ? validator.validate(text, listAudiences(asked))
      : validateIssued(validator, text, listAudiences(asked), listIssuers(asked));
  },
  loadKeys({ config: { tokens } }) {
    return tokens.hasKeys ? undefined : (tokens.loadKeys?.() ?? neverLoaded);
  },
  findShortcoming,
  admit(asked, token, text) {
    const { sealer, message } = asked.config;
    if (message.sessionBinding && sealer === undefined)
      return deny(asked, 'seal_key_missing', 'sessionBinding needs a seal key');
    asked.context.mcp = createAdmission(asked, token, text);
    return undefined;
  },
};

/**
 * Finds the bearer token (RFC 6750 2.1). Only the Authorization header counts: tokens in URLs end up in logs and histories.
 * `query` as in the request context: with its '?', or empty.
 */
export function findBearerToken(headers: RawHeaders, query: string): FoundToken {
  const found = findToken(headers, query, bearerHeader);
  if (found.kind === 'ambiguous') return found;
  return hasQueryToken(query) ? { kind: 'ambiguous', detail: 'an access token in the query' } : found;
}

const neverLoaded: TokenRefusal = {
  ok: false,
  reason: 'keys_unavailable',
  detail: 'no keys of the IdP have been loaded yet',
};

/** Without configured audiences a token must be for the resource's own URL. */
function listAudiences({ context, config: { message }, resource }: AskedForResource): readonly string[] {
  if (message.audiences.length > 0) return message.audiences;
  return spellResource(formatResourceUrl(readBase(context, resource), resource));
}

/** The names under which the gateway issues the tokens of a resource: one per form of its metadata. */
function listIssuers({ context, resource }: AskedForResource): readonly string[] {
  const base = readBase(context, resource);
  return [formatFacadeIssuer(base, resource), formatFacadeIssuer(base, resource, true)];
}

function findShortcoming(asked: AskedForResource, token: VerifiedToken): Denial | undefined {
  const { context, config, resource } = asked;
  const { requiredScopes: scopes, sessionBinding } = config.message;
  const refusal = checkScopes(token, scopes);
  if (refusal !== undefined) {
    // A token without any scopes gets no challenge: a step-up would yield another token without scopes, in a loop.
    const challenge =
      refusal.reason === 'insufficient_scope' ? ({ error: 'insufficient_scope', scopes } as const) : undefined;
    return createDenial(context, resource, refusal.reason, challenge, refusal.operatorDetail ?? refusal.detail);
  }
  // All users without a subject would share their sessions.
  const isNameless = token.subject === undefined || token.subject === '';
  return sessionBinding && isNameless
    ? deny(asked, 'missing_subject', 'sessionBinding needs a token with sub')
    : undefined;
}

function deny({ context, resource }: AskedForResource, reason: Denial['reason'], detail: string): Denial {
  return createDenial(context, resource, reason, undefined, detail);
}

/** Removes the headers that the client must not send, and adds the headers from claims. */
function createAdmission(
  { config, resource }: AskedForResource,
  token: VerifiedToken | undefined,
  text: string | undefined,
): McpAdmission {
  const { message, sealer } = config;
  let session: SessionIdentity | undefined;
  if (message.sessionBinding && sealer !== undefined) {
    // Requests without a token share one anonymous identity, which no user has: subjects are never empty.
    const { issuer = '', subject = '' } = token ?? {};
    session = { sealer, issuer: subject === '' ? '' : issuer, subject, backend: resource.backend };
  }
  const prepared = prepareHeaders(config);
  let addedHeaders = token === undefined ? noHeaders : listClaims(config, prepared, token);
  if (message.forwardToken && text !== undefined) addedHeaders = [...addedHeaders, 'authorization', `Bearer ${text}`];
  return { token, text, removedHeaders: prepared.removed, addedHeaders, resource, session };
}

const noHeaders: RawHeaders = [];

/** Headers of a policy: the same for every request, and those of claims for every request with the token. */
interface PreparedHeaders {
  /** Identity headers of the client: the gateway reads them and does not forward them. */
  readonly removed: ReadonlySet<string>;
  readonly ofTokens: WeakMap<VerifiedToken, RawHeaders>;
}

const preparedHeaders = new WeakMap<McpAuthenticationConfig, PreparedHeaders>();

function prepareHeaders(config: McpAuthenticationConfig): PreparedHeaders {
  let prepared = preparedHeaders.get(config);
  if (prepared === undefined) {
    const removed = new Set(['authorization', ...listClaimHeaders(config.message.claimsToHeaders)]);
    preparedHeaders.set(config, (prepared = { removed, ofTokens: new WeakMap() }));
  }
  return prepared;
}

function listClaims(
  { message }: McpAuthenticationConfig,
  { ofTokens }: PreparedHeaders,
  token: VerifiedToken,
): RawHeaders {
  if (message.claimsToHeaders.length === 0) return noHeaders;
  let headers = ofTokens.get(token);
  if (headers === undefined) {
    headers = formatClaimHeaders(token.claims, message.claimsToHeaders);
    ofTokens.set(token, headers);
  }
  return headers;
}
