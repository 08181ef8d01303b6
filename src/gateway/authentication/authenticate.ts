// The engine of every policy that asks for a token (RFC 6750): preflights, modes, where a token is looked for, what becomes of one that is
// missing, unusable or refused, and what is noted about it. JWT and MCP authentication supply what differs (jwt/, mcp/).
import { AuthenticationMode } from '../../ir/gen/config_pb.ts';
import type { Reason } from '../http/reasons.ts';
import type { Decision } from '../request/decision.ts';
import { noteDecision } from '../request/request-context.ts';
import { continueUnchanged, type Denial, type Verdict } from '../request/verdict.ts';
import { describeMode } from './authentication-mode.ts';
import { answerPreflight } from './browser-access.ts';
import {
  denyAmbiguousToken,
  denyInvalidToken,
  denyMalformedToken,
  denyMissingToken,
  denyWithoutKeys,
  type TokenAsker,
} from './deny-token.ts';
import { checkTokenText, type FoundToken, type UnusableToken } from './token/find-token.ts';
import type { TokenRefusal, TokenVerdict, VerifiedToken } from './token/verified-token.ts';

/** One policy that asks one request for a token. */
export interface Authentication extends TokenAsker {
  readonly config: AuthenticationConfig;
}

/** What the engine reads of a policy. */
export interface AuthenticationConfig {
  /** namespace/name of the ProxyPolicy. */
  readonly source: string;
  readonly message: { readonly mode: AuthenticationMode };
}

/** What differs between the kinds of authentication. */
export interface AuthenticationKind<A extends Authentication> {
  readonly step: Decision['step'];
  /** What stands where the token belongs. */
  findToken(asked: A): FoundToken;
  /** Judges a text that was here before, without reading it; undefined: it was not. */
  recall(asked: A, text: string): TokenVerdict | Promise<TokenVerdict> | undefined;
  validate(asked: A, text: string): TokenVerdict | Promise<TokenVerdict>;
  /** Waits for keys without which no token can be judged. Undefined: they are here. */
  loadKeys?(asked: A): Promise<TokenRefusal | undefined> | TokenRefusal | undefined;
  /** Why a valid token is not enough; asked unless the mode is Permissive. */
  findShortcoming?(asked: A, token: VerifiedToken): Denial | undefined;
  /** Lets the request in, and puts what later steps need on its context. A denial: it cannot be let in. */
  admit(asked: A, token: VerifiedToken | undefined, text: string | undefined): Denial | undefined;
}

/** Judges the token of a request. A promise only when keys are under way, or a signature is being verified. */
export function authenticate<A extends Authentication>(
  kind: AuthenticationKind<A>,
  asked: A,
): Verdict | Promise<Verdict> {
  // Where requests without a token are let through, so is a preflight.
  const preflight = letsAnonymousIn(asked) ? undefined : answerPreflight(asked.context);
  if (preflight !== undefined) {
    note(kind, asked, 'respond', undefined, undefined);
    return preflight;
  }
  const missing = isPermissive(asked) ? undefined : kind.loadKeys?.(asked);
  if (missing === undefined) return judge(kind, asked);
  // Just started, or never reached the IdP. Without keys nothing can be told apart, so nothing passes.
  if (missing instanceof Promise)
    return missing.then((late) => (late === undefined ? judge(kind, asked) : refuse(kind, asked, late)));
  return refuse(kind, asked, missing);
}

function judge<A extends Authentication>(kind: AuthenticationKind<A>, asked: A): Verdict | Promise<Verdict> {
  const found = kind.findToken(asked);
  if (found.kind === 'none') {
    if (letsAnonymousIn(asked)) return admitAnonymous(kind, asked, 'missing_token', found.detail);
    return deny(kind, asked, denyMissingToken(asked, found.detail));
  }
  if (found.kind !== 'text') return refuseUnusable(kind, asked, found);
  // Before anything is read: nearly every token was here before.
  const known = kind.recall(asked, found.text);
  if (known !== undefined) return settle(kind, asked, found.text, known);
  const unusable = checkTokenText(found.text, asked.location);
  if (unusable !== undefined) return refuseUnusable(kind, asked, unusable);
  return settle(kind, asked, found.text, kind.validate(asked, found.text));
}

function settle<A extends Authentication>(
  kind: AuthenticationKind<A>,
  asked: A,
  text: string,
  verdict: TokenVerdict | Promise<TokenVerdict>,
): Verdict | Promise<Verdict> {
  if (verdict instanceof Promise) return verdict.then((late) => settle(kind, asked, text, late));
  if (!verdict.ok) return refuse(kind, asked, verdict);
  const { token } = verdict;
  // Known by name, even when the token is not enough.
  asked.context.caller = token;
  const shortcoming = isPermissive(asked) ? undefined : kind.findShortcoming?.(asked, token);
  const denial = shortcoming ?? kind.admit(asked, token, text);
  if (denial !== undefined) return deny(kind, asked, denial);
  noteDecision(asked.context, findPass(kind, asked.config));
  return continueUnchanged;
}

function letsAnonymousIn({ config: { message } }: Authentication): boolean {
  return message.mode === AuthenticationMode.OPTIONAL || message.mode === AuthenticationMode.PERMISSIVE;
}

function isPermissive({ config: { message } }: Authentication): boolean {
  return message.mode === AuthenticationMode.PERMISSIVE;
}

/** Optional and Permissive let requests through that Strict would refuse for this reason. */
function admitAnonymous<A extends Authentication>(
  kind: AuthenticationKind<A>,
  asked: A,
  passedOver: Reason,
  detail: string | undefined,
): Verdict {
  const denial = kind.admit(asked, undefined, undefined);
  if (denial !== undefined) return deny(kind, asked, denial);
  note(kind, asked, 'allow', passedOver, detail);
  return continueUnchanged;
}

function refuseUnusable<A extends Authentication>(
  kind: AuthenticationKind<A>,
  asked: A,
  { kind: problem, detail }: UnusableToken,
): Verdict {
  const isMalformed = problem === 'malformed';
  if (isPermissive(asked))
    return admitAnonymous(kind, asked, isMalformed ? 'token_malformed' : 'invalid_request', detail);
  return deny(kind, asked, isMalformed ? denyMalformedToken(asked, detail) : denyAmbiguousToken(asked, detail));
}

function refuse<A extends Authentication>(kind: AuthenticationKind<A>, asked: A, refusal: TokenRefusal): Verdict {
  const { reason, detail, operatorDetail } = refusal;
  if (isPermissive(asked))
    return admitAnonymous(kind, asked, reason, operatorDetail === undefined ? detail : `${detail} (${operatorDetail})`);
  const isKeyless = reason === 'keys_unavailable';
  return deny(kind, asked, isKeyless ? denyWithoutKeys(asked, refusal) : denyInvalidToken(asked, refusal));
}

function deny<A extends Authentication>(kind: AuthenticationKind<A>, asked: A, denial: Denial): Verdict {
  note(kind, asked, 'deny', denial.reason, denial.detail);
  return denial;
}

/** For the log, the metrics and the admin pages. */
function note<A extends Authentication>(
  kind: AuthenticationKind<A>,
  { context, config }: A,
  outcome: Decision['outcome'],
  reason: Reason | undefined,
  detail: string | undefined,
): void {
  noteDecision(context, describeDecision(kind.step, config, outcome, reason, detail));
}

function describeDecision(
  step: Decision['step'],
  { source, message }: AuthenticationConfig,
  outcome: Decision['outcome'],
  reason: Reason | undefined,
  detail: string | undefined,
): Decision {
  return {
    step,
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
const passes = new WeakMap<AuthenticationConfig, Decision>();

function findPass({ step }: { readonly step: Decision['step'] }, config: AuthenticationConfig): Decision {
  let pass = passes.get(config);
  if (pass === undefined) {
    pass = describeDecision(step, config, 'allow', undefined, undefined);
    passes.set(config, pass);
  }
  return pass;
}
