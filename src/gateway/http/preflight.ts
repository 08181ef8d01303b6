// Recognises CORS preflights of browsers (Fetch standard).
import type { RawHeaders } from './exchange.ts';
import { findHeader } from './headers.ts';

/** The method that a CORS preflight asks for; undefined when the request is not a preflight. */
export function readPreflightMethod(method: string, headers: RawHeaders): string | undefined {
  if (method !== 'OPTIONS' || findHeader(headers, 'origin') === undefined) return undefined;
  return findHeader(headers, 'access-control-request-method');
}
