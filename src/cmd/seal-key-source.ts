// The seal keys of a running gateway.
import type { Log } from '../base/log.ts';
import { KeyFileSource } from './key-file-source.ts';
import { sealKeyFileKind } from './seal-key-file.ts';
import type { SealKeys } from './seal-keys.ts';

interface SealKeySourceOptions {
  /** Undefined: there is no place for one. */
  readonly path: string | undefined;
  readonly log: Log;
}

/** Seal keys that rotate while the gateway runs. */
export function createSealKeySource({ path, log }: SealKeySourceOptions): KeyFileSource<SealKeys> {
  return new KeyFileSource({
    path,
    log,
    kind: sealKeyFileKind,
    equals: (left, right) => equalKey(left.current, right.current) && equalKey(left.previous, right.previous),
    words: {
      made: 'made new seal keys; keep the file, or everybody has to log in again',
      changed: 'the seal keys were rotated; nobody has to log in again',
    },
  });
}

function equalKey(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return Buffer.compare(left, right) === 0;
}
