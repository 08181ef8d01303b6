// Which server of a federation a message goes to, and what that one calls the tool, prompt or resource.
import type { FederationConfig } from '../../gateway/config/federation-config.ts';
import { createOwnItemFinder } from '../../gateway/mcp/names/own-item.ts';
import type { ExplainedFederation, ExplainedRequest } from './explain-report.ts';

/** Explains it for the message of a request. */
export function explainFederation(
  federation: FederationConfig,
  message: ExplainedRequest['message'],
): ExplainedFederation {
  const targets = federation.targets.map(({ name, prefix }) => ({
    name,
    prefix: federation.naming === 'never' ? null : prefix,
  }));
  return { targets, item: message === null ? null : explainItem(federation, message) };
}

function explainItem(
  federation: FederationConfig,
  { tool, prompt, resource }: NonNullable<ExplainedRequest['message']>,
): ExplainedFederation['item'] {
  const kind = tool !== null ? 'tool' : prompt !== null ? 'prompt' : 'resource';
  const name = tool ?? prompt ?? resource;
  if (name === null) return null;
  // Which one lists it is known to a gateway that runs.
  if (federation.naming === 'never')
    return { target: null, own: name, isServed: federation.targets.some(({ selects }) => selects[kind](name)) };
  const found = createOwnItemFinder(federation)({ kind, name });
  if (found === undefined) return { target: null, own: null, isServed: false };
  const { target, own } = found;
  const config = federation.targets.find((each) => each.name === target);
  return { target, own, isServed: config?.selects[kind](own) === true };
}

/** One line. */
export function formatFederation({ targets, item }: ExplainedFederation): string {
  if (item === null) return `federation of ${targets.map(({ name }) => name).join(', ')}`;
  if (item.target === null && item.own !== null)
    return item.isServed
      ? 'whichever target lists it, if only one does: names have no prefixes'
      : 'no target: none of them serves it (include, exclude)';
  if (item.target === null)
    return `no target: names begin with one of ${targets.map(({ prefix }) => `${prefix}_`).join(', ')}; explain what a page of an MCP App calls by the prefixed name`;
  const server = `target ${item.target}, which calls it ${item.own}`;
  return item.isServed ? server : `${server} and does not serve it (include, exclude)`;
}
