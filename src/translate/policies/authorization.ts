// traffic.authorization of a ProxyPolicy: rules over requests and the claims of their tokens.
import { create } from '@bufbuild/protobuf';
import { type Authorization, AuthorizationAction, AuthorizationSchema } from '../../ir/gen/config_pb.ts';
import { type PolicyField, type PolicyTranslator, noReferences } from './policy-translator.ts';

const actions = {
  Allow: AuthorizationAction.ALLOW,
  Deny: AuthorizationAction.DENY,
  Require: AuthorizationAction.REQUIRE,
};

/** The message of rules. */
export function createRules({ action, policy }: PolicyField<'traffic.authorization'>): Authorization {
  return create(AuthorizationSchema, { action: actions[action], expressions: policy.matchExpressions });
}

/** traffic.authorization. */
export const authorizationTranslator: PolicyTranslator<'traffic.authorization'> = {
  translate: (authorization) => ({ valid: true, message: createRules(authorization), secrets: [], backends: [] }),
  listReferences: () => noReferences,
};
