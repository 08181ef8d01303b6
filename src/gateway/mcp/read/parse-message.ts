// The body of a POST -> messages, or why it cannot be judged. Strict: an accepted body has only one meaning.
import { isJsonObject, type JsonObject } from '../../../base/json-object.ts';
import type { TextSpan } from '../../../base/json-text.ts';
import { findLookalike, foldKeys } from './known-keys.ts';
import type { KnownKeys } from '../../config/mcp-authorization-config.ts';
import { type Message, type MessageId, rpcCodes } from './message.ts';
import { readStrictJson } from './strict-json.ts';

export type ParsedBody =
  | {
      readonly ok: true;
      readonly isBatch: false;
      readonly messages: readonly [Message];
      readonly text: string;
    }
  | {
      readonly ok: true;
      readonly isBatch: true;
      readonly messages: readonly Message[];
      /** The positions of the messages in the text: they are forwarded byte for byte. */
      readonly spans: readonly TextSpan[];
      readonly text: string;
    }
  | MalformedBody;

/** A body that was understood. */
export type ReadBody = Exclude<ParsedBody, MalformedBody>;

/** Why a body cannot be judged. */
interface MalformedBody {
  readonly ok: false;
  readonly code: number;
  /** Completes "the body ..."; it never quotes the body. */
  readonly problem: string;
  /** Of the message, when that much could be read. */
  readonly id: MessageId | undefined;
}

/** Common servers have the same limit. */
const maxBatchSize = 100;

const messageKeys = foldKeys(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
const paramKeys = foldKeys(['name', 'uri', 'arguments', 'ref', 'protocolVersion', 'taskId', 'notifications', '_meta']);
const refKeys = foldKeys(['type', 'name', 'uri']);
const metaKeys = foldKeys(['io.modelcontextprotocol/protocolVersion']);
const filterKeys = foldKeys(['resourceSubscriptions']);

const noParams: JsonObject = Object.freeze({});

/** Reads a body. `argumentKeys` are the keys of tool arguments that rules read: a body with a lookalike of one of them is refused. */
export function parseBody(bytes: Uint8Array, argumentKeys: KnownKeys): ParsedBody {
  const json = readStrictJson(bytes);
  if (!json.ok) {
    const code = json.isSyntax ? rpcCodes.parseError : rpcCodes.invalidRequest;
    return { ok: false, code, problem: json.problem, id: undefined };
  }
  const { value, text, elements } = json;
  if (!Array.isArray(value)) {
    const message = readMessage(value, argumentKeys);
    return isMalformed(message) ? message : { ok: true, isBatch: false, messages: [message], text };
  }
  if (elements.length === 0) return refuse('is an empty batch');
  if (elements.length > maxBatchSize) return refuse(`is a batch of more than ${maxBatchSize} messages`);
  const messages: Message[] = [];
  for (const entry of value as readonly unknown[]) {
    const message = readMessage(entry, argumentKeys);
    // An error about a whole batch has no id: it does not answer one of its messages.
    if (isMalformed(message)) return { ...message, id: undefined };
    messages.push(message);
  }
  return { ok: true, isBatch: true, messages, spans: elements, text };
}

function isMalformed(message: Message | MalformedBody): message is MalformedBody {
  return 'ok' in message;
}

function readMessage(value: unknown, argumentKeys: KnownKeys): Message | MalformedBody {
  if (!isJsonObject(value)) return refuse('is not a JSON-RPC message');
  const lookalike = describeLookalike(value, messageKeys);
  if (lookalike !== undefined) return refuse(lookalike);
  const { id } = value;
  if (value['jsonrpc'] !== '2.0') return refuse('is not JSON-RPC 2.0', isMessageId(id) ? id : undefined);
  if (value['method'] === undefined) return readResponse(value);
  if (id !== undefined && !isMessageId(id)) return refuse('has an id that is neither a string nor an integer');
  if (value['result'] !== undefined || value['error'] !== undefined)
    return refuse('is a request and an answer at once', id);
  const { method, params = noParams } = value;
  if (typeof method !== 'string') return refuse('has a method that is not a string', id);
  if (!isJsonObject(params)) return refuse('has params that are not an object', id);
  const problem = findParamsProblem(params, argumentKeys);
  if (problem !== undefined) return refuse(problem, id);
  return id === undefined ? { kind: 'notification', method, params } : { kind: 'request', id, method, params };
}

/** An error may come without an id: the client could not read what it answers. */
function readResponse(value: JsonObject): Message | MalformedBody {
  const { id, result, error } = value;
  if ((result === undefined) === (error === undefined)) return refuse('has no method');
  if (value['params'] !== undefined) return refuse('is a request and an answer at once');
  const isAnonymous = error !== undefined && (id === undefined || id === null);
  if (!isAnonymous && !isMessageId(id)) return refuse('has an id that is neither a string nor an integer');
  return { kind: 'response' };
}

/** A string, or an integer that all parsers keep exactly. */
function isMessageId(id: unknown): id is MessageId {
  return typeof id === 'string' || Number.isSafeInteger(id);
}

function findParamsProblem(params: JsonObject, argumentKeys: KnownKeys): string | undefined {
  return (
    describeLookalike(params, paramKeys) ??
    describeLookalike(params['ref'], refKeys) ??
    describeLookalike(params['_meta'], metaKeys) ??
    describeLookalike(params['notifications'], filterKeys) ??
    (argumentKeys.size === 0 ? undefined : describeDeepLookalike(params['arguments'], argumentKeys))
  );
}

function describeLookalike(members: unknown, known: KnownKeys): string | undefined {
  const found = isJsonObject(members) ? findLookalike(members, known) : undefined;
  return found === undefined ? undefined : `has a key that could be taken for ${found.meant}`;
}

function describeDeepLookalike(value: unknown, known: KnownKeys): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const problem = describeLookalike(value, known);
  if (problem !== undefined) return problem;
  for (const member of Object.values(value)) {
    const deeper = describeDeepLookalike(member, known);
    if (deeper !== undefined) return deeper;
  }
  return undefined;
}

function refuse(problem: string, id?: MessageId): MalformedBody {
  return { ok: false, code: rpcCodes.invalidRequest, problem, id };
}
