// A fetch for MCP clients that notes what goes over the wire and can cut a stream in the middle.

/** One HTTP exchange that a client made. */
export interface TappedExchange {
  readonly method: string;
  readonly url: string;
  readonly lastEventId: string | undefined;
  readonly sessionId: string | undefined;
  /** Ids of the JSON-RPC requests in the body. */
  readonly requestIds: readonly (string | number)[];
  /** Of the JSON-RPC message in the body; undefined for answers. */
  readonly rpcMethod: string | undefined;
  status?: number;
  contentType?: string | undefined;
}

/** Called before a client takes up a stream again; the stream waits until it resolves. */
export type ResumeGate = (resume: { readonly url: string; readonly headers: Headers }) => Promise<void>;

/** What a client did on the wire, and a way to cut it. */
export interface Wire {
  readonly exchanges: readonly TappedExchange[];
  /**
   * Breaks the connection of the next request once the client has got this many progress notifications. Whatever came
   * after them is lost with the connection, however fast it came.
   */
  cutAfterProgress(count: number): void;
  /** The streams that the client took up again. */
  listResumptions(): TappedExchange[];
  /** The ids of all JSON-RPC requests sent, in order. */
  listRequestIds(): (string | number)[];
}

/** The wire of a client that takes a fetch. */
export class WireTap implements Wire {
  readonly exchanges: TappedExchange[] = [];
  readonly #beforeResume: ResumeGate | undefined;
  #cutAfter: number | undefined;

  constructor(beforeResume?: ResumeGate) {
    this.#beforeResume = beforeResume;
  }

  /** A drop-in for fetch. */
  readonly fetch = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    const exchange: TappedExchange = {
      method: init.method ?? 'GET',
      url: String(input),
      lastEventId: headers.get('last-event-id') ?? undefined,
      sessionId: headers.get('mcp-session-id') ?? undefined,
      ...readMessage(init.body),
    };
    this.exchanges.push(exchange);
    if (exchange.lastEventId !== undefined) await this.#beforeResume?.({ url: exchange.url, headers });
    const cut = new AbortController();
    const signal = AbortSignal.any([cut.signal, ...(init.signal == null ? [] : [init.signal])]);
    const response = await fetch(input, { ...init, signal });
    exchange.status = response.status;
    exchange.contentType = response.headers.get('content-type') ?? undefined;
    const cutAfter = this.#cutAfter;
    if (cutAfter === undefined || exchange.requestIds.length === 0 || response.body === null) return response;
    this.#cutAfter = undefined;
    const body = cutStream(response.body, cutAfter, cut);
    return new Response(body, { status: response.status, headers: response.headers });
  };

  cutAfterProgress(count: number): void {
    this.#cutAfter = count;
  }

  listResumptions(): TappedExchange[] {
    return this.exchanges.filter((exchange) => exchange.lastEventId !== undefined);
  }

  listRequestIds(): (string | number)[] {
    return this.exchanges.flatMap((exchange) => exchange.requestIds);
  }
}

/** Passes on whole events up to the last one wanted, then fails as a broken connection does. */
function cutStream(
  source: ReadableStream<Uint8Array<ArrayBuffer>>,
  count: number,
  connection: AbortController,
): ReadableStream<Uint8Array> {
  const reader = source.pipeThrough(new TextDecoderStream()).getReader();
  const encoder = new TextEncoder();
  let buffered = '';
  let seen = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (seen === count) {
          controller.error(new TypeError('The test cut this stream.'));
          connection.abort();
          return;
        }
        let end = buffered.indexOf('\n\n');
        while (end === -1) {
          const piece = await reader.read();
          if (piece.done) throw new Error(`The stream ended after ${seen} progress notifications, before the cut.`);
          buffered += piece.value;
          end = buffered.indexOf('\n\n');
        }
        const event = buffered.slice(0, end + 2);
        buffered = buffered.slice(end + 2);
        if (event.includes('"notifications/progress"')) seen += 1;
        controller.enqueue(encoder.encode(event));
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Without a queue, an event is read only when the client asks for it, so that the failure does not overtake it.
    { highWaterMark: 0 },
  );
}

function readMessage(body: unknown): Pick<TappedExchange, 'requestIds' | 'rpcMethod'> {
  if (typeof body !== 'string') return { requestIds: [], rpcMethod: undefined };
  const { id, method } = JSON.parse(body) as { id?: string | number; method?: string };
  return { requestIds: id !== undefined && method !== undefined ? [id] : [], rpcMethod: method };
}
