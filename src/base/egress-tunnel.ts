// The way through an egress proxy: a tunnel for https, the proxy's own request for http.
import { isIP, type Socket } from 'node:net';
import { Client } from 'undici';

/** The proxy did not make the connection. */
export class EgressProxyError extends Error {
  readonly code = 'egress_proxy_failed';

  constructor(message: string) {
    super(message);
    this.name = 'EgressProxyError';
  }
}

interface TunnelLimit {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Opens a tunnel to a host (RFC 9110 9.3.6). The proxy resolves its name. */
export async function openTunnel(proxy: URL, hostname: string, port: number, limit: TunnelLimit): Promise<Socket> {
  const authority = `${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port}`;
  const client = connectToProxy(proxy, limit.timeoutMs);
  try {
    const { statusCode, socket } = await client.connect({
      path: authority,
      headers: { host: authority, ...formatProxyCredentials(proxy) },
      signal: limit.signal,
    });
    const tunnel = socket as Socket;
    if (statusCode === 200) return tunnel;
    tunnel.on('error', () => {}).destroy();
    throw refuseByProxy(proxy, statusCode);
  } catch (error) {
    if (error instanceof EgressProxyError) throw error;
    throw new EgressProxyError(`the egress proxy ${proxy.host} cannot be reached`);
  } finally {
    // The tunnel is detached from the client by now.
    void client.destroy();
  }
}

/** A client whose requests go to the proxy. */
export function connectToProxy(proxy: URL, timeoutMs: number): Client {
  return new Client(proxy.origin, {
    pipelining: 0,
    connect: { allowH2: false, timeout: timeoutMs },
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 32_768,
  });
}

/** The header with which the proxy knows us; never sent to anybody else. */
export function formatProxyCredentials(proxy: URL): Record<string, string> {
  if (proxy.username === '' && proxy.password === '') return {};
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** The proxy's answer in words. */
export function refuseByProxy(proxy: URL, status: number): EgressProxyError {
  const meaning = status === 407 ? ': it wants a user and password, or other ones' : '';
  return new EgressProxyError(`the egress proxy ${proxy.host} answers ${status}${meaning}`);
}
