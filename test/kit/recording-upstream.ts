// An upstream that remembers every request and every byte it gets: what an attack must not reach, or must not change.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';

/** One request as it arrived. */
export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  /** Name, value, name, value; names in lower case. */
  readonly headers: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
  /** All values of a header. */
  all(name: string): string[];
}

export interface RecordingUpstream {
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  /** Requests whose head arrived, complete or not. */
  readonly headCount: number;
  /** Every byte that arrived, connection after connection. */
  readonly bytes: string;
  forget(): void;
  close(): Promise<void>;
}

/** Answers every request with 200, its own name and the target it saw, or as told. */
export async function startRecordingUpstream(
  name: string,
  answer?: (request: RecordedRequest, response: ServerResponse) => void,
): Promise<RecordingUpstream> {
  let requests: RecordedRequest[] = [];
  let headCount = 0;
  let chunks: string[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    headCount += 1;
    const body: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (chunk: Buffer) => body.push(chunk));
    request.on('end', () => {
      const recorded = record(request, Buffer.concat(body).toString('latin1'));
      requests.push(recorded);
      if (answer !== undefined) answer(recorded, response);
      else response.setHeader('content-type', 'text/plain').end(`${name} ${recorded.method} ${recorded.url}`);
    });
  });
  // What is refused here as malformed is recorded as bytes all the same.
  server.on('clientError', (_error, socket) => socket.destroy());
  server.on('connection', (socket: Socket) =>
    socket.on('data', (chunk: Buffer) => chunks.push(chunk.toString('latin1'))),
  );
  server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    headCount += 1;
    requests.push(record(request, ''));
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get requests() {
      return requests;
    },
    get headCount() {
      return headCount;
    },
    get bytes() {
      return chunks.join('');
    },
    forget() {
      requests = [];
      headCount = 0;
      chunks = [];
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function record(request: IncomingMessage, body: string): RecordedRequest {
  const headers = request.rawHeaders.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    headers,
    body,
    trailers: request.rawTrailers,
    all: (name) => headers.filter((_, index) => index % 2 === 1 && headers[index - 1] === name),
  };
}

export interface ScriptedUpstream {
  readonly port: number;
  /** Connections that were ever made. */
  readonly connectionCount: number;
  /** Heads that arrived, in order. */
  readonly heads: readonly string[];
  /** The connections that are open. */
  readonly open: ReadonlySet<Socket>;
  close(): Promise<void>;
}

/** An upstream that answers each request head with whatever bytes it likes. */
export async function startScriptedUpstream(answer: (head: string, socket: Socket) => void): Promise<ScriptedUpstream> {
  const heads: string[] = [];
  const open = new Set<Socket>();
  let connectionCount = 0;
  const server = createTcpServer((socket) => {
    connectionCount += 1;
    open.add(socket);
    let pending = '';
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      pending += chunk.toString('latin1');
      for (let end = pending.indexOf('\r\n\r\n'); end !== -1; end = pending.indexOf('\r\n\r\n')) {
        const head = pending.slice(0, end);
        const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
        if (pending.length < end + 4 + length) return;
        pending = pending.slice(end + 4 + length);
        heads.push(head);
        answer(head, socket);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get connectionCount() {
      return connectionCount;
    },
    heads,
    open,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
