// What to do about the signing keys of a Gateway: pure, by its Secret, the time, and what its gateways are known to have. Every step is one write of the Secret, so
// whoever leads next goes on from there. A key signs only when every gateway that takes traffic knows it; the key before it stays until no token of it can be left.
import { createSigningKey, keepSigningKeyMs, type SigningKeyMaterial } from '../base/signing-key.ts';

/** After this time a key is replaced, unasked. */
export const rotateAfterMs = 90 * 86_400_000;

/** The keys of a Gateway. Times are milliseconds since 1970. */
export interface KeptSigningKeys {
  /** Signs. */
  readonly current: SigningKeyMaterial;
  /** Since when; undefined: it is not written there. */
  readonly currentSince: number | undefined;
  /** Is published, and signs as soon as every gateway has it. */
  readonly next: SigningKeyMaterial | undefined;
  /** Does not sign any more, and is still published. */
  readonly previous: SigningKeyMaterial | undefined;
  /** Until when; undefined: some gateway may still sign with it. */
  readonly previousUntil: number | undefined;
}

/** The keys that every gateway of a Gateway that takes traffic is known to have. */
export interface AcknowledgedKeys {
  readonly kids: readonly string[];
  /** The kid of the one that they sign with. */
  readonly active: string;
}

/** What the plan goes by, beside the keys. */
export interface SigningKeyFacts {
  readonly now: number;
  /** Somebody asks for a new key. */
  readonly isRequested: boolean;
  /** Undefined: not every gateway has answered, or none is known. */
  readonly acknowledged: AcknowledgedKeys | undefined;
}

/** The next step. `wait`: until the time, or until something changes. */
export type SigningKeyPlan =
  | { readonly step: 'wait'; readonly until: number | undefined }
  /** Write down since when the current key signs: a Secret that people have edited. */
  | { readonly step: 'date' }
  /** Publish a new key. */
  | { readonly step: 'prepare' }
  /** Sign with it. */
  | { readonly step: 'switch' }
  /** Nobody signs with the previous key any more: its last tokens have their end. */
  | { readonly step: 'retire' }
  /** They have expired. */
  | { readonly step: 'forget' };

/** Decides. */
export function planSigningKeys(keys: KeptSigningKeys, facts: SigningKeyFacts): SigningKeyPlan {
  const { current, currentSince, next, previous, previousUntil } = keys;
  const { now, isRequested, acknowledged } = facts;
  if (currentSince === undefined) return { step: 'date' };
  if (previous !== undefined) {
    // One rotation after the other: a second one would take the previous key from tokens that are still good.
    if (previousUntil === undefined)
      return acknowledged?.active === current.kid ? { step: 'retire' } : { step: 'wait', until: undefined };
    return now >= previousUntil ? { step: 'forget' } : { step: 'wait', until: previousUntil };
  }
  if (next !== undefined)
    return acknowledged?.kids.includes(next.kid) === true ? { step: 'switch' } : { step: 'wait', until: undefined };
  const rotateAt = currentSince + rotateAfterMs;
  return isRequested || now >= rotateAt ? { step: 'prepare' } : { step: 'wait', until: rotateAt };
}

/** The first key of a Gateway: no gateway knows another one, so it signs at once. */
export function makeFirstKeys(now: number): KeptSigningKeys {
  return {
    current: createSigningKey(),
    currentSince: now,
    next: undefined,
    previous: undefined,
    previousUntil: undefined,
  };
}

/** The keys after a step. */
export function takeStep(
  keys: KeptSigningKeys,
  step: Exclude<SigningKeyPlan['step'], 'wait'>,
  now: number,
): KeptSigningKeys {
  switch (step) {
    case 'date':
      return { ...keys, currentSince: now };
    case 'prepare':
      return { ...keys, next: createSigningKey() };
    case 'switch':
      return {
        current: keys.next ?? keys.current,
        currentSince: now,
        next: undefined,
        previous: keys.current,
        previousUntil: undefined,
      };
    case 'retire':
      return { ...keys, previousUntil: now + keepSigningKeyMs };
    case 'forget':
      return { ...keys, previous: undefined, previousUntil: undefined };
  }
}
