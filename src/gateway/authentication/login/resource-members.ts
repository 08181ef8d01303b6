// What a policy says about its resource (`resourceMetadata`), as far as clients are told.
import { isJsonObject } from '../../../base/json-object.ts';
import type { McpAuthentication } from '../../../ir/gen/config_pb.ts';

/** The scopes that the policy names: those that clients are told of. */
export function listNamedScopes({ requiredScopes, resourceMetadata }: McpAuthentication): readonly string[] {
  return listScopes(requiredScopes, readConfiguredMembers(resourceMetadata)['scopes_supported']);
}

/** The scopes that a token must have are supported whether the operator lists them or not. Nothing else is added. */
export function listScopes(required: readonly string[], configured: unknown): readonly string[] {
  const listed = Array.isArray(configured) ? configured.filter((scope) => typeof scope === 'string') : [];
  return [...new Set([...required, ...listed])];
}

const ownMembers: ReadonlySet<string> = new Set(['resource', 'authorization_servers']);

/** The members as they are written, without those that the gateway knows better. */
export function readConfiguredMembers(text: string): Readonly<Record<string, unknown>> {
  if (text === '') return {};
  const members: unknown = JSON.parse(text);
  if (!isJsonObject(members)) return {};
  return Object.fromEntries(Object.entries(members).filter(([name]) => !ownMembers.has(name)));
}
