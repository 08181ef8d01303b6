// The messages in force. Messages of a new configuration that equal the message in force with the same key are replaced by it: from here on
// "the same object" means "unchanged", however the configuration arrived.
import { createHash } from 'node:crypto';
import { type DescMessage, type Message, toBinary } from '@bufbuild/protobuf';
import { type Configuration, emptyConfiguration } from '../../../ir/configuration.ts';
import { BackendSchema, ListenerSchema, PolicySchema, RouteSchema, SecretSchema } from '../../../ir/gen/config_pb.ts';
import { findSameEnds } from './list-difference.ts';

type KeyedMessage = Message & { readonly key: string };

/** A new configuration, compared with the one before. */
interface Recognition {
  /** The new configuration; equal messages are the objects in force. */
  readonly configuration: Configuration;
  /** False: no message was added, changed or removed, whatever their order. */
  readonly changed: boolean;
}

/** Remembers the messages of the latest configuration. */
export class KnownMessages {
  readonly #listeners = new KnownList(ListenerSchema, emptyConfiguration.listeners);
  readonly #routes = new KnownList(RouteSchema, emptyConfiguration.routes);
  readonly #backends = new KnownList(BackendSchema, emptyConfiguration.backends);
  readonly #policies = new KnownList(PolicySchema, emptyConfiguration.policies);
  readonly #secrets = new KnownList(SecretSchema, emptyConfiguration.secrets);

  /** Compares a configuration with the latest one, then remembers it as the latest. */
  recognize(given: Configuration): Recognition {
    const changes = [
      this.#listeners.take(given.listeners),
      this.#routes.take(given.routes),
      this.#backends.take(given.backends),
      this.#policies.take(given.policies),
      this.#secrets.take(given.secrets),
    ];
    const configuration = {
      listeners: this.#listeners.messages,
      routes: this.#routes.messages,
      backends: this.#backends.messages,
      policies: this.#policies.messages,
      secrets: this.#secrets.messages,
    };
    const lists = Object.keys(configuration) as (keyof Configuration)[];
    const isAsGiven = lists.every((list) => configuration[list] === given[list]);
    return { configuration: isAsGiven ? given : configuration, changed: changes.includes(true) };
  }
}

/** The messages of one kind. */
class KnownList<M extends KeyedMessage> {
  readonly #schema: DescMessage;
  readonly #byKey = new Map<string, M>();
  #given: readonly M[];
  /** The given messages; equal ones are the objects in force. */
  messages: readonly M[];

  constructor(schema: DescMessage, empty: readonly M[]) {
    this.#schema = schema;
    this.#given = empty;
    this.messages = empty;
  }

  /** Returns whether a message was added, changed or removed. */
  take(given: readonly M[]): boolean {
    // Lists and messages are immutable.
    if (given === this.#given) return false;
    const { start, end } = findSameEnds(given, this.#given);
    const gone = new Set(this.messages.slice(start, this.messages.length - end));
    const added = given.slice(start, given.length - end).map((message) => this.#recognize(message));
    const isAsGiven =
      this.messages === this.#given && added.every((message, index) => message === given[start + index]);
    const changed = new Set(added).size !== added.length || added.length !== gone.size || !isSubset(added, gone);

    for (const message of gone) if (this.#byKey.get(message.key) === message) this.#byKey.delete(message.key);
    for (const message of added) this.#byKey.set(message.key, message);
    this.messages = isAsGiven
      ? given
      : [...this.messages.slice(0, start), ...added, ...this.messages.slice(this.messages.length - end)];
    this.#given = given;
    return changed;
  }

  #recognize(message: M): M {
    const known = this.#byKey.get(message.key);
    if (known === undefined || known === message) return message;
    return this.#digest(known) === this.#digest(message) ? known : message;
  }

  #digest(message: M): string {
    let digest = digests.get(message);
    if (digest === undefined) {
      digest = createHash('sha256').update(toBinary(this.#schema, message)).digest('base64url');
      digests.set(message, digest);
    }
    return digest;
  }
}

const digests = new WeakMap<object, string>();

function isSubset(part: readonly unknown[], whole: ReadonlySet<unknown>): boolean {
  return part.every((each) => whole.has(each));
}
