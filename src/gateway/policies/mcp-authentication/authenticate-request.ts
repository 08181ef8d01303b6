// The authentication step of a protected MCP backend (RFC 6750, RFC 9728 5, MCP authorization): who is asking, or the challenge.
import { AuthenticationMode, type McpAuthentication } from '../../../ir/gen/config_pb.ts';
import { findHeader } from '../../forward/headers.ts';
import type { RawHeaders } from '../../listen/exchange.ts';
import type { Reason } from '../../reasons.ts';
import type { RequestContext } from '../../request-context.ts';
import { checkScopes } from '../../token/check-claims.ts';
import type { TokenRefusal, TokenVerdict, VerifiedToken } from '../../token/verified-token.ts';
import { readPreflightMethod } from '../cors.ts';
import type { PolicyDenial } from '../policy-verdict.ts';
import type { AuthenticationRequest, AuthenticationVerdict, SessionIdentity } from './authentication-verdict.ts';
import { type BearerChallenge, formatChallenge } from './challenge.ts';
import { formatClaimHeaders, listClaimHeaders } from './claims-to-headers.ts';
import { formatMetadataPath } from './endpoint-paths.ts';
import type { ProtectedResource } from './protected-resource.ts';
import { formatResourceUrl, readBase, type TrustedProxies } from './read-base.ts';
import { readCredentials } from './read-credentials.ts';

/** Judges a request. A promise only when the token is not known yet, or the keys are still on their way. */
export function authenticateRequest(
  { context, resource }: AuthenticationRequest,
  trustedProxies?: TrustedProxies,
): AuthenticationVerdict | Promise<AuthenticationVerdict> {
  const { config } = resource;
  const step: Step = {
    context,
    resource,
    message: config.message,
    // Most requests do not need it.
    readBase: () => readBase(context.exchange, resource, trustedProxies),
  };
  context.flowStep = {
    name: 'access',
    policy: config.source,
    resource: resource.path,
    flow: config.idp.getFlow()?.flow,
  };
  const preflight = answerPreflight(step);
  if (preflight !== undefined) return preflight;
  if (config.idp.hasKeys || step.message.mode === AuthenticationMode.PERMISSIVE) return judge(step);
  // Just started, or never reached the IdP. Without keys nothing can be told apart, so nothing passes.
  const loading = config.idp.loadKeys?.();
  if (loading === undefined) return denyWithoutKeys(step, undefined);
  return loading.then((problem) => (problem === undefined ? judge(step) : denyWithoutKeys(step, problem)));
}

interface Step {
  readonly context: RequestContext;
  readonly resource: ProtectedResource;
  readonly message: McpAuthentication;
  readonly readBase: () => string;
}

function judge(step: Step): AuthenticationVerdict | Promise<AuthenticationVerdict> {
  const { context, message, resource } = step;
  const isPermissive = message.mode === AuthenticationMode.PERMISSIVE;
  const credentials = readCredentials(context.exchange.headers, context.query);
  switch (credentials.kind) {
    case 'none':
      if (isPermissive || message.mode === AuthenticationMode.OPTIONAL) return admit(step, undefined);
      return deny(step, 'missing_token', { scopes: message.requiredScopes }, '');
    case 'ambiguous':
      if (isPermissive) return admit(step, undefined);
      return deny(step, 'invalid_request', { error: 'invalid_request' }, credentials.detail);
    case 'malformed':
      if (isPermissive) return admit(step, undefined);
      return refuseToken(step, { ok: false, reason: 'token_malformed', detail: credentials.detail });
    case 'bearer': {
      const { token } = credentials;
      const verdict = resource.config.idp.validator.validate(token, listAudiences(step));
      if (verdict instanceof Promise) return verdict.then((late) => actOnVerdict(step, token, late));
      return actOnVerdict(step, token, verdict);
    }
  }
}

/**
 * Without configured audiences a token must be for the resource's own URL. With and without a slash at the end: both name the same
 * resource here, and clients that write URLs with a parser cannot leave out the slash of a root.
 */
function listAudiences({ message, readBase: readOwnBase, resource }: Step): readonly string[] {
  if (message.audiences.length > 0) return message.audiences;
  const url = formatResourceUrl(readOwnBase(), resource);
  return [url, url.endsWith('/') ? url.slice(0, -1) : `${url}/`];
}

function actOnVerdict(step: Step, token: string, verdict: TokenVerdict): AuthenticationVerdict {
  const { message } = step;
  if (message.mode === AuthenticationMode.PERMISSIVE)
    return verdict.ok ? admit(step, verdict.token, token) : admit(step, undefined);
  if (!verdict.ok) return refuseToken(step, verdict);
  const refusal = checkScopes(verdict.token, message.requiredScopes);
  if (refusal !== undefined) {
    // A token without any scopes gets no challenge: a step-up would bring another one without scopes, and so on.
    const isStepUp = refusal.reason === 'insufficient_scope';
    const challenge: BearerChallenge = { error: 'insufficient_scope', scopes: message.requiredScopes };
    return deny(step, refusal.reason, isStepUp ? challenge : undefined, refusal.operatorDetail ?? refusal.detail);
  }
  const { subject } = verdict.token;
  // All users without a name would share their sessions.
  if (message.sessionBinding && (subject === undefined || subject === ''))
    return deny(step, 'missing_subject', undefined, 'sessionBinding needs sub');
  return admit(step, verdict.token, token);
}

/** The request goes on: without what the client must not send, and with what the token says. */
function admit(step: Step, verified: VerifiedToken | undefined, token?: string): AuthenticationVerdict {
  const { message, resource } = step;
  const { sealer } = resource.config;
  let session: SessionIdentity | undefined;
  if (message.sessionBinding) {
    if (sealer === undefined) return deny(step, 'seal_key_missing', undefined, 'sessionBinding needs a key');
    // Requests without a token share an identity of their own, which is nobody's: no subject is empty.
    const { issuer = '', subject = '' } = verified ?? {};
    session = { sealer, issuer: subject === '' ? '' : issuer, subject, backend: resource.backend };
  }
  const addedHeaders = verified === undefined ? [] : formatClaimHeaders(verified.claims, message.claimsToHeaders);
  if (message.forwardToken && verified !== undefined && token !== undefined)
    addedHeaders.push('authorization', `Bearer ${token}`);
  return {
    kind: 'continue',
    token: verified,
    removedHeaders: listRemovedHeaders(message),
    addedHeaders,
    responseHeaders: [],
    session,
  };
}

const removedHeaders = new WeakMap<McpAuthentication, ReadonlySet<string>>();

/** What the client sent as its identity is read by the gateway and by nobody behind it. */
function listRemovedHeaders(message: McpAuthentication): ReadonlySet<string> {
  let names = removedHeaders.get(message);
  if (names === undefined) {
    names = new Set(['authorization', ...listClaimHeaders(message.claimsToHeaders)]);
    removedHeaders.set(message, names);
  }
  return names;
}

function refuseToken(step: Step, refusal: TokenRefusal): PolicyDenial {
  if (refusal.reason === 'keys_unavailable') return denyWithoutKeys(step, refusal);
  const challenge: BearerChallenge = {
    error: 'invalid_token',
    errorDescription: refusal.detail,
    scopes: step.message.requiredScopes,
  };
  const detail =
    refusal.operatorDetail === undefined ? refusal.detail : `${refusal.detail} (${refusal.operatorDetail})`;
  return { ...deny(step, refusal.reason, challenge, detail), description: refusal.detail };
}

const defaultRetrySeconds = 5;

function denyWithoutKeys(
  step: Step,
  problem: Pick<TokenRefusal, 'detail' | 'operatorDetail' | 'retryAfterSeconds'> | undefined,
): PolicyDenial {
  const seconds = Math.max(1, Math.ceil(problem?.retryAfterSeconds ?? defaultRetrySeconds));
  const detail = problem?.operatorDetail ?? problem?.detail ?? 'no keys of the IdP have been loaded yet';
  const denial = deny(step, 'keys_unavailable', undefined, detail);
  return { ...denial, responseHeaders: [...denial.responseHeaders, 'retry-after', String(seconds)] };
}

function deny(step: Step, reason: Reason, challenge: BearerChallenge | undefined, detail: string): PolicyDenial {
  const { resource, context } = step;
  const responseHeaders: string[] = [];
  if (challenge !== undefined) {
    const resourceMetadata = `${step.readBase()}${formatMetadataPath(resource.path)}`;
    responseHeaders.push('www-authenticate', formatChallenge({ resourceMetadata, ...challenge }));
  }
  responseHeaders.push(...exposeToScripts(context));
  return { kind: 'deny', reason, detail, responseHeaders };
}

/**
 * A script can begin a login only when it can read the challenge. CORS settings of the route say who may; where there are none,
 * a denial is for everybody to read: it tells what the metadata tells anyway.
 */
function exposeToScripts({ exchange, route }: RequestContext): RawHeaders {
  if (findHeader(exchange.headers, 'origin') === undefined) return [];
  const exposed = ['access-control-expose-headers', 'WWW-Authenticate, Mcp-Session-Id'];
  return route?.policies.cors === undefined ? ['access-control-allow-origin', '*', ...exposed] : exposed;
}

/**
 * Browsers send preflights without credentials. Those of a route with CORS settings were answered before. In Strict the gateway answers
 * the others, since nothing without a token reaches the backend; where requests without a token are let through, so is a preflight.
 */
function answerPreflight({ context, message }: Step): AuthenticationVerdict | undefined {
  const { method, headers } = context.exchange;
  if (message.mode === AuthenticationMode.OPTIONAL || message.mode === AuthenticationMode.PERMISSIVE) return undefined;
  const asked = readPreflightMethod(method, headers);
  if (asked === undefined) return undefined;
  const requested = findHeader(headers, 'access-control-request-headers') ?? '';
  const answer = ['access-control-allow-origin', '*', 'vary', 'Access-Control-Request-Headers'];
  if (isTokenList(asked)) answer.push('access-control-allow-methods', asked);
  if (isTokenList(requested)) answer.push('access-control-allow-headers', requested);
  return { kind: 'respond', status: 204, headers: answer, body: '' };
}

function isTokenList(text: string): boolean {
  return /^[\w!#$%&'*+\-.^`|~]+(?:[ \t]*,[ \t]*[\w!#$%&'*+\-.^`|~]+)*$/.test(text);
}
