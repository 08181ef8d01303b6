// State and notes shared by all steps that judge the messages of one request.
import type { Decision } from '../../request/decision.ts';
import { describeDenial } from '../../authorization/describe-denial.ts';
import { listOutcomes } from '../../authorization/describe-outcomes.ts';
import type { RuleReference } from '../../config/rule-set.ts';
import type { Reason } from '../../http/reasons.ts';
import type { RefusedNames } from '../../request/app-tools.ts';
import { noteDecision, type RequestContext } from '../../request/request-context.ts';
import { seeMessage } from '../../request/seen-message.ts';
import type { ItemJudge } from '../answer/answer-expectation.ts';
import { type Caller, isListed, type MessageJudgement } from './judge-message.ts';
import type { Message } from '../read/message.ts';
import type { McpAuthorizationConfig } from '../../config/mcp-authorization-config.ts';
import type { Item, ItemKind } from '../read/read-item.ts';

/** One request whose messages are judged. */
export interface MessageStep {
  readonly context: RequestContext;
  readonly caller: Caller;
  readonly transport: 'streamable-http' | 'sse';
  /** MCP-Protocol-Version; undefined: there is none. */
  readonly versionHeader: string | undefined;
  /** Judges items for lists; one judge per protocol version, so mostly one per request. */
  readonly getItemJudge: (protocolVersion: string) => ItemJudge;
  /** Tools of a federation that are called by names which nobody can tell apart, and the errors for them. */
  readonly refused?: RefusedNames | undefined;
}

/** The judges of a request, each created on first use. */
export function createItemJudges(caller: Caller): MessageStep['getItemJudge'] {
  const judges: { readonly version: string; readonly judge: ItemJudge }[] = [];
  return (protocolVersion) => {
    const known = judges.find(({ version }) => version === protocolVersion);
    if (known !== undefined) return known.judge;
    const judge = createItemJudge(caller, protocolVersion);
    judges.push({ version: protocolVersion, judge });
    return judge;
  };
}

/** The server controls the number of items; beyond this limit they are not cached. */
const maxRemembered = 10_000;

/** Decides whether a caller may use an item, for every item of a list. Lists repeat items, so each is judged once per request. */
export function createItemJudge(caller: Caller, protocolVersion: string): ItemJudge {
  // Most requests ask for no list.
  const remembered: Partial<Record<ItemKind, Map<string, boolean>>> = {};
  return (kind, name) => {
    const verdicts = (remembered[kind] ??= new Map());
    let verdict = verdicts.get(name);
    if (verdict === undefined) {
      verdict = isListed(caller, protocolVersion, kind, name);
      if (verdicts.size < maxRemembered) verdicts.set(name, verdict);
    }
    return verdict;
  };
}

/** Notes which message is judged and which item it uses. Answers to the server are not noted. */
export function noteMessage(
  { context }: Pick<MessageStep, 'context'>,
  message: Message | undefined,
  item: Item | undefined,
  count = 1,
): void {
  if (message === undefined || message.kind === 'response') return;
  context.mcpMessage = seeMessage(message.method, item, count);
}

/** Notes a refusal that no expression decided. `judgement`: set when the rules allowed the message. */
export function noteRefusal(
  step: Pick<MessageStep, 'context' | 'caller'>,
  reason: Reason,
  detail: string,
  judgement?: MessageJudgement,
): void {
  const rules = judgement !== undefined && step.context.explained ? listRules(step, judgement) : [];
  note(step, { outcome: 'deny', reason, detail, decidedBy: undefined, rules });
}

/** Notes a denial by the rules, and returns the reason as a sentence for the operator. `respond`: the gateway answers like a server. */
export function noteDenial(
  step: Pick<MessageStep, 'context' | 'caller'>,
  judgement: MessageJudgement,
  outcome: 'deny' | 'respond',
  reason: Reason,
): string {
  const rules = listRules(step, judgement);
  const detail = describeDenial(step.caller.rules.rules, judgement.decision, rules);
  note(step, { outcome, reason, detail, decidedBy: judgement.decision.decidedBy, rules });
  return detail;
}

/** Notes an allow decision of the rules. */
export function notePass(step: Pick<MessageStep, 'context' | 'caller'>, judgement: MessageJudgement): void {
  const pass = findAllowDecision(step.caller.rules, judgement.decision.decidedBy);
  noteDecision(step.context, step.context.explained ? { ...pass, rules: listRules(step, judgement) } : pass);
}

/** Allow decisions, created once each: by the expression that allowed, or by the policy when no Allow rule was needed. */
const allowDecisions = new WeakMap<RuleReference | McpAuthorizationConfig, Decision>();

function findAllowDecision(rules: McpAuthorizationConfig, decidedBy: RuleReference | undefined): Decision {
  const key = decidedBy ?? rules;
  let pass = allowDecisions.get(key);
  if (pass === undefined) {
    pass = describe(rules, { outcome: 'allow', reason: undefined, detail: undefined, decidedBy, rules: [] });
    allowDecisions.set(key, pass);
  }
  return pass;
}

function listRules(
  { context, caller }: Pick<MessageStep, 'context' | 'caller'>,
  { variables, application }: MessageJudgement,
): Decision['rules'] {
  const tokenLocation = context.route?.policies['traffic.jwtAuthentication']?.message.location;
  return listOutcomes({ rules: caller.rules.rules, variables, application, tokenLocation });
}

function note({ context, caller }: Pick<MessageStep, 'context' | 'caller'>, decided: DecidedParts): void {
  noteDecision(context, describe(caller.rules, decided));
}

type DecidedParts = Pick<Decision, 'outcome' | 'reason' | 'detail' | 'decidedBy' | 'rules'>;

function describe(
  { source }: McpAuthorizationConfig,
  { outcome, reason, detail, decidedBy, rules }: DecidedParts,
): Decision {
  return { step: 'backend.mcp.authorization', policy: source, mode: '', outcome, reason, detail, decidedBy, rules };
}
