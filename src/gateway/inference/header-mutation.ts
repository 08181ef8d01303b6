// Applies a picker's changes to header fields. A picker cannot change framing and connection fields, nor the host of a request.
import {
  type HeaderValue,
  HeaderValueOption_HeaderAppendAction as AppendAction,
} from '../../ir/gen/envoy/config/core/v3/base_pb.ts';
import type { HeaderMutation } from '../../ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import { findUnsendableHeader } from '../http/headers.ts';
import type { RawHeaders } from '../http/exchange.ts';

/** Header fields after a change, or why they cannot be changed like that. */
type MutatedHeaders =
  | {
      readonly ok: true;
      readonly headers: RawHeaders;
      /** Pseudo fields that were set (`:path`, `:status`), and `content-length`; null: that was removed. */
      readonly special: ReadonlyMap<string, string | null>;
    }
  | { readonly ok: false; readonly detail: string };

// Envoy ignores them, too.
const untouchable = new Set([
  'host',
  ':authority',
  ':scheme',
  ':method',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
]);
const special = new Set([':path', ':status', 'content-length']);

/** Applies a change. Fields that cannot be changed stay as they are. */
export function mutateHeaders(headers: RawHeaders, mutation: HeaderMutation | undefined): MutatedHeaders {
  const found = new Map<string, string | null>();
  if (mutation === undefined) return { ok: true, headers, special: found };
  let fields = [...headers];
  for (const removed of mutation.removeHeaders) {
    const name = removed.toLowerCase();
    if (name === 'content-length') found.set(name, null);
    else if (!untouchable.has(name) && !name.startsWith(':')) fields = without(fields, name);
  }
  // The last value of a name counts, as in Envoy, but for the one field that cannot be joined: pickers that repeat all fields would lose all but one.
  const replaced = new Set<string>();
  for (const { header, append, appendAction } of mutation.setHeaders) {
    if (header === undefined) continue;
    const name = header.key.toLowerCase();
    if (untouchable.has(name)) continue;
    const value = readHeaderValue(header);
    if (special.has(name)) {
      found.set(name, value);
      continue;
    }
    if (findUnsendableHeader([name, value]) !== undefined)
      return { ok: false, detail: `it set a header field ${JSON.stringify(name.slice(0, 100))} that cannot be sent` };
    const isThere = has(fields, name);
    if (append !== true && !(name === 'set-cookie' && replaced.has(name))) {
      if (appendAction === AppendAction.ADD_IF_ABSENT && isThere) continue;
      if (appendAction === AppendAction.OVERWRITE_IF_EXISTS && !isThere) continue;
      if (isThere) fields = without(fields, name);
    }
    replaced.add(name);
    fields.push(name, value);
  }
  return { ok: true, headers: fields, special: found };
}

/** A value as the gateway writes values: one character a byte. */
export function readHeaderValue({ value, rawValue }: HeaderValue): string {
  return rawValue.length > 0 ? Buffer.from(rawValue).toString('latin1') : value;
}

/** Null: it is no length. */
export function readLength(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function has(fields: readonly string[], name: string): boolean {
  return fields.some((field, index) => index % 2 === 0 && field.toLowerCase() === name);
}

function without(fields: readonly string[], name: string): string[] {
  const kept: string[] = [];
  for (let i = 0; i < fields.length; i += 2)
    if (fields[i]!.toLowerCase() !== name) kept.push(fields[i]!, fields[i + 1]!);
  return kept;
}
