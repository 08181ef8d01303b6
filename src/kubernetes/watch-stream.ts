// The body of a watch: one JSON object a line, each an event.
import { isJsonObject } from '../base/json-object.ts';
import { readStatus } from './api-status.ts';
import type { KubernetesObject, WatchEvent } from './client.ts';

/** The response is not a valid watch stream. */
export class WatchStreamError extends Error {
  readonly code = 'kubernetes_watch_stream';
}

/** Far above the largest object that an API server stores. */
const maxLineBytes = 64 * 1024 * 1024;

/** Reads lines from chunks. A last line without a newline means that the stream was cut off. */
export async function* readWatchEvents(chunks: AsyncIterable<Buffer>): AsyncGenerator<WatchEvent> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
      parts.push(chunk.subarray(start, end));
      const line = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      parts = [];
      length = 0;
      start = end + 1;
      const event = parseEvent(line);
      if (event !== undefined) yield event;
    }
    if (start === chunk.length) continue;
    const rest = chunk.subarray(start);
    length += rest.length;
    if (length > maxLineBytes) throw new WatchStreamError('an event is larger than 64 MiB');
    parts.push(rest);
  }
  if (length > 0) throw new WatchStreamError('the stream ended in the middle of an event');
}

/** Undefined: an empty line, or a type that this program does not know. */
function parseEvent(line: Buffer): WatchEvent | undefined {
  if (line.length === 0 || (line.length === 1 && line[0] === 0x0d)) return undefined;
  let event: unknown;
  try {
    event = JSON.parse(line.toString('utf8'));
  } catch {
    throw new WatchStreamError('an event is not JSON');
  }
  if (!isJsonObject(event) || typeof event['type'] !== 'string') throw new WatchStreamError('an event has no type');
  const { type, object } = event;
  if (type === 'ERROR') return { type, status: readStatus(object) };
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED' && type !== 'BOOKMARK') return undefined;
  if (!isObject(object)) throw new WatchStreamError(`an event of type ${type} has no object`);
  return { type, object };
}

function isObject(value: unknown): value is KubernetesObject {
  return isJsonObject(value) && isJsonObject(value['metadata']);
}
