// Every kind of policy with what translates it.
import type { ProxyPolicy } from '../../api/proxy-policy.ts';
import type { Policy } from '../../ir/gen/config_pb.ts';
import { type PolicyKind, type PolicyMessage, findPolicyContent } from '../../ir/policy-kinds.ts';
import { authorizationTranslator } from './authorization.ts';
import { corsTranslator } from './cors.ts';
import { jwtAuthenticationTranslator } from './jwt-authentication.ts';
import { mcpAuthenticationTranslator } from './mcp-authentication.ts';
import { mcpAuthorizationTranslator } from './mcp-authorization.ts';
import { publicAccessTranslator } from './public-access.ts';
import {
  type FieldSurroundings,
  type FieldTranslation,
  type MessageReferences,
  type PolicyTranslator,
  noReferences,
  readPolicyField,
} from './policy-translator.ts';

const translators: { readonly [Kind in PolicyKind]: PolicyTranslator<Kind> } = {
  'traffic.cors': corsTranslator,
  'traffic.publicAccess': publicAccessTranslator,
  'traffic.jwtAuthentication': jwtAuthenticationTranslator,
  'backend.mcp.authentication': mcpAuthenticationTranslator,
  'traffic.authorization': authorizationTranslator,
  'backend.mcp.authorization': mcpAuthorizationTranslator,
};

/** Translates the field of a policy that is of a kind; undefined when the policy does not have it. */
export function translateField<Kind extends PolicyKind>(
  kind: Kind,
  policy: ProxyPolicy,
  surroundings: FieldSurroundings,
): FieldTranslation<Kind> | undefined {
  const field = readPolicyField(policy, kind);
  return field === undefined ? undefined : translators[kind].translate(field, surroundings);
}

const known = new WeakMap<Policy, MessageReferences>();

/** What a policy needs beside its target. */
export function listPolicyReferences(policy: Policy): MessageReferences {
  let references = known.get(policy);
  if (references === undefined) {
    const content = findPolicyContent(policy);
    references = content === undefined ? noReferences : listReferences(content.kind, content.message);
    known.set(policy, references);
  }
  return references;
}

function listReferences<Kind extends PolicyKind>(kind: Kind, message: PolicyMessage<Kind>): MessageReferences {
  return translators[kind].listReferences(message);
}
