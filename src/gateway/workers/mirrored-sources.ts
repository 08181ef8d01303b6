// Keys and metadata of identity providers in a worker, as published by the process that fetches them. A worker asks only for missing ones.
import { type Clock, systemClock } from '../../base/clock.ts';
import { connectIdp } from '../authentication/login/idp/connect-idp.ts';
import type { ConnectIdp } from '../config/idp-connection.ts';
import type {
  DiscoveryState,
  FoundDiscovery,
  MetadataSource,
  MetadataSourceOptions,
} from '../authentication/login/idp/metadata-source.ts';
import type { SharedLogins } from '../config/shared-logins.ts';
import { type KeySet, readKeySet } from '../authentication/token/key-set.ts';
import {
  describeMissing,
  describeSnapshot,
  type KeySnapshot,
  type KeySource,
  type KeyState,
} from '../authentication/token/key-source.ts';
import { type OpenKeySource, openKeySource } from '../authentication/token/open-key-source.ts';
import type { CallChannel } from './call-channel.ts';
import type { IdpAccess } from './idp-access.ts';
import type { SourceAudience } from './published-sources.ts';
import { keepQuiet } from './quiet-log.ts';
import type { SupervisorCalls } from './worker-calls.ts';

type Asking = Pick<CallChannel<SupervisorCalls, object>, 'ask'>;

/** After a refusal to fetch keys anew: requests with unknown keys do not ask more often. */
const pauseMs = 250;

interface HeldKeys {
  snapshot: KeySnapshot | undefined;
  /** Made of the snapshot when it is first needed; the very same object while the keys are the same. */
  state: Extract<KeyState, { readonly ok: true }> | undefined;
  isStateOld: boolean;
}

/** The sources published to this worker. */
export class MirroredSources implements IdpAccess, SourceAudience {
  readonly #channel: Asking;
  readonly #share: (id: string) => SharedLogins;
  readonly #clock: Clock;
  readonly #keys = new Map<string, HeldKeys>();
  readonly #metadata = new Map<string, FoundDiscovery>();
  readonly #listeners = new Map<string, (discovery: FoundDiscovery) => void>();

  constructor(channel: Asking, share: (id: string) => SharedLogins, clock: Clock = systemClock) {
    this.#channel = channel;
    this.#share = share;
    this.#clock = clock;
  }

  takeKeys({ id, snapshot }: { readonly id: string; readonly snapshot: KeySnapshot | undefined }): void {
    if (snapshot === undefined) {
      // A source that is still open keeps what it has.
      this.#keys.delete(id);
      return;
    }
    const held = this.#hold(id);
    held.snapshot = snapshot;
    held.isStateOld = true;
  }

  takeMetadata({ id, discovery }: { readonly id: string; readonly discovery: FoundDiscovery | undefined }): void {
    if (discovery === undefined) {
      this.#metadata.delete(id);
      return;
    }
    this.#metadata.set(id, discovery);
    this.#listeners.get(id)?.(discovery);
  }

  readonly openKeySource: OpenKeySource = (origin, fetching) => {
    const { id } = fetching;
    if (origin.kind === 'inline' || id === undefined) return openKeySource(origin, fetching);
    return this.#mirrorKeys(id);
  };

  readonly connectIdp: ConnectIdp = (options) => {
    const id = options.id ?? '';
    return connectIdp(
      { ...options, log: keepQuiet(options.log) },
      {
        openKeySource: this.openKeySource,
        openMetadataSource: (source) => this.#mirrorMetadata(id, source),
        shared: this.#share(id),
      },
    );
  };

  #hold(id: string): HeldKeys {
    let held = this.#keys.get(id);
    if (held === undefined) this.#keys.set(id, (held = { snapshot: undefined, state: undefined, isStateOld: false }));
    return held;
  }

  #mirrorKeys(id: string): KeySource {
    const held = this.#hold(id);
    let loading: Promise<void> | undefined;
    let refetching: Promise<void> | undefined;
    let nextRefetchAtMs = 0;
    return {
      getKeys: () => this.#readState(held),
      load: () => {
        loading ??= this.#channel
          .ask('loadKeys', id)
          .then(nothing, nothing)
          .finally(() => (loading = undefined));
        return loading;
      },
      refetch: () => {
        if (refetching !== undefined) return refetching;
        if (this.#clock.now() < nextRefetchAtMs) return undefined;
        refetching = this.#channel
          .ask('refetchKeys', id)
          .catch(() => false)
          .then((isFetched) => {
            if (!isFetched) nextRefetchAtMs = this.#clock.now() + pauseMs;
          })
          .finally(() => (refetching = undefined));
        return refetching;
      },
      describe: () => describeSnapshot(held.snapshot ?? {}, readHeld(held)?.keySet),
      close() {},
    };
  }

  #readState(held: HeldKeys): KeyState {
    const { snapshot } = held;
    const nowMs = this.#clock.now();
    const state = readHeld(held);
    if (state !== undefined && snapshot !== undefined && nowMs < snapshot.usableUntilMs) return state;
    return describeMissing(snapshot ?? {}, nowMs);
  }

  #mirrorMetadata(id: string, { onLoad }: MetadataSourceOptions): MetadataSource {
    let loaded = this.#metadata.get(id);
    this.#listeners.set(id, (discovery) => {
      loaded = discovery;
      onLoad(discovery);
    });
    if (loaded !== undefined) onLoad(loaded);
    return {
      get: () => (loaded === undefined ? this.#askMetadata(id) : { ok: true, discovery: loaded }),
      close: () => void this.#listeners.delete(id),
    };
  }

  async #askMetadata(id: string): Promise<DiscoveryState> {
    try {
      return await this.#channel.ask('getMetadata', id);
    } catch {
      return { ok: false, detail: 'the process that fetches the metadata is gone', retryAfterSeconds: 1 };
    }
  }
}

function readHeld(held: HeldKeys): HeldKeys['state'] {
  if (held.isStateOld) {
    held.isStateOld = false;
    const keySet = readDocument(held.snapshot);
    if (keySet !== undefined && keySet.fingerprint !== held.state?.version)
      held.state = { ok: true, keySet, version: keySet.fingerprint };
  }
  return held.state;
}

/** The document was read without a problem before it was sent. */
function readDocument(snapshot: KeySnapshot | undefined): KeySet | undefined {
  const read = snapshot?.document === undefined ? undefined : readKeySet(snapshot.document);
  return read?.ok === true ? read.keySet : undefined;
}

function nothing(): void {}
