// Whose tokens the rules of a level believe. A tenant may let other tokens in at its route than the platform does at the Gateway, and could write any claim into
// them: so the rules of a level see a token only when JWT authentication of that level or above accepts it as well. Where there is none, it is up to the levels below.
import type { AnchoredRule, TokenTrust, Rule } from '../config/rule-set.ts';
import type { Expression } from '../../cel/expression.ts';
import { readCompactToken } from '../authentication/token/read-compact-token.ts';
import type { TokenVerdict } from '../authentication/token/verified-token.ts';
import type { JwtAuthenticationConfig } from '../config/jwt-authentication-config.ts';
import { validateByIssuer, validateKnown } from '../authentication/jwt/validate-by-issuer.ts';

/** What a level has, as far as it matters here. */
export interface TrustLevel {
  readonly jwt: JwtAuthenticationConfig | undefined;
  readonly rule: Rule | undefined;
}

/** Arranges the levels of a route, given from the most specific to the least. Undefined: every rule sees every token. */
export function arrangeTrust(levels: readonly TrustLevel[]): TokenTrust | undefined {
  const winner = levels.find(({ jwt }) => jwt !== undefined)?.jwt;
  if (winner === undefined) return undefined;
  const ofBackend = levels.flatMap(({ rule }, index): AnchoredRule[] => {
    const anchors = levels.slice(index).flatMap(({ jwt }) => jwt ?? []);
    return rule === undefined || anchors.length === 0 ? [] : [{ rule, anchors }];
  });
  if (ofBackend.length === 0) return undefined;
  return { ofRoute: ofBackend.filter(({ anchors }) => !anchors.includes(winner)), ofBackend };
}

function judgeAnew(anchor: JwtAuthenticationConfig, text: string): TokenVerdict | Promise<TokenVerdict> {
  const read = readCompactToken(text);
  return read.ok ? validateByIssuer(anchor, text, read.token) : read;
}

/** The expressions of rules that do not believe the token; a promise when keys are still under way. */
export function findDoubters(
  anchored: readonly AnchoredRule[],
  text: string,
): ReadonlySet<Expression> | Promise<ReadonlySet<Expression>> {
  const anchors = [...new Set(anchored.flatMap((each) => each.anchors))];
  const verdicts = anchors.map((anchor) => validateKnown(anchor, text) ?? judgeAnew(anchor, text));
  const conclude = (all: readonly TokenVerdict[]): ReadonlySet<Expression> => {
    const believers = new Set(anchors.filter((_, index) => all[index]!.ok));
    const doubting = anchored.filter((each) => !each.anchors.some((anchor) => believers.has(anchor)));
    return new Set(doubting.flatMap(({ rule }) => rule.expressions));
  };
  const settled = verdicts.flatMap((verdict) => (verdict instanceof Promise ? [] : [verdict]));
  if (settled.length === verdicts.length) return conclude(settled);
  return Promise.all(verdicts.map((verdict) => Promise.resolve(verdict))).then(conclude);
}
