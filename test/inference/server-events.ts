// Reads a stream of server-sent events as a client of a model server does: one `data:` after the other.
import type { Readable } from 'node:stream';

/** The value of every `data:` line, as soon as its event has come. Rejects when the stream breaks off. */
export async function* readEvents(stream: Readable): AsyncGenerator<string, void> {
  let text = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    text += chunk.toString();
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      yield text.slice('data: '.length, end);
      text = text.slice(end + 2);
    }
  }
}
