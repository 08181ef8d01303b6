// What a connection needs to know about its port. One per bound port; its configuration can change at any time.
import type { Log } from '../../base/log.ts';
import type { PortConfig } from '../config/runtime-config.ts';
import type { Reason } from '../http/reasons.ts';
import type { Exchange } from '../http/exchange.ts';
import type { ListenLimits } from './limits.ts';

/** Serves one exchange under the port's configuration at the time the request arrived; never throws and never rejects. */
export type ExchangeHandler = (exchange: Exchange, port: PortConfig) => void;

/** Events of the listening side outside of any Exchange, for metrics and the inspector. */
export type ListenEvent =
  | { readonly type: 'connection-opened' | 'connection-closed'; readonly bindKey: string }
  | { readonly type: 'tls-handshake-failed'; readonly bindKey: string; readonly detail: string }
  | {
      readonly type: 'request-refused';
      readonly bindKey: string;
      readonly remoteAddress: string;
      readonly reason: Reason;
      readonly requestId: string;
      readonly detail: string;
    };

/** Shared by all connections of a port. */
export interface PortContext {
  readonly bindKey: string;
  /** The current configuration: read at each handshake and at each request. */
  readonly config: PortConfig;
  readonly handler: ExchangeHandler;
  readonly limits: ListenLimits;
  readonly log: Log;
  readonly onEvent: (event: ListenEvent) => void;
  /** Other processes listen on the same port. Default false. */
  readonly reusePort?: boolean;
}

/** One client connection, whatever its protocol. */
export interface ClientConnection {
  /** Takes no further requests: those in progress end normally, and then the connection closes. */
  startDraining(): void;
  /** Ends requests in progress with an error that the client sees, and closes the connection. */
  abort(): void;
}
