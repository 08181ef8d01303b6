// Holds the configuration in force. A new one replaces it as a whole, or not at all.
import type { Log } from '../../../base/log.ts';
import { type Configuration, emptyConfiguration } from '../../../ir/configuration.ts';
import { compile, type PolicyConnections } from './compile.ts';
import type { CompileProblem } from './compile-problem.ts';
import { KnownMessages } from './known-messages.ts';
import type { RuntimeConfig } from '../runtime-config.ts';

/** The result of applying a configuration. */
interface ApplyResult {
  /** Of the configuration that is in force now. */
  readonly version: number;
  /** False: the configuration equals the one in force, and nothing was done. */
  readonly changed: boolean;
  /** Of the configuration in force, also when nothing changed. */
  readonly problems: readonly CompileProblem[];
}

/** Called right after every swap. */
type ConfigSubscriber = (current: RuntimeConfig, previous: RuntimeConfig) => void;

/** The configuration in force: readers take `current` once per request and keep it until the request ends. */
export class ConfigStore {
  readonly #log: Log;
  readonly #connections: PolicyConnections;
  readonly #known = new KnownMessages();
  readonly #subscribers = new Set<ConfigSubscriber>();
  #current: RuntimeConfig;
  #configuration: Configuration = emptyConfiguration;
  #problems: readonly CompileProblem[] = [];

  constructor(log: Log, connections: PolicyConnections = {}) {
    this.#log = log;
    this.#connections = connections;
    this.#current = {
      version: 0,
      ports: new Map(),
      backends: new Map(),
      authentications: [],
      jwtAuthentications: [],
      sealKeys: [],
      keyUsers: [],
      policyConflicts: [],
    };
  }

  get current(): RuntimeConfig {
    return this.#current;
  }

  /** The messages behind `current`. They hold private keys: redact before showing them. */
  get configuration(): Configuration {
    return this.#configuration;
  }

  get problems(): readonly CompileProblem[] {
    return this.#problems;
  }

  /** Compiles a configuration and puts it in force; an equal one is left alone. */
  apply(given: Configuration): ApplyResult {
    const { configuration, changed } = this.#known.recognize(given);
    if (!changed) return { version: this.#current.version, changed: false, problems: this.#problems };
    const previous = this.#current;
    const { runtime, problems } = compile(configuration, previous, this.#connections);
    this.#current = runtime;
    this.#configuration = configuration;
    this.#problems = problems;
    for (const subscriber of this.#subscribers) {
      try {
        subscriber(runtime, previous);
      } catch (error) {
        // The swap is done: a failing component must not keep the others on the old configuration.
        this.#log.error({ err: error, version: runtime.version }, 'a component failed to apply the new configuration');
      }
    }
    return { version: runtime.version, changed: true, problems };
  }

  /** Subscribes to every swap from now on; returns a function that unsubscribes. */
  subscribe(subscriber: ConfigSubscriber): () => void {
    this.#subscribers.add(subscriber);
    return () => {
      this.#subscribers.delete(subscriber);
    };
  }
}
