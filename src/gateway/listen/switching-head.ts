// The head of an answer that switches protocols (RFC 9110 section 7.8).
import { appendField, finishHead, formatStatusLine } from '../../http1/message-head.ts';
import type { RawHeaders } from '../../http1/raw-headers.ts';

/** Drops the connection and body fields of `headers`, and adds Upgrade if it is missing. Throws an UnsendableHeadError. */
export function formatSwitchingHead(status: number, headers: RawHeaders, protocol: string): string {
  let head = `${formatStatusLine(status)}\r\nConnection: Upgrade`;
  let isNamed = false;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    const lower = name.toLowerCase();
    if (lower === 'connection' || lower === 'content-length' || lower === 'transfer-encoding') continue;
    if (lower === 'upgrade') isNamed = true;
    head = appendField(head, name, headers[index + 1]!);
  }
  return finishHead(isNamed ? head : appendField(head, 'Upgrade', protocol));
}
