// Judges the messages of a batch (2025-03-26 only) one by one. Refused requests are taken out, and the gateway's answers to them are merged
// into the server's answer; the rest is forwarded unchanged. Refused notifications are dropped.
import { type ListMethod, findListMethod } from '../read/list-methods.ts';
import type { ScopedUse } from './check-scopes.ts';
import { examineMessage, type Examination, type HiddenItem } from './examine-message.ts';
import type { MessageJudgement } from './judge-message.ts';
import { type Message, rpcCodes } from '../read/message.ts';
import type { MessageStep } from './message-step.ts';
import type { SeenMessage } from '../../request/seen-message.ts';
import type { ParsedBody } from '../read/parse-message.ts';
import { formatRpcError, type RpcError } from '../answer/rpc-error.ts';
import { renameItem } from '../names/rename-request.ts';

export type Batch = Extract<ParsedBody, { isBatch: true }>;

interface BatchVerdict {
  /** The batch to forward; undefined: unchanged. Empty: no message is left, and the gateway answers alone. */
  readonly text: string | undefined;
  /** Answers to the refused requests, as JSON. */
  readonly injected: readonly string[];
  /** The uses of the forwarded messages, for the scope check. */
  readonly uses: readonly (ScopedUse | undefined)[];
  readonly listRequests: ReadonlyMap<string, ListMethod>;
  /** Of the first message that passed. */
  readonly judgement: MessageJudgement | undefined;
  /** The first refusal. */
  readonly refused: Exclude<Examination, { kind: 'passed' }> | undefined;
  /** Hidden items that the server gets under a stand-in name. */
  readonly hidden: readonly HiddenItem[];
}

/** Why the messages cannot be in one batch; completes "the body ...". */
export function findBatchProblem(messages: readonly Message[]): string | undefined {
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

/** Judges the messages of a batch. */
export function judgeBatch(step: MessageStep, { messages, spans, text }: Batch): BatchVerdict {
  const kept: string[] = [];
  const injected: string[] = [];
  const uses: (ScopedUse | undefined)[] = [];
  const listRequests = new Map<string, ListMethod>();
  let judgement: MessageJudgement | undefined;
  let refused: BatchVerdict['refused'];
  const hidden: HiddenItem[] = [];
  const { context } = step;
  let shown: SeenMessage | undefined;
  for (const [index, message] of messages.entries()) {
    // The log shows one message of the batch: the first refused one, else the first.
    context.mcpMessage = undefined;
    const examination = examineMessage(step, message);
    const isFirstRefused = refused === undefined && hidden.length === 0;
    if (isFirstRefused && (examination.kind !== 'passed' || examination.hidden !== undefined))
      shown = context.mcpMessage;
    else shown ??= context.mcpMessage;
    if (examination.kind === 'passed') {
      judgement ??= examination.judgement;
      uses.push(examination.use);
      const own = text.slice(spans[index]!.start, spans[index]!.end);
      kept.push(message.kind === 'request' ? hide(own, message.method, examination.hidden, hidden) : own);
      if (message.kind !== 'request') continue;
      const method = findListMethod(message);
      if (method !== undefined) listRequests.set(JSON.stringify(message.id), method);
    } else {
      refused ??= examination;
      if (message.kind === 'request') injected.push(formatRpcError(message.id, readError(examination)));
    }
  }
  context.mcpMessage = shown && { ...shown, count: messages.length };
  return {
    text:
      kept.length === messages.length && hidden.length === 0
        ? undefined
        : kept.length === 0
          ? ''
          : `[${kept.join(',')}]`,
    injected,
    uses,
    listRequests,
    judgement,
    refused,
    hidden,
  };
}

function hide(text: string, method: string, item: HiddenItem | undefined, all: HiddenItem[]): string {
  if (item === undefined) return text;
  all.push(item);
  return renameItem(text, method, item.standIn.item.name);
}

/** One HTTP status cannot represent all messages, so the denial of one is a JSON-RPC error here. */
function readError(examination: Exclude<Examination, { kind: 'passed' }>): RpcError {
  if (examination.kind === 'answered') return examination.error;
  return {
    code: rpcCodes.forbidden,
    message: 'The rules of this gateway do not allow this message.',
    data: { reason: 'rbac_denied' },
  };
}
