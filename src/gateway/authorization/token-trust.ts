// Which tokens the rules of a level trust. A tenant may accept an issuer at its route that the platform does not accept at the Gateway, and such a token could
// carry any claim. So rules see a token only when JWT authentication of their level or above accepts it too. Without one there, the levels below decide for rules that they
// may add to; the rules of an Override believe no token then, because whoever chooses the issuer could satisfy them.
import type { AnchoredRule, TokenTrust, Rule } from '../config/rule-set.ts';
import type { Expression } from '../../cel/expression.ts';
import { readCompactToken } from '../authentication/token/read-compact-token.ts';
import type { TokenVerdict } from '../authentication/token/verified-token.ts';
import type { JwtAuthenticationConfig } from '../config/jwt-authentication-config.ts';
import { validateByIssuer, validateKnown } from '../authentication/jwt/validate-by-issuer.ts';

/** The policies of a level that matter for token trust. */
interface TrustLevel {
  readonly jwt: JwtAuthenticationConfig | undefined;
  readonly rule: Rule | undefined;
}

/**
 * Finds the rules that do not trust every token; levels are given from the most specific to the least, `winner` is the JWT authentication in force. Undefined:
 * every rule sees every token.
 */
export function arrangeTrust(
  levels: readonly TrustLevel[],
  winner: JwtAuthenticationConfig | undefined,
): TokenTrust | undefined {
  const ofBackend = levels.flatMap(({ rule }, index): AnchoredRule[] => {
    const anchors = levels.slice(index).flatMap(({ jwt }) => jwt ?? []);
    if (rule === undefined || (anchors.length === 0 && rule.isOverride !== true)) return [];
    return [{ rule, anchors }];
  });
  if (ofBackend.length === 0) return undefined;
  return {
    ofRoute: ofBackend.filter(({ anchors }) => winner === undefined || !anchors.includes(winner)),
    ofBackend,
  };
}

function validateToken(anchor: JwtAuthenticationConfig, text: string): TokenVerdict | Promise<TokenVerdict> {
  const read = readCompactToken(text);
  return read.ok ? validateByIssuer(anchor, text, read.token) : read;
}

/** The expressions of rules that do not trust the token; a promise while keys are being fetched. */
export function findDistrustfulExpressions(
  anchored: readonly AnchoredRule[],
  text: string,
): ReadonlySet<Expression> | Promise<ReadonlySet<Expression>> {
  const anchors = [...new Set(anchored.flatMap((each) => each.anchors))];
  const verdicts = anchors.map((anchor) => validateKnown(anchor, text) ?? validateToken(anchor, text));
  const conclude = (all: readonly TokenVerdict[]): ReadonlySet<Expression> => {
    const accepting = new Set(anchors.filter((_, index) => all[index]!.ok));
    const doubting = anchored.filter((each) => !each.anchors.some((anchor) => accepting.has(anchor)));
    return new Set(doubting.flatMap(({ rule }) => rule.expressions));
  };
  const settled = verdicts.flatMap((verdict) => (verdict instanceof Promise ? [] : [verdict]));
  if (settled.length === verdicts.length) return conclude(settled);
  return Promise.all(verdicts.map((verdict) => Promise.resolve(verdict))).then(conclude);
}
