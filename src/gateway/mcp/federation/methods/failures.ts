// Answers of the gateway itself to requests that a federation cannot serve. A target that fails is named; why it fails is told to the operator.
// A target that refuses with 401, 403 or 429 refuses the gateway, not the client: its status is in the error, and neither becomes the status of the answer (a client would
// log in here again, in vain) nor brings its WWW-Authenticate along.
import type { FederationTarget } from '../../../config/federation-config.ts';
import { findHeader } from '../../../http/headers.ts';
import type { Reason } from '../../../http/reasons.ts';
import { type MessageId, rpcCodes } from '../../read/message.ts';
import type { TargetFailure } from '../target.ts';
import type { Note } from './federated-request.ts';

/** JSON-RPC: the server cannot do it at the moment. */
export const internalError = -32_603;

/** JSON of an error. */
export function formatError(id: MessageId | undefined, code: number, message: string, data?: object): string {
  const error = data === undefined ? { code, message } : { code, message, data };
  return JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error });
}

/** JSON of a result, which is JSON already. */
export function formatResult(id: MessageId, resultJson: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${resultJson}}`;
}

export function formatMethodNotFound(id: MessageId): string {
  return formatError(id, rpcCodes.methodNotFound, 'Method not found');
}

const failed: Readonly<Record<TargetFailure['kind'], { readonly reason: Reason | undefined; readonly says: string }>> =
  {
    down: { reason: 'upstream_unreachable', says: 'cannot be reached' },
    timeout: { reason: 'upstream_timeout', says: 'did not answer in time' },
    garbage: { reason: 'upstream_protocol_error', says: 'sent an answer that cannot be read' },
    refused: { reason: undefined, says: 'refused the request' },
    'no-answer': { reason: 'upstream_aborted', says: 'broke off before it answered' },
  };

/** To go on with the stream of a call. */
const notResumed = 'does not go on with this call';

/** What clients learn of a target that failed. */
export function describeFailure(
  name: string,
  failure: TargetFailure,
  isResumption = false,
): { readonly message: string; readonly data: object } {
  const { kind, status } = failure;
  const retryAfter = findHeader(failure.headers, 'retry-after');
  return {
    message: `The server "${name}" ${isResumption && kind === 'refused' ? notResumed : failed[kind].says}${status === undefined ? '' : ` (HTTP ${status})`}.`,
    data: {
      target: name,
      reason: kind,
      ...(status !== undefined && { status }),
      ...(retryAfter !== undefined && { retryAfter }),
    },
  };
}

/** No target can serve a request that any could. */
export function describeAllDown(names: readonly string[]): string {
  return `No server behind this endpoint can be reached: ${names.join(', ')}.`;
}

/** The targets that answered do not have a method. */
export function describeUnanswered(names: readonly string[]): string {
  return `The servers that can be reached do not have this method, and these cannot be reached: ${names.join(', ')}.`;
}

/** The answer to a request whose one target failed. */
export function answerFailure(
  id: MessageId,
  { name }: Pick<FederationTarget, 'name'>,
  failure: TargetFailure,
  note: Note,
  isResumption = false,
): string {
  noteFailure(name, failure, note);
  const { message, data } = describeFailure(name, failure, isResumption);
  return formatError(id, internalError, message, data);
}

export function noteFailure(name: string, failure: TargetFailure, note: Note): void {
  const { reason } = failed[failure.kind];
  note({ target: name, detail: `${name}: ${failure.detail}`, ...(reason !== undefined && { reason }) });
}

/** The configuration does not have the target any more. */
export const withoutTarget: TargetFailure = {
  kind: 'down',
  status: undefined,
  headers: [],
  detail: 'the target is gone',
};

/** A target without an answer, although nothing was wrong with its connection. */
export const withoutAnswer: TargetFailure = {
  kind: 'no-answer',
  status: undefined,
  headers: [],
  detail: 'the answer ended without a response',
};
