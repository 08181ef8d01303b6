// The streams on which servers speak on their own: what a client asks to hear, and how it is told.
import { isJsonObject, type JsonObject } from '../../../../base/json-object.ts';
import { rpcCodes } from '../../read/message.ts';
import { type Item, readItems } from '../../read/read-item.ts';
import { readAcknowledgedUris } from '../acknowledged-uris.ts';
import { changeMembers, findValue } from '../json-members.ts';
import type { ListenFilter } from '../target.ts';
import type { ListName } from '../../streams/list-changed-rules.ts';
import type { ClientAnswer } from './client-answer.ts';
import { formatError, formatResult, internalError } from './failures.ts';
import { type Asked, type Conversation, nothingRunning, type Running } from './federated-request.ts';
import { findListedItem, findPrefixedItem, type FoundItem } from './find-item.ts';
import { MergedStream } from './merged-stream.ts';
import { runLater } from './run-later.ts';

const everything: ListenFilter = { tools: true, prompts: true, resources: true, uris: [] };
const allLists: readonly ListName[] = ['tools', 'prompts', 'resources'];

/** The stream of a GET. */
export function openGetStream(conversation: Conversation, answer: ClientAnswer): Running {
  answer.openStream();
  return new MergedStream({
    conversation,
    answer,
    filterFor: () => everything,
    lists: allLists,
    hold: (json) => answer.send(json),
    stamp: (json) => json,
    farewell: undefined,
  });
}

/** `subscriptions/listen`. */
export function openSubscription(conversation: Conversation, asked: Asked, answer: ClientAnswer): Running {
  const { id, params } = asked.message;
  const { notifications } = params;
  const reading = readItems(asked.message);
  if (!reading.ok || !isJsonObject(notifications)) {
    const problem = reading.ok ? 'has no notifications' : reading.problem;
    answer.respond(formatError(id, rpcCodes.invalidParams, `The message ${problem}.`));
    return nothingRunning;
  }
  const deadline = new Deadline(ackMs);
  if (conversation.config.naming === 'always') {
    const found = reading.items.map((item) => findPrefixedItem(conversation.config, item));
    return subscribe(conversation, id, notifications, findWanted(reading.items, found), deadline, answer);
  }
  const running = runLater(
    Promise.all(reading.items.map((item) => findListedItem(conversation, item, { waitMs: findMs }))),
    (listed) => {
      const found = listed.map((each) => (each.kind === 'found' ? each.found : undefined));
      return subscribe(conversation, id, notifications, findWanted(reading.items, found), deadline, answer);
    },
    (error) => {
      deadline.drop();
      conversation.note({ reason: 'internal_error', detail: String(error) });
      answer.respond(formatError(id, internalError, 'The gateway failed to find the servers.'));
    },
  );
  return {
    resume: () => running.resume(),
    abort() {
      deadline.drop();
      running.abort();
    },
  };
}

/** A client waits this long for the acknowledgement, whatever servers do not say. */
const ackMs = 5_000;
/** Of this, for the servers that have the resources: those that are known then need time to say what they will tell of. */
const findMs = 3_000;

/** Begins with the request. */
class Deadline {
  readonly #timer: NodeJS.Timeout;
  #isOver = false;
  #onOver: (() => void) | undefined;

  constructor(ms: number) {
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      this.#onOver?.();
    }, ms);
  }

  /** At once, if it is over. */
  onOver(listener: () => void): void {
    if (this.#isOver) listener();
    else this.#onOver = listener;
  }

  /** Nobody waits any more. */
  drop(): void {
    clearTimeout(this.#timer);
  }
}

/** What nobody has is not told of. */
function findWanted(items: readonly Item[], found: readonly (FoundItem | undefined)[]): readonly WantedUri[] {
  return items.flatMap(({ name }, index) => {
    const item = found[index];
    return item === undefined ? [] : [{ uri: name, target: item.target.name, own: item.own }];
  });
}

const filterKeys = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const;

function subscribe(
  conversation: Conversation,
  id: string | number,
  notifications: JsonObject,
  wanted: readonly WantedUri[],
  deadline: Deadline,
  answer: ClientAnswer,
): Running {
  const wants = (list: ListName): boolean => notifications[filterKeys[list]] === true;
  const lists = allLists.filter(wants);
  const farewell = formatResult(id, JSON.stringify({ resultType: 'complete', _meta: { [subscriptionKey]: id } }));
  const stamp = (json: string): string => stampSubscription(json, id);
  answer.openStream();
  const acknowledge = (honored: readonly string[]): void => {
    const granted = {
      ...Object.fromEntries(lists.map((list) => [filterKeys[list], true])),
      ...(honored.length > 0 && { resourceSubscriptions: honored }),
    };
    const method = 'notifications/subscriptions/acknowledged';
    answer.send(stamp(JSON.stringify({ jsonrpc: '2.0', method, params: { notifications: granted } })));
  };
  if (lists.length === 0 && wanted.length === 0) {
    deadline.drop();
    acknowledge([]);
    answer.send(farewell);
    answer.end();
    return nothingRunning;
  }
  const opening = new Acknowledgement(wanted, conversation.federation.targets.length, deadline, acknowledge);
  const stream = new MergedStream({
    conversation,
    answer,
    filterFor: ({ config }) => {
      const own = wanted.filter(({ target }) => target === config.name).map((each) => each.own);
      if (lists.length === 0 && own.length === 0) return undefined;
      return { tools: wants('tools'), prompts: wants('prompts'), resources: wants('resources'), uris: own };
    },
    lists,
    onSettled: (member, acknowledgement) => opening.settle(member.config.name, acknowledgement),
    hold: (json) => opening.hold(json, (held) => answer.send(held)),
    stamp,
    farewell,
  });
  return {
    resume: () => stream.resume(),
    abort() {
      opening.stop();
      stream.abort();
    },
  };
}

interface WantedUri {
  readonly uri: string;
  readonly target: string;
  readonly own: string;
}

/** The first message of a subscription says what it is about, so it waits for what the targets say. */
class Acknowledgement {
  readonly #wanted: readonly WantedUri[];
  readonly #acknowledge: (uris: readonly string[]) => void;
  readonly #honored = new Set<string>();
  readonly #deadline: Deadline;
  #held: (() => void)[] | undefined = [];
  #missing: number;

  constructor(
    wanted: readonly WantedUri[],
    targets: number,
    deadline: Deadline,
    acknowledge: (uris: readonly string[]) => void,
  ) {
    this.#wanted = wanted;
    this.#missing = targets;
    this.#acknowledge = acknowledge;
    this.#deadline = deadline;
    deadline.onOver(() => this.#finish());
  }

  settle(target: string, acknowledgement: string | undefined): void {
    if (this.#held === undefined) return;
    const uris = acknowledgement === undefined ? [] : readAcknowledgedUris(acknowledgement);
    for (const each of this.#wanted) if (each.target === target && uris.includes(each.own)) this.#honored.add(each.uri);
    this.#missing -= 1;
    if (this.#missing <= 0) this.#finish();
  }

  /** Nothing comes before the acknowledgement. False: wait. */
  hold(json: string, send: (json: string) => boolean): boolean {
    if (this.#held === undefined) return send(json);
    if (this.#held.length < maxHeld) this.#held.push(() => void send(json));
    return true;
  }

  stop(): void {
    this.#deadline.drop();
    this.#held = undefined;
  }

  #finish(): void {
    const held = this.#held;
    if (held === undefined) return;
    this.stop();
    this.#acknowledge(this.#wanted.map(({ uri }) => uri).filter((uri) => this.#honored.has(uri)));
    for (const send of held) send();
  }
}

/** Messages of targets that answered early. */
const maxHeld = 1_000;

const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

/** Notifications on such a stream name the request that opened it. */
function stampSubscription(json: string, id: string | number): string {
  const isObject = (path: readonly string[]): boolean => {
    const place = findValue(json, path);
    return place !== undefined && json[place.start] === '{';
  };
  const stamp = { [subscriptionKey]: JSON.stringify(id) };
  const meta = changeMembers('{}', [], { add: stamp });
  if (!isObject(['params'])) return changeMembers(json, [], { add: { params: `{"_meta":${meta}}` } });
  if (!isObject(['params', '_meta'])) return changeMembers(json, ['params'], { add: { _meta: meta } });
  return changeMembers(json, ['params', '_meta'], { add: stamp });
}
