// The parts of a policy's `resourceMetadata` that clients get.
import { isJsonObject } from '../../../base/json-object.ts';
import type { McpAuthentication } from '../../../ir/gen/config_pb.ts';

/** The scopes that the policy names and that clients get. */
export function listNamedScopes({ requiredScopes, resourceMetadata }: McpAuthentication): readonly string[] {
  return listScopes(requiredScopes, readConfiguredMembers(resourceMetadata)['scopes_supported']);
}

/** The configured scopes and all required ones, which are supported whether the operator lists them or not. */
export function listScopes(required: readonly string[], configured: unknown): readonly string[] {
  const listed = Array.isArray(configured) ? configured.filter((scope) => typeof scope === 'string') : [];
  return [...new Set([...required, ...listed])];
}

const ownMembers: ReadonlySet<string> = new Set(['resource', 'authorization_servers']);

/** The configured members, without those that the gateway sets itself. */
export function readConfiguredMembers(text: string): Readonly<Record<string, unknown>> {
  if (text === '') return {};
  const members: unknown = JSON.parse(text);
  if (!isJsonObject(members)) return {};
  return Object.fromEntries(Object.entries(members).filter(([name]) => !ownMembers.has(name)));
}
