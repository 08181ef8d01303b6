// The streams on which servers speak on their own: what a client asks to hear, and how it is told.
import { isJsonObject, type JsonObject } from '../../../../base/json-object.ts';
import { rpcCodes } from '../../read/message.ts';
import { readItems } from '../../read/read-item.ts';
import type { ListenFilter } from '../target.ts';
import type { ClientAnswer } from './client-answer.ts';
import { formatError, formatResult } from './failures.ts';
import { type Asked, type Conversation, nothingRunning, type Running } from './federated-request.ts';
import { findItem } from './find-item.ts';
import { MergedStream } from './merged-stream.ts';

const everything: ListenFilter = { tools: true, prompts: true, resources: true, uris: [] };
const allLists = ['tools', 'prompts', 'resources'];

/** The stream of a GET. */
export function openGetStream(conversation: Conversation, answer: ClientAnswer): Running {
  answer.openStream();
  return new MergedStream({
    conversation,
    answer,
    filterFor: () => everything,
    lists: allLists,
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
  const uris = reading.items.map(({ name }) => name);
  return subscribe(conversation, id, notifications, uris, answer);
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
  uris: readonly string[],
  answer: ClientAnswer,
): Running {
  const kept: string[] = [];
  const byTarget = new Map<string, string[]>();
  for (const uri of uris) {
    const found = findItem(conversation.config, { kind: 'resource', name: uri });
    if (found === undefined) continue;
    kept.push(uri);
    const { name } = found.target;
    const others = byTarget.get(name);
    if (others === undefined) byTarget.set(name, [found.own]);
    else others.push(found.own);
  }
  const wants = (list: keyof typeof filterKeys): boolean => notifications[filterKeys[list]] === true;
  const lists = (Object.keys(filterKeys) as (keyof typeof filterKeys)[]).filter(wants);
  const honored = {
    ...Object.fromEntries(lists.map((list) => [filterKeys[list], true])),
    ...(kept.length > 0 && { resourceSubscriptions: kept }),
  };
  const stamp = (json: string): string => stampSubscription(json, id);
  const meta = JSON.stringify({ resultType: 'complete', _meta: { [subscriptionKey]: id } });
  const farewell = formatResult(id, meta);
  answer.openStream();
  answer.send(
    stamp(
      JSON.stringify({
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: honored },
      }),
    ),
  );
  if (Object.keys(honored).length === 0) {
    answer.send(farewell);
    answer.end();
    return nothingRunning;
  }
  return new MergedStream({
    conversation,
    answer,
    filterFor: ({ config }) => {
      const own = byTarget.get(config.name) ?? [];
      if (lists.length === 0 && own.length === 0) return undefined;
      return { tools: wants('tools'), prompts: wants('prompts'), resources: wants('resources'), uris: own };
    },
    lists,
    stamp,
    farewell,
  });
}

const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

/** Notifications on such a stream name the request that opened it. */
function stampSubscription(json: string, id: string | number): string {
  const message = JSON.parse(json) as JsonObject;
  const params = isJsonObject(message['params']) ? message['params'] : {};
  const meta = isJsonObject(params['_meta']) ? params['_meta'] : {};
  return JSON.stringify({ ...message, params: { ...params, _meta: { ...meta, [subscriptionKey]: id } } });
}
