// A reverse proxy in front of a real identity provider: what arrives there can be recorded on the way.
import { request, type IncomingMessage, type ServerResponse } from 'node:http';

/** A plain reverse proxy that keeps Host. */
export function passOn(origin: string, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const onward = request(
      origin + incoming.url!,
      { method: incoming.method, headers: incoming.headers, setHost: false },
      (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
        answer.once('end', resolve).once('error', reject);
      },
    );
    onward.once('error', reject);
    incoming.pipe(onward);
  });
}
