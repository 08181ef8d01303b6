// Looks whether a target that was away is back: any answer will do. The health hears of it from the exchange itself.
import { writeDiscover } from './discover-era.ts';
import { writeModernHeaders } from './modern-request.ts';
import { TargetExchange } from './target-exchange.ts';
import type { TargetParts } from './target-parts.ts';

/** Nobody's: a server that wants to know its callers says so, and is up. */
const nobody = { headers: [], host: '' };
const message = { kind: 'request', id: 'discover', method: 'server/discover', params: {} } as const;

export function probeTarget(parts: TargetParts, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const exchange = new TargetExchange(
      parts,
      {
        method: 'POST',
        path: parts.config.backend.mcp!.path,
        host: '',
        headers: writeModernHeaders(nobody, message, []),
        body: writeDiscover(undefined),
        tag: undefined,
      },
      {
        onHead() {
          queueMicrotask(() => exchange.abort());
          finish();
        },
        onData: () => true,
        onEnd: finish,
        onFailure: finish,
      },
    );
    const timer = setTimeout(() => {
      exchange.abort();
      finish();
    }, timeoutMs).unref();
    exchange.start();
  });
}
