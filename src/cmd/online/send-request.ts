// One request on a connection that is open, by HTTP/1.1 or by HTTP/2 without TLS: what `check --online` sends to MCP servers.
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:http2';
import type { Socket } from 'node:net';

/** A request, ready to be sent. */
export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Hears of the answer. Nothing is told after the end or an error. */
export interface AnswerListener {
  head(status: number, headers: IncomingHttpHeaders): void;
  data(text: string): void;
  end(): void;
  error(error: Error): void;
}

/** Sends by HTTP/1.1. */
export function sendHttp1(socket: Socket, { host, headers, body, ...asked }: SentRequest, heard: AnswerListener): void {
  const sent = request({ ...asked, headers: { host, ...headers }, createConnection: () => socket }, (response) => {
    heard.head(response.statusCode ?? 0, response.headers);
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => heard.data(chunk));
    response.on('end', () => heard.end());
    response.on('error', (error) => heard.error(error));
  });
  sent.on('error', (error) => heard.error(error));
  sent.end(body);
}

/** Sends by HTTP/2 with prior knowledge. */
export function sendHttp2(
  socket: Socket,
  { host, method, path, headers, body }: SentRequest,
  heard: AnswerListener,
): void {
  const session = connect(`http://${host}`, { createConnection: () => socket });
  session.on('error', (error) => heard.error(error));
  const stream = session.request({ ':method': method, ':path': path, ':authority': host, ...headers });
  stream.setEncoding('utf8');
  stream.on('response', ({ ':status': status = 0, ...rest }) => heard.head(status, rest));
  stream.on('data', (chunk: string) => heard.data(chunk));
  stream.on('end', () => heard.end());
  stream.on('error', (error) => heard.error(error));
  stream.end(body);
}
