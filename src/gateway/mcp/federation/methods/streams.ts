// The streams on which servers speak on their own: what a client asks to hear, and how it is told.
import { isJsonObject, type JsonObject } from '../../../../base/json-object.ts';
import type { FederationConfig } from '../../../config/federation-config.ts';
import { readClientTask } from '../../names/names.ts';
import { rpcCodes } from '../../read/message.ts';
import { type Item, readItems } from '../../read/read-item.ts';
import { changeMembers, findValue } from '../json-members.ts';
import { readAcknowledgedTasks, readAcknowledgedUris } from '../read-acknowledged.ts';
import type { ListenFilter } from '../target.ts';
import type { ListName } from '../../streams/list-changed-rules.ts';
import type { ClientAnswer } from './client-answer.ts';
import { formatError, formatResult, internalError } from './failures.ts';
import { type Asked, type Conversation, nothingRunning, type Running } from './federated-request.ts';
import { findListedItem, findPrefixedItem, type FoundItem } from './find-item.ts';
import { MergedStream } from './merged-stream.ts';
import { readListenedTasks } from './listened-tasks.ts';
import { runLater } from './run-later.ts';

const everything: ListenFilter = { tools: true, prompts: true, resources: true, uris: [], tasks: [] };
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
  const tasks = readListenedTasks(notifications, conversation.speaker);
  if (!tasks.ok) {
    answer.respond(formatError(id, tasks.code, tasks.message, tasks.data), tasks.status);
    return nothingRunning;
  }
  const wantedTasks = findWantedTasks(conversation.config, tasks.ids);
  const deadline = new Deadline(ackMs);
  const start = (found: readonly (FoundItem | undefined)[]): Running => {
    const wanted = [...findWanted(reading.items, found), ...wantedTasks];
    // A stream about nothing would not tell why.
    if (wanted.length > 0 || tasks.ids.length === 0 || allLists.some((list) => wantsList(notifications, list)))
      return subscribe(conversation, id, notifications, wanted, deadline, answer);
    deadline.drop();
    answer.respond(formatError(id, rpcCodes.invalidParams, 'Task not found'));
    return nothingRunning;
  };
  if (conversation.config.naming === 'always')
    return start(reading.items.map((item) => findPrefixedItem(conversation.config, item)));
  const running = runLater(
    Promise.all(reading.items.map((item) => findListedItem(conversation, item, { waitMs: findMs }))),
    (listed) => start(listed.map((each) => (each.kind === 'found' ? each.found : undefined))),
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
function findWanted(items: readonly Item[], found: readonly (FoundItem | undefined)[]): readonly Wanted[] {
  return items.flatMap(({ name }, index) => {
    const item = found[index];
    return item === undefined ? [] : [{ kind: 'resource', name, target: item.target.name, own: item.own }];
  });
}

function findWantedTasks(config: FederationConfig, ids: readonly string[]): readonly Wanted[] {
  return ids.flatMap((name) => {
    const task = readClientTask(config, name);
    return task === undefined ? [] : [{ kind: 'task', name, target: task.target.name, own: task.own }];
  });
}

const filterKeys = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const;

function wantsList(notifications: JsonObject, list: ListName): boolean {
  return notifications[filterKeys[list]] === true;
}

function subscribe(
  conversation: Conversation,
  id: string | number,
  notifications: JsonObject,
  wanted: readonly Wanted[],
  deadline: Deadline,
  answer: ClientAnswer,
): Running {
  const wants = (list: ListName): boolean => wantsList(notifications, list);
  const lists = allLists.filter(wants);
  const farewell = formatResult(id, JSON.stringify({ resultType: 'complete', _meta: { [subscriptionKey]: id } }));
  const stamp = (json: string): string => stampSubscription(json, id);
  answer.openStream();
  const acknowledge = (honored: readonly Wanted[]): void => {
    const uris = listNames(honored, 'resource');
    const taskIds = listNames(honored, 'task');
    const granted = {
      ...Object.fromEntries(lists.map((list) => [filterKeys[list], true])),
      ...(uris.length > 0 && { resourceSubscriptions: uris }),
      ...(taskIds.length > 0 && { taskIds }),
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
      const own = wanted.filter(({ target }) => target === config.name);
      if (lists.length === 0 && own.length === 0) return undefined;
      const list = (kind: Wanted['kind']): readonly string[] =>
        own.filter((each) => each.kind === kind).map((each) => each.own);
      return {
        tools: wants('tools'),
        prompts: wants('prompts'),
        resources: wants('resources'),
        uris: list('resource'),
        tasks: list('task'),
      };
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

/** A resource or a task that the client wants to hear of. */
interface Wanted {
  readonly kind: 'resource' | 'task';
  /** As the client knows it. */
  readonly name: string;
  readonly target: string;
  readonly own: string;
}

function listNames(wanted: readonly Wanted[], kind: Wanted['kind']): readonly string[] {
  return wanted.filter((each) => each.kind === kind).map(({ name }) => name);
}

/** The first message of a subscription says what it is about, so it waits for what the targets say. */
class Acknowledgement {
  readonly #wanted: readonly Wanted[];
  readonly #acknowledge: (honored: readonly Wanted[]) => void;
  readonly #honored = new Set<Wanted>();
  readonly #deadline: Deadline;
  #held: (() => void)[] | undefined = [];
  #missing: number;

  constructor(
    wanted: readonly Wanted[],
    targets: number,
    deadline: Deadline,
    acknowledge: (honored: readonly Wanted[]) => void,
  ) {
    this.#wanted = wanted;
    this.#missing = targets;
    this.#acknowledge = acknowledge;
    this.#deadline = deadline;
    deadline.onOver(() => this.#finish());
  }

  settle(target: string, acknowledgement: string | undefined): void {
    if (this.#held === undefined) return;
    const own = this.#wanted.filter((each) => each.target === target);
    if (acknowledgement !== undefined && own.length > 0) {
      const granted = { resource: readAcknowledgedUris(acknowledgement), task: readAcknowledgedTasks(acknowledgement) };
      for (const each of own) if (granted[each.kind].includes(each.own)) this.#honored.add(each);
    }
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
    this.#acknowledge(this.#wanted.filter((each) => this.#honored.has(each)));
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
