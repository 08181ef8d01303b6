// Where the browser comes back to: a listener on loopback (RFC 8252 7.3) that waits for one redirect with the right state.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the redirect brought. */
type Redirect = { readonly kind: 'redirect'; readonly parameters: URLSearchParams } | { readonly kind: 'timeout' };

export interface LoopbackListener {
  /** With the port that was really bound. */
  readonly redirectUri: string;
  /** The first redirect with this state. Others are answered 400 and told to `onStray`. */
  wait(state: string, timeoutMs: number, onStray: () => void): Promise<Redirect>;
  close(): Promise<void>;
}

/** The redirect URI cannot be listened on. */
export class LoopbackListenError extends Error {
  readonly code = 'loopback_listen_failed';
}

/** A redirect URI that this program can wait at: http on loopback. A port of 0, or none, means any. */
export function isLoopbackUri(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && url.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
}

/** Listens. Rejects with a LoopbackListenError. */
export async function listenOnLoopback(uri: string): Promise<LoopbackListener> {
  const url = new URL(uri);
  const waiting: { state: string; take: (parameters: URLSearchParams) => void; onStray: () => void }[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const asked = URL.parse(request.url ?? '', url.origin);
    if (request.method !== 'GET' || asked === null || asked.pathname !== url.pathname) {
      return answerPage(response, 404, 'Nothing here', 'This address only waits for the end of a login.');
    }
    const [first] = waiting;
    if (first === undefined || asked.searchParams.get('state') !== first.state) {
      first?.onStray();
      return answerPage(
        response,
        400,
        'Not this login',
        'This is not the end of the login that was started. Go back to the terminal.',
      );
    }
    waiting.length = 0;
    const isError = asked.searchParams.has('error');
    answerPage(
      response,
      200,
      isError ? 'The login did not succeed' : 'Logged in',
      'You can close this page and go back to the terminal.',
    );
    first.take(asked.searchParams);
  };
  const hosts = url.hostname === 'localhost' ? ['127.0.0.1', '::1'] : [url.hostname.replace(/^\[(.*)\]$/, '$1')];
  const servers: Server[] = [];
  let port = Number(url.port);
  for (const host of hosts) {
    const server = createServer(answer);
    try {
      port = await listen(server, host, port);
      servers.push(server);
    } catch (error) {
      // A machine without IPv6 has no ::1.
      if (servers.length > 0) continue;
      const { code } = error as NodeJS.ErrnoException;
      const why = code === 'EADDRINUSE' ? 'the port is in use' : String(code);
      throw new LoopbackListenError(`Cannot wait at ${uri}: ${why}. Another place: --redirect-uri URL`, {
        cause: error,
      });
    }
  }
  url.port = String(port);
  return {
    redirectUri: url.href,
    wait: (state, timeoutMs, onStray) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          waiting.length = 0;
          resolve({ kind: 'timeout' });
        }, timeoutMs);
        waiting.push({
          state,
          onStray,
          take(parameters) {
            clearTimeout(timer);
            resolve({ kind: 'redirect', parameters });
          },
        });
      }),
    async close() {
      await Promise.all(servers.map(closeServer));
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => resolve((server.address() as AddressInfo).port));
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    // Answers go out with `connection: close`; what is left are connections without a request.
    server.closeIdleConnections();
  });
}

function answerPage(response: ServerResponse, status: number, title: string, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    // The address has the code in it.
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - mcp-gatehouse</title>
<style>:root { color-scheme: light dark } body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 20vh auto 0; padding: 0 1rem }</style>
</head>
<body><main><h1>${title}</h1><p>${text}</p></main></body>
</html>
`);
}
