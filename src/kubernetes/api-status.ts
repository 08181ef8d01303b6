// metav1.Status: an error of the API server, in a response or in a watch event.
import type { ApiStatus } from './client.ts';
import { isJsonObject } from '../base/json-object.ts';

const reasonsByCode: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

const maxMessageLength = 1_000;

/** Reads the Status in a response. Another body (a proxy's page, plain text) gets the reason for its code and the start of its text. */
export function readAnswerStatus(code: number, body: string, retryAfter: string | undefined): ApiStatus {
  const fromHeader = readSeconds(retryAfter);
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    parsed = undefined;
  }
  if (isJsonObject(parsed) && parsed['kind'] === 'Status') {
    const status = readStatus(parsed, code);
    return { ...status, retryAfterSeconds: fromHeader ?? status.retryAfterSeconds };
  }
  const firstLine = body.trim().split('\n', 1)[0] ?? '';
  return {
    code,
    reason: reasonsByCode[code] ?? 'Unknown',
    message:
      firstLine === ''
        ? `the API server answered ${code}`
        : `the API server answered ${code}: ${firstLine.slice(0, 200)}`,
    retryAfterSeconds: fromHeader,
  };
}

/** Reads a Status object. */
export function readStatus(value: unknown, fallbackCode = 500): ApiStatus {
  const status = isJsonObject(value) ? value : {};
  const code = typeof status['code'] === 'number' ? status['code'] : fallbackCode;
  const details = isJsonObject(status['details']) ? status['details'] : {};
  const { retryAfterSeconds, causes } = details;
  const isNamespaceTerminating =
    Array.isArray(causes) && causes.some((cause) => isJsonObject(cause) && cause['reason'] === 'NamespaceTerminating');
  return {
    code,
    reason: typeof status['reason'] === 'string' ? status['reason'] : (reasonsByCode[code] ?? 'Unknown'),
    message:
      typeof status['message'] === 'string'
        ? status['message'].slice(0, maxMessageLength)
        : `the API server answered ${code}`,
    retryAfterSeconds: typeof retryAfterSeconds === 'number' && retryAfterSeconds > 0 ? retryAfterSeconds : undefined,
    ...(isNamespaceTerminating && { isNamespaceTerminating }),
  };
}

function readSeconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,5}$/.test(header.trim()) ? Number(header) : undefined;
}
