// The head of a request as it goes to an HTTP/1.1 upstream, and how its body is framed (RFC 9112 sections 3 and 6).
import { appendField, appendFields, finishHead, formatRequestLine } from '../../../http1/message-head.ts';
import { chunkedBody } from '../../../http1/framing.ts';
import type { UpstreamRequest } from './upstream-call.ts';

/** Methods of which a server may expect a body: that there is none is said (RFC 9110 section 8.6). */
const methodsWithBody: ReadonlySet<string> = new Set(['PATCH', 'POST', 'PROPFIND', 'PROPPATCH', 'PUT', 'QUERY']);

/** Bytes of the body; `chunkedBody` when they are not known, or when trailers may follow them. */
export function readBodyLength({ hasBody, contentLength, wantsTrailers }: UpstreamRequest): number {
  if (!hasBody) return 0;
  return wantsTrailers ? chunkedBody : (contentLength ?? chunkedBody);
}

/** The text from the request line to the empty line. Throws an UnsendableHeadError. */
export function formatUpstreamHead(request: UpstreamRequest, bodyLength: number): string {
  const { method, target, host, headers, hasBody, upgrade, sentFields } = request;
  const start = appendField(formatRequestLine(method, target), 'host', host);
  let head = sentFields === undefined ? appendFields(start, headers) : start + sentFields.format(headers);
  if (upgrade !== undefined) head = appendField(`${head}\r\nconnection: upgrade`, 'upgrade', upgrade);
  if (bodyLength === chunkedBody) head += '\r\ntransfer-encoding: chunked';
  else if (hasBody || methodsWithBody.has(method)) head += `\r\ncontent-length: ${bodyLength}`;
  return finishHead(head);
}
