// The one call from a connection into the request path.
import { refuseRequest } from './early-answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { PortContext } from './port-context.ts';

/** Hands an exchange over with the port's current configuration. A handler that throws fails only its own request, not the process. */
export function serveExchange(context: PortContext, exchange: Exchange): void {
  try {
    context.handler(exchange, context.config);
  } catch (error) {
    context.log.error({ bindKey: context.bindKey, err: error }, 'the request handler failed');
    if (exchange.headSent) {
      exchange.abort();
      return;
    }
    const answer = refuseRequest(context, exchange.remoteAddress, 'internal_error', 'the request handler failed');
    exchange.respond(answer.status, answer.headers, exchange.method === 'HEAD' ? '' : answer.body);
  }
}
