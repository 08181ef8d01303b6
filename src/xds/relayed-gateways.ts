// The gateway processes that are connected to other replicas, as those report them.
import type { ReadonlyWatchable } from '../base/watchable.ts';
import type { RelayedGateways as RelayMessage } from '../ir/gen/report_pb.ts';
import { CoalescedList } from './coalesced-list.ts';
import type { ConnectedGateway } from './connected-gateway.ts';
import { readRelayedGateway } from './relay-messages.ts';

export class RelayedGateways {
  readonly #relays = new Map<symbol, { readonly replica: string; readonly gateways: readonly ConnectedGateway[] }>();
  readonly #list = new CoalescedList<ConnectedGateway>(() =>
    [...this.#relays.values()].flatMap(({ gateways }) => gateways),
  );

  get list(): ReadonlyWatchable<readonly ConnectedGateway[]> {
    return this.#list.list;
  }

  /** Enters the stream of a replica. An older one of the same replica, whose connection may not have been found dead yet, counts no more. */
  open(replica: string): { update(message: RelayMessage): void; close(): void } {
    const key = Symbol('relay');
    for (const [other, relay] of this.#relays) if (relay.replica === replica) this.#relays.delete(other);
    this.#relays.set(key, { replica, gateways: [] });
    return {
      update: (message) => {
        if (!this.#relays.has(key)) return;
        this.#relays.set(key, { replica, gateways: message.gateways.map(readRelayedGateway) });
        this.#list.touch();
      },
      close: () => {
        if (this.#relays.delete(key)) this.#list.touch();
      },
    };
  }

  close(): void {
    this.#list.close();
  }
}
