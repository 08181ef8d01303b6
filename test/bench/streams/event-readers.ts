// The clients of event streams, a process of its own: it opens as many as it is told to, and counts events.
import { connect, type Socket } from 'node:net';
import { endOfEvent } from './event-stream.ts';

/** What it is asked. It answers with its state, or with what went wrong. */
export type ReaderRequest =
  | { readonly kind: 'state' }
  | { readonly kind: 'open'; readonly port: number; readonly count: number; readonly head: string }
  | { readonly kind: 'close' };

export interface ReaderState {
  readonly open: number;
  readonly events: number;
  /** Streams that ended by themselves. */
  readonly lost: number;
  readonly problem?: string;
}

const batch = 100;
const mark = endOfEvent.charCodeAt(0);
let sockets: Socket[] = [];
let events = 0;
let lost = 0;

function count(chunk: Buffer): number {
  let found = 0;
  for (const byte of chunk) if (byte === mark) found += 1;
  return found;
}

/** Resolves with the first event: then the stream is open all the way from the upstream. */
function openStream(port: number, head: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    let received = '';
    const begin = (chunk: Buffer): void => {
      received += chunk.toString('latin1');
      if (!received.includes(endOfEvent)) {
        if (received.includes('\r\n\r\n') && !received.startsWith('HTTP/1.1 200')) {
          socket.destroy();
          reject(new Error(`answered ${received.slice(0, 300)}`));
        }
        return;
      }
      socket.off('data', begin);
      socket.on('data', (more: Buffer) => (events += count(more)));
      socket.on('close', () => {
        if (sockets.includes(socket)) lost += 1;
      });
      sockets.push(socket);
      resolve();
    };
    socket.on('data', begin);
    socket.on('error', reject);
    socket.write(head);
  });
}

async function answer(message: ReaderRequest): Promise<ReaderState> {
  if (message.kind === 'open') {
    for (let opened = 0; opened < message.count; opened += batch) {
      const length = Math.min(batch, message.count - opened);
      await Promise.all(Array.from({ length }, () => openStream(message.port, message.head)));
    }
  } else if (message.kind === 'close') {
    const open = sockets;
    sockets = [];
    for (const socket of open) socket.destroy();
  }
  return { open: sockets.length - lost, events, lost };
}

process.on('message', (message: ReaderRequest) => {
  answer(message).then(
    (state) => process.send!(state),
    (error: Error) => process.send!({ open: 0, events, lost, problem: error.message } satisfies ReaderState),
  );
});
process.on('disconnect', () => process.exit(0));
