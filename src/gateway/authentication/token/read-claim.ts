// Finds a claim by the name that a policy gives.
import { isJsonObject, type JsonObject } from '../../../base/json-object.ts';

/** The claim of exactly this name, which may have dots in it (`https://example.com/roles`); otherwise a dot reaches into objects. */
export function readClaim(claims: JsonObject, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const step of name.split('.')) {
    if (!isJsonObject(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}
