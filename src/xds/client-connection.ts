// One connection of a gateway to a controller: HTTP/2, with or without TLS, the discovery stream and the report stream on it. It lives as long as
// the discovery stream.
import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import type { Log } from '../base/log.ts';
import {
  AggregatedDiscoveryService,
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
} from '../ir/gen/discovery_pb.ts';
import { type GatewayReport, GatewayReports } from '../ir/gen/report_pb.ts';
import { ControllerSession, type SessionTimes } from './client-session.ts';
import { MessageQueue } from './message-queue.ts';

export interface ConnectionTimes extends SessionTimes {
  /** Before a report stream that failed is opened again. */
  readonly reportRetryMs: number;
}

/**
 * A controller that hangs, or is cut off, is noticed within 8 s: what it does not send is not enforced meanwhile. An event loop that is busy for
 * less than 5 s loses no connection. A ping is a frame of 17 bytes.
 */
export const defaultConnectionTimes: ConnectionTimes = {
  connectMs: 3_000,
  pingIntervalMs: 3_000,
  pingTimeoutMs: 5_000,
  reportRetryMs: 5_000,
};

interface ConnectionOptions {
  /** http://host:port or https://host:port. */
  readonly server: string;
  /** PEM; undefined: the system's roots. */
  readonly ca: string | undefined;
  readonly token: string | undefined;
  readonly times: ConnectionTimes;
  readonly log: Log;
}

/** Both sides; a message is a part of the configuration, and large ones have large Secrets and many endpoints. */
const maxMessageBytes = 64 * 1024 * 1024;

/** An open connection. */
export class ControllerConnection {
  readonly #options: ConnectionOptions;
  readonly #session: ControllerSession;
  readonly #headers: Record<string, string>;
  readonly #requests = new MessageQueue<DeltaDiscoveryRequest>();
  readonly #end = new AbortController();
  readonly #discovery: Client<typeof AggregatedDiscoveryService>;
  readonly #reporting: Client<typeof GatewayReports>;
  #latestReport: GatewayReport | undefined;
  #reports: MessageQueue<GatewayReport> | undefined;

  constructor(options: ConnectionOptions) {
    const { server, ca, token, times } = options;
    this.#options = options;
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.#session = new ControllerSession(server, ca, times);
    const transport = createGrpcTransport({
      baseUrl: server,
      sessionManager: this.#session,
      readMaxBytes: maxMessageBytes,
      writeMaxBytes: maxMessageBytes,
      // Inside a cluster, compression costs both sides more than it saves.
      acceptCompression: [],
    });
    this.#discovery = createClient(AggregatedDiscoveryService, transport);
    this.#reporting = createClient(GatewayReports, transport);
  }

  /** Connects, and reads responses until the stream ends. Always throws in the end: a stream is not meant to end. */
  async *open(): AsyncGenerator<DeltaDiscoveryResponse, never> {
    await this.#session.connect();
    yield* this.#discovery.deltaAggregatedResources(this.#requests, {
      headers: this.#headers,
      signal: this.#end.signal,
    });
    throw new ConnectError('the controller ended the stream', Code.Unavailable);
  }

  /** Time since the last piece of a response: a large one on a slow link comes in pieces. */
  get silentMs(): number {
    return this.#session.silentMs;
  }

  /** How many bytes have come, answers to pings included. */
  countBytes(): number {
    return this.#session.countBytes();
  }

  /** Ends the connection: `open` throws this error. */
  giveUp(reason: ConnectError): void {
    this.#session.close(reason);
  }

  send(request: DeltaDiscoveryRequest): void {
    this.#requests.push(request);
  }

  /** Sends the latest report, and again after a failure of the report stream. Not before the first response: the server must have authorized us. */
  report(report: GatewayReport): void {
    this.#latestReport = report;
    if (this.#reports === undefined) void this.#keepReporting();
    else this.#reports.replace(report);
  }

  /** Ends everything. */
  close(): void {
    this.#requests.close();
    this.#reports?.close();
    this.#end.abort();
    this.#session.close();
  }

  async #keepReporting(): Promise<void> {
    const { signal } = this.#end;
    let said = '';
    while (!signal.aborted) {
      const reports = new MessageQueue<GatewayReport>();
      this.#reports = reports;
      if (this.#latestReport !== undefined) reports.push(this.#latestReport);
      try {
        await this.#reporting.report(reports, { headers: this.#headers, signal });
      } catch (error) {
        if (signal.aborted) return;
        const detail = describeConnectionError(error);
        this.#options.log[detail === said ? 'debug' : 'warn']({ detail }, 'the controller does not accept reports');
        said = detail;
      }
      reports.close();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.#options.times.reportRetryMs);
        signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
      });
    }
  }
}

/** Errors of a stream whose connection broke, with or without a reset. */
const brokenOff = /^http\/2 stream closed with error code CANCEL\b|^(?:read|write) (?:ECONNRESET|EPIPE)$/;

/** The message of an error, with that of its cause. */
export function describeConnectionError(error: unknown): string {
  const { rawMessage, cause } = ConnectError.from(error);
  if (brokenOff.test(rawMessage))
    return 'the connection broke: the process at the other end was killed, or a device in between dropped the connection';
  const detail = cause instanceof Error && !rawMessage.includes(cause.message) ? cause.message : '';
  if (rawMessage === '') return detail === '' ? 'the connection was lost' : detail;
  return detail === '' ? rawMessage : `${rawMessage}: ${detail}`;
}
