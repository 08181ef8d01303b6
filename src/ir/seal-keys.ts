// The keys that values are sealed with, as a message. They belong to a gateway, not to the resources: their owner adds them to the configuration after
// translation.
import { create } from '@bufbuild/protobuf';
import type { Configuration } from './configuration.ts';
import { type Secret, SecretSchema } from './gen/config_pb.ts';
import { sealKeysKey } from './resource-keys.ts';

/** Whether anything in the configuration is closed without keys to seal values with. */
export function needsSealKeys({ policies }: Configuration): boolean {
  return policies.some(({ spec }) => spec.case === 'mcpAuthentication');
}

/** Whether anything seals values, or could: sessions of federations go on at other replicas, and after a restart, only with keys that these share. */
export function usesSealKeys(configuration: Configuration): boolean {
  return needsSealKeys(configuration) || configuration.backends.some(({ kind }) => kind.case === 'federation');
}

/** The message with the keys: the first one seals, all of them open. */
export function createSealKeysMessage(keys: readonly Uint8Array[]): Secret {
  return create(SecretSchema, { key: sealKeysKey, value: { case: 'sealKeys', value: { keys: [...keys] } } });
}
