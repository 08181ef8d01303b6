// What a connection needs to know about the port it came in on. One per bound port; its configuration changes under it.
import type { Log } from '../../base/log.ts';
import type { PortConfig } from '../config/runtime-config.ts';
import type { Reason } from '../http/reasons.ts';
import type { Exchange } from '../http/exchange.ts';
import type { ListenLimits } from './limits.ts';

/** Serves one exchange under the port's configuration at the time the request arrived; never throws and never rejects. */
export type ExchangeHandler = (exchange: Exchange, port: PortConfig) => void;

/** Things that happen on the listening side without ever becoming an Exchange, for metrics and the inspector. */
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
  /** The configuration as it is now: read at each handshake and at each request. */
  readonly config: PortConfig;
  readonly handler: ExchangeHandler;
  readonly limits: ListenLimits;
  readonly log: Log;
  readonly onEvent: (event: ListenEvent) => void;
  /** Other processes listen on the same port. Default false. */
  readonly reusePort?: boolean;
}

/** One client connection, whatever it speaks. */
export interface ClientConnection {
  /** No further requests are wanted: what is in progress ends normally and the connection closes after it. */
  startDraining(): void;
  /** Ends what is in progress as an error that the client sees, and the connection. */
  abort(): void;
}
