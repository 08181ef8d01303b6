// traffic.authorization of a ProxyPolicy: rules over requests and the claims of their tokens.
import { create } from '@bufbuild/protobuf';
import type { ProxyPolicy } from '../../api/proxy-policy.ts';
import { type Authorization, AuthorizationAction, AuthorizationSchema } from '../../ir/gen/config_pb.ts';
import type { PolicyField } from './policy-field.ts';

const actions = {
  Allow: AuthorizationAction.ALLOW,
  Deny: AuthorizationAction.DENY,
  Require: AuthorizationAction.REQUIRE,
};

type AuthorizationSpec = NonNullable<NonNullable<ProxyPolicy['spec']['traffic']>['authorization']>;

/** The message of rules. */
export function createRules({ action, policy }: AuthorizationSpec): Authorization {
  return create(AuthorizationSchema, { action: actions[action], expressions: policy.matchExpressions });
}

/** traffic.authorization. */
export const authorizationField: PolicyField = {
  name: 'authorization',
  path: 'traffic.authorization',
  isGuard: true,
  isSet: ({ spec }) => spec.traffic?.authorization !== undefined,
  translate({ spec }) {
    const authorization = spec.traffic?.authorization;
    if (authorization === undefined) return undefined;
    return {
      valid: true,
      spec: { case: 'authorization', value: createRules(authorization) },
      secrets: [],
      backends: [],
    };
  },
};
