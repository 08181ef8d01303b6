// Maps HTTP/2 requests to our services (gRPC over HTTP/2), with connect. Only gRPC is accepted, and nothing that a peer sends can
// do more than end its own call.
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { Code, ConnectError, type ConnectRouter, createConnectRouter, createContextValues } from '@connectrpc/connect';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { closeWithTrailersDue } from '../base/close-http2-stream.ts';
import type { Log } from '../base/log.ts';
import { gatherMessages } from './gather-messages.ts';
import { type CallOrigin, callOrigin } from './peer.ts';

/** For `initial_resource_versions` of tens of thousands of resources, and for the reports of a large cluster. */
const maxMessageBytes = 64 * 1024 * 1024;
/** The memory that all unauthenticated peers together may use. */
const maxStrangersBytes = 64 * 1024 * 1024;

/** Creates the handler of the port. */
export function createGrpcHandler(
  routes: (router: ConnectRouter) => void,
  log: Log,
): (request: Http2ServerRequest, response: Http2ServerResponse, origin: CallOrigin) => void {
  const router = createConnectRouter({
    grpcWeb: false,
    connect: false,
    acceptCompression: [],
    readMaxBytes: maxMessageBytes,
    writeMaxBytes: maxMessageBytes,
  });
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const budget = new StrangersBudget(maxStrangersBytes);

  return (request, response, origin) => {
    const { peerAddress } = origin;
    const handler = handlers.get(request.url);
    if (handler === undefined) {
      response.writeHead(404).end();
      return;
    }
    const account = budget.open();
    response.once('close', () => account.close());
    // A call is over when its status has been sent, even if the peer still has something to say (RFC 9113, 8.1).
    response.stream.once('wantTrailers', () => setImmediate(() => request.stream.close()));
    const values = createContextValues().set(callOrigin, {
      peerAddress,
      trust() {
        account.close();
        origin.trust();
      },
    });
    const serve = async (): Promise<void> => {
      // It may throw: an :authority can be anything.
      const call = universalRequestFromNodeRequest(request, response, undefined, values);
      const body = gatherMessages(call.body as AsyncIterable<Uint8Array>, maxMessageBytes, account.spend);
      const answer = await handler({ ...call, body });
      await universalResponseToNodeResponse(answer, response);
    };
    serve().catch((error: unknown) => {
      log.debug({ err: error, peerAddress, path: request.url }, 'an xDS call failed');
      closeWithTrailersDue(response.stream, constants.NGHTTP2_INTERNAL_ERROR);
    });
  };
}

/** Counts the bytes that unauthenticated peers announce. Above the limit, the last announcement is refused. */
class StrangersBudget {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  open(): { readonly spend: (bytes: number) => void; readonly close: () => void } {
    let own = 0;
    let isOpen = true;
    const close = (): void => {
      if (isOpen) this.#bytes -= own;
      isOpen = false;
    };
    const spend = (bytes: number): void => {
      if (!isOpen) return;
      own += bytes;
      this.#bytes += bytes;
      if (this.#bytes <= this.#maxBytes) return;
      // The refused call gives its share back, so that the others have room.
      close();
      throw new ConnectError('unauthenticated peers have sent too much', Code.ResourceExhausted);
    };
    return { spend, close };
  }
}
