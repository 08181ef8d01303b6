// While another replica leads, reports the gateways that are connected here to it: only the leader writes statuses.
import { readFile } from 'node:fs/promises';
import type { Log } from '../base/log.ts';
import type { ReadonlyWatchable } from '../base/watchable.ts';
import type { Leader, Leadership } from '../kubernetes/leader-election.ts';
import type { ConnectedGateway } from '../xds/connected-gateway.ts';
import { type Relay, startRelay } from '../xds/relay-client.ts';

interface LeaderFollowerOptions {
  readonly log: Log;
  readonly leadership: ReadonlyWatchable<Leadership>;
  readonly connected: ReadonlyWatchable<readonly ConnectedGateway[]>;
  /** The name of this replica. */
  readonly replica: string;
  /** The file with the token that this replica shows to other replicas. */
  readonly tokenFile: string;
  /** Rejects unless the leader is one of our replicas. Called before our token is sent in plaintext; over TLS the certificate proves it. */
  readonly checkLeader: (leader: Leader) => Promise<void>;
  /** Set: xDS is served over TLS, with a certificate for this name. */
  readonly tls: { readonly serverName: string; readonly ca: ReadonlyWatchable<string | undefined> } | undefined;
}

/** Keeps a relay to the current leader until it is stopped. */
export class LeaderFollower {
  readonly #options: LeaderFollowerOptions;
  readonly #unsubscribe: () => void;
  #relay: { readonly identity: string; readonly address: string; readonly relay: Relay } | undefined;
  #closing: Promise<unknown> = Promise.resolve();

  constructor(options: LeaderFollowerOptions) {
    this.#options = options;
    this.#unsubscribe = options.leadership.subscribe(() => this.#follow());
    this.#follow();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#end();
    await this.#closing;
  }

  #follow(): void {
    const { leadership, log } = this.#options;
    const state = leadership.get();
    const leader = state.role === 'follower' ? state.leader : undefined;
    if (leader?.address === this.#relay?.address && leader?.identity === this.#relay?.identity) return;
    this.#end();
    if (leader === undefined) return;
    if (leader.address === undefined)
      log.warn(
        { leader: leader.identity },
        'the Lease has no address of the leader; the leader does not hear of the gateways that are connected here',
      );
    else
      this.#relay = { identity: leader.identity, address: leader.address, relay: this.#start(leader, leader.address) };
  }

  #start(leader: Leader, address: string): Relay {
    const { log, connected, replica, tokenFile, tls, checkLeader } = this.#options;
    return startRelay({
      log,
      leader: `${tls === undefined ? 'http' : 'https'}://${address}`,
      replica,
      connected,
      async readToken() {
        if (tls === undefined) await checkLeader(leader);
        return (await readFile(tokenFile, 'utf8')).trim();
      },
      ...(tls === undefined ? {} : { serverName: tls.serverName, readCa: () => Promise.resolve(tls.ca.get()) }),
    });
  }

  #end(): void {
    const closed = this.#relay?.relay.close();
    this.#relay = undefined;
    if (closed !== undefined) this.#closing = Promise.all([this.#closing, closed.catch(() => {})]);
  }
}
