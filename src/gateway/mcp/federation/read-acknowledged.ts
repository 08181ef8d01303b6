// What a server of 2026-07-28 says that it will tell of: it may take on less than it was asked for.
import { isJsonObject, type JsonObject } from '../../../base/json-object.ts';

/** The resources in `notifications/subscriptions/acknowledged`. */
export function readAcknowledgedUris(text: string): readonly unknown[] {
  return readAcknowledged(text, 'resourceSubscriptions');
}

/** The tasks (extension for tasks). */
export function readAcknowledgedTasks(text: string): readonly unknown[] {
  return readAcknowledged(text, 'taskIds');
}

function readAcknowledged(text: string, member: 'resourceSubscriptions' | 'taskIds'): readonly unknown[] {
  const { params } = JSON.parse(text) as JsonObject;
  const notifications = isJsonObject(params) ? params['notifications'] : undefined;
  const granted = isJsonObject(notifications) ? notifications[member] : undefined;
  return Array.isArray(granted) ? granted : [];
}
