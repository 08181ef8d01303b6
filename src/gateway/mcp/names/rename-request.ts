// What a client writes, with the names that the server knows: the one item of a request, and the task that it belongs to.
import { skipSpace } from '../../../base/json-text.ts';
import { type Places, replaceStrings } from './replace-strings.ts';

type Named = 'item' | 'task';

const item: Places<Named> = { kind: 'item' };
const task: Places<Named> = { kind: 'task' };
const meta: Places<Named> = {
  members: { 'io.modelcontextprotocol/related-task': { members: { taskId: task } } },
};

const byUri: Places<Named> = { members: { uri: item, _meta: meta } };
const byName: Places<Named> = { members: { name: item, _meta: meta } };
const byTask: Places<Named> = { members: { taskId: item, _meta: meta } };

/** The parameter that names the item, by method. Others name several, or none. */
const params: ReadonlyMap<string, Places<Named>> = new Map([
  ['tools/call', byName],
  ['prompts/get', byName],
  ['resources/read', byUri],
  ['resources/subscribe', byUri],
  ['resources/unsubscribe', byUri],
  ['completion/complete', { members: { ref: { members: { name: item, uri: item } }, _meta: meta } }],
  ['tasks/get', byTask],
  ['tasks/result', byTask],
  ['tasks/update', byTask],
  ['tasks/cancel', byTask],
]);

const messages: ReadonlyMap<string, Places<Named>> = new Map(
  [...params].map(([method, places]) => [method, { members: { params: places } }]),
);

/** Whether requests of this method name one item. */
export function namesItem(method: string): boolean {
  return params.has(method);
}

/**
 * The JSON text of a message with another name for its item. `renameTask` gives the id of a task that the message belongs to beside its item; undefined:
 * it stays. The rest is byte for byte the same.
 */
export function renameItem(
  text: string,
  method: string,
  name: string,
  renameTask: (task: string) => string | undefined = keepTask,
): string {
  const places = messages.get(method);
  if (places === undefined) throw new Error(`a ${method} does not name its item`);
  let isNamed = false;
  const renamed = replaceStrings(text, skipSpace(text, 0), places, (kind, value) => {
    if (kind === 'task') return renameTask(value);
    isNamed = true;
    return name;
  });
  if (!isNamed) throw new Error(`a ${method} without the name of its item`);
  return renamed;
}

const keepTask = (): undefined => undefined;
