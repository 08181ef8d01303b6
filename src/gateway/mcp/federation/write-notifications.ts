// Notifications that a target's side writes itself: what a stream is about, and that lists and resources may have changed while nobody listened.
import type { ListenFilter, TargetMessage } from './target.ts';

function write(method: string, params: string | undefined): TargetMessage {
  const rest = params === undefined ? '' : `,"params":${params}`;
  return {
    text: `{"jsonrpc":"2.0","method":"${method}"${rest}}`,
    kind: 'notification',
    id: undefined,
    method,
    eventId: undefined,
  };
}

/** The lists and resources of this filter may have changed. */
export function writeChanged({ tools, prompts, resources, uris }: ListenFilter): TargetMessage[] {
  const kinds = [...(tools ? ['tools'] : []), ...(prompts ? ['prompts'] : []), ...(resources ? ['resources'] : [])];
  return [
    ...kinds.map((kind) => write(`notifications/${kind}/list_changed`, undefined)),
    ...uris.map((uri) => write('notifications/resources/updated', JSON.stringify({ uri }))),
  ];
}

/** The params of `subscriptions/listen` (JSON), which its acknowledgement repeats. */
export function writeFilter({ tools, prompts, resources, uris, tasks }: ListenFilter): string {
  const notifications = {
    ...(tools ? { toolsListChanged: true } : {}),
    ...(prompts ? { promptsListChanged: true } : {}),
    ...(resources ? { resourcesListChanged: true } : {}),
    ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
    ...(tasks.length > 0 ? { taskIds: tasks } : {}),
  };
  return JSON.stringify({ notifications });
}

/** As a server of 2026-07-28 says what a stream is about, without the id of the subscription. */
export function writeAcknowledgement(filter: ListenFilter): TargetMessage {
  return write(acknowledged, writeFilter(filter));
}

/** The method of the notification that a stream begins with. */
export const acknowledged = 'notifications/subscriptions/acknowledged';
