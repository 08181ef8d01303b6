// Requests whose results list items.
import type { ListMethod } from './answer-expectation.ts';
import type { RequestMessage } from './message.ts';

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
