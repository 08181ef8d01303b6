// W3C Trace Context (https://www.w3.org/TR/trace-context/): which trace a request belongs to, read from its headers.
import { randomBytes } from 'node:crypto';
import type { RawHeaders } from './exchange.ts';

/** A parsed traceparent. */
interface TraceParent {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hexadecimal digits, not all zero. */
  readonly spanId: string;
  readonly flags: number;
}

/** The trace context in the client's headers. */
type TraceContext =
  /** No traceparent: there is no trace, and a tracestate alone means nothing. */
  | { readonly kind: 'none' }
  /** A traceparent that cannot be read: the trace starts anew, and the tracestate is not passed on. */
  | { readonly kind: 'invalid' }
  | {
      readonly kind: 'valid';
      /** As received, to be passed on untouched by a gateway that takes no part in the trace. */
      readonly header: string;
      readonly parent: TraceParent;
      /** All tracestate fields as one; undefined when there is none or it breaks the grammar. */
      readonly tracestate: string | undefined;
    };

/** Bit 0 of trace-flags: the caller may have recorded the trace. */
const sampledFlag = 0x01;
/** Bit 1 (Level 2): at least the last 7 bytes of the trace id are random. */
const randomFlag = 0x02;

const zeroTraceId = '0'.repeat(32);
const zeroSpanId = '0'.repeat(16);
/** Members of tracestate that a receiver must accept; the specification allows dropping longer lists. */
const maxStateMembers = 32;
const maxStateLength = 8_192;

const none: TraceContext = { kind: 'none' };
const invalid: TraceContext = { kind: 'invalid' };

/** Reads the trace context of a request. Two traceparent fields are as invalid as a malformed one. */
export function readTraceContext(headers: RawHeaders): TraceContext {
  let header: string | undefined;
  let state: string | undefined;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]!;
    if (name.length === 11 && name.toLowerCase() === 'traceparent') {
      if (header !== undefined) return invalid;
      header = headers[index + 1]!;
    } else if (name.length === 10 && name.toLowerCase() === 'tracestate') {
      state = state === undefined ? headers[index + 1]! : `${state},${headers[index + 1]!}`;
    }
  }
  if (header === undefined) return none;
  const trimmed = header.trim();
  const parent = parseTraceParent(trimmed);
  if (parent === undefined) return invalid;
  return {
    kind: 'valid',
    header: trimmed,
    parent,
    tracestate: state === undefined ? undefined : checkTraceState(state),
  };
}

/** Parses a traceparent; of a later version only the fields of version 00 are read. */
export function parseTraceParent(text: string): TraceParent | undefined {
  const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text);
  if (match === null) return undefined;
  const [, version, traceId, spanId, flags, rest] = match;
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (traceId === zeroTraceId || spanId === zeroSpanId) return undefined;
  return { traceId: traceId!, spanId: spanId!, flags: Number.parseInt(flags!, 16) };
}

/** Writes a traceparent of version 00. Flags that version does not define are cleared. */
export function formatTraceParent(parent: TraceParent): string {
  const flags = parent.flags & (sampledFlag | randomFlag);
  return `00-${parent.traceId}-${parent.spanId}-${flags.toString(16).padStart(2, '0')}`;
}

/** Starts a new trace that is not recorded. */
export function createTraceParent(): TraceParent {
  const bytes = randomBytes(24);
  const traceId = bytes.toString('hex', 0, 16);
  const spanId = bytes.toString('hex', 16, 24);
  // A chance of one in 2^64, but every receiver would refuse an id of zeros.
  if (traceId === zeroTraceId || spanId === zeroSpanId) return createTraceParent();
  return { traceId, spanId, flags: randomFlag };
}

/** Returns the list if it is valid: unique keys, printable values, at most 32 members. */
function checkTraceState(text: string): string | undefined {
  if (text.length > maxStateLength) return undefined;
  const keys = new Set<string>();
  const members: string[] = [];
  for (const part of text.split(',')) {
    const member = part.replaceAll(/^[ \t]+|[ \t]+$/g, '');
    // Empty members are allowed, so that fields can be joined and split freely.
    if (member === '') continue;
    const match =
      /^([a-z0-9][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=([\u0020-\u002b\u002d-\u003c\u003e-\u007e]{0,255}[\u0021-\u002b\u002d-\u003c\u003e-\u007e])$/.exec(
        member,
      );
    if (match === null || keys.has(match[1]!)) return undefined;
    keys.add(match[1]!);
    members.push(member);
  }
  return members.length === 0 || members.length > maxStateMembers ? undefined : members.join(',');
}

/** The traceparent that goes upstream when the gateway itself takes no part in the trace: the client's if it is valid. */
export function passTraceParent(headers: RawHeaders): string | undefined {
  const context = readTraceContext(headers);
  return context.kind === 'valid' ? context.header : undefined;
}

/**
 * Request headers with this traceparent in place of the client's. The client's tracestate stays only beside a traceparent
 * that continues the client's trace.
 */
export function replaceTraceHeaders(headers: RawHeaders, traceparent: string | undefined): RawHeaders {
  const context = readTraceContext(headers);
  if (context.kind === 'none' && traceparent === undefined && !hasTraceState(headers)) return headers;
  const kept: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (!isTraceHeader(headers[index]!)) kept.push(headers[index]!, headers[index + 1]!);
  }
  if (traceparent === undefined) return kept;
  kept.push('traceparent', traceparent);
  if (context.kind === 'valid' && context.tracestate !== undefined) kept.push('tracestate', context.tracestate);
  return kept;
}

function isTraceHeader(name: string): boolean {
  if (name.length !== 11 && name.length !== 10) return false;
  const lower = name.toLowerCase();
  return lower === 'traceparent' || lower === 'tracestate';
}

function hasTraceState(headers: RawHeaders): boolean {
  for (let index = 0; index < headers.length; index += 2) {
    if (isTraceHeader(headers[index]!)) return true;
  }
  return false;
}
