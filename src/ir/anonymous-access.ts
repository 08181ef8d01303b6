// Whether a request without a token gets to a backend of a rule: the one judgement that the gateway enforces and the controller reports. Pure.

/** An authentication that is in force; undefined: there is none. */
export type AuthenticationInForce = 'Strict' | 'Optional' | 'Permissive' | undefined;

/** The parts of a rule that decide. */
export interface RuleAccess {
  /** A policy of the rule cannot be enforced: the rule is closed. */
  readonly isClosed: boolean;
  /** The rule is a redirect: no request gets to a backend. */
  readonly isRedirect: boolean;
  readonly authentication: AuthenticationInForce;
  /** The rules over requests refuse every request without a token. */
  readonly rulesNeedToken: boolean;
  /** Those that requests can get to. */
  readonly backends: readonly BackendAccess[];
}

/** The same of a backend. */
export interface BackendAccess {
  readonly isClosed: boolean;
  readonly authentication: AuthenticationInForce;
}

/**
 * Whether requests without a token can get to the backend. Strict authentication keeps them out. Optional authentication does so together with rules over requests that
 * need a token; rules over messages do not count, because messages that use no item pass them. Permissive authentication never does.
 */
export function admitsAnonymous(rule: Omit<RuleAccess, 'backends'>, backend: BackendAccess): boolean {
  if (rule.isClosed || rule.isRedirect || backend.isClosed) return false;
  const has = (mode: AuthenticationInForce): boolean => rule.authentication === mode || backend.authentication === mode;
  return !has('Strict') && !(has('Optional') && rule.rulesNeedToken);
}

/** Whether requests without a token can get to any backend. */
export function isOpenToAnonymous(rule: RuleAccess): boolean {
  return rule.backends.some((backend) => admitsAnonymous(rule, backend));
}

/** What a set of rules is made of, as far as requests without a token go. */
export interface RuleOutcomes {
  readonly action: 'Allow' | 'Deny' | 'Require';
  readonly isOverride: boolean;
  /** Of each expression: whether it can be true, and false, for such a request. */
  readonly outcomes: readonly { readonly canBeTrue: boolean; readonly canBeFalse: boolean }[];
}

/** Whether rules refuse every request without a token, by the words of decide-rules.ts. An expression that fails matches for Deny only. */
export function needToken(rules: readonly RuleOutcomes[]): boolean {
  const neverMatches = ({ outcomes }: RuleOutcomes): boolean => outcomes.every(({ canBeTrue }) => !canBeTrue);
  const allows = rules.filter(({ action }) => action === 'Allow');
  const others = allows.filter(({ isOverride }) => !isOverride);
  return (
    rules.some(({ action, outcomes }) => action === 'Deny' && outcomes.some(({ canBeFalse }) => !canBeFalse)) ||
    rules.some(({ action, outcomes }) => action === 'Require' && outcomes.some(({ canBeTrue }) => !canBeTrue)) ||
    allows.some((rule) => rule.isOverride && neverMatches(rule)) ||
    (others.length > 0 && others.every(neverMatches))
  );
}

/** Of several places of one setting, the one in force: the least specific Override, else the most specific. Given from the most specific to the least. */
export function orderByPrecedence<P>(placed: readonly P[], isOverride: (each: P) => boolean): readonly P[] {
  const overrides = placed.filter(isOverride);
  if (overrides.length === 0) return placed;
  return [...overrides.toReversed(), ...placed.filter((each) => !isOverride(each))];
}
