// The keys of a running gateway that are in a file: read or made when a configuration first needs them, and followed from then on.
import { stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import type { Log } from '../base/log.ts';
import { Watchable, type ReadonlyWatchable } from '../base/watchable.ts';
import { type FileLoad, type FileLook, FileWatch, type WatchTimes } from '../sources/files/watch-files.ts';
import { type KeyFileKind, type KeyFileResult, readKeyFile, readOrCreateKeyFile } from './key-file.ts';

interface KeyFileSourceOptions<K> {
  /** Undefined: there is no place for one. */
  readonly path: string | undefined;
  readonly kind: KeyFileKind<K>;
  readonly log: Log;
  readonly equals: (left: K, right: K) => boolean;
  /** What the log says when the file was made, and when other keys were found in it. */
  readonly words: { readonly made: string; readonly changed: string };
  readonly watchTimes?: Partial<WatchTimes> | undefined;
}

/** Keys that change while the gateway runs. */
export class KeyFileSource<K> {
  readonly #options: KeyFileSourceOptions<K>;
  readonly #keys: Watchable<K | undefined>;
  #watch: FileWatch | undefined;
  #opening: Promise<KeyFileResult<K>> | undefined;
  #lastProblem: string | undefined;

  constructor(options: KeyFileSourceOptions<K>) {
    this.#options = options;
    this.#keys = new Watchable<K | undefined>(undefined, (left, right) =>
      left === undefined || right === undefined ? left === right : options.equals(left, right),
    );
  }

  /** The keys in force; undefined until they were needed, and while they cannot be had. */
  get keys(): ReadonlyWatchable<K | undefined> {
    return this.#keys;
  }

  /** Has the keys read, or made, unless they are there already. A failure leaves nothing behind; the next call tries again. */
  async open(): Promise<KeyFileResult<K>> {
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

  async #openFile(): Promise<KeyFileResult<K>> {
    const { log, kind, words } = this.#options;
    if (this.#options.path === undefined) {
      const message = `There is no place for the ${kind.name}: neither XDG_STATE_HOME nor HOME is set. Choose one with ${kind.flag}.`;
      return { ok: false, problem: 'unwritable', message };
    }
    const path = resolve(this.#options.path);
    const result = await readOrCreateKeyFile(path, kind);
    if (!result.ok) return result;
    if (result.created) log.info({ file: path }, words.made);
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
    const result = await readKeyFile(path, this.#options.kind);
    return { look, isDoubtful: !result.ok, apply: () => this.#take(result) };
  }

  #take(result: KeyFileResult<K>): void {
    const { log, path, kind, words } = this.#options;
    if (!result.ok) {
      // What was good stays in force. Said once per problem.
      if (result.message !== this.#lastProblem) log.error({}, `${result.message} The keys from before stay in force.`);
      this.#lastProblem = result.message;
      return;
    }
    if (this.#lastProblem !== undefined) log.info({ file: path }, `the ${kind.name} can be used again`);
    this.#lastProblem = undefined;
    if (this.#keys.set(result.keys)) log.info({ file: path }, words.changed);
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
