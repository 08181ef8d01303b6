// The tasks that a subscription shall tell of (`taskIds`, extension for tasks).
import { isJsonObject, type JsonObject } from '../../../../base/json-object.ts';
import { rpcCodes } from '../../read/message.ts';
import type { Speaker } from '../target.ts';

export const tasksExtension = 'io.modelcontextprotocol/tasks';

type ListenedTasks =
  /** Each once, as the client knows them. */
  | { readonly ok: true; readonly ids: readonly string[] }
  | {
      readonly ok: false;
      readonly status: number;
      readonly code: number;
      readonly message: string;
      readonly data: object | undefined;
    };

/** As of resources (read-item.ts). */
const maxTasks = 1_000;
const maxTaskText = 262_144;

export function readListenedTasks({ taskIds }: JsonObject, { capabilities }: Speaker): ListenedTasks {
  if (taskIds === undefined || taskIds === null) return { ok: true, ids: [] };
  if (!Array.isArray(taskIds)) return refuse('has taskIds that are not an array');
  if (taskIds.length > maxTasks) return refuse(`has more than ${maxTasks} taskIds`);
  const ids = new Set<string>();
  let length = 0;
  for (const id of taskIds as readonly unknown[]) {
    if (typeof id !== 'string') return refuse('has taskIds that are not strings');
    ids.add(id);
    length += id.length;
  }
  if (length > maxTaskText) return refuse(`has more than ${maxTaskText} characters of taskIds`);
  if (ids.size > 0 && !hasTasks(capabilities)) return withoutCapability;
  return { ok: true, ids: [...ids] };
}

function hasTasks(capabilities: string): boolean {
  const { extensions } = JSON.parse(capabilities) as JsonObject;
  return isJsonObject(extensions) && isJsonObject(extensions[tasksExtension]);
}

function refuse(problem: string): ListenedTasks {
  return {
    ok: false,
    status: 200,
    code: rpcCodes.invalidParams,
    message: `The message ${problem}.`,
    data: undefined,
  };
}

/** So the extension wants it; a server would say it of the whole stream. */
const withoutCapability: ListenedTasks = {
  ok: false,
  status: 400,
  code: rpcCodes.missingCapability,
  message: `Missing required client capability: ${tasksExtension}`,
  data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
};
