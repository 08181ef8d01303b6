// Watches files: by notifications of the operating system where they work, and by polling where they do not
// (network mounts, exhausted watch limits). Debounces until writers are done, and always ends at the latest state.
import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../base/log.ts';

/** A folder to watch. */
export interface WatchedFolder {
  readonly path: string;
  /** Only notifications about these entries; about any when absent. Keeps a busy parent folder (/tmp) from causing work. */
  readonly names?: ReadonlySet<string>;
}

/** What the files look like from outside, without reading them. */
export interface FileLook {
  /** When the look was taken, in milliseconds since 1970. */
  readonly takenAt: number;
  /** Equal as long as nothing changed. */
  readonly fingerprint: string;
  /** When the youngest file changed, in milliseconds since 1970. */
  readonly youngest: number;
  readonly folders: readonly WatchedFolder[];
}

/** The files as read, not yet in force. */
export interface FileLoad {
  /** Taken before the first file was read. */
  readonly look: FileLook;
  /** Something would be removed, or is newly invalid: an unfinished write looks the same, so it is worth waiting longer. */
  readonly isDoubtful: boolean;
  /** Puts it in force. */
  apply(): void;
}

/** How long to wait for what, in milliseconds. */
export interface WatchTimes {
  /** Between two looks that must be equal before anything is read. */
  readonly settle: number;
  /** The debounce for doubtful changes. */
  readonly settleDoubtful: number;
  /** The maximum delay of a change under steady writing; four times as long for doubtful changes. */
  readonly patience: number;
  /** The poll interval without notifications. */
  readonly poll: number;
}

/** Fast enough to feel immediate, slow enough for an editor that deletes a file and writes it anew. */
export const defaultWatchTimes: WatchTimes = { settle: 25, settleDoubtful: 300, patience: 1500, poll: 2000 };

/** What a watch needs. */
interface FileWatchOptions {
  readonly look: () => Promise<FileLook>;
  readonly load: () => Promise<FileLoad>;
  readonly times?: Partial<WatchTimes>;
  readonly log: Log;
}

/**
 * A file that changed this short a time before it was read may change again without looking different: clocks of file systems are
 * coarse (2 s on FAT, the tick of the kernel elsewhere), and the size can stay the same.
 */
const youngMilliseconds = 2000;

/** Watches until it is stopped. */
export class FileWatch {
  readonly #options: FileWatchOptions;
  readonly #times: WatchTimes;
  readonly #stopping = new AbortController();
  readonly #watchers = new Map<string, FSWatcher>();
  #names = new Map<string, ReadonlySet<string> | undefined>();
  #loaded: { readonly fingerprint: string; readonly young: boolean };
  #running: Promise<void> | undefined;
  #woken = false;
  #timer: NodeJS.Timeout | undefined;
  #saidPolling = false;

  /** `initial` is what was read last before the watch; changes since then are noticed. */
  constructor(options: FileWatchOptions, initial: FileLook) {
    this.#options = options;
    this.#times = { ...defaultWatchTimes, ...options.times };
    this.#loaded = { fingerprint: initial.fingerprint, young: isYoung(initial) };
    this.#followFolders(initial.folders);
    // What changed between the reading and the first notice.
    this.#wake();
  }

  /** Ends it. Nothing is loaded or applied after the promise settled. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    await this.#running;
  }

  #wake(): void {
    if (this.#stopping.signal.aborted) return;
    this.#woken = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#woken) this.#wake();
      else this.#schedulePoll();
    });
  }

  #schedulePoll(): void {
    clearTimeout(this.#timer);
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => this.#wake(), this.#times.poll);
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    try {
      while (this.#woken && !this.#stopping.signal.aborted) {
        this.#woken = false;
        const look = await this.#options.look();
        // What changed in a folder between the look and the first notice from it.
        if (this.#followFolders(look.folders)) this.#woken = true;
        if (look.fingerprint === this.#loaded.fingerprint && !this.#loaded.young) {
          // A storm of irrelevant notifications causes one look per pause.
          if (this.#woken) await sleep(this.#times.settle, undefined, { signal: this.#stopping.signal });
          continue;
        }
        await this.#update(look);
      }
    } catch (error) {
      // A look or a load reports its problems as values; this is a bug, and must not end the watch.
      if (!this.#stopping.signal.aborted)
        this.#options.log.error({ err: error }, 'reading the files failed; trying again');
    }
  }

  async #update(first: FileLook): Promise<void> {
    const started = performance.now();
    const deadline = started + this.#times.patience;
    for (let look = first; !(await this.#staysQuiet(look, this.#times.settle));) {
      if (performance.now() >= deadline) break;
      look = await this.#options.look();
    }
    for (;;) {
      const load = await this.#options.load();
      // Looked at once more in any case: what changed while it was read may have been read in part.
      const isQuiet = await this.#staysQuiet(load.look, load.isDoubtful ? this.#times.settleDoubtful : 0);
      if (this.#stopping.signal.aborted) return;
      const patience = this.#times.patience * (load.isDoubtful ? 4 : 1);
      if (!isQuiet && performance.now() < started + patience) continue;
      load.apply();
      this.#loaded = { fingerprint: load.look.fingerprint, young: isYoung(load.look) };
      this.#followFolders(load.look.folders);
      // Applied after the maximum delay: there is a newer state, and its notification may have come already.
      if (!isQuiet) this.#woken = true;
      return;
    }
  }

  /** Whether nothing changes for a time. Looks at least once, and every so often, so that a change is not waited out. */
  async #staysQuiet(from: FileLook, time: number): Promise<boolean> {
    const end = performance.now() + time;
    do {
      if (time > 0) await sleep(Math.min(time, this.#times.settle), undefined, { signal: this.#stopping.signal });
      if ((await this.#options.look()).fingerprint !== from.fingerprint) return false;
    } while (performance.now() < end);
    return true;
  }

  /** Returns whether a folder is watched now that was not before. */
  #followFolders(folders: readonly WatchedFolder[]): boolean {
    if (this.#stopping.signal.aborted) return false;
    this.#names = mergeNames(folders);
    for (const [path, watcher] of this.#watchers) {
      if (!this.#names.has(path)) this.#dropWatcher(path, watcher);
    }
    let added = false;
    for (const path of this.#names.keys()) {
      if (!this.#watchers.has(path)) added = this.#watchFolder(path) || added;
    }
    return added;
  }

  #watchFolder(path: string): boolean {
    try {
      const watcher = watch(path, { persistent: false }, (_event, name) => {
        // The folder itself was moved or deleted: this watch follows the old one. The next look opens another.
        const isFolderItself = name !== null && name === basename(path);
        if (isFolderItself) this.#dropWatcher(path, watcher);
        const names = this.#names.get(path);
        if (isFolderItself || name === null || names === undefined || names.has(name)) this.#wake();
      });
      watcher.on('error', (error) => {
        this.#dropWatcher(path, watcher);
        this.#reportPolling(path, error);
      });
      this.#watchers.set(path, watcher);
      return true;
    } catch (error) {
      this.#reportPolling(path, error);
      return false;
    }
  }

  #reportPolling(folder: string, error: unknown): void {
    if (this.#saidPolling) return;
    this.#saidPolling = true;
    const fields = { err: error, folder, seconds: this.#times.poll / 1000 };
    this.#options.log.debug(fields, 'this folder has no change notifications; polling it instead');
  }

  #dropWatcher(folder: string, watcher: FSWatcher): void {
    if (this.#watchers.get(folder) !== watcher) return;
    watcher.close();
    this.#watchers.delete(folder);
  }
}

function mergeNames(folders: readonly WatchedFolder[]): Map<string, ReadonlySet<string> | undefined> {
  const merged = new Map<string, ReadonlySet<string> | undefined>();
  for (const { path, names } of folders) {
    const known = merged.get(path);
    if (!merged.has(path)) merged.set(path, names);
    else merged.set(path, names === undefined || known === undefined ? undefined : known.union(names));
  }
  return merged;
}

function isYoung(look: FileLook): boolean {
  const age = look.takenAt - look.youngest;
  // Not for ever: a file may claim to be from the future.
  return age < youngMilliseconds && age > -60_000;
}
