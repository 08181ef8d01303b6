// Header field names and values in filters and matches (RFC 9110, sections 5.1 and 5.5).
import * as z from 'zod';

/** A header field name: an RFC 9110 token. */
export const headerNameSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$/, "must be a header name: letters, digits and !#$%&'*+-.^_`|~ only");

/**
 * The name as CGI-style servers see it, which distinguish neither upper from lower case nor "_" from "-":
 * two names with the same form are one header to them.
 */
export function foldHeaderName(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

/** The same in a CEL rule. */
export function foldHeaderNameInCel(expression: string): string {
  return `${expression}.lowerAscii().replace('_', '-')`;
}

/** Headers that the gateway writes itself, or that say something about the request rather than about who sent it. */
export const reservedHeaders: readonly string[] = [
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-gateway-round',
  'x-request-id',
];
