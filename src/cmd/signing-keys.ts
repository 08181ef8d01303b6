// The keys of issued tokens with their dates, and which of them are published and which one signs at a time: pure. A gateway with files has no controller that
// knows which gateways have read them, so a new key signs only some minutes after it was published.
import { createSigningKey, keepSigningKeyMs, type SigningKeyMaterial } from '../base/signing-key.ts';
import type { Configuration } from '../ir/configuration.ts';
import { createSigningKeysMessage } from '../ir/signing-keys.ts';

/** A key with its dates, in milliseconds since 1970. */
export interface DatedSigningKey extends SigningKeyMaterial {
  readonly createdAt: number;
  readonly signsFrom: number;
}

/**
 * How long a new key is published before it signs. Within this time every gateway that shares the file has read it: each looks at it every few seconds, but clients
 * of network file systems keep what they saw for up to a minute. It is also the time to copy the file to other machines, and for caches of the published keys.
 */
export const announceMs = 5 * 60_000;

/** What is true of the keys at a time. */
export interface SigningKeySchedule {
  /** In the order in which they sign. */
  readonly published: readonly SigningKeyMaterial[];
  /** The kid of the one that signs. */
  readonly active: string;
  /** When time alone changes this; undefined: never. */
  readonly changesAt: number | undefined;
}

/** One key, which signs at once: nobody knows another one. */
export function makeSigningKeys(now: number): readonly DatedSigningKey[] {
  return [{ ...createSigningKey(), createdAt: now, signsFrom: now }];
}

/**
 * The keys at a time. The last key whose time has come signs. If none has come (the clock that dated them was ahead), the first one does: there is no other that
 * gateways could know. Keys before it are published until the last token that they may have signed has expired.
 */
export function scheduleSigningKeys(keys: readonly DatedSigningKey[], now: number): SigningKeySchedule {
  const sorted = sortKeys(keys);
  const signing = Math.max(
    sorted.findLastIndex(({ signsFrom }) => signsFrom <= now),
    0,
  );
  const ends = sorted.slice(1).map(({ signsFrom }) => signsFrom + keepSigningKeyMs);
  const changes = [...ends.slice(0, signing), sorted[signing + 1]?.signsFrom ?? Infinity].filter((at) => at > now);
  const changesAt = Math.min(...changes);
  return {
    published: sorted.filter((_, index) => index >= signing || ends[index]! > now),
    active: sorted[signing]!.kid,
    changesAt: Number.isFinite(changesAt) ? changesAt : undefined,
  };
}

/** The keys after a rotation: a new one that signs later, without those that nobody needs any more. `dropPrevious`: only the new one, at once. */
export function rotateSigningKeys(
  keys: readonly DatedSigningKey[],
  now: number,
  { dropPrevious }: { readonly dropPrevious: boolean },
): readonly DatedSigningKey[] {
  if (dropPrevious) return makeSigningKeys(now);
  const needed = new Set(scheduleSigningKeys(keys, now).published.map(({ kid }) => kid));
  const next = { ...createSigningKey(), createdAt: now, signsFrom: now + announceMs };
  return sortKeys([...keys.filter(({ kid }) => needed.has(kid)), next]);
}

/** The configuration with the keys in it. */
export function addSigningKeys(
  configuration: Configuration,
  { published, active }: Pick<SigningKeySchedule, 'published' | 'active'>,
): Configuration {
  return { ...configuration, secrets: [...configuration.secrets, createSigningKeysMessage(published, active)] };
}

function sortKeys(keys: readonly DatedSigningKey[]): readonly DatedSigningKey[] {
  return keys.toSorted((left, right) => left.signsFrom - right.signsFrom || (left.kid < right.kid ? -1 : 1));
}
