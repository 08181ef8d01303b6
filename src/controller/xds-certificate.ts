// The certificate of the xDS server, from a folder that Kubernetes fills from a Secret and replaces as a whole (a symbolic link `..data` to the
// present content). Watched while the controller runs; an unusable replacement is reported, and the previous certificate stays in force.
import { type FSWatcher, watch } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type ReadonlyWatchable, Watchable } from '../base/watchable.ts';
import type { XdsCertificate } from '../xds/server.ts';
import { checkCertificate, type CertificateFiles, type UsableCertificate } from './check-certificate.ts';

interface XdsCertificateOptions {
  readonly folder: string;
  /** The name under which gateways reach the controller. */
  readonly serverName: string;
  readonly log: Log;
  readonly clock: Clock;
}

const pollMs = 2_000;

/** Watches the certificate from `start` to `stop`. */
export class XdsCertificateWatch {
  readonly #options: XdsCertificateOptions;
  readonly #inForce = new Watchable<UsableCertificate | undefined>(undefined, equalCertificates);
  readonly #certificate = new Watchable<XdsCertificate | undefined>(undefined);
  readonly #ca = new Watchable<string | undefined>(undefined);
  readonly #problem: Watchable<string | undefined>;
  #watcher: FSWatcher | undefined;
  #stopTimer: (() => void) | undefined;
  #looking: Promise<void> | undefined;
  #hasFailedOnce = false;
  #expiresAt: number | undefined;
  #isStopped = false;

  constructor(options: XdsCertificateOptions) {
    this.#options = options;
    this.#problem = new Watchable<string | undefined>(`the certificate in ${options.folder} has not been read yet`);
    this.#inForce.subscribe((certificate) => {
      this.#ca.set(certificate?.ca ?? this.#ca.get());
      this.#certificate.set(certificate);
    });
  }

  /** For handshakes: the last usable certificate, until it expires. */
  get certificate(): ReadonlyWatchable<XdsCertificate | undefined> {
    return this.#certificate;
  }

  /** The CA that gateways are to trust, PEM; undefined: not known yet. */
  get ca(): ReadonlyWatchable<string | undefined> {
    return this.#ca;
  }

  /** Why the files cannot be used at the moment; undefined: they can. */
  get problem(): ReadonlyWatchable<string | undefined> {
    return this.#problem;
  }

  /** The expiry of the last usable certificate, even if it has passed; milliseconds since 1970. Undefined: there was none. */
  get expiresAt(): number | undefined {
    return this.#expiresAt;
  }

  /** Reads the files, and watches them from then on. */
  async start(): Promise<void> {
    await this.look();
    this.#poll();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopTimer?.();
    this.#watcher?.close();
    await this.#looking;
  }

  /** Reads the files now. Reads never overlap. */
  look(): Promise<void> {
    this.#looking ??= this.#load().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  #poll(): void {
    if (this.#isStopped) return;
    this.#watchFolder();
    this.#stopTimer = this.#options.clock.setTimer(() => void this.look().then(() => this.#poll()), pollMs);
  }

  /** Only shortens the delay: not every file system reports changes, so polling goes on. */
  #watchFolder(): void {
    if (this.#watcher !== undefined) return;
    try {
      const watcher = watch(this.#options.folder, { persistent: false }, () => void this.look());
      const forget = (): void => {
        if (this.#watcher === watcher) this.#watcher = undefined;
      };
      watcher.on('error', forget);
      watcher.on('close', forget);
      this.#watcher = watcher;
    } catch {
      // The folder does not exist yet.
    }
  }

  async #load(): Promise<void> {
    const { folder, serverName, log, clock } = this.#options;
    const files = await readFiles(folder);
    if (this.#isStopped) return;
    const check =
      'problem' in files ? { ok: false as const, ...files } : checkCertificate(files, serverName, clock.now());
    if (check.ok) {
      this.#hasFailedOnce = false;
      this.#expiresAt = check.certificate.expiresAt;
      const hadProblem = this.#problem.set(undefined);
      const expires = new Date(check.certificate.expiresAt).toISOString();
      if (this.#inForce.set(check.certificate))
        log.info({ folder, expires }, 'loaded the certificate of the xDS server');
      else if (hadProblem) log.info({ folder, expires }, 'the certificate of the xDS server can be used again');
      return;
    }
    const last = this.#inForce.get();
    if (last !== undefined && last.expiresAt <= clock.now()) this.#inForce.set(undefined);
    // Files that are being replaced one by one briefly do not match: report only the second failure in a row.
    if (last !== undefined && !this.#hasFailedOnce) {
      this.#hasFailedOnce = true;
      return;
    }
    const problem = `${check.problem} (${folder})`;
    if (this.#problem.set(problem))
      log.error({ folder, reason: check.problem }, 'the certificate of the xDS server cannot be used');
  }
}

async function readFiles(folder: string): Promise<CertificateFiles | { readonly problem: string }> {
  // Resolve the link once, so that the three files are of the same version: it may be replaced between two reads.
  const source = await realpath(join(folder, '..data')).catch(() => folder);
  const names = ['tls.crt', 'tls.key', 'ca.crt'] as const;
  try {
    const [certificateChain, privateKey, ca] = await Promise.all(names.map((name) => readIfThere(join(source, name))));
    return { certificateChain, privateKey, ca };
  } catch (error) {
    return { problem: `the files cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function equalCertificates(left: UsableCertificate | undefined, right: UsableCertificate | undefined): boolean {
  return (
    left?.certificateChain === right?.certificateChain &&
    left?.privateKey === right?.privateKey &&
    left?.ca === right?.ca
  );
}
