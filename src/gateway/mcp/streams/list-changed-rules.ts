// Which lists may change for clients when rules change: those whose items are judged by other expressions or actions than before.
import type { Rule } from '../../config/rule-set.ts';
import type { ItemKind } from '../read/read-item.ts';
import { concernsItem } from '../judge/expression-reach.ts';
import type { McpAuthorizationConfig } from '../../config/mcp-authorization-config.ts';

/** The lists with a notification: `notifications/tools/list_changed`, and so on. */
export type ListName = 'tools' | 'prompts' | 'resources';

const items: readonly (readonly [ListName, ItemKind])[] = [
  ['tools', 'tool'],
  ['prompts', 'prompt'],
  ['resources', 'resource'],
];

/** The lists that could look different under the other rules; none when only something else changed. Undefined: no rules. */
export function findChangedLists(
  before: McpAuthorizationConfig | undefined,
  after: McpAuthorizationConfig | undefined,
): readonly ListName[] {
  if (before === after) return [];
  return items.flatMap(([list, kind]) =>
    describeVisibility(before, kind) === describeVisibility(after, kind) ? [] : [list],
  );
}

const known = new WeakMap<McpAuthorizationConfig, Map<ItemKind, string>>();

/** Everything that decides about items of a kind, as a text. */
function describeVisibility(rules: McpAuthorizationConfig | undefined, kind: ItemKind): string {
  if (rules === undefined) return unrestricted;
  let descriptions = known.get(rules);
  if (descriptions === undefined) known.set(rules, (descriptions = new Map()));
  let description = descriptions.get(kind);
  if (description === undefined) {
    const { deny, require, allow } = rules.rules;
    // An Allow over other items does not allow these, but the presence of any Allow hides items that none allows.
    description = describe(listSources(deny, kind), listSources(require, kind), listSources(allow, kind), allow.length);
    descriptions.set(kind, description);
  }
  return description;
}

const unrestricted = describe([], [], [], 0);

function describe(
  deny: readonly string[],
  require: readonly string[],
  allow: readonly string[],
  allowCount: number,
): string {
  return JSON.stringify([deny, require, allow, allowCount > 0]);
}

/** Sorted: the order does not change the verdict. */
function listSources(rules: readonly Rule[], kind: ItemKind): string[] {
  const asked = rules.flatMap(({ expressions }) => expressions.filter((expression) => concernsItem(expression, kind)));
  return [...new Set(asked.map(({ source }) => source))].toSorted();
}
