// What each provider would say about a token: the verdict of the gateway's own validator, and every single check, also those behind the first
// that fails.
import { systemClock } from '../../base/clock.ts';
import type { GuardedFetcher } from '../../base/fetch-json.ts';
import { silentLog } from '../../base/log.ts';
import {
  checkAudience,
  checkExpiry,
  checkIssuer,
  checkKind,
  checkRequiredClaims,
  checkScopes,
  checkStart,
  readAudiences,
  type RequiredClaim,
  readScopes,
} from '../../gateway/authentication/token/check-claims.ts';
import { readIssuedSubject } from '../../ir/issued-subject.ts';
import type { CompactToken } from '../../gateway/authentication/token/compact-token.ts';
import { checkSignature, createTokenValidator } from '../../gateway/authentication/token/create-validator.ts';
import { createInlineKeySource, type KeySource } from '../../gateway/authentication/token/key-source.ts';
import { openKeySource } from '../../gateway/authentication/token/open-key-source.ts';
import { readCompactToken } from '../../gateway/authentication/token/read-compact-token.ts';
import { reasons } from '../../gateway/http/reasons.ts';
import type { TokenRefusal, TokenVerdict } from '../../gateway/authentication/token/verified-token.ts';
import { getStandInKeys, type StandInKeys } from '../explain/stand-in-keys.ts';
import { describeRefusal } from './describe-token.ts';
import type { OwnTokens, TokenProvider } from './list-providers.ts';
import type { ProviderVerdict, TokenProblem } from './token-report.ts';

/** How to judge. */
interface JudgeOptions {
  /** Keys are fetched where the policy does not have them. */
  readonly online: boolean;
  readonly fetcher: GuardedFetcher;
  readonly nowMs: number;
}

/** Asks all providers. The verdict is one per policy: by the provider that has the issuer of the token. */
export async function judgeToken(
  text: string,
  providers: readonly TokenProvider[],
  options: JudgeOptions,
): Promise<ProviderVerdict[]> {
  const judging = { ...options, standIn: getStandInKeys() };
  const verdicts = await Promise.all(providers.map((provider) => judgeOne(text, provider, judging)));
  return verdicts.map((verdict) => ({
    ...verdict,
    notItsIssuer:
      isOfAnother(verdict) &&
      verdicts.some((other) => other.field === verdict.field && other.policy === verdict.policy && !isOfAnother(other)),
  }));
}

function isOfAnother({ first }: Pick<ProviderVerdict, 'first'>): boolean {
  return first?.check === 'issuer';
}

interface Judging extends JudgeOptions {
  readonly standIn: StandInKeys;
}

async function judgeOne(
  text: string,
  provider: TokenProvider,
  options: Judging,
): Promise<Omit<ProviderVerdict, 'notItsIssuer'>> {
  const { field, policy, provider: name, issuer, keys, own } = provider;
  const common = { field, policy, provider: name, issuer, isOwn: own !== undefined, keys };
  const read = readCompactToken(text);
  if (!read.ok) {
    const first = describeRefusal('form', read);
    const notes = own === undefined ? provider.notes : [...provider.notes, describeForeign(own)];
    return { ...common, accepted: false, first, failed: [first], signature: 'unchecked', notes };
  }
  const isForeign = own !== undefined && !isIssuedFor(read.token, own);
  const notes = isForeign ? [...provider.notes, describeForeign(own)] : provider.notes;
  const source = await openKeys(provider, options);
  try {
    const state = source?.getKeys();
    const keySet = state?.ok === true ? state.keySet : undefined;
    const signature = keySet === undefined ? undefined : checkSignature(read.token, keySet);
    const failed = listFailed(read.token, provider, options.nowMs, signature?.refusal);
    const verdict = await validate(text, provider, keySet === undefined ? undefined : source, options);
    // What the validator says is what the gateway would answer. Users are looked at after it.
    const said = verdict.ok ? undefined : failed.find(({ reason }) => reason === verdict.reason);
    const first = verdict.ok ? failed[0] : (said ?? describeRefusal('form', verdict));
    const keyProblem = state?.ok === false ? `the keys could not be fetched: ${state.detail}` : undefined;
    const missingKeys = keyProblem === undefined ? null : describeMissingKeys(keyProblem);
    return {
      ...common,
      accepted: first === undefined && missingKeys === null,
      first: first ?? missingKeys,
      failed: missingKeys === null ? failed : [...failed, missingKeys],
      signature: keySet === undefined ? 'unchecked' : signature === undefined ? 'verified' : 'wrong',
      notes,
    };
  } finally {
    source?.close();
  }
}

/** Whether the gateway may have issued it at all. */
function isIssuedFor({ claims }: CompactToken, { idp }: OwnTokens): boolean {
  return claims['idp'] === idp && typeof claims['sub'] === 'string' && readIssuedSubject(claims['sub']) !== undefined;
}

function describeForeign({ idp }: OwnTokens): string {
  return `it takes only tokens that the gateway issues itself, after a login at ${idp}: an access token or ID token of the identity provider is of no use here`;
}

/** Undefined: they are not fetched. */
async function openKeys(
  { origin, ca }: TokenProvider,
  { online, fetcher }: JudgeOptions,
): Promise<KeySource | undefined> {
  if (origin.kind !== 'inline' && !online) return undefined;
  const source = openKeySource(origin, { fetcher, ca, cacheDurationMs: 300_000, log: silentLog, clock: systemClock });
  await source.load();
  return source;
}

/** The checks of the gateway one by one, in its order. */
function listFailed(
  token: CompactToken,
  provider: TokenProvider,
  nowMs: number,
  signature: TokenRefusal | undefined,
): TokenProblem[] {
  const { claims } = token;
  const { audiences, requiredScopes, clockSkewMs, own } = provider;
  const requiredClaims = listRequired(provider);
  const times = { nowMs, clockSkewMs };
  const failed: TokenProblem[] = [];
  const note = (check: string, refusal: TokenRefusal | { readonly ok: true } | undefined): void => {
    if (refusal?.ok === false) failed.push(describeRefusal(check, refusal));
  };
  if (own !== undefined && token.type !== 'at+jwt')
    failed.push({ check: 'type', reason: 'token_wrong_type', text: reasons.token_wrong_type.description });
  note('issuer', checkIssuer(claims, findAccepted(provider)));
  note('expiry', checkExpiry(claims, times));
  note('signature', signature);
  note('kind', checkKind(claims));
  note('start', checkStart(claims, times));
  for (const required of requiredClaims) note(`claim ${required.name}`, checkRequiredClaims(claims, [required]));
  note('audience', checkAudience(readAudiences(claims), audiences));
  note('scopes', checkScopes({ scopes: readScopes(claims) }, requiredScopes));
  if (provider.needsSubject && (typeof claims['sub'] !== 'string' || claims['sub'] === ''))
    failed.push({ check: 'subject', reason: 'missing_subject', text: reasons.missing_subject.description });
  return failed;
}

/** A resource may be known by several names. */
function findAccepted({ issuer, own }: TokenProvider): (found: string) => boolean {
  if (own === undefined) return (found) => found === issuer;
  return (found) => own.issuers === undefined || own.issuers.includes(found);
}

function listRequired({ requiredClaims, own }: TokenProvider): readonly RequiredClaim[] {
  return own === undefined ? requiredClaims : [{ name: 'idp', values: [own.idp] }, ...requiredClaims];
}

/** The validator of a gateway; without keys, with keys that stand in for them. */
async function validate(
  text: string,
  provider: TokenProvider,
  source: KeySource | undefined,
  { nowMs, standIn }: Judging,
): Promise<TokenVerdict> {
  const { issuer, clockSkewMs, requiredScopes, audiences, own } = provider;
  const keySource = source ?? createInlineKeySource(standIn.document);
  const validator = createTokenValidator({
    issuer,
    acceptsIssuer: findAccepted(provider),
    ...(own !== undefined && { acceptsType: (type: string | undefined) => type === 'at+jwt' }),
    clockSkewMs,
    requiredClaims: listRequired(provider),
    requiredScopes,
    keySource,
    now: () => nowMs,
  });
  return validator.validate(source === undefined ? standIn.signAgain(text) : text, audiences);
}

function describeMissingKeys(text: string): TokenProblem {
  return { check: 'keys', reason: 'keys_unavailable', text };
}
