// The keys that values are sealed with (src/base/sealed.ts), on their way into the configuration. They belong to the process, not to the resources:
// translation knows nothing of them.
import { createSealKey } from '../base/sealed.ts';
import type { Configuration } from '../ir/configuration.ts';
import { createSealKeysMessage } from '../ir/seal-keys.ts';

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

/** The configuration with the keys in it. */
export function addSealKeys(configuration: Configuration, { current, previous }: SealKeys): Configuration {
  const message = createSealKeysMessage(previous === undefined ? [current] : [current, previous]);
  return { ...configuration, secrets: [...configuration.secrets, message] };
}
