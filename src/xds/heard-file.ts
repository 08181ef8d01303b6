// The file beside a snapshot file that says when a controller was last heard while that snapshot was in force:
//
//   mcp-gateway-heard 1 n/gateway 5feceb66... 1767225600000 86400000\n   format version, Gateway, checksum of the snapshot, time of day, uptime of the machine
//
// The snapshot itself is large and rarely changes; this is small and changes all the time. Whatever is wrong with it, the answer is "not known": a gateway that
// must not serve old configurations then serves none.
import { randomUUID } from 'node:crypto';
import * as nodeFiles from 'node:fs/promises';
import type { Log } from '../base/log.ts';

/** A moment on both clocks, in milliseconds. */
export interface HeardMoment {
  /** Since 1970. */
  readonly wallMs: number;
  /** Since the machine started. */
  readonly uptimeMs: number;
}

/** What is needed of node:fs/promises. */
type HeardFileSystem = Pick<typeof nodeFiles, 'readFile' | 'writeFile' | 'rename' | 'unlink'>;

const magic = 'mcp-gateway-heard';
const formatVersion = 1;
/** Clocks are corrected by less than this all the time. */
const clockToleranceMs = 1_000;

/** The file beside a snapshot file. */
export function findHeardFile(snapshotFile: string): string {
  return `${snapshotFile}.heard`;
}

/** When a controller was last heard, by a process that served this snapshot; undefined: not known. */
export async function readHeardFile(
  path: string,
  gateway: string,
  checksum: string,
  files: Pick<HeardFileSystem, 'readFile'> = nodeFiles,
): Promise<HeardMoment | undefined> {
  let text: string;
  try {
    text = await files.readFile(path, 'utf8');
  } catch {
    return undefined;
  }
  const start = formatStart(gateway, checksum);
  const [, wall, uptime] = (text.startsWith(start) && /^(\d{1,16}) (\d{1,16})\n$/.exec(text.slice(start.length))) || [];
  return wall === undefined || uptime === undefined ? undefined : { wallMs: Number(wall), uptimeMs: Number(uptime) };
}

/**
 * The time between two moments, at least; Infinity: not known, because the time of day was set back. The uptime begins again with the machine, so it never says more
 * than the truth.
 */
export function measureSilence(heard: HeardMoment | undefined, now: HeardMoment): number {
  if (heard === undefined) return Infinity;
  const byWall = now.wallMs - heard.wallMs;
  return byWall < -clockToleranceMs ? Infinity : Math.max(0, byWall, now.uptimeMs - heard.uptimeMs);
}

function formatStart(gateway: string, checksum: string): string {
  return `${magic} ${formatVersion} ${gateway} ${checksum} `;
}

interface HeardWriterOptions {
  readonly path: string;
  /** namespace/name */
  readonly gateway: string;
  readonly log: Log;
  /** How old the moment in the file may get. */
  readonly everyMs: number;
  /** The checksum of the snapshot file; undefined: the file is not what is in force. */
  readonly readChecksum: () => string | undefined;
  readonly files?: HeardFileSystem;
}

/** Writes the file. Not synced: after a crash of the machine it may be old, which errs on the safe side. */
export class HeardWriter {
  readonly #options: HeardWriterOptions;
  readonly #files: HeardFileSystem;
  #latest: HeardMoment | undefined;
  #written: { readonly checksum: string; readonly moment: HeardMoment } | undefined;
  #writing: Promise<void> | undefined;
  #isDue = false;
  #hasProblem = false;

  /** `latest`: the moment from before the restart. */
  constructor(options: HeardWriterOptions, latest: HeardMoment | undefined) {
    this.#options = options;
    this.#files = options.files ?? nodeFiles;
    this.#latest = latest;
  }

  heard(moment: HeardMoment): void {
    this.#latest = moment;
    const isOld = moment.uptimeMs - (this.#written?.moment.uptimeMs ?? -Infinity) >= this.#options.everyMs;
    if (isOld) this.write();
  }

  /** Writes the latest moment: the snapshot file is another one now, or the process ends. */
  write(): void {
    this.#isDue = true;
    this.#writing ??= this.#writeWhileDue().finally(() => (this.#writing = undefined));
  }

  async close(): Promise<void> {
    this.write();
    await this.#writing;
  }

  async #writeWhileDue(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false;
      await this.#write();
    }
  }

  async #write(): Promise<void> {
    const { path, gateway, log, readChecksum } = this.#options;
    const [moment, checksum] = [this.#latest, readChecksum()];
    if (moment === undefined || checksum === undefined) return;
    if (this.#written?.moment === moment && this.#written.checksum === checksum) return;
    const text = `${formatStart(gateway, checksum)}${Math.round(moment.wallMs)} ${Math.round(moment.uptimeMs)}\n`;
    const temporary = `${path}.${randomUUID()}.tmp`;
    try {
      await this.#files.writeFile(temporary, text, { flag: 'wx', mode: 0o600 });
      await this.#files.rename(temporary, path);
      this.#written = { checksum, moment };
      this.#hasProblem = false;
    } catch (error) {
      await this.#files.unlink(temporary).catch(() => {});
      if (!this.#hasProblem)
        log.warn({ file: path, err: error }, 'it cannot be saved when the controller was last heard');
      this.#hasProblem = true;
    }
  }
}
