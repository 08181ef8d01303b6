// Adds signing keys to the configuration of Gateways, from Secrets in the installation namespace, which the leader keeps (src/deploy). Only for gateways that are
// served over TLS: signing keys never cross the network in clear.
import type { Resources } from '../api/resources.ts';
import type { Secret as SecretResource } from '../api/secret.ts';
import type { Log } from '../base/log.ts';
import { nameSigningKeySecret } from '../deploy/deployed-names.ts';
import type { KeyOwner } from '../deploy/key-owner.ts';
import type { AcknowledgedKeys } from '../deploy/plan-signing-keys.ts';
import { readSigningKeyOwner, readSigningKeySecret, signingKeysLabel } from '../deploy/signing-key-secret.ts';
import type { Secret } from '../ir/gen/config_pb.ts';
import { createSigningKeysMessage } from '../ir/signing-keys.ts';

/** The keys of a Gateway on their way to its gateways. */
interface SentKeys {
  readonly message: Secret;
  /** What gateways have that acknowledge it. */
  readonly keys: AcknowledgedKeys;
}

/** Finds the keys of Gateways among the resources. A Secret that did not change gives the same message again. */
export class SigningKeyMessages {
  readonly #installationNamespace: string;
  readonly #log: Log;
  readonly #sent = new WeakMap<SecretResource, SentKeys | undefined>();

  constructor(installationNamespace: string, log: Log) {
    this.#installationNamespace = installationNamespace;
    this.#log = log;
  }

  /** A function that finds the keys of a Gateway; undefined: there are none, and gateways fail closed. */
  createFinder({ secrets: all }: Resources): (owner: KeyOwner) => SentKeys | undefined {
    const secrets = new Map(
      all
        .filter(
          ({ metadata }) =>
            metadata.namespace === this.#installationNamespace && metadata.labels[signingKeysLabel] === 'true',
        )
        .map((secret) => [secret.metadata.name, secret]),
    );
    return (owner) => {
      const secret = secrets.get(nameSigningKeySecret(owner.namespace, owner.name));
      // The keys of an earlier Gateway of the same name must not be used for this one.
      return secret === undefined || readOwnerUid(secret) !== owner.uid ? undefined : this.#read(secret);
    };
  }

  #read(secret: SecretResource): SentKeys | undefined {
    if (this.#sent.has(secret)) return this.#sent.get(secret);
    const read = readSigningKeySecret(secret);
    // Logged once for each version of the Secret.
    if (!read.ok) this.#log.error({}, `${read.problem}; policies that need the keys refuse requests`);
    let sent: SentKeys | undefined;
    if (read.ok) {
      const { current, next, previous } = read.keys;
      const keys = [current, ...(next === undefined ? [] : [next]), ...(previous === undefined ? [] : [previous])];
      sent = {
        message: createSigningKeysMessage(keys, current.kid),
        keys: { kids: keys.map(({ kid }) => kid), active: current.kid },
      };
    }
    this.#sent.set(secret, sent);
    return sent;
  }
}

function readOwnerUid({ metadata: { name, annotations } }: SecretResource): string | undefined {
  return readSigningKeyOwner({ metadata: { name, annotations } })?.uid;
}
