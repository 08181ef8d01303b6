// Requests whose results list items.
import type { RequestMessage } from './message.ts';

/** The methods whose results list items. */
export type ListMethod = 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list';

const listMethods: ReadonlySet<string> = new Set<ListMethod>([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
]);

/** The method when it is one of them. */
export function findListMethod({ method }: RequestMessage): ListMethod | undefined {
  return listMethods.has(method) ? (method as ListMethod) : undefined;
}
