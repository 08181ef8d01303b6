// The federations of a gateway process. They outlive configuration changes, as upstreams do. What they consist of is loaded when there is one.
import { createHmac, randomBytes } from 'node:crypto';
import { createSealer, type Sealer } from '../../../base/sealed.ts';
import type { Log } from '../../../base/log.ts';
import type { FederationConfig, FederationTarget } from '../../config/federation-config.ts';
import type { RuntimeConfig } from '../../config/runtime-config.ts';
import type { Federation } from './federation.ts';
import type { UpstreamBackend } from '../../forward/upstream/upstreams.ts';
import type { FederationState } from './federation-state.ts';
import type { Target } from './target.ts';
import { silentTargetObserver, type TargetObserver } from './target-observer.ts';

/** Connects targets to their servers; lines in the log say of which backend they are. */
export type ConnectTarget = (config: FederationTarget, log: Log) => Target;

export interface FederationsOptions {
  readonly log: Log;
  /** Told of all requests to targets; nobody when absent. */
  readonly observer?: TargetObserver;
  /** The connections of a target, by the key of its backend. */
  readonly findBackend: (key: string) => UpstreamBackend | undefined;
  /** In place of real connections. */
  readonly connect?: ConnectTarget;
  /** What all processes on the same ports share: sessions are sealed with it where the configuration has no seal keys. Undefined: a random one. */
  readonly processKey?: Uint8Array | undefined;
}

interface Configured {
  readonly fingerprint: string;
  readonly config: FederationConfig;
}

type Make = (key: string, config: FederationConfig) => Federation;

export class Federations {
  readonly #options: FederationsOptions;
  readonly #fallbackKey: Uint8Array;
  #keys: readonly Uint8Array[];
  #sealer: Sealer;
  #configured: ReadonlyMap<string, Configured> = new Map();
  readonly #running = new Map<string, { readonly fingerprint: string; readonly federation: Federation }>();
  #make: Make | undefined;
  #loading: Promise<Make> | undefined;
  #isClosed = false;

  constructor(options: FederationsOptions) {
    this.#options = options;
    const secret = options.processKey ?? randomBytes(32);
    this.#fallbackKey = createHmac('sha256', secret).update('federated sessions').digest();
    this.#keys = [this.#fallbackKey];
    this.#sealer = createSealer(this.#keys);
  }

  /** Seals what clients carry. */
  get sealer(): Sealer {
    return this.#sealer;
  }

  /** Takes over a configuration, in the turn in which requests begin to see it. */
  reconcile({ backends, sealKeys }: Pick<RuntimeConfig, 'backends' | 'sealKeys'>): void {
    this.#useKeys(sealKeys.length === 0 ? [this.#fallbackKey] : sealKeys);
    const configured = new Map<string, Configured>();
    for (const [key, { federation: config, fingerprint }] of backends)
      if (config !== undefined) configured.set(key, { config, fingerprint });
    this.#configured = configured;
    if (this.#make !== undefined) this.#bringUpToDate(this.#make);
    else if (configured.size > 0)
      this.#load().catch((error: unknown) => this.#options.log.error({ err: error }, 'federations cannot be loaded'));
  }

  /** Undefined: there is none with this key. */
  find(key: string): Federation | undefined | Promise<Federation | undefined> {
    const running = this.#running.get(key);
    if (running !== undefined) return running.federation;
    if (!this.#configured.has(key) || this.#isClosed) return undefined;
    return this.#load().then(() => this.#running.get(key)?.federation);
  }

  /** All of them; those that nobody has asked yet as well. */
  describe(): readonly FederationState[] {
    return Array.from(this.#configured.keys(), (backend) => {
      const federation = this.#running.get(backend)?.federation;
      return { backend, targets: federation?.describe() ?? [], contested: federation?.contested ?? [] };
    });
  }

  /** Ends all streams and connections. */
  close(): void {
    this.#isClosed = true;
    for (const { federation } of this.#running.values()) federation.close();
    this.#running.clear();
  }

  #useKeys(keys: readonly Uint8Array[]): void {
    const isSame =
      keys.length === this.#keys.length && keys.every((key, index) => Buffer.compare(key, this.#keys[index]!) === 0);
    if (isSame) return;
    this.#keys = keys;
    this.#sealer = createSealer(keys);
  }

  #load(): Promise<Make> {
    const { log, observer = silentTargetObserver } = this.#options;
    this.#loading ??= Promise.all([import('./federation.ts'), this.#loadConnect()]).then(
      ([{ Federation }, connect]) => {
        const make: Make = (key, config) => new Federation({ key, connect, log, observer }, config);
        this.#make = make;
        observer.watch(() => this.describe());
        if (!this.#isClosed) this.#bringUpToDate(make);
        return make;
      },
      (error: unknown) => {
        this.#loading = undefined;
        throw error;
      },
    );
    return this.#loading;
  }

  async #loadConnect(): Promise<ConnectTarget> {
    const { connect, findBackend } = this.#options;
    if (connect !== undefined) return connect;
    const { connectTarget } = await import('./connect-target.ts');
    return (config, log) => connectTarget({ config, findBackend: () => findBackend(config.backend.key), log });
  }

  #bringUpToDate(make: Make): void {
    for (const [key, { federation }] of this.#running) {
      if (this.#configured.has(key)) continue;
      this.#running.delete(key);
      federation.close();
    }
    for (const [key, { config, fingerprint }] of this.#configured) {
      const running = this.#running.get(key);
      if (running === undefined) {
        this.#running.set(key, { fingerprint, federation: make(key, config) });
      } else if (running.fingerprint !== fingerprint || running.federation.config !== config) {
        if (running.fingerprint !== fingerprint) this.#running.set(key, { ...running, fingerprint });
        running.federation.update(config);
      }
    }
  }
}
