// The seal keys of a running gateway: read or made when a configuration first needs them, and followed from then on.
import { stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import type { Log } from '../base/log.ts';
import { Watchable, type ReadonlyWatchable } from '../base/watchable.ts';
import { type FileLoad, type FileLook, FileWatch, type WatchTimes } from '../sources/files/watch-files.ts';
import { readOrCreateSealKeyFile, readSealKeyFile, type SealKeyResult } from './seal-key-file.ts';
import type { SealKeys } from './seal-keys.ts';

interface SealKeySourceOptions {
  /** Undefined: there is no place for one. */
  readonly path: string | undefined;
  readonly log: Log;
  readonly watchTimes?: Partial<WatchTimes>;
}

/** Keys that rotate while the gateway runs. */
export class SealKeySource {
  readonly #options: SealKeySourceOptions;
  readonly #keys = new Watchable<SealKeys | undefined>(undefined, equalKeys);
  #watch: FileWatch | undefined;
  #opening: Promise<SealKeyResult> | undefined;
  #lastProblem: string | undefined;

  constructor(options: SealKeySourceOptions) {
    this.#options = options;
  }

  /** The keys in force; undefined until they were needed, and while they cannot be had. */
  get keys(): ReadonlyWatchable<SealKeys | undefined> {
    return this.#keys;
  }

  /** Has the keys read, or made, unless they are there already. A failure leaves nothing behind; the next call tries again. */
  async open(): Promise<SealKeyResult> {
    const keys = this.#keys.get();
    if (keys !== undefined) return { ok: true, keys, created: false };
    this.#opening ??= this.#openFile().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  /** Reads the file now, if the keys have been needed at all. */
  async reload(): Promise<void> {
    const { path } = this.#options;
    if (this.#watch !== undefined && path !== undefined) (await this.#load(resolve(path))).apply();
  }

  /** Ends the watching. */
  async stop(): Promise<void> {
    await this.#opening?.catch(() => {});
    await this.#watch?.stop();
    this.#watch = undefined;
  }

  async #openFile(): Promise<SealKeyResult> {
    const { log } = this.#options;
    if (this.#options.path === undefined) {
      const message =
        'There is no place for the seal key file: neither XDG_STATE_HOME nor HOME is set. Choose one with --seal-key-file.';
      return { ok: false, problem: 'unwritable', message };
    }
    const path = resolve(this.#options.path);
    const result = await readOrCreateSealKeyFile(path);
    if (!result.ok) return result;
    if (result.created) log.info({ file: path }, 'made new seal keys; keep the file, or everybody has to log in again');
    this.#keys.set(result.keys);
    const { watchTimes } = this.#options;
    const look = (): Promise<FileLook> => lookAtFile(path);
    this.#watch = new FileWatch(
      { look, load: () => this.#load(path), log, ...(watchTimes !== undefined && { times: watchTimes }) },
      // As if it had changed: what happened between the reading and the watching is not missed.
      { ...(await look()), fingerprint: '' },
    );
    return result;
  }

  async #load(path: string): Promise<FileLoad> {
    const look = await lookAtFile(path);
    const result = await readSealKeyFile(path);
    return { look, isDoubtful: !result.ok, apply: () => this.#take(result) };
  }

  #take(result: SealKeyResult): void {
    const { log, path } = this.#options;
    if (!result.ok) {
      // What was good stays in force. Said once per problem.
      if (result.message !== this.#lastProblem) log.error({}, `${result.message} The keys from before stay in force.`);
      this.#lastProblem = result.message;
      return;
    }
    if (this.#lastProblem !== undefined) log.info({ file: path }, 'the seal key file can be used again');
    this.#lastProblem = undefined;
    if (this.#keys.set(result.keys)) log.info({ file: path }, 'the seal keys were rotated; nobody has to log in again');
  }
}

async function lookAtFile(path: string): Promise<FileLook> {
  const takenAt = Date.now();
  const folders = [{ path: dirname(path), names: new Set([basename(path)]) }];
  try {
    const { dev, ino, size, mode, mtimeNs, ctimeNs, mtimeMs } = await stat(path, { bigint: true });
    return {
      takenAt,
      fingerprint: [dev, ino, size, mode, mtimeNs, ctimeNs].join(' '),
      youngest: Number(mtimeMs),
      folders,
    };
  } catch {
    return { takenAt, fingerprint: 'missing', youngest: 0, folders };
  }
}

function equalKeys(left: SealKeys | undefined, right: SealKeys | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return equalKey(left.current, right.current) && equalKey(left.previous, right.previous);
}

function equalKey(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return Buffer.compare(left, right) === 0;
}
