// Examines one message: whether the protocol version defines its method, whether it names its items, and whether the rules allow it.
import type { Reason } from '../../http/reasons.ts';
import type { ScopedUse } from './check-scopes.ts';
import {
  findResourceAmbiguity,
  judgeBareRequest,
  judgeItemMessage,
  judgePlainMessage,
  type MessageJudgement,
} from './judge-message.ts';
import { isKnownMethod, isRequestMethod } from '../read/known-methods.ts';
import { type Message, type MethodMessage, rpcCodes } from '../read/message.ts';
import { type MessageStep, noteDenial, noteMessage, noteRefusal } from './message-step.ts';
import { chooseVersion, isModernVersion } from '../read/protocol-version.ts';
import { type Item, readItems } from '../read/read-item.ts';
import { type RpcError } from '../answer/rpc-error.ts';
import { canStandIn, listStandIns, type StandIn } from '../answer/stand-in.ts';
import { describeUnknownItem } from '../answer/unknown-item.ts';

/** The result of examining a message. Refusals are already noted. */
export type Examination =
  | {
      readonly kind: 'passed';
      readonly judgement: MessageJudgement;
      /** What it needs scopes for; undefined: an answer to the server. */
      readonly use: ScopedUse | undefined;
      /** The rules hide the item: the server gets a stand-in name instead. Noted only after the scope check. */
      readonly hidden?: HiddenItem;
    }
  /** The gateway answers in the server's place. */
  | {
      readonly kind: 'answered';
      readonly reason: Reason;
      readonly detail: string;
      /** Of an answer to this message alone. */
      readonly status: number;
      readonly error: RpcError;
    }
  /** The rules do not allow it, and the client may know. */
  | { readonly kind: 'denied'; readonly detail: string };

/** An item that the rules hide: the client sees an unknown item. */
export interface HiddenItem {
  /** By which it is hidden. */
  readonly judgement: MessageJudgement;
  /** As the client named it. */
  readonly name: string;
  readonly standIn: StandIn;
}

/** Examines a message. */
export function examineMessage(step: MessageStep, message: Message): Examination {
  const { caller, transport, versionHeader } = step;
  const protocolVersion = chooseVersion(versionHeader, message, transport);
  if (message.kind === 'response') {
    if (isModernVersion(protocolVersion))
      return refuse(
        step,
        'message_malformed',
        400,
        rpcCodes.invalidRequest,
        'is a response, which this protocol version does not have',
      );
    const judgement = judgeBareRequest(caller, protocolVersion);
    return judgement.decision.allowed ? { kind: 'passed', judgement, use: undefined } : deny(step, judgement);
  }
  const reading = readItems(message);
  noteMessage(step, message, reading.ok ? reading.items[0] : undefined);
  const unknown = findMethodProblem(step, message);
  if (unknown !== undefined) return unknown;
  if (!reading.ok) return refuse(step, 'message_malformed', 400, rpcCodes.invalidParams, reading.problem);
  const refusal = findRefusedName(step, reading.items);
  return refusal ?? judgeUses(step, message, protocolVersion, reading.items);
}

/** A name that means several tools, or one that cannot be found yet. */
function findRefusedName(step: MessageStep, [item]: readonly Item[]): Examination | undefined {
  const error = item?.kind === 'tool' ? step.refused?.get(item.name) : undefined;
  if (error === undefined) return undefined;
  const detail = step.context.detail ?? error.message;
  noteRefusal(step, 'name_ambiguous', detail);
  return { kind: 'answered', reason: 'name_ambiguous', detail, status: 200, error };
}

function findMethodProblem(step: MessageStep, message: MethodMessage): Examination | undefined {
  const { kind, method } = message;
  const { versionHeader, caller } = step;
  if (isKnownMethod(message, versionHeader)) return undefined;
  if (kind === 'notification' && isRequestMethod(method))
    return refuse(step, 'message_malformed', 400, rpcCodes.invalidRequest, 'has no id, but its method requires one');
  if (caller.rules.namedMethods.has(method)) return undefined;
  // Before 2026-07-28 an unknown method was answered with 200, since 404 means that the session is gone. A notification has no answer.
  const isModern = versionHeader !== undefined && isModernVersion(versionHeader);
  const status = kind === 'notification' ? 400 : isModern ? 404 : 200;
  const detail = 'the protocol version does not define the method, and no rule names it';
  noteRefusal(step, 'method_unknown', detail);
  const error = { code: rpcCodes.methodNotFound, message: 'Method not found' };
  return { kind: 'answered', reason: 'method_unknown', detail, status, error };
}

function judgeUses(
  step: MessageStep,
  message: MethodMessage,
  protocolVersion: string,
  items: readonly Item[],
): Examination {
  const { caller } = step;
  const { method } = message;
  let judgement: MessageJudgement | undefined;
  // A subscription is also judged as a message of its own, with or without resources.
  if (items.length === 0 || method === 'subscriptions/listen') {
    judgement = judgePlainMessage(caller, method, protocolVersion);
    if (!judgement.decision.allowed) return deny(step, judgement);
  }
  for (const item of items) {
    const ambiguity = item.kind === 'resource' ? findResourceAmbiguity(caller, item.name) : undefined;
    if (ambiguity !== undefined)
      return refuse(step, 'message_malformed', 400, rpcCodes.invalidParams, `has a uri that ${ambiguity}`);
    judgement = judgeItemMessage(caller, method, protocolVersion, item);
    if (judgement.decision.allowed) continue;
    noteMessage(step, message, item);
    // The item is listed, so only this use of it is denied.
    if (step.getItemJudge(protocolVersion)(item.kind, item.name)) return deny(step, judgement);
    const disguised = disguise(step, message, protocolVersion, item, judgement);
    if (disguised !== undefined) return disguised;
    const detail = noteDenial(step, judgement, 'respond', 'item_hidden');
    const error = describeUnknownItem(item, method, protocolVersion);
    return { kind: 'answered', reason: 'item_hidden', detail, status: 200, error };
  }
  return { kind: 'passed', judgement: judgement!, use: readUse(method, items[0]) };
}

function readUse(method: string, item: Item | undefined): ScopedUse {
  return { method, tool: item?.kind === 'tool' ? item.name : undefined };
}

/** Finds a stand-in for a hidden item that the server can answer for. Undefined: the gateway answers itself. */
function disguise(
  step: MessageStep,
  message: MethodMessage,
  protocolVersion: string,
  item: Item,
  judgement: MessageJudgement,
): Examination | undefined {
  const { method, kind } = message;
  // On the older transport the answer arrives on another request, where the asked name is not known.
  if (kind !== 'request' || step.transport === 'sse' || !canStandIn(method, item)) return undefined;
  for (const standIn of listStandIns(item)) {
    const other = judgeItemMessage(step.caller, method, protocolVersion, standIn.item);
    // Check the scopes of the unknown name: those of the hidden one would reveal that it exists.
    const use = readUse(method, standIn.item);
    if (other.decision.allowed)
      return { kind: 'passed', judgement: other, use, hidden: { judgement, name: item.name, standIn } };
    if (step.getItemJudge(protocolVersion)(item.kind, standIn.item.name)) return deny(step, judgement);
  }
  return undefined;
}

function deny(step: MessageStep, judgement: MessageJudgement): Examination {
  return { kind: 'denied', detail: noteDenial(step, judgement, 'deny', 'rbac_denied') };
}

function refuse(step: MessageStep, reason: Reason, status: number, code: number, problem: string): Examination {
  noteRefusal(step, reason, `the message ${problem}`);
  const error = { code, message: `The message ${problem}.` };
  return { kind: 'answered', reason, detail: `the message ${problem}`, status, error };
}
