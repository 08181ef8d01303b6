// Everything about TLS of the xDS server, put together: where its certificate comes from, the copy of the last good one, and what a leader does for both.
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type ReadonlyWatchable, Watchable } from '../base/watchable.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Leadership } from '../kubernetes/leader-election.ts';
import { CertificateFolder } from './certificate-folder.ts';
import { certificateSecretName, copySecretName } from './certificate-secret.ts';
import type { RelistObserver } from './controller-metrics.ts';
import { readCopy, startCopyKeeper } from './copy-certificate.ts';
import { CertificateOfSecret, startCertificateKeeper } from './keep-certificate.ts';
import { watchSecret } from './watch-secret.ts';
import { type KnownCopy, XdsCertificateWatch } from './xds-certificate.ts';

interface XdsTlsOptions {
  readonly client: KubernetesClient;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: () => number;
  readonly installationNamespace: string;
  readonly serviceName: string;
  /** The name under which gateways reach the controller. */
  readonly serverName: string;
  /** A folder with the certificate; `generate`: the Secret is read from the API server, and made if there is none. */
  readonly source: { readonly folder: string } | 'generate';
  readonly onRelist: RelistObserver;
}

/** TLS of a replica. */
export interface XdsTls {
  readonly certificate: XdsCertificateWatch;
  /** Starts to write Secrets; called once. `leaderClient` writes only while this replica leads. */
  keep(leadership: ReadonlyWatchable<Leadership>, leaderClient: KubernetesClient): void;
  /** Ends the writing. */
  stopKeeping(): Promise<void>;
  stop(): Promise<void>;
}

/** Reads the certificate once, and watches it from then on. */
export async function startXdsTls(options: XdsTlsOptions): Promise<XdsTls> {
  const { client, log, clock, random, serverName, serviceName, onRelist } = options;
  const namespace = options.installationNamespace;
  const copySecret = watchSecret({ client, log, namespace, name: copySecretName, onRelist });
  const copy = new Watchable<KnownCopy>({ isKnown: false, files: undefined });
  copySecret.sighting.subscribe(
    (sighting) => void copy.set({ isKnown: sighting.state !== 'unknown', files: readCopy(sighting) }),
  );
  const ownSecret =
    options.source === 'generate'
      ? watchSecret({ client, log, namespace, name: certificateSecretName, onRelist })
      : undefined;
  const source =
    options.source === 'generate'
      ? new CertificateOfSecret(ownSecret!.sighting, namespace)
      : new CertificateFolder(options.source.folder);
  const certificate = new XdsCertificateWatch({ source, copy, serverName, log, clock });
  await certificate.start();
  let keepers: readonly { stop(): Promise<void> }[] = [];
  return {
    certificate,
    keep(leadership, leaderClient) {
      const common = { log, clock, random, namespace, leadership, certificate: certificate.state };
      keepers = [
        startCopyKeeper({ ...common, client: leaderClient, copy: copySecret.sighting }),
        ...(ownSecret === undefined
          ? []
          : [
              startCertificateKeeper({
                ...common,
                client,
                leaderClient,
                serviceName,
                secret: ownSecret.sighting,
                copy: copySecret.sighting,
              }),
            ]),
      ];
    },
    stopKeeping: async () => void (await Promise.all(keepers.map((keeper) => keeper.stop()))),
    stop: async () => void (await Promise.all([certificate.stop(), copySecret.stop(), ownSecret?.stop()])),
  };
}
