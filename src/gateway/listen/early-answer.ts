// Answers to requests that never became an Exchange: malformed, too large, too late, or past the connection limit.
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { getHttp } from '../../base/node-parts.ts';
import { formatErrorBody } from '../request/answer.ts';
import { type Reason, reasons } from '../http/reasons.ts';
import type { RawHeaders } from '../http/exchange.ts';
import type { PortContext } from './port-context.ts';

/** An answer ready to be put into whatever framing the connection has. */
export interface EarlyAnswer {
  readonly status: number;
  readonly headers: RawHeaders;
  readonly body: string;
}

/** How long a refused client may take to read its answer before the connection is cut. */
const lingerMs = 1_000;

/** Makes the answer for a refused request, and reports it to the log and the metrics. */
export function refuseRequest(
  context: PortContext,
  remoteAddress: string,
  reason: Reason,
  detail: string,
): EarlyAnswer {
  const requestId = randomUUID();
  const { bindKey } = context;
  context.log.debug({ bindKey, remoteAddress, reason, detail, requestId }, 'request refused');
  context.onEvent({ type: 'request-refused', bindKey, remoteAddress, reason, requestId, detail });
  const definition = reasons[reason];
  const body = formatErrorBody(reason, definition.description, requestId);
  return {
    status: definition.status,
    headers: [
      'content-type',
      'application/json',
      'content-length',
      String(Buffer.byteLength(body)),
      'cache-control',
      'no-store',
      'x-request-id',
      requestId,
    ],
    body,
  };
}

/** The answer as HTTP/1.1 on the wire, announcing that the connection closes. */
export function formatEarlyAnswer(answer: EarlyAnswer): string {
  let head = `HTTP/1.1 ${answer.status} ${getHttp().STATUS_CODES[answer.status] ?? ''}\r\n`;
  for (let index = 0; index < answer.headers.length; index += 2) {
    head += `${answer.headers[index]}: ${answer.headers[index + 1]}\r\n`;
  }
  return `${head}date: ${new Date().toUTCString()}\r\nconnection: close\r\n\r\n${answer.body}`;
}

/**
 * Sends the last bytes on a connection and closes it. Reading goes on for a moment: closing with unread bytes
 * makes the kernel send a reset, which can destroy the answer before the client reads it.
 */
export function endConnection(socket: Socket, lastBytes: string | Uint8Array): void {
  if (socket.destroyed) return;
  socket.end(lastBytes);
  socket.resume();
  destroyAfter(socket, lingerMs);
}

/** Destroys the socket unless it closes by itself within the time. */
export function destroyAfter(socket: Socket, milliseconds: number): void {
  const timer = setTimeout(() => socket.destroy(), milliseconds);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
}
