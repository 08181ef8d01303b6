// Converts header fields for HTTP/2 (RFC 9113, 8.2): lower case, valid, and without the connection-specific fields of HTTP/1.
import type { OutgoingHttpHeaders } from 'node:http2';
import { getHttp } from '../../base/node-parts.ts';
import type { RawHeaders } from '../http/exchange.ts';

const connectionFields = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** The fields in the form of HTTP/2, without those in `except`. Throws node's error for a name or value that cannot be sent. */
export function readHttp2Fields(headers: RawHeaders, except: readonly string[]): string[] {
  const { validateHeaderName, validateHeaderValue } = getHttp();
  const fields: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase();
    const value = headers[index + 1]!;
    if (connectionFields.has(name) || except.includes(name)) continue;
    // Node joins fields with NUL bytes: a value with a NUL would become two fields.
    validateHeaderName(name);
    validateHeaderValue(name, value);
    fields.push(name, value);
  }
  return fields;
}

/** The fields as an object, for the node functions that take no list: trailers and informational heads. */
export function groupFields(fields: RawHeaders): OutgoingHttpHeaders {
  const grouped = new Map<string, string[]>();
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index]!;
    const values = grouped.get(name);
    if (values === undefined) grouped.set(name, [fields[index + 1]!]);
    else values.push(fields[index + 1]!);
  }
  return Object.fromEntries(grouped);
}
