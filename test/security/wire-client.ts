// A client that sends exactly the bytes it is told to, for requests that no well-behaved library would send.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { waitFor } from '../kit/wait-for.ts';

/** One connection, and everything that came back on it. */
export interface WireClient {
  readonly socket: Socket;
  /** As latin1: one character per byte. */
  readonly received: string;
  readonly closed: boolean;
  send(bytes: string | Uint8Array): void;
  waitForText(text: string): Promise<void>;
  /** All that came until the gateway closed the connection. */
  waitForClose(): Promise<string>;
}

/** Connects to a port on loopback; the connection ends with the test. */
export async function connectWire(t: TestContext, port: number): Promise<WireClient> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  t.after(() => socket.destroy());
  let received = '';
  let closed = false;
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  socket.on('error', () => {});
  socket.on('close', () => (closed = true));
  await once(socket, 'connect');
  return {
    socket,
    get received() {
      return received;
    },
    get closed() {
      return closed;
    },
    send(bytes) {
      if (!socket.destroyed) socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    },
    async waitForText(text) {
      await waitFor(() => received.includes(text) || closed);
      if (!received.includes(text)) {
        throw new Error(`closed before ${JSON.stringify(text)} came; received ${JSON.stringify(received)}`);
      }
    },
    async waitForClose() {
      await waitFor(() => closed);
      return received;
    },
  };
}

/** One whole HTTP/1 answer with a body of known length. */
export interface WireAnswer {
  readonly status: number;
  /** Lower-case names; several fields of one name are several entries. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** `error` of the gateway's own answers. */
  readonly error: string | undefined;
}

/** Takes apart all answers in a text. Bodies must have a Content-Length or be chunked. */
export function readAnswers(text: string): WireAnswer[] {
  const answers: WireAnswer[] = [];
  let rest = text;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) throw new Error(`half an answer: ${JSON.stringify(rest)}`);
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(statusLine)?.[1]);
    if (Number.isNaN(status)) throw new Error(`not an answer: ${JSON.stringify(rest)}`);
    const headers = lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    });
    rest = rest.slice(end + 4);
    let body = '';
    const length = headers.find(([name]) => name === 'content-length')?.[1];
    if (length !== undefined) {
      body = rest.slice(0, Number(length));
      rest = rest.slice(Number(length));
    } else if (headers.some(([name, value]) => name === 'transfer-encoding' && value === 'chunked')) {
      for (;;) {
        const lineEnd = rest.indexOf('\r\n');
        const size = Number.parseInt(rest.slice(0, lineEnd), 16);
        if (Number.isNaN(size)) throw new Error(`not a chunk: ${JSON.stringify(rest)}`);
        body += rest.slice(lineEnd + 2, lineEnd + 2 + size);
        rest = rest.slice(lineEnd + 4 + size);
        if (size === 0) break;
      }
    }
    let error: string | undefined;
    try {
      error = (JSON.parse(body) as { error?: string }).error;
    } catch {
      // Not an answer of the gateway's own.
    }
    answers.push({ status, headers, body, error });
  }
  return answers;
}

/** Sends one request on a connection of its own and reads the one answer to it. `head` is everything but the last blank line; it gets `Connection: close`. */
export async function sendHead(t: TestContext, port: number, head: string): Promise<WireAnswer> {
  const client = await connectWire(t, port);
  client.send(`${head}\r\nConnection: close\r\n\r\n`);
  const answers = readAnswers(await client.waitForClose());
  if (answers.length !== 1) throw new Error(`${answers.length} answers to one request: ${JSON.stringify(answers)}`);
  return answers[0]!;
}
