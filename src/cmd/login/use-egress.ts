// The egress proxy of `login`. It is a client like others, which names its server itself: Node's own proxy support is enough.
import http from 'node:http';
import { requireEgressProxy } from '../egress.ts';
import { StartError } from '../start-error.ts';

/** What Node takes HTTPS_PROXY for a name of: the loopback of the login must not go there. */
const loopback = 'localhost,.localhost,127.0.0.1,[::1]';

/** Sends requests of this process through the proxy that the environment names. Returns what ends that. */
export function useEgress(environment: NodeJS.ProcessEnv): () => void {
  const proxy = requireEgressProxy(environment);
  if (proxy === undefined) return () => {};
  const use = http.setGlobalProxyFromEnv as typeof http.setGlobalProxyFromEnv | undefined;
  if (use === undefined)
    throw new StartError(
      `Node.js ${process.versions.node} cannot use HTTPS_PROXY here; run login with Node.js 24.14 or later, or unset it`,
    );
  const listed = environment['no_proxy'] || environment['NO_PROXY'] || '';
  return use({
    ...(proxy.https !== undefined && { https_proxy: proxy.https.href }),
    ...(proxy.http !== undefined && { http_proxy: proxy.http.href }),
    no_proxy: [loopback, ...(listed === '' ? [] : [listed])].join(','),
  });
}
