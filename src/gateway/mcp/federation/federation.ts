// One federation as this process runs it: its targets, what is known of its clients' sessions, and its open streams. It outlives configuration changes; a target whose
// connections stay what they are is kept.
import type { Log } from '../../../base/log.ts';
import type { FederationConfig, FederationTarget } from '../../config/federation-config.ts';
import { createAppTools } from './app-tools.ts';
import { PendingRequests } from './pending-requests.ts';
import { ListCache } from './list-cache.ts';
import { OwnedNames } from './owned-names.ts';
import type { ContestedName } from './owners.ts';
import { withConfig } from './reconfigured-target.ts';
import { SlowTargets } from './slow-targets.ts';
import { SessionTable } from './session-table.ts';
import type { Target, TargetState } from './target.ts';
import type { TargetObserver } from './target-observer.ts';
import { watchTarget } from './watched-target.ts';

/** A target with its configuration in force. */
export interface Member {
  readonly config: FederationTarget;
  readonly target: Target;
}

/** A stream on which the gateway speaks on its own. */
export interface FederatedStream {
  /** The name of the client's session; undefined: it has none. */
  readonly session: string | undefined;
  /** Targets have come or gone. */
  changeMembers(): void;
  /** The lists may be other ones than before. */
  announceLists(): void;
  /** The federation is gone, or the session. */
  end(): void;
}

export interface FederationParts {
  readonly key: string;
  readonly connect: (config: FederationTarget, log: Log) => Target;
  readonly log: Log;
  readonly observer: TargetObserver;
}

interface ConnectedMember extends Member {
  /** As it was connected. */
  readonly connected: Target;
  readonly stopWatching: () => void;
}

export class Federation {
  readonly key: string;
  readonly sessions = new SessionTable();
  readonly pending = new PendingRequests();
  readonly lists = new ListCache(() => performance.now());
  /** Where names have no prefixes: whose they are. */
  readonly owned: OwnedNames;
  /** Where they have: what pages of MCP Apps call without it. */
  readonly appTools: OwnedNames;
  readonly slow = new SlowTargets(() => performance.now());
  readonly #parts: FederationParts;
  readonly #streams = new Set<FederatedStream>();
  #config: FederationConfig;
  #members: ReadonlyMap<string, ConnectedMember> = new Map();

  constructor(parts: FederationParts, config: FederationConfig) {
    this.key = parts.key;
    this.#parts = parts;
    this.#config = config;
    const { key, log } = parts;
    const names = { key, log, cache: this.lists, now: () => performance.now() };
    this.owned = new OwnedNames(names);
    this.appTools = createAppTools(names);
    this.#members = this.#connectAll(config);
  }

  get config(): FederationConfig {
    return this.#config;
  }

  /** In the order of the configuration. */
  get members(): Iterable<Member> {
    return this.#members.values();
  }

  get targets(): readonly Target[] {
    return Array.from(this.#members.values(), ({ target }) => target);
  }

  find(target: string): Member | undefined {
    return this.#members.get(target);
  }

  /** Another configuration is in force. */
  update(config: FederationConfig): void {
    const before = this.#members;
    this.#config = config;
    this.#members = this.#connectAll(config);
    for (const [name, { connected, stopWatching }] of before) {
      stopWatching();
      this.forgetLists(name);
      const isGone = !this.#members.has(name);
      if (isGone || config.naming === 'always') this.owned.drop(name);
      if (isGone || config.naming === 'never') this.appTools.drop(name);
      this.slow.forget(name);
      if (this.#members.get(name)?.connected !== connected) connected.close();
    }
    for (const stream of this.#streams) stream.changeMembers();
    this.#announceLists();
  }

  /** The lists of a target may be others now. Whose names they were counts until it has listed again. */
  forgetLists(target: string): void {
    this.lists.forget(target);
    this.owned.outdate(target);
    this.appTools.outdate(target);
  }

  /** Names that several targets claim, and that none of them serves. */
  get contested(): readonly ContestedName[] {
    return this.owned.contested;
  }

  /** Registers a stream; call the result when it ends. */
  openStream(stream: FederatedStream): () => void {
    this.#streams.add(stream);
    return () => void this.#streams.delete(stream);
  }

  /** The client has ended its session. */
  endStreams(session: string): void {
    for (const stream of this.#streams) if (stream.session === session) stream.end();
  }

  describe(): readonly TargetState[] {
    return Array.from(this.#members.values(), ({ config: { name }, target }) => {
      const state = target.describe();
      return { ...state, tools: this.lists.countLast(name, 'tools/list') ?? state.tools };
    });
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
    const connected = isKept ? known.connected : this.#connectNew(config);
    let { health } = connected.describe();
    const stopWatching = connected.onHealthChange(() => {
      const before = health;
      const state = connected.describe();
      ({ health } = state);
      if (before === health) return;
      // The first time that it answers may be to a request for a list, and there was none before.
      if (before !== 'unknown') this.forgetLists(config.name);
      this.slow.forget(config.name);
      const { key, log } = this.#parts;
      const server = { backend: key, target: config.name };
      if (health === 'down')
        log.warn({ ...server, detail: state.lastFailure?.detail }, 'a server of a federation is down');
      else if (before === 'down') log.info(server, 'a server of a federation is back');
      if (before !== 'unknown' || health === 'down') this.#announceLists();
    });
    return { config, target: withConfig(connected, config), connected, stopWatching };
  }

  #connectNew(config: FederationTarget): Target {
    const { key, connect, log, observer } = this.#parts;
    return watchTarget(connect(config, log.child({ backend: key })), observer.observe(key, config.name));
  }

  #announceLists(): void {
    for (const stream of this.#streams) stream.announceLists();
  }
}
