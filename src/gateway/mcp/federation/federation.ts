// One federation as this process runs it: its targets, what is known of its clients' sessions, and its open streams. It outlives configuration changes; a target whose
// connections stay what they are is kept.
import type { Log } from '../../../base/log.ts';
import type { FederationConfig, FederationTarget } from '../../config/federation-config.ts';
import { PendingRequests } from './pending-requests.ts';
import { SessionTable } from './session-table.ts';
import type { Target, TargetState } from './target.ts';

/** A target with its configuration in force; that of the target itself may be older in what does not concern connections. */
export interface Member {
  readonly config: FederationTarget;
  readonly target: Target;
}

/** A stream on which the gateway speaks on its own. */
export interface FederatedStream {
  /** Targets have come or gone. */
  changeMembers(): void;
  /** The lists may be other ones than before. */
  announceLists(): void;
  /** The federation is gone. */
  end(): void;
}

export interface FederationParts {
  readonly key: string;
  readonly connect: (config: FederationTarget) => Target;
  readonly log: Log;
}

interface ConnectedMember extends Member {
  readonly stopWatching: () => void;
}

export class Federation {
  readonly key: string;
  readonly sessions = new SessionTable();
  readonly pending = new PendingRequests();
  readonly #parts: FederationParts;
  readonly #streams = new Set<FederatedStream>();
  #config: FederationConfig;
  #members: ReadonlyMap<string, ConnectedMember> = new Map();

  constructor(parts: FederationParts, config: FederationConfig) {
    this.key = parts.key;
    this.#parts = parts;
    this.#config = config;
    this.#members = this.#connectAll(config);
  }

  get config(): FederationConfig {
    return this.#config;
  }

  /** In the order of the configuration. */
  get members(): Iterable<Member> {
    return this.#members.values();
  }

  find(target: string): Member | undefined {
    return this.#members.get(target);
  }

  /** Another configuration is in force. */
  update(config: FederationConfig): void {
    const before = this.#members;
    this.#config = config;
    this.#members = this.#connectAll(config);
    for (const [name, { target, stopWatching }] of before) {
      stopWatching();
      if (this.#members.get(name)?.target !== target) target.close();
    }
    for (const stream of this.#streams) stream.changeMembers();
    this.#announceLists();
  }

  /** Registers a stream; call the result when it ends. */
  openStream(stream: FederatedStream): () => void {
    this.#streams.add(stream);
    return () => void this.#streams.delete(stream);
  }

  describe(): readonly TargetState[] {
    return Array.from(this.#members.values(), ({ target }) => target.describe());
  }

  close(): void {
    for (const stream of this.#streams) stream.end();
    for (const { target, stopWatching } of this.#members.values()) {
      stopWatching();
      target.close();
    }
    this.#members = new Map();
  }

  #connectAll(config: FederationConfig): Map<string, ConnectedMember> {
    return new Map(config.targets.map((each) => [each.name, this.#connect(each)]));
  }

  #connect(config: FederationTarget): ConnectedMember {
    const known = this.#members.get(config.name);
    const isKept = known !== undefined && known.config.backend.fingerprint === config.backend.fingerprint;
    const target = isKept ? known.target : this.#parts.connect(config);
    let { health } = target.describe();
    const stopWatching = target.onHealthChange(() => {
      const before = health;
      ({ health } = target.describe());
      if (before === health) return;
      const { key, log } = this.#parts;
      if (health === 'down') log.warn({ backend: key, target: config.name }, 'a server of a federation is down');
      else if (before === 'down') log.info({ backend: key, target: config.name }, 'a server of a federation is back');
      if (before !== 'unknown' || health === 'down') this.#announceLists();
    });
    return { config, target, stopWatching };
  }

  #announceLists(): void {
    for (const stream of this.#streams) stream.announceLists();
  }
}
