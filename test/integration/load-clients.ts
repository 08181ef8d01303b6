// Clients that keep a gateway busy and count what goes wrong: a loop of requests, and open event streams.
import { Agent, request } from 'node:http';

export interface RequestLoad {
  readonly completed: number;
  readonly failures: readonly string[];
  /** Lets the requests in flight end and sends no more. */
  stop(): Promise<void>;
}

/** Sends POST requests over keep-alive connections, `clients` at a time, one after the other. */
export function startRequestLoad(url: string, clients: number): RequestLoad {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const failures: string[] = [];
  let completed = 0;
  const state = { running: true };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', padding: 'x'.repeat(500) });
  const send = (): Promise<void> =>
    new Promise((resolve) => {
      const finish = (failure?: string): void => {
        if (failure === undefined) completed += 1;
        else failures.push(failure);
        resolve();
      };
      const call = request(
        url,
        {
          method: 'POST',
          agent,
          headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.on('error', (error) => finish(`answer: ${error.message}`));
          response.on('end', () => {
            const expected = JSON.stringify({ bytes: body.length });
            finish(response.statusCode === 200 && text === expected ? undefined : `${response.statusCode} ${text}`);
          });
        },
      );
      call.on('error', (error: NodeJS.ErrnoException) => {
        // HTTP's own race: the server closed an idle connection while the client was about to reuse it. The request was
        // not accepted, and every HTTP client sends it again.
        if (call.reusedSocket && error.code === 'ECONNRESET') void send().then(resolve);
        else finish(`${error.code ?? ''} ${error.message}`);
      });
      call.end(body);
    });
  const loops = Array.from({ length: clients }, async () => {
    while (state.running) await send();
  });
  return {
    get completed() {
      return completed;
    },
    failures,
    async stop() {
      state.running = false;
      await Promise.all(loops);
      agent.destroy();
    },
  };
}

export interface EventStream {
  /** The number of the last event; every one before it was seen too. */
  readonly last: number;
  /** Why it ended or what it missed; undefined while all is well. */
  readonly failure: string | undefined;
  close(): void;
}

/** Opens an event stream and checks that the numbered events come without gaps. */
export function openEventStream(url: string): Promise<EventStream> {
  return new Promise((resolve, reject) => {
    let last = -1;
    let failure: string | undefined;
    let closed = false;
    const end = (reason: string): void => {
      if (!closed) failure ??= reason;
    };
    const call = request(url, { headers: { accept: 'text/event-stream' }, agent: new Agent() }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        const events = text.split('\n\n');
        text = events.pop()!;
        for (const event of events) {
          const id = Number(/^id: (\d+)/.exec(event)?.[1]);
          if (id !== last + 1) end(`event ${id} after ${last}`);
          last = id;
        }
      });
      response.on('end', () => end('ended'));
      response.on('error', (error) => end(error.message));
      if (response.statusCode !== 200) end(`status ${response.statusCode}`);
      resolve({
        get last() {
          return last;
        },
        get failure() {
          return failure;
        },
        close() {
          closed = true;
          call.destroy();
        },
      });
    });
    call.on('error', (error) => {
      end(error.message);
      reject(error);
    });
    call.end();
  });
}
