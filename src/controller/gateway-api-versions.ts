// The versions of the cluster's Gateway API CRDs, from the annotation that every bundle sets. Polled at long intervals: CRDs change rarely.
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type ReadonlyWatchable, Watchable } from '../base/watchable.ts';
import { ApiError, type KubernetesClient } from '../kubernetes/client.ts';
import type { ResourceType } from '../kubernetes/resource-type.ts';

/** The versions, as far as they are known. */
export type GatewayApiVersions =
  | { readonly state: 'not-asked' }
  /** The version of a CRD without the annotation is an empty text. */
  | { readonly state: 'known'; readonly versions: readonly string[] }
  | { readonly state: 'unreadable' };

interface GatewayApiVersionsOptions {
  readonly client: Pick<KubernetesClient, 'list'>;
  readonly log: Log;
  readonly clock: Clock;
}

const type: ResourceType = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
const annotation = 'gateway.networking.k8s.io/bundle-version';
const names = ['gatewayclasses', 'gateways', 'httproutes', 'referencegrants'].map(
  (plural) => `${plural}.gateway.networking.k8s.io`,
);
const refreshMs = 5 * 60_000;
const retryMs = 2_000;

/** Polls until it is stopped. */
export class GatewayApiVersionsWatch {
  readonly #options: GatewayApiVersionsOptions;
  readonly #versions = new Watchable<GatewayApiVersions>({ state: 'not-asked' }, isDeepStrictEqual);
  readonly #abort = new AbortController();
  #stopTimer: (() => void) | undefined;

  constructor(options: GatewayApiVersionsOptions) {
    this.#options = options;
    void this.#poll();
  }

  get versions(): ReadonlyWatchable<GatewayApiVersions> {
    return this.#versions;
  }

  stop(): void {
    this.#abort.abort();
    this.#stopTimer?.();
  }

  async #poll(): Promise<void> {
    const { client, log, clock } = this.#options;
    let delayMs = refreshMs;
    try {
      const pages = await Promise.all(
        names.map((name) =>
          client.list(type, { fieldSelector: `metadata.name=${name}`, metadataOnly: true }, {}, this.#abort.signal),
        ),
      );
      const found = pages.flatMap(({ items }) => items);
      const versions = found.map(({ metadata }) => metadata.annotations?.[annotation] ?? '');
      this.#versions.set(versions.length === 0 ? { state: 'unreadable' } : { state: 'known', versions });
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      // The right to read CRDs is optional: everything else works without it.
      if (error instanceof ApiError && error.status.code < 500 && error.status.code !== 429) {
        if (this.#versions.set({ state: 'unreadable' }))
          log.info({ reason: error.message }, 'the version of the Gateway API cannot be read');
      } else delayMs = retryMs;
    }
    if (!this.#abort.signal.aborted) this.#stopTimer = clock.setTimer(() => void this.#poll(), delayMs);
  }
}
