// The upstream of event streams, a process of its own: every request becomes a stream that stays open, silent or at a steady pace.
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { endOfEvent } from './event-stream.ts';

/** What it is asked. It answers with its state. */
export type SourceRequest =
  | { readonly kind: 'state' }
  | { readonly kind: 'send'; readonly eventsPerSecond: number }
  | { readonly kind: 'pause' };

export interface SourceState {
  readonly port: number;
  readonly streams: number;
  readonly events: number;
}

const head =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\ntransfer-encoding: chunked\r\n\r\n';
const text = `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":4711,"progress":42,"message":"Looking at tickets"}}${endOfEvent}\n\n`;
const event = `${text.length.toString(16)}\r\n${text}\r\n`;
const streams: Socket[] = [];
let events = 0;
let eventsPerSecond = 0;
let sentFrom = 0;
let due = 0;
let next = 0;

const server = createServer({ noDelay: true }, (socket) => {
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    if (!received.includes('\r\n\r\n')) return;
    socket.removeAllListeners('data');
    socket.resume();
    streams.push(socket);
    socket.write(head + event);
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    const at = streams.indexOf(socket);
    if (at !== -1) streams.splice(at, 1);
  });
});

/** Sends what is due by now, one stream after the other. Who cannot take more is left out, as a server would. */
function sendDue(): void {
  if (eventsPerSecond === 0) return;
  const wanted = Math.floor(((performance.now() - sentFrom) / 1_000) * eventsPerSecond);
  for (; due < wanted && streams.length > 0; due += 1) {
    next = (next + 1) % streams.length;
    const socket = streams[next]!;
    if (socket.writableLength > 65_536) continue;
    socket.write(event);
    events += 1;
  }
}

setInterval(sendDue, 1);
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 });
process.on('message', (message: SourceRequest) => {
  if (message.kind === 'send') {
    ({ eventsPerSecond } = message);
    sentFrom = performance.now();
    due = 0;
  } else if (message.kind === 'pause') eventsPerSecond = 0;
  const { port } = server.address() as AddressInfo;
  process.send!({ port, streams: streams.length, events } satisfies SourceState);
});
process.on('disconnect', () => process.exit(0));
