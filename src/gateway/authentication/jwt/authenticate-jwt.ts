// The JWT step of the policy chain (`spec.traffic.jwtAuthentication`, RFC 6750, RFC 7519): a valid token, or the answer that says why not.
import { AuthenticationMode } from '../../../ir/gen/config_pb.ts';
import type { Decision } from '../../request/decision.ts';
import type { Reason } from '../../http/reasons.ts';
import { noteDecision } from '../../request/request-context.ts';
import {
  bearerHeader,
  checkTokenText,
  findToken,
  hasQueryToken,
  isBearerHeader,
  type UnusableToken,
} from '../token/find-token.ts';
import { readCompactToken } from '../token/read-compact-token.ts';
import type { TokenRefusal, TokenVerdict, VerifiedToken } from '../token/verified-token.ts';
import { describeMode } from '../authentication-mode.ts';
import { answerPreflight } from '../browser-access.ts';
import {
  continueUnchanged,
  type PolicyDenial,
  type PolicyRequest,
  type PolicyVerdict,
} from '../../request/policy-verdict.ts';
import { createAdmission } from './jwt-admission.ts';
import type { JwtAuthenticationConfig } from '../../config/jwt-authentication-config.ts';
import {
  denyAmbiguousToken,
  denyInvalidToken,
  denyMalformedToken,
  denyMissingToken,
  denyWithoutKeys,
} from './jwt-denials.ts';
import { validateByIssuer, validateKnown } from './validate-by-issuer.ts';

/** Judges the token of a request where the route wants one. A promise only when keys are under way. */
export function authenticateJwt(request: PolicyRequest): PolicyVerdict | Promise<PolicyVerdict> {
  const config = request.route.policies['traffic.jwtAuthentication'];
  if (config === undefined) return continueUnchanged;
  const step: Step = { request, config };
  const { exchange, query } = request.context;
  // Where requests without a token are let through, so is a preflight.
  const preflight =
    exchange.method === 'OPTIONS' && !letsAnonymousIn(config) ? answerPreflight(request.context) : undefined;
  if (preflight !== undefined) {
    note(step, 'respond', undefined, undefined);
    return preflight;
  }
  const found = findToken(exchange.headers, query, config.location);
  if (found.kind === 'none')
    return letsAnonymousIn(config)
      ? admitAnonymous(step, 'missing_token', found.detail)
      : deny(step, denyMissingToken(request, config, found.detail));
  const second = findSecondToken(step);
  if (second !== undefined) return refuseUnusable(step, second);
  return found.kind === 'text' ? judge(step, found.text) : refuseUnusable(step, found);
}

interface Step {
  readonly request: PolicyRequest;
  readonly config: JwtAuthenticationConfig;
}

function letsAnonymousIn({ message: { mode } }: JwtAuthenticationConfig): boolean {
  return mode === AuthenticationMode.OPTIONAL || mode === AuthenticationMode.PERMISSIVE;
}

/**
 * RFC 6750 2: one request, one method. It knows two of those that a policy can name, the Authorization header and `access_token` in the
 * query; who uses both may mean either. Every other place than that of the policy is the backend's business.
 */
function findSecondToken({ request: { context }, config: { location } }: Step): UnusableToken | undefined {
  if (isBearerHeader(location))
    return hasQueryToken(context.query)
      ? { kind: 'ambiguous', detail: 'an access token in the query as well' }
      : undefined;
  if (location.kind !== 'queryParameter' || location.name !== 'access_token') return undefined;
  if (findToken(context.exchange.headers, '', bearerHeader).kind === 'none') return undefined;
  return { kind: 'ambiguous', detail: 'a bearer token in the Authorization header as well' };
}

function judge(step: Step, text: string): PolicyVerdict | Promise<PolicyVerdict> {
  const { config } = step;
  // Before anything is parsed: nearly every token was here before.
  const known = validateKnown(config, text);
  if (known !== undefined) return settle(step, text, known);
  const read = readCompactToken(text);
  // What can be read is written in these characters.
  const unusable = read.ok ? undefined : checkTokenText(text, config.location);
  if (unusable !== undefined) return refuseUnusable(step, unusable);
  return settle(step, text, read.ok ? validateByIssuer(config, text, read.token) : read);
}

function settle(
  step: Step,
  text: string,
  verdict: TokenVerdict | Promise<TokenVerdict>,
): PolicyVerdict | Promise<PolicyVerdict> {
  if (verdict instanceof Promise) return verdict.then((late) => settle(step, text, late));
  return verdict.ok ? admit(step, text, verdict.token) : refuse(step, verdict);
}

/** The request goes on: without what the client must not send, and with what the token says. */
function admit({ request: { context }, config }: Step, text: string, token: VerifiedToken): PolicyVerdict {
  context.jwt = createAdmission(config, token, text);
  noteDecision(context, findPass(config));
  return continueUnchanged;
}

/** Optional and Permissive let requests through that Strict would refuse for this reason. */
function admitAnonymous(step: Step, passedOver: Reason, detail?: string): PolicyVerdict {
  step.request.context.jwt = createAdmission(step.config, undefined, undefined);
  note(step, 'allow', passedOver, detail);
  return continueUnchanged;
}

function refuseUnusable(step: Step, { kind, detail }: UnusableToken): PolicyVerdict {
  const { request, config } = step;
  const isMalformed = kind === 'malformed';
  if (config.message.mode === AuthenticationMode.PERMISSIVE)
    return admitAnonymous(step, isMalformed ? 'token_malformed' : 'invalid_request', detail);
  return deny(
    step,
    isMalformed ? denyMalformedToken(request, config, detail) : denyAmbiguousToken(request, config, detail),
  );
}

function refuse(step: Step, refusal: TokenRefusal): PolicyVerdict {
  const { request, config } = step;
  const { reason, detail, operatorDetail } = refusal;
  if (config.message.mode === AuthenticationMode.PERMISSIVE)
    return admitAnonymous(step, reason, operatorDetail === undefined ? detail : `${detail} (${operatorDetail})`);
  return deny(
    step,
    reason === 'keys_unavailable'
      ? denyWithoutKeys(request, config, refusal)
      : denyInvalidToken(request, config, refusal),
  );
}

function deny(step: Step, denial: PolicyDenial): PolicyVerdict {
  note(step, 'deny', denial.reason, denial.detail);
  return denial;
}

/** For the log, the metrics and the admin pages. */
function note(
  { request, config }: Step,
  outcome: Decision['outcome'],
  reason: Reason | undefined,
  detail: string | undefined,
): void {
  noteDecision(request.context, describeDecision(config, outcome, reason, detail));
}

function describeDecision(
  { source, message }: JwtAuthenticationConfig,
  outcome: Decision['outcome'],
  reason: Reason | undefined,
  detail: string | undefined,
): Decision {
  return {
    step: 'traffic.jwtAuthentication',
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
const passes = new WeakMap<JwtAuthenticationConfig, Decision>();

function findPass(config: JwtAuthenticationConfig): Decision {
  let pass = passes.get(config);
  if (pass === undefined) {
    pass = describeDecision(config, 'allow', undefined, undefined);
    passes.set(config, pass);
  }
  return pass;
}
