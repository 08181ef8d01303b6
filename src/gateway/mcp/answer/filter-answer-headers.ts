// Header fields of an answer whose body the gateway may change.
import { findHeader, withoutFields } from '../../http/headers.ts';
import type { RawHeaders } from '../../http/exchange.ts';

// They describe the bytes as the upstream sent them (RFC 9110 section 8, RFC 9530).
const bodyFields = new Set([
  'content-length',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
  'etag',
  'accept-ranges',
  'content-range',
]);

/** The headers without fields that describe only the upstream's body. */
export function withoutBodyFields(headers: RawHeaders): string[] {
  return withoutFields(headers, bodyFields);
}

/** The type of the content in lower case, without parameters; '' when there is none, undefined when there are several. */
export function readContentType(headers: RawHeaders): string | undefined {
  let found: string | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.toLowerCase() !== 'content-type') continue;
    if (found !== undefined) return undefined;
    found = headers[i + 1]!.split(';', 1)[0]!.trim().toLowerCase();
  }
  return found ?? '';
}

/** Whether the body is compressed or otherwise encoded. */
export function hasContentEncoding(headers: RawHeaders): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.toLowerCase() !== 'content-encoding') continue;
    const value = headers[i + 1]!.trim().toLowerCase();
    if (value !== '' && value !== 'identity') return true;
  }
  return false;
}

/** As the upstream announced it; undefined when it did not. */
export function readContentLength(headers: RawHeaders): number | undefined {
  const length = findHeader(headers, 'content-length');
  return length === undefined ? undefined : Number(length);
}
