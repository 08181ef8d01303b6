// The keys that values are sealed with (src/base/sealed.ts), on their way into the configuration. They belong to the process, not to the resources:
// translation knows nothing of them.
import { create } from '@bufbuild/protobuf';
import { createSealKey } from '../base/sealed.ts';
import type { Configuration } from '../ir/configuration.ts';
import { SecretSchema } from '../ir/gen/config_pb.ts';
import { sealKeysKey } from '../ir/resource-keys.ts';

/** AES-256. */
export const sealKeyBytes = 32;

/** The key that seals, and the one before it, which still opens. */
export interface SealKeys {
  readonly current: Uint8Array;
  readonly previous: Uint8Array | undefined;
}

/** New keys, from the operating system's generator. For the demo they live as long as the process. */
export function makeSealKeys(): SealKeys {
  return { current: createSealKey(), previous: undefined };
}

/** Whether anything in the configuration seals values. Keys are made only then. */
export function needsSealKeys({ policies }: Configuration): boolean {
  return policies.some(({ spec }) => spec.case === 'mcpAuthentication');
}

/** The configuration with the keys in it. */
export function addSealKeys(configuration: Configuration, { current, previous }: SealKeys): Configuration {
  const keys = previous === undefined ? [current] : [current, previous];
  const secret = create(SecretSchema, { key: sealKeysKey, value: { case: 'sealKeys', value: { keys } } });
  return { ...configuration, secrets: [...configuration.secrets, secret] };
}
