// Remembers what was served, so that a listener whose Secret is missing or unusable keeps its last good certificate, and says so in the log.
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import type { Configuration } from '../../../ir/configuration.ts';
import { keepCertificates, type Keeping, type KeptCertificate } from './keep-certificates.ts';

interface CertificateKeeperOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** A kept certificate has expired: the configuration has to be applied again. */
  readonly onExpired: () => void;
}

/** Of one gateway process. */
export class CertificateKeeper {
  readonly #options: CertificateKeeperOptions;
  #keeping: Keeping | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: CertificateKeeperOptions) {
    this.#options = options;
  }

  /** The configuration to serve in place of a given one. */
  keep(given: Configuration): Configuration {
    const { clock, onExpired } = this.#options;
    const before = this.#keeping;
    const keeping = keepCertificates(given, before, clock.now());
    this.#keeping = keeping;
    this.#report(before, keeping);
    this.#cancel?.();
    const soonest = Math.min(...keeping.kept.map(({ expiresAt }) => expiresAt));
    this.#cancel = Number.isFinite(soonest) ? clock.setTimer(onExpired, soonest - clock.now()) : undefined;
    return keeping.configuration;
  }

  /** What is served although its Secret is missing or unusable. */
  get kept(): readonly KeptCertificate[] {
    return this.#keeping?.kept ?? [];
  }

  /** The same in sentences. */
  describe(): readonly string[] {
    return this.kept.map(({ listener, secret, since, expiresAt }) => {
      const times = `since ${formatTime(since)}, until it expires at ${formatTime(expiresAt)}`;
      return `listener ${listener} keeps serving its last good certificate ${times}: ${secret} is missing or unusable`;
    });
  }

  #report(before: Keeping | undefined, { kept, lacking }: Keeping): void {
    const { log } = this.#options;
    const isKnown = (list: Keeping['lacking'] = [], { listener, secret }: Keeping['lacking'][number]): boolean =>
      list.some((each) => each.listener === listener && each.secret === secret);
    for (const each of kept) {
      if (isKnown(before?.kept, each)) continue;
      const fields = { listener: each.listener, certificate: each.secret, expires: formatTime(each.expiresAt) };
      log.warn(fields, 'the certificate of a listener is missing or unusable; the last good one stays in use');
    }
    for (const each of lacking) {
      if (isKnown(before?.lacking, each)) continue;
      const why = isKnown(before?.kept, each) ? 'the last good one has expired' : 'this process never had a good one';
      log.warn(name(each), `the certificate of a listener is missing or unusable; ${why}, and handshakes are refused`);
    }
    const awaited = [...kept, ...lacking];
    for (const each of [...(before?.kept ?? []), ...(before?.lacking ?? [])])
      if (!isKnown(awaited, each)) log.info(name(each), 'the certificate of a listener is not awaited any more');
  }
}

/** For the log, where a field called secret would be redacted. */
function name({ listener, secret }: Keeping['lacking'][number]): { listener: string; certificate: string } {
  return { listener, certificate: secret };
}

function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
