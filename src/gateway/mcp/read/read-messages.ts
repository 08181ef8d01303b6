// The body of a POST -> the messages that the gateway acts on, or the one answer to a body that it cannot act on: who reads it, and why, makes no difference.
import type { RawHeaders } from '../../http/exchange.ts';
import type { Reason } from '../../http/reasons.ts';
import type { KnownKeys } from '../../config/mcp-authorization-config.ts';
import { findDisagreement } from './header-agreement.ts';
import { type Message, type MessageId, rpcCodes } from './message.ts';
import { parseBody, type ReadBody } from './parse-message.ts';
import { hasBatches } from './protocol-version.ts';

/** The request around the body. */
export interface MessageEnvelope {
  readonly headers: RawHeaders;
  /** MCP-Protocol-Version; undefined: there is none. */
  readonly versionHeader: string | undefined;
  readonly transport: 'streamable-http' | 'sse';
}

type MessageReading =
  | { readonly ok: true; readonly read: ReadBody }
  | {
      readonly ok: false;
      readonly reason: Reason;
      /** Of the message that the error answers. */
      readonly id: MessageId | undefined;
      readonly code: number;
      readonly message: string;
      /** As far as the body could be parsed; undefined: not at all. */
      readonly messages: readonly Message[] | undefined;
    };

/** The answer to a request with several MCP-Protocol-Version headers. */
export const severalVersions = {
  code: rpcCodes.headerMismatch,
  message: 'The MCP-Protocol-Version header was sent more than once.',
};

/** Reads a whole body. `argumentKeys` are the keys of tool arguments that rules read. */
export function readMessages(bytes: Uint8Array, envelope: MessageEnvelope, argumentKeys: KnownKeys): MessageReading {
  const { headers, versionHeader, transport } = envelope;
  const parsed = parseBody(bytes, argumentKeys);
  if (!parsed.ok) {
    const { code, id, problem } = parsed;
    const message = `The body ${problem}.`;
    return { ok: false, reason: 'message_malformed', id, code, message, messages: undefined };
  }
  const { messages, isBatch } = parsed;
  const disagreement = findDisagreement(headers, versionHeader, messages, isBatch);
  if (disagreement !== undefined) {
    const id = isBatch ? undefined : readId(messages[0]);
    const { headerMismatch: code } = rpcCodes;
    return { ok: false, reason: 'header_mismatch', id, code, message: disagreement, messages };
  }
  if (!isBatch) return { ok: true, read: parsed };
  const problem = hasBatches(versionHeader, transport)
    ? findBatchProblem(messages)
    : 'is a batch, which this protocol version does not have';
  if (problem === undefined) return { ok: true, read: parsed };
  const { invalidRequest: code } = rpcCodes;
  return { ok: false, reason: 'message_malformed', id: undefined, code, message: `The body ${problem}.`, messages };
}

/** The id of a message that is to be answered. */
export function readId(message: Message): MessageId | undefined {
  return message.kind === 'request' ? message.id : undefined;
}

/** Why the messages cannot be in one batch; completes "the body ...". */
function findBatchProblem(messages: readonly Message[]): string | undefined {
  const ids = new Set<string | number>();
  for (const message of messages) {
    if (message.kind !== 'request') continue;
    // "The initialize request MUST NOT be part of a JSON-RPC batch."
    if (message.method === 'initialize') return 'is a batch with an initialize request';
    if (ids.has(message.id)) return 'is a batch with two requests of the same id';
    ids.add(message.id);
  }
  return undefined;
}
