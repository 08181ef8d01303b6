// The upstream of measure-streams.ts, a process of its own: event streams that stay silent, or that send all they can.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const eventBytes = 16_384;
const filling = 'x'.repeat(eventBytes);
let streams = 0;
let bytesSent = 0;

function flood(response: ServerResponse): void {
  let number = 0;
  const send = (): void => {
    // Until the receiver is full, then again when it has taken something: what arrives in the end is what was let through.
    let more = true;
    while (more && !response.destroyed) {
      number += 1;
      const event = `id: ${number}\ndata: ${filling}\n\n`;
      bytesSent += event.length;
      more = response.write(event);
    }
  };
  response.on('drain', send);
  send();
}

const server = createServer({ keepAlive: true }, (request, response) => {
  streams += 1;
  response.on('close', () => (streams -= 1));
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  if (request.url?.endsWith('/flood') === true) flood(response);
  else
    response.write(
      'id: 1\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}\n\n',
    );
});
server.requestTimeout = 0;
server.headersTimeout = 0;
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on('message', () => process.send?.({ streams, bytesSent }));
process.on('disconnect', () => process.exit(0));
