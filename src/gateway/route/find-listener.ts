// Which listener of a port a request belongs to: by its host, and on TLS in agreement with the server name of the handshake.
import type { ListenerConfig, PortConfig } from '../config/runtime-config.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Reason } from '../http/reasons.ts';
import { readHostname } from './table/hostname.ts';

/** The listener, or why the request has none. */
type ListenerResult =
  | { readonly ok: true; readonly hostname: string; readonly listener: ListenerConfig }
  | { readonly ok: false; readonly hostname: string; readonly reason: Reason; readonly detail: string };

/** Finds the listener that serves a request. */
export function findListener(exchange: Exchange, port: PortConfig): ListenerResult {
  // HTTP/1.0 clients may leave Host out; only a listener for any host can serve them.
  const hostname = exchange.authority === '' && exchange.httpVersion === '1.0' ? '' : readHostname(exchange.authority);
  if (hostname === undefined)
    return { ok: false, hostname: '', reason: 'missing_host', detail: 'Host is absent or not a host name' };
  const listener = port.listeners.find(hostname);
  if (listener === undefined)
    return { ok: false, hostname, reason: 'no_route', detail: 'no listener has this hostname' };
  // Gateway API: a connection that was opened for one listener does not serve the hosts of another. HTTP/2 clients reuse connections
  // for every name in a certificate; 421 tells them to open one of its own, with that listener's TLS settings.
  if (
    exchange.serverName !== undefined &&
    port.protocol === 'HTTPS' &&
    port.listeners.find(exchange.serverName.toLowerCase()) !== listener
  ) {
    return {
      ok: false,
      hostname,
      reason: 'misdirected_request',
      detail: `the TLS handshake was for ${exchange.serverName}`,
    };
  }
  // The same for a connection without a client certificate to a listener that requires one: it was opened without a server name, or before that was required.
  const { clientAuthorities } = listener;
  if (clientAuthorities !== undefined && !exchange.isClientValidatedBy(clientAuthorities)) {
    const detail = 'the client presented no certificate that this listener accepts when it opened the connection';
    return { ok: false, hostname, reason: 'misdirected_request', detail };
  }
  return { ok: true, hostname, listener };
}
