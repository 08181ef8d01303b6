// Keys and metadata of identity providers, fetched by one process for all workers: it publishes every change, and workers ask for missing ones.
import { connectIdp } from '../authentication/login/idp/connect-idp.ts';
import type { ConnectIdp } from '../config/idp-connection.ts';
import {
  createMetadataSource,
  type DiscoveryState,
  type FoundDiscovery,
  type MetadataSource,
  type MetadataSourceOptions,
} from '../authentication/login/idp/metadata-source.ts';
import type { KeySnapshot, KeySource } from '../authentication/token/key-source.ts';
import { type OpenKeySource, openKeySource } from '../authentication/token/open-key-source.ts';
import type { IdpAccess } from './idp-access.ts';

/** Receives changes. */
export interface SourceAudience {
  takeKeys(news: { readonly id: string; readonly snapshot: KeySnapshot | undefined }): void;
  takeMetadata(news: { readonly id: string; readonly discovery: FoundDiscovery | undefined }): void;
}

/** Everything that is fetched for workers. */
export class PublishedSources implements IdpAccess {
  readonly #audience: SourceAudience;
  readonly #onClosed: (id: string) => void;
  readonly #keys = new Map<string, { readonly source: KeySource; snapshot: KeySnapshot | undefined }>();
  readonly #metadata = new Map<string, { readonly source: MetadataSource; discovery: FoundDiscovery | undefined }>();

  /** `onClosed`: the connection of this name is no longer needed. */
  constructor(audience: SourceAudience, onClosed: (id: string) => void) {
    this.#audience = audience;
    this.#onClosed = onClosed;
  }

  /** Fetches and publishes. Inline keys are part of the configuration, which all workers have. */
  readonly openKeySource: OpenKeySource = (origin, fetching) => {
    const { id } = fetching;
    if (origin.kind === 'inline' || id === undefined) return openKeySource(origin, fetching);
    const source = openKeySource(origin, {
      ...fetching,
      onFetched: (snapshot) => {
        const entry = this.#keys.get(id);
        if (entry === undefined) return;
        entry.snapshot = snapshot;
        this.#audience.takeKeys({ id, snapshot });
      },
    });
    this.#keys.set(id, { source, snapshot: undefined });
    return {
      ...source,
      close: () => {
        source.close();
        this.#keys.delete(id);
        this.#audience.takeKeys({ id, snapshot: undefined });
      },
    };
  };

  readonly connectIdp: ConnectIdp = (options) => {
    const id = options.id ?? '';
    return connectIdp(options, {
      openKeySource: this.openKeySource,
      openMetadataSource: (source) => this.#openMetadata(id, source),
    });
  };

  /** Sends the current state to a new worker. */
  greet(audience: SourceAudience): void {
    for (const [id, { snapshot }] of this.#keys) if (snapshot !== undefined) audience.takeKeys({ id, snapshot });
    for (const [id, { discovery }] of this.#metadata)
      if (discovery !== undefined) audience.takeMetadata({ id, discovery });
  }

  async loadKeys(id: string): Promise<void> {
    await this.#keys.get(id)?.source.load();
  }

  async refetchKeys(id: string): Promise<boolean> {
    const fetching = this.#keys.get(id)?.source.refetch();
    await fetching;
    return fetching !== undefined;
  }

  async getMetadata(id: string): Promise<DiscoveryState> {
    const entry = this.#metadata.get(id);
    if (entry !== undefined) return entry.source.get();
    return { ok: false, detail: 'the metadata of the identity provider is not needed any more', retryAfterSeconds: 1 };
  }

  #openMetadata(id: string, options: MetadataSourceOptions): MetadataSource {
    const source = createMetadataSource({
      ...options,
      onLoad: (discovery) => {
        options.onLoad(discovery);
        const entry = this.#metadata.get(id);
        if (entry === undefined) return;
        entry.discovery = discovery;
        this.#audience.takeMetadata({ id, discovery });
      },
    });
    this.#metadata.set(id, { source, discovery: undefined });
    return {
      get: () => source.get(),
      close: () => {
        source.close();
        this.#metadata.delete(id);
        this.#audience.takeMetadata({ id, discovery: undefined });
        this.#onClosed(id);
      },
    };
  }
}
