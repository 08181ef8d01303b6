// The authentication step of a protected MCP backend (RFC 6750, RFC 9728 5, MCP authorization): who is asking, or the challenge.
import { AuthenticationMode, type McpAuthentication } from '../../../ir/gen/config_pb.ts';
import type { Decision } from '../../request/decision.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import type { Reason } from '../../http/reasons.ts';
import { noteDecision, type RequestContext } from '../../request/request-context.ts';
import { checkScopes } from '../token/check-claims.ts';
import type { TokenRefusal, TokenVerdict, VerifiedToken } from '../token/verified-token.ts';
import { describeMode } from '../authentication-mode.ts';
import { answerPreflight, exposeToScripts } from '../browser-access.ts';
import type { PolicyDenial } from '../../request/policy-verdict.ts';
import type { AuthenticationRequest, AuthenticationVerdict, SessionIdentity } from './authentication-verdict.ts';
import { type BearerChallenge, formatChallenge } from '../challenge.ts';
import { formatClaimHeaders, listClaimHeaders } from '../claims-to-headers.ts';
import { formatMetadataPath } from '../endpoint-paths.ts';
import type { McpAuthenticationConfig, ProtectedResource } from '../../config/protected-resource.ts';
import { formatResourceUrl, readBase, spellResource } from '../read-base.ts';
import { checkCredentials, findCredentials } from '../read-credentials.ts';

/** Judges a request. A promise only when the token is not known yet, or the keys are still on their way. */
export function authenticateRequest({
  context,
  resource,
}: AuthenticationRequest): AuthenticationVerdict | Promise<AuthenticationVerdict> {
  const { config } = resource;
  const step: Step = {
    context,
    resource,
    message: config.message,
    // Most requests do not need it.
    readBase: () => readBase(context, resource),
  };
  context.flowStep = {
    name: 'access',
    policy: config.source,
    resource: resource.path,
    flow: config.idp.getFlow()?.flow,
  };
  // Where requests without a token are let through, so is a preflight.
  const preflight = letsAnonymousIn(step) ? undefined : answerPreflight(context);
  if (preflight !== undefined) {
    note(step, 'respond', undefined, undefined);
    return preflight;
  }
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

function letsAnonymousIn({ message: { mode } }: Step): boolean {
  return mode === AuthenticationMode.OPTIONAL || mode === AuthenticationMode.PERMISSIVE;
}

function judge(step: Step): AuthenticationVerdict | Promise<AuthenticationVerdict> {
  const { context, message, resource } = step;
  const { validator } = resource.config.idp;
  const isPermissive = message.mode === AuthenticationMode.PERMISSIVE;
  const found = findCredentials(context.exchange.headers, context.query);
  if (found.kind === 'bearer') {
    // Before anything is read: nearly every token was here before.
    const known = validator.recall?.(found.token, listAudiences(step));
    if (known !== undefined) return settle(step, found.token, known);
  }
  const credentials = checkCredentials(found);
  switch (credentials.kind) {
    case 'none':
      if (letsAnonymousIn(step)) return admitAnonymous(step, 'missing_token', credentials.detail);
      return deny(step, 'missing_token', { scopes: message.requiredScopes }, credentials.detail ?? '');
    case 'ambiguous':
      if (isPermissive) return admitAnonymous(step, 'invalid_request');
      return deny(step, 'invalid_request', { error: 'invalid_request' }, credentials.detail);
    case 'malformed':
      if (isPermissive) return admitAnonymous(step, 'token_malformed');
      return refuseToken(step, { ok: false, reason: 'token_malformed', detail: credentials.detail });
    case 'bearer': {
      const { token } = credentials;
      return settle(step, token, validator.validate(token, listAudiences(step)));
    }
  }
}

function settle(
  step: Step,
  token: string,
  verdict: TokenVerdict | Promise<TokenVerdict>,
): AuthenticationVerdict | Promise<AuthenticationVerdict> {
  if (verdict instanceof Promise) return verdict.then((late) => actOnVerdict(step, token, late));
  return actOnVerdict(step, token, verdict);
}

/** Without configured audiences a token must be for the resource's own URL. */
function listAudiences({ message, readBase: readOwnBase, resource }: Step): readonly string[] {
  if (message.audiences.length > 0) return message.audiences;
  return spellResource(formatResourceUrl(readOwnBase(), resource));
}

function actOnVerdict(step: Step, token: string, verdict: TokenVerdict): AuthenticationVerdict {
  const { context, message } = step;
  // Known by name, even when the token is not enough.
  if (verdict.ok) context.caller = verdict.token;
  if (message.mode === AuthenticationMode.PERMISSIVE)
    return verdict.ok ? admit(step, verdict.token, token) : admitAnonymous(step, verdict.reason);
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

/** Optional and Permissive let requests through that Strict would refuse for this reason. */
function admitAnonymous(step: Step, passedOver: Reason, detail?: string): AuthenticationVerdict {
  return admit(step, undefined, undefined, passedOver, detail);
}

/** The request goes on: without what the client must not send, and with what the token says. */
function admit(
  step: Step,
  verified: VerifiedToken | undefined,
  token: string | undefined,
  passedOver?: Reason,
  detail?: string,
): AuthenticationVerdict {
  const { message, resource } = step;
  const { sealer } = resource.config;
  let session: SessionIdentity | undefined;
  if (message.sessionBinding) {
    if (sealer === undefined) return deny(step, 'seal_key_missing', undefined, 'sessionBinding needs a key');
    // Requests without a token share an identity of their own, which is nobody's: no subject is empty.
    const { issuer = '', subject = '' } = verified ?? {};
    session = { sealer, issuer: subject === '' ? '' : issuer, subject, backend: resource.backend };
  }
  let addedHeaders = verified === undefined ? noHeaders : listClaims(message, verified);
  if (message.forwardToken && verified !== undefined && token !== undefined)
    addedHeaders = [...addedHeaders, 'authorization', `Bearer ${token}`];
  if (passedOver === undefined) noteDecision(step.context, findPass(resource.config));
  else note(step, 'allow', passedOver, detail);
  return {
    kind: 'continue',
    token: verified,
    text: token,
    removedHeaders: listRemovedHeaders(message),
    addedHeaders,
    responseHeaders: noHeaders,
    session,
  };
}

const noHeaders: RawHeaders = [];
const claimsOfTokens = new WeakMap<McpAuthentication, WeakMap<VerifiedToken, RawHeaders>>();

/** The same for every request with the token. */
function listClaims(message: McpAuthentication, token: VerifiedToken): RawHeaders {
  if (message.claimsToHeaders.length === 0) return noHeaders;
  let known = claimsOfTokens.get(message);
  if (known === undefined) claimsOfTokens.set(message, (known = new WeakMap()));
  let headers = known.get(token);
  if (headers === undefined) {
    headers = formatClaimHeaders(token.claims, message.claimsToHeaders);
    known.set(token, headers);
  }
  return headers;
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
  responseHeaders.push(...exposeToScripts(context, 'WWW-Authenticate, Mcp-Session-Id'));
  note(step, 'deny', reason, detail);
  return { kind: 'deny', reason, detail, responseHeaders };
}

/** For the log, the metrics and the admin pages. */
function note(
  { context, resource }: Step,
  outcome: Decision['outcome'],
  reason: Reason | undefined,
  detail: string | undefined,
): void {
  noteDecision(context, describeDecision(resource.config, outcome, reason, detail));
}

function describeDecision(
  { source, message }: McpAuthenticationConfig,
  outcome: Decision['outcome'],
  reason: Reason | undefined,
  detail: string | undefined,
): Decision {
  return {
    step: 'backend.mcp.authentication',
    policy: source,
    mode: describeMode(message.mode),
    outcome,
    reason,
    detail: detail === '' ? undefined : detail,
    decidedBy: undefined,
    rules: noRules,
  };
}

const noRules: Decision['rules'] = [];

/** Leave to pass with a valid token is the same every time. */
const passes = new WeakMap<McpAuthenticationConfig, Decision>();

function findPass(config: McpAuthenticationConfig): Decision {
  let pass = passes.get(config);
  if (pass === undefined) {
    pass = describeDecision(config, 'allow', undefined, undefined);
    passes.set(config, pass);
  }
  return pass;
}
