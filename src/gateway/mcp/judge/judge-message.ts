// Judges one message by the rules over messages. Which expressions apply depends on what the message uses (expression-reach.ts).
//
// | the message                            | skipped expressions                       | a skipped Allow |
// | uses no item (initialize, lists, ping) | those that read any item                  | counts as match |
// | uses an item                           | those that read items of other kinds only | is no match     |
// | is none (GET, DELETE, an answer)       | those that read the method or any item    | counts as match |
import {
  ambiguous,
  type Expression,
  type ExpressionOutcome,
  type ExpressionVariables,
} from '../../../cel/expression.ts';
import { decideRules, type RuleApplication } from '../../authorization/decide-rules.ts';
import type { RuleDecision } from '../../config/rule-set.ts';
import { findAmbiguity } from '../read/ambiguous-uri.ts';
import type { FindOwnItem, OwnItem, Unknowable } from '../names/own-item.ts';
import type { ItemKind, Item } from '../read/read-item.ts';
import { concernsBareRequest, concernsItem, concernsPlainMessage, readReach } from './expression-reach.ts';
import type { McpAuthorizationConfig } from '../../config/mcp-authorization-config.ts';
import { listSpellings } from '../read/resource-spellings.ts';

/** The caller and the rules: the same for all messages of a request. */
export interface Caller {
  readonly rules: McpAuthorizationConfig;
  /** Without `mcp`. */
  readonly variables: ExpressionVariables;
  readonly sessionId: string;
  /** Of a federation: whose items are meant. */
  readonly findOwnItem?: FindOwnItem | Unknowable | undefined;
}

/** A verdict of the rules, with the input to evaluate every expression again. */
export interface MessageJudgement {
  readonly decision: RuleDecision;
  readonly variables: ExpressionVariables;
  readonly application: RuleApplication;
}

const bareRequest: RuleApplication = { applies: concernsBareRequest, skippedAllows: true };
const plainMessage: RuleApplication = { applies: concernsPlainMessage, skippedAllows: true };
const itemMessages: Readonly<Record<ItemKind, RuleApplication>> = {
  tool: { applies: (expression) => concernsItem(expression, 'tool'), skippedAllows: false },
  prompt: { applies: (expression) => concernsItem(expression, 'prompt'), skippedAllows: false },
  resource: { applies: (expression) => concernsItem(expression, 'resource'), skippedAllows: false },
};

/** A request that carries no message of the client's own. */
export function judgeBareRequest(caller: Caller, protocolVersion: string): MessageJudgement {
  return judge(caller, '', protocolVersion, undefined, bareRequest);
}

/** A message that uses no item. */
export function judgePlainMessage(caller: Caller, method: string, protocolVersion: string): MessageJudgement {
  return judge(caller, method, protocolVersion, undefined, plainMessage);
}

/** A message that uses an item. A resource is judged in every spelling of its URI: when one is denied, all are. */
export function judgeItemMessage(
  caller: Caller,
  method: string,
  protocolVersion: string,
  item: Item,
): MessageJudgement {
  const { kind } = item;
  const judgement = judge(caller, method, protocolVersion, item, itemMessages[kind]);
  if (kind !== 'resource' || !judgement.decision.allowed) return judgement;
  for (const name of listOtherNames(caller, item)) {
    const other = judge(caller, method, protocolVersion, { kind, name }, itemMessages[kind]);
    if (!other.decision.allowed) return other;
  }
  return judgement;
}

/** The other spellings of a resource: of the URI that its server knows, as clients would write them. */
function listOtherNames({ findOwnItem }: Caller, item: Item): readonly string[] {
  const found = findOwn(findOwnItem, item);
  const uri = found === undefined ? item.name : found.own;
  return listSpellings(uri).flatMap((spelling) => {
    if (spelling === uri) return [];
    return [found?.renameUri(spelling) ?? spelling];
  });
}

/** What is ambiguous about the URI of a resource, as its server reads it. */
export function findResourceAmbiguity({ rules, findOwnItem }: Caller, uri: string): string | undefined {
  if (!rules.readsResources) return undefined;
  return findAmbiguity(findOwn(findOwnItem, { kind: 'resource', name: uri })?.own ?? uri);
}

/** Without prefixes a name is that of the server. */
function findOwn(find: Caller['findOwnItem'], item: Item): OwnItem | undefined {
  return find === undefined || find === 'unknowable' ? undefined : find(item);
}

const usingMethods: Readonly<Record<ItemKind, string>> = {
  tool: 'tools/call',
  prompt: 'prompts/get',
  resource: 'resources/read',
};

/** Whether lists show an item: as far as it is known before a call, the caller may use it. */
export function isListed(caller: Caller, protocolVersion: string, kind: ItemKind, name: string): boolean {
  const { withoutArguments } = caller.rules;
  if (kind === 'resource' && findResourceAmbiguity(caller, name) !== undefined) return false;
  if (kind !== 'tool' || withoutArguments.size === 0)
    return judgeItemMessage(caller, usingMethods[kind], protocolVersion, { kind, name }).decision.allowed;
  const variables = describeMessage(caller, usingMethods.tool, protocolVersion, { kind, name, arguments: ambiguous });
  const application: RuleApplication = {
    ...itemMessages.tool,
    evaluate(expression): ExpressionOutcome {
      const outcome = evaluateFor(caller, expression, variables);
      // An outcome that does not depend on the arguments is already final.
      return outcome.ok ? outcome : (withoutArguments.get(expression) ?? outcome);
    },
  };
  return decideRules(caller.rules.rules, variables, application).allowed;
}

function judge(
  caller: Caller,
  method: string,
  protocolVersion: string,
  item: Item | undefined,
  application: RuleApplication,
): MessageJudgement {
  const variables = describeMessage(caller, method, protocolVersion, item);
  const known: RuleApplication =
    caller.findOwnItem === 'unknowable'
      ? { ...application, evaluate: (expression, seen) => evaluateFor(caller, expression, seen) }
      : application;
  return { decision: decideRules(caller.rules.rules, variables, known), variables, application: known };
}

const unknowableTarget: ExpressionOutcome = {
  ok: false,
  problem: 'mcp.target is not known where names have no prefix (names.prefix: Never)',
};

/** Also `has(mcp.target)` says nothing then: a rule must not be evaded because nobody knows yet whose the item is. */
function evaluateFor(
  { findOwnItem }: Caller,
  expression: Expression,
  variables: ExpressionVariables,
): ExpressionOutcome {
  return findOwnItem === 'unknowable' && readReach(expression).target
    ? unknowableTarget
    : expression.evaluate(variables);
}

function describeMessage(
  { variables, sessionId, findOwnItem }: Caller,
  method: string,
  protocolVersion: string,
  item: Item | undefined,
): ExpressionVariables {
  const target = item && describeTarget(item, findOwnItem);
  const own = target === undefined ? undefined : { target };
  return { ...variables, mcp: { method, protocolVersion, sessionId, ...describeItem(item), ...own } };
}

function describeTarget(
  item: Item,
  findOwnItem: Caller['findOwnItem'],
): NonNullable<ExpressionVariables['mcp']>['target'] {
  const found = findOwn(findOwnItem, item);
  if (found === undefined) return undefined;
  const { target: name, own } = found;
  return item.kind === 'resource' ? { name, uri: own } : { name, [item.kind]: own };
}

function describeItem(item: Item | undefined): Pick<NonNullable<ExpressionVariables['mcp']>, ItemKind> {
  switch (item?.kind) {
    case 'tool':
      // Missing arguments are an empty object: has(mcp.tool.arguments.force) is false instead of an error.
      return { tool: { name: item.name, arguments: item.arguments ?? {} } };
    case 'prompt':
      return { prompt: { name: item.name } };
    case 'resource':
      return { resource: { uri: item.name } };
    default:
      return {};
  }
}
