// Accepted connections that are read into the process's shared buffer. Such a socket cannot be read as a stream, so it can be converted back
// for protocols that need one.
import { Socket, type SocketConstructorOpts } from 'node:net';
import { Duplex } from 'node:stream';
import { readIntoSharedBuffer } from '../../http1/shared-read-buffer.ts';

type Receiver = (bytes: Buffer) => void;

const receiverOf = Symbol('receiver');

interface SharedSocket extends Socket {
  [receiverOf]: Receiver;
}

/** Node offers `onread` for connections that it opens, but not for those that it accepts: the handle has to move to another socket. */
interface SocketInternals {
  _handle: object | null | undefined;
}

const onread = readIntoSharedBuffer(function receive(bytes) {
  (this as SharedSocket)[receiverOf](bytes);
});

/**
 * Turns an accepted socket into one that reads into the shared buffer. The accepted socket must not be used after that. The new one is paused until
 * `resume`. Undefined: not possible, and nothing has changed.
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

/** Gives the bytes of the connection to `receiver`, for both kinds of sockets. Other events are still emitted by `socket`. */
export function receiveBytes(socket: Socket, receiver: Receiver): void {
  if (isShared(socket)) socket[receiverOf] = receiver;
  else socket.on('data', receiver);
}

/** Stops the delivery to `receiver` and returns the connection as a stream, which is paused until it is read. */
export function becomeStream(socket: Socket, receiver: Receiver): Duplex {
  if (isShared(socket)) return new SocketStream(socket);
  socket.off('data', receiver);
  socket.pause();
  return socket;
}

function isShared(socket: Socket): socket is SharedSocket {
  return receiverOf in socket;
}

/** A socket with a shared buffer, as an ordinary stream. */
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
