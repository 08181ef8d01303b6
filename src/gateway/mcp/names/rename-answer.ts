// What a server of a federation writes, with names as clients know them: lists, results, errors, notifications and questions. Only at the places where the
// protocol has a name or a URI; what a tool says in its text or its structured content stays as it is.
import type { FederationConfig, FederationTarget } from '../../config/federation-config.ts';
import { skipSpace } from '../../../base/json-text.ts';
import type { ListMethod } from '../read/list-methods.ts';
import { writeClientName, writeClientTask, writeClientUri } from './names.ts';
import { type Places, replaceStrings } from './replace-strings.ts';

type Named = 'name' | 'uri' | 'task';
type NamePlaces = Places<Named>;

const name: NamePlaces = { kind: 'name' };
const uri: NamePlaces = { kind: 'uri' };
const task: NamePlaces = { kind: 'task' };

const relatedTask: NamePlaces = { members: { taskId: task } };

/** `_meta` of a message, of a result, or of anything in it. MCP Apps: `ui.resourceUri`, and the flat form of earlier drafts. */
const meta: NamePlaces = {
  members: {
    ui: { members: { resourceUri: uri } },
    'ui/resourceUri': uri,
    'io.modelcontextprotocol/related-task': relatedTask,
  },
};

/** A text, a picture, a link to a resource, or the resource itself. */
const contentBlock: NamePlaces = {
  members: { uri, resource: { members: { uri, _meta: meta } }, _meta: meta },
};

/** One block, or several. */
const content: NamePlaces = { ...contentBlock, elements: contentBlock };

const promptMessages: NamePlaces = { elements: { members: { content } } };

/** Of a sampling: what tools of the server have answered is a content of its own. */
const sampledBlock: NamePlaces = { members: { ...contentBlock.members, content } };
const samplingMessages: NamePlaces = {
  elements: { members: { content: { ...sampledBlock, elements: sampledBlock } } },
};

const otherParams: NamePlaces = { members: { _meta: meta } };

/** What servers ask for: up to 2025-11-25 as requests, from 2026-07-28 on within results. */
const asked: ReadonlyMap<string, NamePlaces> = new Map<string, NamePlaces>([
  ['sampling/createMessage', { members: { messages: samplingMessages, _meta: meta } }],
]);
const inputRequests: NamePlaces = {
  values: {
    choice: {
      member: 'method',
      forms: new Map([...asked].map(([method, places]) => [method, { members: { params: places } }])),
      otherwise: { members: { params: otherParams } },
    },
  },
};

const rpcError: NamePlaces = { members: { data: { members: { uri } } } };

/** A task that was begun, asked for or changed. */
const taskMembers = { taskId: task, task: { members: { taskId: task } } };

const toolResult: NamePlaces = { members: { ...taskMembers, content, inputRequests, _meta: meta } };

/** A task with what has come of it, or what it waits for (extension for tasks, 2026-07-28: DetailedTask). Only tools run as tasks. */
const detailedTask: NamePlaces = {
  members: {
    ...taskMembers,
    result: { members: { content, _meta: meta } },
    error: rpcError,
    inputRequests,
    _meta: meta,
  },
};

const listItems: Readonly<Record<ListMethod, NamePlaces>> = {
  'tools/list': { members: { name, _meta: meta } },
  'prompts/list': { members: { name, _meta: meta } },
  'resources/list': { members: { uri, _meta: meta } },
  'resources/templates/list': { members: { uriTemplate: uri, _meta: meta } },
};

const results: ReadonlyMap<string, NamePlaces> = new Map<string, NamePlaces>([
  ['tools/call', toolResult],
  ['tasks/result', toolResult],
  ['tasks/get', detailedTask],
  ['tasks/update', detailedTask],
  ['tasks/cancel', detailedTask],
  ['tasks/list', { members: { tasks: { elements: { members: taskMembers } }, _meta: meta } }],
  ['prompts/get', { members: { messages: promptMessages, inputRequests, _meta: meta } }],
  [
    'resources/read',
    { members: { contents: { elements: { members: { uri, _meta: meta } } }, inputRequests, _meta: meta } },
  ],
]);

const otherResult: NamePlaces = { members: { _meta: meta } };

/** What a server says or asks on its own. */
const params: ReadonlyMap<string, NamePlaces> = new Map<string, NamePlaces>([
  ['notifications/resources/updated', { members: { uri, _meta: meta } }],
  ['notifications/tasks/status', { members: { ...taskMembers, _meta: meta } }],
  ['notifications/tasks', detailedTask],
  ...asked,
]);

/** Made once for each method. */
const answers = new Map<string, NamePlaces>();
for (const [method, result] of results) answers.set(method, { members: { result, error: rpcError } });
const otherAnswer: NamePlaces = { members: { result: otherResult, error: rpcError } };

const questions = new Map<string, NamePlaces>();
for (const [method, places] of params) questions.set(method, { members: { params: places } });
const otherQuestion: NamePlaces = { members: { params: otherParams } };

/** Without one of these there is nothing to rename outside of lists: a key begins like this, unless a letter is escaped. */
const trace = /uri|Uri|taskId|\\u/;

/** The answer to a request of this method. */
export function renameAnswer(
  text: string,
  method: string,
  target: FederationTarget,
  naming: FederationConfig['naming'],
): string {
  return trace.test(text) ? rename(text, answers.get(method) ?? otherAnswer, target, naming) : text;
}

/** A notification or a request of the server. */
export function renameQuestion(
  text: string,
  method: string,
  target: FederationTarget,
  naming: FederationConfig['naming'],
): string {
  return trace.test(text) ? rename(text, questions.get(method) ?? otherQuestion, target, naming) : text;
}

/** One entry of a list: a tool, a prompt, a resource or a template, as a JSON text of its own. */
export function renameListItem(
  text: string,
  method: ListMethod,
  target: FederationTarget,
  naming: FederationConfig['naming'],
): string {
  return rename(text, listItems[method], target, naming);
}

function rename(
  text: string,
  places: NamePlaces,
  target: FederationTarget,
  naming: FederationConfig['naming'],
): string {
  return replaceStrings(text, skipSpace(text, 0), places, (kind, own) => {
    switch (kind) {
      case 'name':
        return writeClientName(target, naming, own);
      // What is no URI leads nowhere, under any name.
      case 'uri':
        return writeClientUri(target, naming, own);
      case 'task':
        return writeClientTask(target, own);
    }
  });
}
