// What `check` warns of about Overrides: rules that read claims where the Gateway accepts no tokens itself. They see no claims, because lower levels choose the issuers there.
import { compileExpression } from '../cel/compile-expression.ts';
import type { Configuration } from '../ir/configuration.ts';
import { type Policy, PolicyTargetKind } from '../ir/gen/config_pb.ts';

/** Each policy once. */
export function listOverrideWarnings({
  policies,
}: Configuration): { readonly policy: string; readonly message: string }[] {
  const authentications = policies.filter(({ spec }) => spec.case === 'jwtAuthentication');
  const blind = policies.filter(
    (policy) => readsClaims(policy) && !authentications.some((each) => isAbove(each, policy)),
  );
  return [...new Set(blind.map(({ source }) => source))].map((policy) => ({
    policy,
    message:
      'its rules are an Override and see no claims, because its Gateway has no traffic.jwtAuthentication: otherwise whoever chooses the issuer at a route could satisfy them. Set it, too',
  }));
}

function readsClaims({ isOverride, spec }: Policy): boolean {
  if (!isOverride || spec.case !== 'authorization') return false;
  return spec.value.expressions.some((source) => {
    const compiled = compileExpression(source, 'request');
    return compiled.ok && compiled.expression.reads.some(([root]) => root === 'jwt');
  });
}

/** At the same place, or at the Gateway of a listener. */
function isAbove({ target: above }: Policy, { target }: Policy): boolean {
  return (
    above?.kind === PolicyTargetKind.GATEWAY &&
    above.namespace === target?.namespace &&
    above.name === target.name &&
    ['', target.sectionName].includes(above.sectionName)
  );
}
