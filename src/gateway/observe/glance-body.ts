// A glance at request bodies on routes whose messages no rule reads: the MCP method and the item, for people who watch. It decides nothing. Small bodies only,
// few at a time, and the bytes are let go as soon as they are read.
import { isJsonObject, type JsonObject } from '../../base/json-object.ts';
import { readItems } from '../mcp/read/read-item.ts';
import type { RequestContext } from '../request/request-context.ts';
import { seeMessage, type SeenMessage } from '../request/seen-message.ts';

const maxBytes = 16_384;
const maxOpen = 256;
/** A body in many pieces must not be read anew with each of them. */
const maxReadings = 4;
const closing: ReadonlySet<number> = new Set(['}', ']', '\n', '\r', ' '].map((text) => text.charCodeAt(0)));

/** The glances at requests under way. */
export class BodyGlances {
  /** Those that hold bytes. */
  readonly #open = new Map<RequestContext, Uint8Array[]>();

  /** Looks at the body of a request, when it comes. */
  open(context: RequestContext): void {
    const { method, hasBody } = context.exchange;
    if (method !== 'POST' || !hasBody || this.#open.size >= maxOpen) return;
    let size = 0;
    let readings = 0;
    this.#open.set(context, []);
    context.glance = (chunk) => {
      const chunks = this.#open.get(context);
      size += chunk.byteLength;
      if (chunks === undefined || size > maxBytes) return this.#end(context);
      // A copy: the bytes are only lent.
      chunks.push(Uint8Array.from(chunk));
      if (!closing.has(chunk.at(-1) ?? 0)) return;
      const seen = readMessage(Buffer.concat(chunks));
      readings += 1;
      if (seen === undefined) return readings < maxReadings ? undefined : this.#end(context);
      context.glimpsed = seen;
      this.#end(context);
    };
  }

  /** The request has ended. */
  close(context: RequestContext): void {
    this.#end(context);
  }

  /** Nobody watches any more. */
  forget(): void {
    for (const context of this.#open.keys()) context.glance = undefined;
    this.#open.clear();
  }

  #end(context: RequestContext): void {
    this.#open.delete(context);
    context.glance = undefined;
  }
}

/** The first message with a method; undefined when the bytes are no complete JSON, or hold none. */
export function readMessage(bytes: Uint8Array): SeenMessage | undefined {
  const value = parse(bytes);
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value];
  const message = messages.find(
    (each): each is JsonObject & { readonly method: string } =>
      isJsonObject(each) && typeof each['method'] === 'string',
  );
  if (message === undefined) return undefined;
  const { method, params } = message;
  const reading = readItems({ kind: 'notification', method, params: isJsonObject(params) ? params : {} });
  return seeMessage(method, reading.ok ? reading.items[0] : undefined, messages.length);
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch {
    return undefined;
  }
}
