// How a configuration gets into another process: every message has a number, and travels as bytes once. What the other side has already is only named,
// so that a change among thousands of routes costs what has changed, and there "the same object" keeps meaning "did not change".
import { type DescMessage, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import type { Configuration } from '../../ir/configuration.ts';
import { BackendSchema, ListenerSchema, PolicySchema, RouteSchema, SecretSchema } from '../../ir/gen/config_pb.ts';

const schemas = {
  listeners: ListenerSchema,
  routes: RouteSchema,
  backends: BackendSchema,
  policies: PolicySchema,
  secrets: SecretSchema,
} as const satisfies Record<keyof Configuration, DescMessage>;

type ListName = keyof Configuration;
const listNames = Object.keys(schemas) as readonly ListName[];

/** A configuration as it travels. */
export interface SentConfiguration {
  /** The messages of each list, by number and in order. */
  readonly lists: Readonly<Record<ListName, readonly number[]>>;
  /** Those that the other side does not have. */
  readonly messages: ReadonlyMap<number, Uint8Array>;
}

/** Numbers messages, for all receivers of a process. */
export class MessageNumbers {
  readonly #numbers = new WeakMap<Message, number>();
  #last = 0;

  find(message: Message): number {
    let number = this.#numbers.get(message);
    if (number === undefined) {
      this.#last += 1;
      number = this.#last;
      this.#numbers.set(message, number);
    }
    return number;
  }
}

/** Says the same configuration to several receivers: a message becomes bytes once. */
export class ConfigurationText {
  readonly configuration: Configuration;
  readonly lists: Readonly<Record<ListName, readonly number[]>>;
  readonly #bytes = new Map<number, Uint8Array>();

  constructor(configuration: Configuration, numbers: MessageNumbers) {
    this.configuration = configuration;
    this.lists = mapLists((name) => configuration[name].map((message) => numbers.find(message)));
  }

  bytes(name: ListName, index: number): Uint8Array {
    const number = this.lists[name][index]!;
    let bytes = this.#bytes.get(number);
    if (bytes === undefined) {
      bytes = toBinary(schemas[name] as DescMessage, this.configuration[name][index]! as Message);
      this.#bytes.set(number, bytes);
    }
    return bytes;
  }
}

/** Knows what one receiver has. */
export class ConfigurationSender {
  #sent: ReadonlySet<number> = new Set();

  /** What to send. The receiver must get everything that this returns, in order. */
  prepare(text: ConfigurationText): SentConfiguration {
    const messages = new Map<number, Uint8Array>();
    const sent = new Set<number>();
    for (const name of listNames) {
      text.lists[name].forEach((number, index) => {
        sent.add(number);
        if (!this.#sent.has(number)) messages.set(number, text.bytes(name, index));
      });
    }
    this.#sent = sent;
    return { lists: text.lists, messages };
  }
}

/** The other end. */
export class ConfigurationReceiver {
  #messages: ReadonlyMap<number, Message> = new Map();

  /** Puts the configuration together again. */
  read({ lists, messages }: SentConfiguration): Configuration {
    const held = new Map<number, Message>();
    const configuration = mapLists((name) =>
      lists[name].map((number) => {
        const bytes = messages.get(number);
        const message =
          held.get(number) ??
          (bytes === undefined ? this.#messages.get(number)! : fromBinary(schemas[name] as DescMessage, bytes));
        held.set(number, message);
        return message;
      }),
    );
    this.#messages = held;
    return configuration as unknown as Configuration;
  }
}

function mapLists<T>(map: (name: ListName) => T): Record<ListName, T> {
  return Object.fromEntries(listNames.map((name) => [name, map(name)])) as Record<ListName, T>;
}
