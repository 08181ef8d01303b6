// JSON-RPC answers that the gateway sends in place of the server.
import { rememberTexts } from '../../../base/text-memory.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import type { MessageId } from '../read/message.ts';

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: Readonly<Record<string, string>>;
}

/** The JSON text of an error response. The id is null when the message could not be read. */
export function formatRpcError(id: MessageId | undefined, error: RpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error });
}

/** An answer with this JSON text: as JSON, or as one event for a client that takes nothing else. */
export function formatRpcAnswer(
  headers: RawHeaders,
  json: string,
): { readonly headers: RawHeaders; readonly body: string } {
  if (takesEventsOnly(headers))
    return {
      headers: ['content-type', 'text/event-stream', 'cache-control', 'no-store'],
      body: `event: message\ndata: ${json}\n\n`,
    };
  return { headers: ['content-type', 'application/json', 'cache-control', 'no-store'], body: json };
}

function takesEventsOnly(headers: RawHeaders): boolean {
  let takesEvents = false;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.length !== 'accept'.length || headers[i]!.toLowerCase() !== 'accept') continue;
    const accepted = readAccept(headers[i + 1]!);
    if (accepted === 'json') return false;
    if (accepted === 'events') takesEvents = true;
  }
  return takesEvents;
}

/** What a client takes of the two; `json` if it takes both. Clients say the same every time. */
const readAccept = rememberTexts<'json' | 'events' | 'neither'>((value) => {
  let takesEvents = false;
  for (const entry of value.split(',')) {
    const [type = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
    if (parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) continue;
    if (type === 'application/json' || type === 'application/*' || type === '*/*') return 'json';
    if (type === 'text/event-stream' || type === 'text/*') takesEvents = true;
  }
  return takesEvents ? 'events' : 'neither';
});
