// Collects the body of a request to one of the gateway's own endpoints: small, whole, and within its time.
import { findHeader } from '../../../http/headers.ts';
import type { Exchange, RawHeaders } from '../../../http/exchange.ts';

type RequestBody =
  | { readonly ok: true; readonly text: string }
  /** `gone`: the client disconnected. */
  | { readonly ok: false; readonly problem: 'body_too_large' | 'body_timeout' | 'gone' };

/** Ample for a few kilobytes; slower clients would occupy resources of others. */
const defaultTimeoutMs = 10_000;

/** Reads the whole body as UTF-8, or returns why not. Bytes after a refusal are discarded. */
export function readRequestBody(
  exchange: Pick<Exchange, 'hasBody' | 'headers' | 'readBody' | 'onClose'>,
  maxBytes: number,
  timeoutMs: number = defaultTimeoutMs,
): Promise<RequestBody> {
  if (!exchange.hasBody) return Promise.resolve({ ok: true, text: '' });
  if (Number(findHeader(exchange.headers, 'content-length') ?? 0) > maxBytes)
    return Promise.resolve({ ok: false, problem: 'body_too_large' });
  const { promise, resolve } = Promise.withResolvers<RequestBody>();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const settle = (body: RequestBody): void => {
    clearTimeout(timer);
    resolve(body);
  };
  const timer = setTimeout(() => {
    flow.discard();
    settle({ ok: false, problem: 'body_timeout' });
  }, timeoutMs);
  exchange.onClose(() => settle({ ok: false, problem: 'gone' }));
  const flow = exchange.readBody({
    write(chunk: Uint8Array): boolean {
      size += chunk.length;
      if (size <= maxBytes) {
        chunks.push(chunk);
        return true;
      }
      flow.discard();
      settle({ ok: false, problem: 'body_too_large' });
      return true;
    },
    end: (_trailers: RawHeaders) => settle({ ok: true, text: new TextDecoder().decode(Buffer.concat(chunks)) }),
    fail: () => settle({ ok: false, problem: 'gone' }),
  });
  return promise;
}
