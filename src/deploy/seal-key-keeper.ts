// Keeps the seal keys of each Gateway: made once, never changed.
import { nameSealKeySecret } from './deployed-names.ts';
import { type KeyKeeper, type KeyKeeperOptions, startKeyKeeper } from './key-keeper.ts';
import { renderSealKeySecret, sealKeysLabel } from './seal-key-secret.ts';

/** Starts to reconcile seal keys. */
export function startSealKeyKeeper(options: KeyKeeperOptions): KeyKeeper {
  const { installationNamespace } = options;
  return startKeyKeeper(
    {
      what: 'seal keys',
      label: sealKeysLabel,
      nameSecret: nameSealKeySecret,
      render: (owner) => renderSealKeySecret(owner, installationNamespace),
    },
    options,
  );
}
