// What `check` warns of where the gateway issues the tokens: rules that wait for claims or scopes that no token will ever have, and settings that surprise.
import { compileExpression } from '../cel/compile-expression.ts';
import type { ExpressionScope } from '../cel/expression.ts';
import { formatDuration } from '../base/format-duration.ts';
import type { DescribedPolicy } from '../gateway/admin/describe-protection.ts';
import type { ServedRoutes } from '../gateway/admin/describe-routes.ts';
import type { Configuration } from '../ir/configuration.ts';
import type { IssuedTokens, McpAuthentication } from '../ir/gen/config_pb.ts';

interface IssuerWarning {
  /** namespace/name of the policy that issues. */
  readonly policy: string;
  readonly message: string;
}

/** Each once, policy by policy. */
export function listIssuerWarnings({ policies }: Configuration, served: ServedRoutes): IssuerWarning[] {
  const issuers = new Map<string, McpAuthentication>();
  for (const { source, spec } of policies)
    if (spec.case === 'mcpAuthentication' && spec.value.issuedTokens !== undefined) issuers.set(source, spec.value);
  if (issuers.size === 0) return [];
  const rules = groupRules(served, issuers);
  return [...issuers].flatMap(([policy, message]) => {
    const tokens = message.issuedTokens!;
    const messages = [
      ...listSettings(message, tokens),
      ...listUnknownScopes(message, tokens, rules.get(policy) ?? []),
      ...listUnknownClaims(message, tokens, rules.get(policy) ?? []),
    ];
    return [...new Set(messages)].map((text) => ({ policy, message: text }));
  });
}

/** The rules that see tokens of each policy. */
function groupRules(
  { ports }: ServedRoutes,
  issuers: ReadonlyMap<string, McpAuthentication>,
): ReadonlyMap<string, readonly DescribedPolicy[]> {
  const found = new Map<string, DescribedPolicy[]>();
  for (const { protection } of ports.flatMap(({ listeners }) => listeners).flatMap(({ matches }) => matches)) {
    const inForce = protection.policies.filter((each) => each.inForce);
    // With both kinds of authentication, rules over requests may be about the other token.
    const hasOtherToken = inForce.some(({ field }) => field === 'traffic.jwtAuthentication');
    for (const login of inForce) {
      if (login.field !== 'backend.mcp.authentication' || !issuers.has(login.policy)) continue;
      const seeing = inForce.filter(
        ({ field, target }) =>
          (field === 'backend.mcp.authorization' && target === login.target) ||
          (field === 'traffic.authorization' && !hasOtherToken),
      );
      found.set(login.policy, [...(found.get(login.policy) ?? []), ...seeing]);
    }
  }
  return found;
}

// Anybody can have an address there.
const mailDomains: ReadonlySet<string> = new Set([
  'gmail.com',
  'googlemail.com',
  'outlook.com',
  'hotmail.com',
  'live.com',
  'icloud.com',
  'yahoo.com',
  'proton.me',
]);

function listSettings(
  { identity }: McpAuthentication,
  { lifetimeMs, refreshLifetimeMs, claims }: IssuedTokens,
): string[] {
  const open = (identity?.allow?.domains ?? []).filter((domain) => mailDomains.has(domain));
  // `groups` also says where organizations are listed.
  const unused = Object.keys(identity?.claims ?? {}).filter((name) => name !== 'groups' && !claims.includes(name));
  return [
    ...(refreshLifetimeMs === 0n
      ? [`tokens.refreshLifetime is 0s: people have to log in again every ${formatDuration(lifetimeMs)}`]
      : []),
    ...open.map((domain) => `identity.allow.domains has ${domain}, where anybody can get an address`),
    ...unused.map((name) => `identity.claims.${name} has no effect: tokens.claims does not list ${name}`),
  ];
}

function listUnknownScopes(
  { requiredScopes }: McpAuthentication,
  { scopes }: IssuedTokens,
  rules: readonly DescribedPolicy[],
): string[] {
  const granted = new Set(scopes.flatMap((grant) => grant.scopes));
  const isUnknown = (scope: string): boolean => !granted.has(scope);
  return [
    ...requiredScopes
      .filter(isUnknown)
      .map((scope) => `nobody gets in: requiredScopes has ${scope}, which no token can have; add it to tokens.scopes`),
    ...rules.flatMap(({ policy, scopes: needed }) =>
      needed
        .filter(isUnknown)
        .map(
          (scope) => `no token can have the scope ${scope}, which ProxyPolicy ${policy} needs; add it to tokens.scopes`,
        ),
    ),
  ];
}

/** Every token has them. */
const ownClaims: ReadonlySet<string> = new Set(['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'client_id', 'scope', 'idp']);

function listUnknownClaims(
  { requiredClaims, claimsToHeaders }: McpAuthentication,
  { claims, scopes }: IssuedTokens,
  rules: readonly DescribedPolicy[],
): string[] {
  const isUnknown = (claim: string): boolean => !ownClaims.has(claim) && !claims.includes(claim);
  // A dot selects a member.
  const isUnknownPath = (path: string): boolean => isUnknown(path) && isUnknown(path.split('.')[0]!);
  const describe = (claim: string, reader: string): string =>
    `no token has the claim ${claim}, which ${reader}; add it to tokens.claims`;
  return [
    ...requiredClaims
      .filter(({ name }) => isUnknownPath(name))
      .map(({ name }) => describe(name, 'requiredClaims needs')),
    ...claimsToHeaders
      .filter(({ claim }) => isUnknownPath(claim))
      .map(({ claim }) => describe(claim, 'claimsToHeaders passes on')),
    ...scopes.flatMap(({ when }, index) =>
      when === ''
        ? []
        : listClaims(when, 'claims')
            .filter(isUnknown)
            .map((claim) => describe(claim, `tokens.scopes[${index}].when reads`)),
    ),
    ...rules.flatMap(({ policy, field, expressions }) =>
      expressions
        .flatMap((source) => listClaims(source, field === 'backend.mcp.authorization' ? 'mcp' : 'request'))
        .filter(isUnknown)
        .map((claim) => describe(claim, `rules of ProxyPolicy ${policy} read`)),
    ),
  ];
}

/** The claims that an expression reads by name. */
function listClaims(source: string, scope: ExpressionScope): string[] {
  const compiled = compileExpression(source, scope);
  if (!compiled.ok) return [];
  return compiled.expression.reads.flatMap(([variable, claim]) =>
    variable === 'jwt' && claim !== undefined ? [claim] : [],
  );
}
