// Adds seal keys to the configuration of Gateways, from Secrets in the installation namespace, which the leader creates (src/deploy).
import type { Resources } from '../api/resources.ts';
import type { Secret as SecretResource } from '../api/secret.ts';
import type { Log } from '../base/log.ts';
import { nameSealKeySecret } from '../deploy/deployed-names.ts';
import type { KeyOwner } from '../deploy/key-owner.ts';
import { readSealKeyOwner, readSealKeys, sealKeysLabel } from '../deploy/seal-key-secret.ts';
import type { Configuration } from '../ir/configuration.ts';
import type { Secret } from '../ir/gen/config_pb.ts';
import { createSealKeysMessage } from '../ir/seal-keys.ts';

/** Finds the keys of Gateways among the resources. A Secret that did not change gives the same message again. */
export class SealKeyMessages {
  readonly #installationNamespace: string;
  readonly #log: Log;
  readonly #messages = new WeakMap<SecretResource, Secret | undefined>();

  constructor(installationNamespace: string, log: Log) {
    this.#installationNamespace = installationNamespace;
    this.#log = log;
  }

  /** A function that adds the keys of a Gateway to its configuration. Without keys the configuration stays as it is, and gateways fail closed. */
  createAdder(resources: Resources): (configuration: Configuration, owner: KeyOwner) => Configuration {
    const secrets = new Map(
      resources.secrets
        .filter(
          ({ metadata }) =>
            metadata.namespace === this.#installationNamespace && metadata.labels[sealKeysLabel] === 'true',
        )
        .map((secret) => [secret.metadata.name, secret]),
    );
    return (configuration, owner) => {
      const secret = secrets.get(nameSealKeySecret(owner.namespace, owner.name));
      // The keys of an earlier Gateway of the same name must not be used for this one.
      if (secret === undefined || readOwnerUid(secret) !== owner.uid) return configuration;
      const message = this.#read(secret);
      return message === undefined ? configuration : { ...configuration, secrets: [...configuration.secrets, message] };
    };
  }

  #read(secret: SecretResource): Secret | undefined {
    if (this.#messages.has(secret)) return this.#messages.get(secret);
    const read = readSealKeys(secret);
    // Logged once for each version of the Secret.
    if (!read.ok) this.#log.error({}, `${read.problem}; policies that need the keys refuse requests`);
    const message = read.ok ? createSealKeysMessage(read.keys) : undefined;
    this.#messages.set(secret, message);
    return message;
  }
}

function readOwnerUid({ metadata: { name, annotations } }: SecretResource): string | undefined {
  return readSealKeyOwner({ metadata: { name, annotations } })?.uid;
}
