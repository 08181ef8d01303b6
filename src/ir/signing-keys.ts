// The keys that access tokens of the gateway's own are signed with, as a message. Like seal keys they belong to a gateway, not to the resources: their owner adds
// them to the configuration after translation.
import { create } from '@bufbuild/protobuf';
import type { SigningKeyMaterial } from '../base/signing-key.ts';
import type { Configuration } from './configuration.ts';
import { LoginFlow, type Policy, type Secret, SecretSchema } from './gen/config_pb.ts';
import { signingKeysKey } from './resource-keys.ts';

/** Whether anything in the configuration issues tokens. Keys are made only then. */
export function needsSigningKeys({ policies }: Configuration): boolean {
  return policies.some(issuesTokens);
}

/** Whether the gateway issues the access tokens of a policy itself. */
export function issuesTokens({ spec }: Policy): boolean {
  return spec.case === 'mcpAuthentication' && spec.value.flow === LoginFlow.ISSUER;
}

/** The message with the keys: all of them are published and accepted, the one with the kid `active` signs. */
export function createSigningKeysMessage(keys: readonly SigningKeyMaterial[], active: string): Secret {
  return create(SecretSchema, {
    key: signingKeysKey,
    value: {
      case: 'signingKeys',
      value: { keys: keys.map(({ kid, privateKey }) => ({ kid, privateKey })), active },
    },
  });
}
