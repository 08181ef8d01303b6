// The leader keeps a copy of the certificate that it serves with in a Secret of the controller's own: a replica that is restarted while the Secret with the
// certificate is broken or gone serves from it.
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { ReadonlyWatchable } from '../base/watchable.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Leadership } from '../kubernetes/leader-election.ts';
import { resourceTypes } from '../kubernetes/resource-type.ts';
import { copySecretName, isCopy, readCertificateFiles, renderCopy } from './certificate-secret.ts';
import type { CertificateFiles } from './check-certificate.ts';
import type { CertificateState } from './choose-certificate.ts';
import { SecretTask } from './secret-task.ts';
import type { SecretSighting } from './watch-secret.ts';

interface CopyKeeperOptions {
  /** Writes only while this replica leads. */
  readonly client: Pick<KubernetesClient, 'create' | 'replace'>;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: () => number;
  readonly namespace: string;
  readonly copy: ReadonlyWatchable<SecretSighting>;
  readonly certificate: ReadonlyWatchable<CertificateState>;
  readonly leadership: ReadonlyWatchable<Leadership>;
}

/** The files of a copy of ours; undefined: there is none. */
export function readCopy(sighting: SecretSighting): CertificateFiles | undefined {
  return sighting.state === 'present' && isCopy(sighting.object) ? readCertificateFiles(sighting.object) : undefined;
}

/** Keeps the copy until it is stopped. */
export function startCopyKeeper(options: CopyKeeperOptions): { stop(): Promise<void> } {
  const { client, log, clock, random, namespace, copy, certificate, leadership } = options;
  let isForeignTold = false;

  async function keep(signal: AbortSignal): Promise<undefined> {
    const state = certificate.get();
    const sighting = copy.get();
    if (leadership.get().role !== 'leader' || state.state === 'none' || sighting.state === 'unknown') return;
    const seen = sighting.state === 'present' ? sighting.object : undefined;
    if (seen !== undefined && !isCopy(seen)) {
      if (!isForeignTold)
        log.warn(
          { object: copySecretName },
          'a Secret of somebody else has the name of the copy of the xDS certificate; no copy is kept',
        );
      isForeignTold = true;
      return;
    }
    const kept = readCopy(sighting);
    const { certificateChain, privateKey, ca } = state.certificate;
    if (kept?.certificateChain === certificateChain && kept.privateKey === privateKey && kept.ca === ca) return;
    const object = renderCopy(state.certificate, namespace, seen);
    if (seen === undefined) await client.create(resourceTypes.Secret, object, signal);
    else await client.replace(resourceTypes.Secret, object, signal);
    log.info({ object: copySecretName }, 'kept a copy of the xDS certificate');
  }

  return new SecretTask({
    log,
    clock,
    random,
    failure: 'the copy of the xDS certificate could not be written',
    triggers: [copy, certificate, leadership],
    run: keep,
  });
}
