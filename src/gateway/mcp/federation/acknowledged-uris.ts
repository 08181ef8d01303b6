// What a server of 2026-07-28 says that it will tell of: it may take on less than it was asked for.
import { isJsonObject, type JsonObject } from '../../../base/json-object.ts';

/** The resources in `notifications/subscriptions/acknowledged`. */
export function readAcknowledgedUris(text: string): readonly unknown[] {
  const { params } = JSON.parse(text) as JsonObject;
  const notifications = isJsonObject(params) ? params['notifications'] : undefined;
  const uris = isJsonObject(notifications) ? notifications['resourceSubscriptions'] : undefined;
  return Array.isArray(uris) ? uris : [];
}
