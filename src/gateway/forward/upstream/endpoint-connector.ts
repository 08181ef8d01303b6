// Opens connections to one endpoint. A DNS name is resolved anew for every connection, so a moved name is followed as connections come and go.
import { lookup } from 'node:dns';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { LocalGuard } from '../../../base/local-guard.ts';
import { getTls } from '../../../base/node-parts.ts';
import { watchForSilentPeer } from '../../../base/silent-peers.ts';
import { readIntoSharedBuffer } from '../../../http1/shared-read-buffer.ts';
import type { BackendTls } from '../../config/server-config.ts';
import { UpstreamConnectTimeoutError, UpstreamRefusedError } from './upstream-error.ts';

export interface ConnectorOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: BackendTls | undefined;
  /** Addresses that are not connected to; none when absent. */
  readonly guard?: LocalGuard | undefined;
  /** For DNS, TCP and the TLS handshake together. 0: only what the operating system does. */
  readonly connectTimeoutMs: number;
  /** What is spoken inside of TLS. */
  readonly protocol: 'http/1.1' | 'h2';
  /** The other side may end its direction first: HTTP/1 connections that become a tunnel. */
  readonly allowHalfOpen: boolean;
  /** Gets the bytes of a connection without TLS, which then cannot be read as a stream. */
  readonly onBytes?: (this: Socket, bytes: Buffer) => void;
}

/** Calls back once, with a connected socket (TLS: after a verified handshake) or an error. */
export type Connector = (
  callback: (...args: [error: null, socket: Socket] | [error: Error, socket: null]) => void,
) => void;

/** Makes the connector of one endpoint. The newest TLS session is kept for the next handshake. */
export function createConnector(options: ConnectorOptions): Connector {
  const { host, port, tls, connectTimeoutMs, allowHalfOpen, onBytes, guard } = options;
  const tlsOptions = tls === undefined ? undefined : buildTlsOptions(host, tls, options.protocol);
  // Buffered bytes are bounded by the high-water mark, which the types do not know.
  const tcpOptions = {
    host,
    port,
    allowHalfOpen,
    highWaterMark: 65_536,
    ...(guard === undefined || isIP(host) !== 0 ? {} : { lookup: guardLookup(guard, port) }),
  };
  const plainOptions = onBytes === undefined ? tcpOptions : { ...tcpOptions, onread: readIntoSharedBuffer(onBytes) };
  const connected = tlsOptions === undefined ? 'connect' : 'secureConnect';
  let session: Buffer | undefined;
  const keepSession = (fresh: Buffer): void => {
    session = fresh;
  };

  return (callback) => {
    // Node does not look up what is an address already.
    const refusal = isIP(host) === 0 ? undefined : guard?.(host, port);
    if (refusal !== undefined) {
      callback(new UpstreamRefusedError(`${host}:${port}`, refusal), null);
      return;
    }
    const socket =
      tlsOptions === undefined
        ? connectTcp(plainOptions)
        : getTls().connect({ ...tcpOptions, ...tlsOptions, ...(session === undefined ? {} : { session }) });
    socket.setNoDelay(true);
    watchForSilentPeer(socket);
    if (tlsOptions !== undefined) socket.on('session', keepSession);
    // Stays for the life of the socket: a late error of an abandoned connection must not crash the process.
    socket.on('error', ignoreError);

    const timer =
      connectTimeoutMs > 0
        ? setTimeout(
            () => socket.destroy(new UpstreamConnectTimeoutError(`${host}:${port}`, connectTimeoutMs)),
            connectTimeoutMs,
          )
        : undefined;
    // Removes all listeners: their closures would keep memory for the life of the connection, which may be days.
    const removeListeners = (): void => {
      clearTimeout(timer);
      socket.removeListener(connected, succeed);
      socket.removeListener('error', fail);
      socket.removeListener('close', failClosed);
    };
    const succeed = (): void => {
      removeListeners();
      callback(null, socket);
    };
    const fail = (error: Error): void => {
      removeListeners();
      session = undefined;
      callback(error, null);
    };
    const failClosed = (): void => fail(new Error('the connection was closed while it was being set up'));
    socket.on(connected, succeed);
    socket.on('error', fail);
    socket.on('close', failClosed);
  };
}

/** Resolves a name to the allowed addresses: the guard checks the resolved address, at the time of the connection. */
function guardLookup(guard: LocalGuard, port: number): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0);
      const allowed = addresses.filter(({ address }) => guard(address, port) === undefined);
      const [first] = allowed;
      if (first === undefined) {
        const refusal = guard(addresses[0]?.address ?? '', port) ?? 'nothing that may be connected to';
        return callback(new UpstreamRefusedError(`${hostname}:${port}`, refusal), '', 0);
      }
      if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

function ignoreError(): void {}

function buildTlsOptions(host: string, tls: BackendTls, protocol: ConnectorOptions['protocol']): ConnectionOptions {
  const serverName = tls.serverName === '' ? host : tls.serverName;
  return {
    // RFC 6066 allows no IP addresses here; without a name the certificate is checked against `host`, IP addresses included.
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    rejectUnauthorized: !tls.insecureSkipVerify,
    ALPNProtocols: [protocol],
    minVersion: 'TLSv1.2',
  };
}
