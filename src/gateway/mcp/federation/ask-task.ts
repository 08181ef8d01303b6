// Asks a server of 2026-07-28 how a task is, after the stream that told of it broke off: what happened meanwhile nobody has heard.
import { readMember } from '../names/message-head.ts';
import { askTarget } from './ask-target.ts';
import { changeMembers } from './json-members.ts';
import { addEnvelope, writeModernHeaders } from './modern-request.ts';
import type { TargetParts } from './target-parts.ts';
import type { Speaker, TargetMessage } from './target.ts';

/** JSON of the id of the request. */
const askId = '"task"';
const method = 'tasks/get';
/** What a notification does not say of itself. */
const resultMembers: ReadonlySet<string> = new Set(['resultType']);

/** Resolves with what the server would have told; undefined: it does not say, or does not know the task any more. */
export async function askTask(
  parts: TargetParts,
  speaker: Speaker,
  taskId: string,
  timeoutMs: number,
): Promise<TargetMessage | undefined> {
  const { clientInfo, capabilities, headers, host } = speaker;
  const message = { kind: 'request', id: 'task', method, params: { taskId } } as const;
  const text = `{"jsonrpc":"2.0","id":${askId},"method":"${method}","params":${JSON.stringify({ taskId })}}`;
  const request = {
    method: 'POST',
    path: parts.config.backend.mcp!.path,
    host,
    headers: writeModernHeaders({ headers, host }, message, []),
    body: addEnvelope(text, { clientInfo, capabilities }),
    tag: undefined,
  } as const;
  const asked = await askTarget(parts, request, askId, timeoutMs);
  const result = asked.ok ? readMember(asked.text, ['result']) : undefined;
  if (result?.startsWith('{') !== true) return undefined;
  const params = changeMembers(result, [], { remove: resultMembers });
  return {
    text: `{"jsonrpc":"2.0","method":"notifications/tasks","params":${params}}`,
    kind: 'notification',
    id: undefined,
    method: 'notifications/tasks',
    eventId: undefined,
  };
}
