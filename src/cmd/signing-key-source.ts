// The keys of issued tokens of a running gateway: followed like every key file, and by the clock: a new key begins to sign, an old one ends.
import type { Clock } from '../base/clock.ts';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { Watchable, type ReadonlyWatchable } from '../base/watchable.ts';
import type { WatchTimes } from '../sources/files/watch-files.ts';
import { KeyFileSource } from './key-file-source.ts';
import { describeSigningKeyFile } from './signing-key-file.ts';
import { type DatedSigningKey, scheduleSigningKeys, type SigningKeySchedule } from './signing-keys.ts';

interface SigningKeySourceOptions {
  /** Undefined: there is no place for one. */
  readonly path: string | undefined;
  readonly log: Log;
  readonly clock?: Clock;
  readonly watchTimes?: Partial<WatchTimes>;
}

type OpenedSchedule =
  | { readonly ok: true; readonly schedule: SigningKeySchedule }
  | { readonly ok: false; readonly message: string };

/** At the latest after this, the clock is looked at again: clocks are set, machines sleep. */
const longestWaitMs = 3_600_000;

/** Signing keys that rotate while the gateway runs. */
export class SigningKeySource {
  readonly #file: KeyFileSource<readonly DatedSigningKey[]>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #schedule = new Watchable<SigningKeySchedule | undefined>(undefined, equalSchedules);
  #cancelTimer: (() => void) | undefined;

  constructor({ path, log, clock = systemClock, watchTimes }: SigningKeySourceOptions) {
    this.#clock = clock;
    this.#log = log;
    this.#file = new KeyFileSource({
      path,
      log,
      kind: describeSigningKeyFile(() => clock.now()),
      equals: equalKeys,
      words: {
        made: 'made a new signing key; keep the file, or access tokens are refused before they expire',
        changed: 'the signing keys have changed',
      },
      watchTimes,
    });
    this.#file.keys.subscribe(() => this.#look());
  }

  /** What is published and what signs; undefined until it was needed, and while it cannot be had. */
  get schedule(): ReadonlyWatchable<SigningKeySchedule | undefined> {
    return this.#schedule;
  }

  /** Has the keys read, or made, unless they are there already. */
  async open(): Promise<OpenedSchedule> {
    const opened = await this.#file.open();
    if (!opened.ok) return opened;
    return { ok: true, schedule: this.#schedule.get() ?? scheduleSigningKeys(opened.keys, this.#clock.now()) };
  }

  /** Reads the file now, if the keys have been needed at all. */
  reload(): Promise<void> {
    return this.#file.reload();
  }

  /** Ends the watching. */
  async stop(): Promise<void> {
    await this.#file.stop();
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #look(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const keys = this.#file.keys.get();
    if (keys === undefined) return;
    const now = this.#clock.now();
    const schedule = scheduleSigningKeys(keys, now);
    const before = this.#schedule.get()?.active;
    if (before !== undefined && before !== schedule.active)
      this.#log.info({ kid: schedule.active }, 'another key signs access tokens from now on');
    if (schedule.changesAt !== undefined)
      this.#cancelTimer = this.#clock.setTimer(
        () => this.#look(),
        Math.min(Math.max(schedule.changesAt - now, 0), longestWaitMs),
      );
    this.#schedule.set(schedule);
  }
}

function equalSchedules(left: SigningKeySchedule | undefined, right: SigningKeySchedule | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  const { length } = left.published;
  return (
    left.active === right.active &&
    length === right.published.length &&
    left.published.every((key, index) => equalKey(key, right.published[index]!))
  );
}

function equalKeys(left: readonly DatedSigningKey[], right: readonly DatedSigningKey[]): boolean {
  return (
    left.length === right.length &&
    left.every((key, index) => {
      const other = right[index]!;
      return equalKey(key, other) && key.signsFrom === other.signsFrom && key.createdAt === other.createdAt;
    })
  );
}

function equalKey(
  left: Pick<DatedSigningKey, 'kid' | 'privateKey'>,
  right: Pick<DatedSigningKey, 'kid' | 'privateKey'>,
): boolean {
  return left.kid === right.kid && Buffer.compare(left.privateKey, right.privateKey) === 0;
}
