// Resources from files and folders: reads them, keeps in force what was good, and follows every change on disk.
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Extension } from '../../api/kinds.ts';
import { emptyResources, type Resources } from '../../api/resources.ts';
import { silentLog, type Log } from '../../base/log.ts';
import { Watchable, type ReadonlyWatchable } from '../../base/watchable.ts';
import {
  formatIdentity,
  type ResourceIdentity,
  type ResourceSource,
  type SourcePosition,
  type SourceProblem,
  type StartResult,
} from '../resource-source.ts';
import type { FilePlace } from './keep-last-good.ts';
import { lookAtFiles, readFiles, type FilesMemory, type FilesReading, type ReadFilesOptions } from './read-files.ts';
import { FileWatch, type FileLoad, type WatchTimes } from './watch-files.ts';

/** What to read, and how. */
export interface FilesSourceOptions {
  /** Files and folders. Relative ones start at the process's working directory. */
  readonly paths: readonly string[];
  /** For `${NAME}` in Secrets. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Messages name other files relative to it; the process's own when absent. */
  readonly workingDirectory?: string;
  /** Extensions whose kinds are read, too; none when absent. */
  readonly extensions?: readonly Extension[];
  /** Whether to watch for changes; on by default. */
  readonly watch?: boolean;
  readonly watchTimes?: Partial<WatchTimes>;
  readonly log?: Log;
}

/** A source that reads files. */
export class FilesSource implements ResourceSource {
  readonly #options: FilesSourceOptions;
  readonly #reading: ReadFilesOptions;
  readonly #resources = new Watchable<Resources>(emptyResources, isDeepStrictEqual);
  readonly #problems = new Watchable<readonly SourceProblem[]>([], isDeepStrictEqual);
  #memory: FilesMemory | undefined;
  #places: ReadonlyMap<string, FilePlace> = new Map();
  #valueFiles: readonly string[] = [];
  #applied = 0;
  #queue: Promise<unknown> = Promise.resolve();
  #watch: FileWatch | undefined;

  constructor(options: FilesSourceOptions) {
    this.#options = options;
    this.#reading = {
      paths: options.paths.map((path) => resolve(path)),
      environment: options.environment,
      workingDirectory: options.workingDirectory ?? process.cwd(),
      extensions: options.extensions ?? [],
      validated: new WeakMap(),
    };
  }

  get resources(): ReadonlyWatchable<Resources> {
    return this.#resources;
  }

  get problems(): ReadonlyWatchable<readonly SourceProblem[]> {
    return this.#problems;
  }

  async start(): Promise<StartResult> {
    const reading = await this.#read();
    if (!reading.isComplete) return { ok: false, problems: reading.problems };
    this.#apply(reading);
    if (this.#options.watch !== false) {
      const { watchTimes, log = silentLog } = this.#options;
      const look = () => lookAtFiles(this.#reading.paths, this.#valueFiles);
      const load = () => this.#load();
      this.#watch = new FileWatch(
        { look, load, log, ...(watchTimes !== undefined && { times: watchTimes }) },
        reading.look,
      );
    }
    return { ok: true };
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
    this.#watch = undefined;
    await this.#queue;
  }

  /** Reads everything now, without debounce. */
  async reload(): Promise<void> {
    (await this.#load()).apply();
  }

  locate(identity: ResourceIdentity, path: readonly (string | number)[] = []): SourcePosition | undefined {
    const place = this.#places.get(formatIdentity(identity));
    return place === undefined ? undefined : { file: place.file, ...place.written.locate(path) };
  }

  async #load(): Promise<FileLoad> {
    const reading = await this.#read();
    const applied = this.#applied;
    const next = new Set(reading.snapshot.inForce.map(({ identity }) => formatIdentity(identity)));
    const removes = reading.isComplete && [...this.#places.keys()].some((key) => !next.has(key));
    const isNewlyWrong = reading.problems.length > 0 && !isDeepStrictEqual(reading.problems, this.#problems.get());
    return {
      look: reading.look,
      isDoubtful: removes || isNewlyWrong,
      apply: () => {
        // A later reading has overtaken this one: it is older than what is in force.
        if (applied === this.#applied) this.#apply(reading);
      },
    };
  }

  /** One reading at a time, so that a later one is also a newer one. */
  #read(): Promise<FilesReading> {
    const reading = this.#queue.then(() => readFiles(this.#reading, this.#memory));
    this.#queue = reading.catch(() => {});
    return reading;
  }

  #apply(reading: FilesReading): void {
    this.#applied++;
    this.#valueFiles = reading.memory.valueFiles;
    this.#problems.set(reading.problems);
    if (!reading.isComplete) return;
    this.#memory = reading.memory;
    this.#places = new Map(reading.snapshot.inForce.map(({ identity, place }) => [formatIdentity(identity), place]));
    this.#resources.set(reading.snapshot.resources);
  }
}
