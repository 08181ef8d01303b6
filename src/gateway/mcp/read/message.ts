// One JSON-RPC message of a client, as far as the gateway reads it (JSON-RPC 2.0; MCP: ids are strings or integers, params an object).
import type { JsonObject } from '../../../base/json-object.ts';

export type MessageId = string | number;

/** Asks for something, and gets an answer under its id. */
export interface RequestMessage {
  readonly kind: 'request';
  readonly id: MessageId;
  readonly method: string;
  readonly params: JsonObject;
}

/** A message without an answer. */
interface NotificationMessage {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: JsonObject;
}

/** Answers a request of the server. */
interface ResponseMessage {
  readonly kind: 'response';
}

export type Message = RequestMessage | NotificationMessage | ResponseMessage;

/** A message that names a method. */
export type MethodMessage = RequestMessage | NotificationMessage;

/** Codes of JSON-RPC 2.0 and of MCP (2026-07-28, "Error Codes"). */
export const rpcCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  /** Until 2025-11-25. */
  resourceNotFound: -32_002,
  headerMismatch: -32_020,
  missingCapability: -32_021,
  /** An own code, outside the range of JSON-RPC. Used in batches only; elsewhere the HTTP status is 403. */
  forbidden: 403,
} as const;
