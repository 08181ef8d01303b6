// The certificate of the xDS server. Its source is watched while the controller runs; an unusable replacement is reported, and the last good certificate
// stays in force until it expires: that of this process, or the copy that a leader keeps (copy-certificate.ts).
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type ReadonlyWatchable, Watchable } from '../base/watchable.ts';
import type { XdsCertificate } from '../xds/server.ts';
import {
  checkCertificate,
  type CertificateCheck,
  type CertificateFiles,
  equalCertificates,
  type UsableCertificate,
} from './check-certificate.ts';
import { chooseCertificate, type CertificateState, describeCertificateState } from './choose-certificate.ts';

/** What was read of a source. `isPending`: it is about to be made. */
export type CertificateReading =
  | { readonly files: CertificateFiles }
  | { readonly problem: string; readonly isPending?: boolean };

/** The copy of the last good certificate. `isKnown` is false until it was looked for; without files there is none. */
export interface KnownCopy {
  readonly isKnown: boolean;
  readonly files: CertificateFiles | undefined;
}

/** Where the certificate comes from. */
export interface CertificateSource {
  /** For the operator. */
  readonly place: string;
  /** The files may be replaced one by one, and briefly not match. */
  readonly mayTear: boolean;
  read(): Promise<CertificateReading>;
  /** Calls back when there may be something new, until it is stopped. */
  follow(onChange: () => void): void;
  stop(): void;
}

interface XdsCertificateOptions {
  readonly source: CertificateSource;
  /** The copy of the last good certificate; undefined: none is ever kept. */
  readonly copy?: ReadonlyWatchable<KnownCopy>;
  /** The name under which gateways reach the controller. */
  readonly serverName: string;
  readonly log: Log;
  readonly clock: Clock;
}

const pollMs = 2_000;

/** Watches the certificate from `start` to `stop`. */
export class XdsCertificateWatch {
  readonly #options: XdsCertificateOptions;
  readonly #state: Watchable<CertificateState>;
  readonly #inForce = new Watchable<UsableCertificate | undefined>(undefined, equalCertificates);
  readonly #canServe = new Watchable(false);
  readonly #ca = new Watchable<string | undefined>(undefined);
  readonly #problem: Watchable<string | undefined>;
  #unsubscribe: (() => void) | undefined;
  #stopTimer: (() => void) | undefined;
  #looking: Promise<void> | undefined;
  #isLateChange = false;
  #hasFailedOnce = false;
  #last: UsableCertificate | undefined;
  #expiresAt: number | undefined;
  #isStopped = false;

  constructor(options: XdsCertificateOptions) {
    this.#options = options;
    const unread: CertificateState = { state: 'none', problem: 'it has not been read yet', isPending: true };
    this.#state = new Watchable<CertificateState>(unread, equalStates);
    this.#problem = new Watchable(describeCertificateState(unread, options.source.place));
  }

  /** For handshakes: the certificate in force; undefined: handshakes fail. */
  get certificate(): ReadonlyWatchable<XdsCertificate | undefined> {
    return this.#inForce;
  }

  /** Whether there is a certificate for handshakes. */
  get canServe(): ReadonlyWatchable<boolean> {
    return this.#canServe;
  }

  /** The CA that gateways are to trust, PEM; undefined: not known yet. */
  get ca(): ReadonlyWatchable<string | undefined> {
    return this.#ca;
  }

  get state(): ReadonlyWatchable<CertificateState> {
    return this.#state;
  }

  /** For the operator: why the source cannot be used at the moment, and what is served meanwhile; undefined: it can. */
  get problem(): ReadonlyWatchable<string | undefined> {
    return this.#problem;
  }

  /** The expiry of the last usable certificate, even if it has passed; milliseconds since 1970. Undefined: there was none. */
  get expiresAt(): number | undefined {
    return this.#expiresAt;
  }

  /** Reads the source, and watches it from then on. */
  async start(): Promise<void> {
    const { source, copy } = this.#options;
    source.follow(() => void this.look());
    this.#unsubscribe = copy?.subscribe(() => void this.look());
    await this.look();
    this.#poll();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopTimer?.();
    this.#unsubscribe?.();
    this.#options.source.stop();
    await this.#looking;
  }

  /** Reads the source now. Reads never overlap. */
  look(): Promise<void> {
    if (this.#looking === undefined) this.#looking = this.#loadAll().finally(() => (this.#looking = undefined));
    else this.#isLateChange = true;
    return this.#looking;
  }

  /** Once more, if there was something new during the reading. */
  async #loadAll(): Promise<void> {
    do {
      this.#isLateChange = false;
      await this.#load();
    } while (this.#isLateChange && !this.#isStopped);
  }

  #poll(): void {
    if (this.#isStopped) return;
    this.#stopTimer = this.#options.clock.setTimer(() => void this.look().then(() => this.#poll()), pollMs);
  }

  async #load(): Promise<void> {
    const { source, copy } = this.#options;
    const reading = await source.read();
    if (this.#isStopped) return;
    const now = this.#options.clock.now();
    const present = 'files' in reading ? this.#check(reading.files, now) : { ok: false as const, ...reading };
    if (present.ok) this.#last = present.certificate;
    const kept = copy?.get();
    // A copy may come in a moment: until then nothing is wrong enough to be told.
    const isPending = ('problem' in reading && reading.isPending === true) || kept?.isKnown === false;
    const checkedCopy = present.ok || kept?.files === undefined ? undefined : this.#check(kept.files, now);
    const state = chooseCertificate({ present, isPending, last: this.#last, copy: checkedCopy }, now);
    // Files that are being replaced one by one briefly do not match: report only the second failure in a row.
    const isFirst = source.mayTear && !this.#hasFailedOnce && this.#state.get().state === 'good';
    this.#hasFailedOnce = !present.ok;
    if (!isFirst || state.state !== 'degraded') this.#enter(state);
  }

  #check(files: CertificateFiles, now: number): CertificateCheck {
    return checkCertificate(files, this.#options.serverName, now);
  }

  #enter(state: CertificateState): void {
    const { source } = this.#options;
    const certificate = readCertificate(state);
    const isOther = !equalCertificates(this.#inForce.get(), certificate);
    const before = this.#state.get();
    this.#expiresAt = certificate?.expiresAt ?? this.#expiresAt;
    this.#ca.set(certificate?.ca ?? this.#ca.get());
    this.#inForce.set(certificate);
    this.#problem.set(describeCertificateState(state, source.place));
    if (this.#state.set(state)) this.#report(state, before, isOther);
    this.#canServe.set(certificate !== undefined);
  }

  #report(state: CertificateState, before: CertificateState, isOther: boolean): void {
    const { log, source } = this.#options;
    const place = source.place;
    if (state.state === 'good') {
      const expires = new Date(state.certificate.expiresAt).toISOString();
      if (isOther) log.info({ place, expires }, 'loaded the certificate of the xDS server');
      else if (before.state === 'degraded')
        log.info({ place, expires }, 'the certificate of the xDS server can be used again');
    } else if (state.state === 'degraded') {
      const until = new Date(state.certificate.expiresAt).toISOString();
      log.error(
        { place, reason: state.problem, degraded: true, until, from_copy: state.isCopy },
        'the certificate of the xDS server cannot be used; the last good one is served',
      );
    } else if (state.isPending) {
      log.info({ place, reason: state.problem }, 'there is no certificate of the xDS server yet');
    } else {
      log.error({ place, reason: state.problem }, 'the certificate of the xDS server cannot be used');
    }
  }
}

function equalStates(left: CertificateState, right: CertificateState): boolean {
  const isPending = (state: CertificateState): boolean => state.state === 'none' && state.isPending;
  return (
    describeCertificateState(left, '') === describeCertificateState(right, '') &&
    isPending(left) === isPending(right) &&
    equalCertificates(readCertificate(left), readCertificate(right))
  );
}

function readCertificate(state: CertificateState): UsableCertificate | undefined {
  return state.state === 'none' ? undefined : state.certificate;
}
