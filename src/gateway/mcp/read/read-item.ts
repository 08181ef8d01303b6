// Which items of a server a message uses: the tool that it calls, the prompt that it gets, the resource that it reads or watches.
import { isJsonObject, type JsonObject } from '../../../base/json-object.ts';
import type { ambiguous } from '../../../cel/expression.ts';
import type { MethodMessage } from './message.ts';

/** What a server offers and rules can hide. */
export type ItemKind = 'tool' | 'prompt' | 'resource';

/** One item by its name; a resource by its URI. */
export interface Item {
  readonly kind: ItemKind;
  readonly name: string;
  /** The arguments of a tool call; `ambiguous`: not known, because there is no call yet. */
  readonly arguments?: JsonObject | typeof ambiguous | undefined;
}

type ItemReading =
  /** Empty: a message that uses no item. */
  | { readonly ok: true; readonly items: readonly Item[] }
  /** It should name an item and does not. `problem` completes "the message ...". */
  | { readonly ok: false; readonly problem: string };

const noItems: ItemReading = { ok: true, items: [] };

/** Reads the items of a message. Methods are compared exactly. */
export function readItems({ method, params }: MethodMessage): ItemReading {
  switch (method) {
    case 'tools/call':
      return readTool(params);
    case 'prompts/get':
      return readNamed('prompt', params['name'], 'name');
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return readNamed('resource', params['uri'], 'uri');
    case 'completion/complete':
      return readReference(params['ref']);
    case 'subscriptions/listen':
      return readSubscriptions(params['notifications']);
    default:
      return noItems;
  }
}

function readTool(params: JsonObject): ItemReading {
  const { name, arguments: given } = params;
  // Some clients write null for none.
  if (given !== undefined && given !== null && !isJsonObject(given))
    return refuse('has arguments that are not an object');
  const reading = readNamed('tool', name, 'name');
  if (!reading.ok || !isJsonObject(given)) return reading;
  return { ok: true, items: [{ ...reading.items[0]!, arguments: given }] };
}

/** The reference of a completion: a prompt or a resource template. */
function readReference(ref: unknown): ItemReading {
  if (!isJsonObject(ref)) return refuse('has no ref');
  switch (ref['type']) {
    case 'ref/prompt':
      return readNamed('prompt', ref['name'], 'ref.name');
    case 'ref/resource':
      return readNamed('resource', ref['uri'], 'ref.uri');
    default:
      return refuse('has a ref of an unknown type');
  }
}

/** Limited because each of them is judged. */
const maxSubscriptions = 1_000;

/** Limited because they are kept for as long as the stream is open. */
const maxSubscriptionText = 262_144;

/** The resources that a notification stream watches. */
function readSubscriptions(filter: unknown): ItemReading {
  if (filter === undefined) return noItems;
  if (!isJsonObject(filter)) return refuse('has notifications that are not an object');
  const { resourceSubscriptions: uris } = filter;
  if (uris === undefined || uris === null) return noItems;
  if (!Array.isArray(uris)) return refuse('has resourceSubscriptions that are not an array');
  if (uris.length > maxSubscriptions) return refuse(`has more than ${maxSubscriptions} resourceSubscriptions`);
  const items: Item[] = [];
  let length = 0;
  for (const uri of uris as readonly unknown[]) {
    const reading = readNamed('resource', uri, 'resourceSubscriptions');
    if (!reading.ok) return reading;
    items.push(...reading.items);
    length += reading.items[0]!.name.length;
    if (length > maxSubscriptionText)
      return refuse(`has more than ${maxSubscriptionText} characters of resourceSubscriptions`);
  }
  return { ok: true, items };
}

/** Control characters are refused: no regular name has them, and some servers would cut the name there. */
function readNamed(kind: ItemKind, name: unknown, key: string): ItemReading {
  if (typeof name !== 'string') return refuse(`has no ${key}`);
  // eslint-disable-next-line no-control-regex
  if (/[\0-\x1F\x7F]/.test(name)) return refuse(`has a ${key} with control characters`);
  return { ok: true, items: [{ kind, name }] };
}

function refuse(problem: string): ItemReading {
  return { ok: false, problem };
}
