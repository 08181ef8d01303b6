// The engine of all authentication policies (RFC 6750): preflights, modes, finding and judging the token, denials, and the decisions that
// are noted. JWT and MCP authentication supply the differences (jwt/, mcp/).
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

/** The authentication of one request by one policy. */
export interface Authentication extends TokenAsker {
  readonly config: AuthenticationConfig;
}

/** What the engine reads of a policy. */
interface AuthenticationConfig {
  /** namespace/name of the ProxyPolicy. */
  readonly source: string;
  readonly message: { readonly mode: AuthenticationMode };
}

/** What differs between the kinds of authentication. */
export interface AuthenticationStrategy<A extends Authentication> {
  readonly step: Decision['step'];
  /** Finds the text at the token's location. */
  findToken(asked: A): FoundToken;
  /** The cached verdict of a token, without parsing it; undefined on a cache miss. */
  recall(asked: A, text: string): TokenVerdict | Promise<TokenVerdict> | undefined;
  validate(asked: A, text: string): TokenVerdict | Promise<TokenVerdict>;
  /** Waits for keys without which no token can be judged. Undefined: they are loaded. */
  loadKeys?(asked: A): Promise<TokenRefusal | undefined> | TokenRefusal | undefined;
  /** Why a valid token is not sufficient; not called in mode Permissive. */
  findShortcoming?(asked: A, token: VerifiedToken): Denial | undefined;
  /** Admits the request, and puts the results for later steps on its context. Returns a denial when it cannot be admitted. */
  admit(asked: A, token: VerifiedToken | undefined, text: string | undefined): Denial | undefined;
}

/** Judges the token of a request. Returns a promise only while keys are fetched or a signature is verified. */
export function authenticate<A extends Authentication>(
  kind: AuthenticationStrategy<A>,
  asked: A,
): Verdict | Promise<Verdict> {
  // Where requests without a token pass, preflights pass as well.
  const preflight = allowsAnonymous(asked) ? undefined : answerPreflight(asked.context);
  if (preflight !== undefined) {
    note(kind, asked, 'respond', undefined, undefined);
    return preflight;
  }
  const missing = isPermissive(asked) ? undefined : kind.loadKeys?.(asked);
  if (missing === undefined) return judge(kind, asked);
  // Just started, or the IdP was never reached. Without keys no token can be judged, so nothing passes.
  if (missing instanceof Promise)
    return missing.then((late) => (late === undefined ? judge(kind, asked) : refuse(kind, asked, late)));
  return refuse(kind, asked, missing);
}

function judge<A extends Authentication>(kind: AuthenticationStrategy<A>, asked: A): Verdict | Promise<Verdict> {
  const found = kind.findToken(asked);
  if (found.kind === 'none') {
    if (allowsAnonymous(asked)) return admitAnonymous(kind, asked, 'missing_token', found.detail);
    return deny(kind, asked, denyMissingToken(asked, found.detail));
  }
  if (found.kind !== 'text') return refuseUnusable(kind, asked, found);
  // Before the token is parsed: nearly every token is in the cache.
  const known = kind.recall(asked, found.text);
  if (known !== undefined) return settle(kind, asked, found.text, known);
  const unusable = checkTokenText(found.text, asked.location);
  if (unusable !== undefined) return refuseUnusable(kind, asked, unusable);
  return settle(kind, asked, found.text, kind.validate(asked, found.text));
}

function settle<A extends Authentication>(
  kind: AuthenticationStrategy<A>,
  asked: A,
  text: string,
  verdict: TokenVerdict | Promise<TokenVerdict>,
): Verdict | Promise<Verdict> {
  if (verdict instanceof Promise) return verdict.then((late) => settle(kind, asked, text, late));
  if (!verdict.ok) return refuse(kind, asked, verdict);
  const { token } = verdict;
  // The log names the caller even when the token is not sufficient.
  asked.context.caller = token;
  const shortcoming = isPermissive(asked) ? undefined : kind.findShortcoming?.(asked, token);
  const denial = shortcoming ?? kind.admit(asked, token, text);
  if (denial !== undefined) return deny(kind, asked, denial);
  noteDecision(asked.context, findAllowDecision(kind, asked.config));
  return continueUnchanged;
}

function allowsAnonymous({ config: { message } }: Authentication): boolean {
  return message.mode === AuthenticationMode.OPTIONAL || message.mode === AuthenticationMode.PERMISSIVE;
}

function isPermissive({ config: { message } }: Authentication): boolean {
  return message.mode === AuthenticationMode.PERMISSIVE;
}

/** Optional and Permissive let requests through that Strict would refuse for this reason. */
function admitAnonymous<A extends Authentication>(
  kind: AuthenticationStrategy<A>,
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
  kind: AuthenticationStrategy<A>,
  asked: A,
  { kind: problem, detail }: UnusableToken,
): Verdict {
  const isMalformed = problem === 'malformed';
  if (isPermissive(asked))
    return admitAnonymous(kind, asked, isMalformed ? 'token_malformed' : 'invalid_request', detail);
  return deny(kind, asked, isMalformed ? denyMalformedToken(asked, detail) : denyAmbiguousToken(asked, detail));
}

function refuse<A extends Authentication>(kind: AuthenticationStrategy<A>, asked: A, refusal: TokenRefusal): Verdict {
  const { reason, detail, operatorDetail } = refusal;
  if (isPermissive(asked))
    return admitAnonymous(kind, asked, reason, operatorDetail === undefined ? detail : `${detail} (${operatorDetail})`);
  const isKeyless = reason === 'keys_unavailable' || reason === 'signing_key_missing';
  return deny(kind, asked, isKeyless ? denyWithoutKeys(asked, refusal) : denyInvalidToken(asked, refusal));
}

function deny<A extends Authentication>(kind: AuthenticationStrategy<A>, asked: A, denial: Denial): Verdict {
  note(kind, asked, 'deny', denial.reason, denial.detail);
  return denial;
}

/** For the log, the metrics and the admin pages. */
function note<A extends Authentication>(
  kind: AuthenticationStrategy<A>,
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

/** Allow decisions for valid tokens, created once per policy. */
const allowDecisions = new WeakMap<AuthenticationConfig, Decision>();

function findAllowDecision({ step }: { readonly step: Decision['step'] }, config: AuthenticationConfig): Decision {
  let pass = allowDecisions.get(config);
  if (pass === undefined) {
    pass = describeDecision(step, config, 'allow', undefined, undefined);
    allowDecisions.set(config, pass);
  }
  return pass;
}
