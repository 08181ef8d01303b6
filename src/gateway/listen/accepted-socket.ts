// Accepted connections that are read into the process's one buffer. Such a socket is none that could be read as a stream, so there is a
// way back for those that need one.
import { Socket, type SocketConstructorOpts } from 'node:net';
import { Duplex } from 'node:stream';
import { readIntoSharedBuffer } from '../../http1/shared-read-buffer.ts';

type Receiver = (bytes: Buffer) => void;

const receiverOf = Symbol('receiver');

interface SharedSocket extends Socket {
  [receiverOf]: Receiver;
}

/** Node has a way to read a connection like this when it is opened, but none when it is accepted: the handle has to move to another socket. */
interface SocketInternals {
  _handle: object | null | undefined;
}

const onread = readIntoSharedBuffer(function receive(bytes) {
  (this as SharedSocket)[receiverOf](bytes);
});

/**
 * Makes such a socket of an accepted one, which must not be used any more; undefined when that is not possible, and nothing has changed.
 * It stands still until `resume`.
 */
export function shareReadBuffer(accepted: Socket): Socket | undefined {
  const internals = accepted as unknown as SocketInternals;
  // oxlint-disable no-underscore-dangle -- see SocketInternals
  const handle = internals._handle;
  if (typeof handle !== 'object' || handle === null || accepted.destroyed || accepted.readableEnded) return undefined;
  internals._handle = null;
  // oxlint-enable no-underscore-dangle
  const options = { handle, onread, allowHalfOpen: true, readable: true, writable: true } as SocketConstructorOpts;
  return Object.assign(new Socket(options), { [receiverOf]: ignoreBytes });
}

function ignoreBytes(): void {}

/** From now on `receiver` gets the bytes of the connection, whichever kind it is. The others come from `socket` as events. */
export function receiveBytes(socket: Socket, receiver: Receiver): void {
  if (isShared(socket)) socket[receiverOf] = receiver;
  else socket.on('data', receiver);
}

/** Ends that. Returns the connection as a stream, which stands still until it is read. */
export function becomeStream(socket: Socket, receiver: Receiver): Duplex {
  if (isShared(socket)) return new SocketStream(socket);
  socket.off('data', receiver);
  socket.pause();
  return socket;
}

function isShared(socket: Socket): socket is SharedSocket {
  return receiverOf in socket;
}

/** The way back. */
class SocketStream extends Duplex {
  readonly #socket: SharedSocket;

  constructor(socket: SharedSocket) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    socket.pause();
    socket[receiverOf] = (bytes) => {
      if (!this.push(bytes)) socket.pause();
    };
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#socket.write(chunk, encoding, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#socket.end(() => callback());
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}
