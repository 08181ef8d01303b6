// The HTTP+SSE transport of MCP 2024-11-05: a GET opens an event stream whose first event, `endpoint`, announces the URL that the client posts
// its messages to. That URL is the upstream's own; through the gateway it must lead back to the gateway and from there to the announced path.
//
// `endpoint` data `/messages?sessionId=1` becomes `/mcp?mcp-endpoint=TAG.TARGET.MAC`:
// - The path is the public one of the GET, and the GET's query is kept, so the POST meets the same route and the same policies.
// - TARGET is the announced path and query, TAG the endpoint that announced it (the session lives in that process and nowhere else).
// - MAC signs both, and the backend. Without it a client could write any path of the upstream there and bypass the paths that the
//   routes allow; with it, only paths that the server itself announced can be reached. The gateway keeps no state: every process with the
//   same key can serve the POST. Where sessions are bound to a user, session-binding.ts seals all of it instead. Why not a table, encryption or an unsigned path: docs/adr/0006-legacy-sse-endpoints.md.
// - Only URLs of the upstream's own origin are accepted. Any other URL ends the stream: an upstream must not send clients and their
//   credentials to another host.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { RawHeaders } from '../../http/exchange.ts';
import type { RequestContext } from '../../request/request-context.ts';

const parameter = 'mcp-endpoint';
const maxEventBytes = 65_536;
const macBytes = 16;

type MessageTarget =
  | { readonly kind: 'none' }
  | { readonly kind: 'valid'; readonly target: string; readonly tag: string }
  | { readonly kind: 'invalid' };

/** Proves that a target is one that the server itself announced. */
export interface MessageSigner {
  /** The value of the parameter: characters of a query, without `&`. */
  sign(tag: string, target: string): string;
  /** Undefined when the value does not come from this signer. */
  open(value: string): { readonly tag: string; readonly target: string } | undefined;
}

/** A signer for all users of a backend: sessions are not bound to one. */
export function createMessageSigner(key: Uint8Array, backendKey: string): MessageSigner {
  return {
    sign(tag, target) {
      const mac = sign(key, backendKey, tag, target).toString('base64url');
      return `${tag}.${Buffer.from(target, 'latin1').toString('base64url')}.${mac}`;
    },
    open(value) {
      const [tag, encoded, mac, ...rest] = value.split('.');
      if (tag === undefined || encoded === undefined || mac === undefined || rest.length > 0) return undefined;
      const target = Buffer.from(encoded, 'base64url').toString('latin1');
      const expected = sign(key, backendKey, tag, target);
      const given = Buffer.from(mac, 'base64url');
      return given.length === expected.length && timingSafeEqual(given, expected) ? { tag, target } : undefined;
    },
  };
}

/** Reads where a POST is meant to go from its query. */
export function readMessageTarget(query: string, signer: MessageSigner): MessageTarget {
  const values = splitQuery(query).filter((part) => part.startsWith(`${parameter}=`));
  if (values.length === 0) return { kind: 'none' };
  const opened = values.length > 1 ? undefined : signer.open(values[0]!.slice(parameter.length + 1));
  return opened === undefined ? { kind: 'invalid' } : { kind: 'valid', ...opened };
}

/** The URL that the client gets in place of the announced one: a path and query, to be read against the URL of the GET. */
export function writeMessageUrl(input: {
  readonly publicPath: string;
  readonly query: string;
  readonly target: string;
  readonly tag: string;
  readonly signer: MessageSigner;
}): string {
  const { publicPath, query, target, tag, signer } = input;
  const kept = splitQuery(query).filter((part) => part !== '' && !part.startsWith(`${parameter}=`));
  return `${publicPath}?${[...kept, `${parameter}=${signer.sign(tag, target)}`].join('&')}`;
}

/** The path and query of an announced URL; undefined when it is not a URL of one of these hosts. */
export function readAnnouncedTarget(
  announced: string,
  sseTarget: string,
  hosts: readonly string[],
): string | undefined {
  let url: URL;
  const base = `http://${hosts[0] ?? ''}`;
  try {
    url = new URL(announced, new URL(sseTarget, base));
  } catch {
    return undefined;
  }
  if ((url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '' || url.password !== '')
    return undefined;
  // Compared with the scheme's default port left out on both sides.
  const known = hosts.some((host) => URL.parse(`${url.protocol}//${host}`)?.host === url.host);
  return known ? url.pathname + url.search : undefined;
}

interface LegacySseInput {
  readonly context: Pick<RequestContext, 'path' | 'query'>;
  /** As it goes upstream; `publicPath` is that by which clients know the backend. */
  readonly plan: { readonly target: string; readonly host: string; readonly publicPath: string };
  readonly status: number;
  readonly headers: RawHeaders;
  readonly endpoint: { readonly tag: string; readonly pool: { readonly name: string } };
  readonly signer: MessageSigner;
}

/** The rewriter for an answer to a GET; undefined when the answer is not an event stream. */
export function startLegacySse(input: LegacySseInput): LegacySseRewriter | undefined {
  const { context, plan, endpoint } = input;
  if (input.status !== 200) return undefined;
  let isStream = false;
  for (let i = 0; i < input.headers.length; i += 2) {
    if (
      input.headers[i]!.toLowerCase() === 'content-type' &&
      /^text\/event-stream\s*(?:;|$)/i.test(input.headers[i + 1]!)
    )
      isStream = true;
  }
  if (!isStream) return undefined;
  return new LegacySseRewriter((announced) => {
    const target = readAnnouncedTarget(announced, plan.target, [plan.host, endpoint.pool.name]);
    if (target === undefined) return undefined;
    return writeMessageUrl({
      publicPath: plan.publicPath === '' ? context.path : plan.publicPath,
      query: context.query,
      target,
      tag: endpoint.tag,
      signer: input.signer,
    });
  });
}

type Rewritten = { readonly ok: true; readonly bytes: Uint8Array } | { readonly ok: false; readonly detail: string };

const lf = 0x0a;
const cr = 0x0d;

/**
 * Rewrites the data of the first `endpoint` event of a stream, independent of chunk borders. Events before it are buffered until
 * complete; all bytes after it pass unchanged and at once. A second announcement ends the stream: clients would follow it, and
 * an upstream could send them to another route of the gateway. */
export class LegacySseRewriter {
  readonly #rewrite: (announced: string) => string | undefined;
  #pending: Uint8Array = new Uint8Array(0);
  /** Where the current line begins, and up to where it was scanned. */
  #lineStart = 0;
  #scanned = 0;
  #atStreamStart = true;
  #afterAnnouncement: EventNameScanner | undefined;

  /** `rewrite` gives the URL in place of the announced one, undefined when that one is not acceptable. */
  constructor(rewrite: (announced: string) => string | undefined) {
    this.#rewrite = rewrite;
  }

  /** The length changes; an event stream has none by rights. */
  prepareHeaders(headers: RawHeaders): RawHeaders {
    const kept: string[] = [];
    for (let i = 0; i < headers.length; i += 2) {
      if (headers[i]!.toLowerCase() !== 'content-length') kept.push(headers[i]!, headers[i + 1]!);
    }
    return kept;
  }

  push(chunk: Uint8Array): Rewritten {
    if (this.#afterAnnouncement !== undefined) return this.#watch(chunk, chunk);
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const passed: Uint8Array[] = [];
    for (;;) {
      const end = this.#findEventEnd();
      if (end === -1) break;
      const event = this.#pending.subarray(0, end);
      this.#pending = this.#pending.subarray(end);
      this.#lineStart = 0;
      this.#scanned = 0;
      const lines = splitLines(event);
      const announced = this.#readEndpointEvent(lines);
      if (announced === undefined) {
        passed.push(event);
        continue;
      }
      const url = this.#rewrite(Buffer.from(announced, 'latin1').toString('utf8'));
      if (url === undefined)
        return { ok: false, detail: 'the upstream announced a message endpoint of another origin' };
      this.#afterAnnouncement = new EventNameScanner();
      const rest = this.flush();
      return this.#watch(rest, Buffer.concat([...passed, replaceData(lines, url), rest]));
    }
    if (this.#pending.length > maxEventBytes)
      return { ok: false, detail: `an event before the endpoint event is larger than ${maxEventBytes} bytes` };
    return { ok: true, bytes: passed.length === 1 ? passed[0]! : Buffer.concat(passed) };
  }

  #watch(seen: Uint8Array, bytes: Uint8Array): Rewritten {
    if (this.#afterAnnouncement!.findsEndpoint(seen))
      return { ok: false, detail: 'the upstream announced a second message endpoint' };
    return { ok: true, bytes };
  }

  /** What is left when the stream ends: an event without its blank line, which clients ignore. */
  flush(): Uint8Array {
    const rest = this.#pending;
    this.#pending = new Uint8Array(0);
    return rest;
  }

  /** The index after the blank line that ends the first event; -1 when there is none yet. */
  #findEventEnd(): number {
    const bytes = this.#pending;
    for (let i = this.#scanned; i < bytes.length; i++) {
      const byte = bytes[i]!;
      if (byte !== lf && byte !== cr) continue;
      // The second half of a CRLF, which may have come in another chunk.
      if (byte === lf && i > 0 && bytes[i - 1] === cr && this.#lineStart === i) {
        this.#lineStart = i + 1;
        continue;
      }
      const isBlank = i === this.#lineStart;
      this.#lineStart = i + 1;
      // A lone CR ends the line as well. If its LF is still to come it passes with what follows.
      if (isBlank) return byte === cr && bytes[i + 1] === lf ? i + 2 : i + 1;
    }
    this.#scanned = bytes.length;
    return -1;
  }

  #readEndpointEvent(lines: readonly string[]): string | undefined {
    let type = '';
    let data: string | undefined;
    for (let line of lines) {
      if (this.#atStreamStart) {
        this.#atStreamStart = false;
        if (line.startsWith('\u00ef\u00bb\u00bf')) line = line.slice(3);
      }
      const field = readField(line);
      if (field.name === 'event') type = field.value;
      else if (field.name === 'data') data = data === undefined ? field.value : `${data}\n${field.value}`;
    }
    return type === 'endpoint' ? data : undefined;
  }
}

// Lines with their ends, byte for byte (latin1 stands for bytes here).
function splitLines(event: Uint8Array): string[] {
  return (
    Buffer.from(event.buffer, event.byteOffset, event.length)
      .toString('latin1')
      .match(/[^\r\n]*(?:\r\n|\r|\n)/g) ?? []
  );
}

function readField(line: string): { name: string; value: string } {
  const text = line.replace(/[\r\n]+$/, '');
  const colon = text.indexOf(':');
  if (colon === -1) return { name: text, value: '' };
  const value = text.slice(colon + 1);
  return { name: text.slice(0, colon), value: value.startsWith(' ') ? value.slice(1) : value };
}

function replaceData(lines: readonly string[], url: string): Uint8Array {
  let replaced = false;
  let text = '';
  for (const line of lines) {
    if (readField(line.replace(/^\u00ef\u00bb\u00bf/, '')).name !== 'data') {
      text += line;
    } else if (!replaced) {
      replaced = true;
      text += `data: ${url}${/[\r\n]+$/.exec(line)![0]}`;
    }
  }
  return Buffer.from(text, 'latin1');
}

function splitQuery(query: string): string[] {
  return query.replace(/^\?/, '').split('&');
}

function sign(key: Uint8Array, backendKey: string, tag: string, target: string): Buffer {
  return createHmac('sha256', key)
    .update(`legacy-sse\0${backendKey}\0${tag}\0${target}`, 'latin1')
    .digest()
    .subarray(0, macBytes);
}

/** Looks for the line `event: endpoint` in a stream without delaying it. */
class EventNameScanner {
  /** The beginning of the current line; longer than any line that matters, it only counts. */
  #line = '';

  /** True when such a line ends in this chunk. The client acts on it only after a blank line, which it never gets. */
  findsEndpoint(chunk: Uint8Array): boolean {
    let start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (byte !== lf && byte !== cr) continue;
      this.#add(chunk, start, i);
      const field = readField(this.#line);
      if (field.name === 'event' && field.value === 'endpoint') return true;
      this.#line = '';
      start = i + 1;
    }
    this.#add(chunk, start, chunk.length);
    return false;
  }

  #add(chunk: Uint8Array, start: number, end: number): void {
    const room = longestEventLine - this.#line.length;
    if (room > 0 && end > start)
      this.#line += Buffer.from(chunk.subarray(start, Math.min(end, start + room))).toString('latin1');
  }
}

/** One more than `event: endpoint`: a longer line cannot be it. */
const longestEventLine = 'event: endpoint'.length + 1;
