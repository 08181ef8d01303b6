// Clients that ask again and again, some over connections that they keep and some over new ones each time, and count what goes wrong. Strangers among
// them have no token, and must be refused at every moment.
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Running clients. */
export interface SteadyLoad {
  readonly completed: number;
  /** What went wrong, with the time: `12:30:01.123 503 ...`. */
  readonly failures: readonly string[];
  /** How often strangers were refused, as they must be; what else happened to them is among the failures. */
  readonly refused: number;
  /** Strangers that were not refused: an answer other than 401 that is not an error of the server. Nothing excuses one. */
  readonly letThrough: readonly string[];
  /** Requests that had to be sent again because the server closed a connection that was to be used once more. */
  readonly resent: number;
  /** Who answered, by what `nameAnswer` made of the answers. */
  readonly answeredBy: ReadonlyMap<string, number>;
  /** The failures so far, which are expected and do not count any more. */
  takeFailures(): readonly string[];
  /** Waits until as many more requests have been answered, or have failed; those of strangers do not count. */
  waitForMore(count: number): Promise<void>;
  /** Lets the requests in flight end and sends no more. */
  stop(): Promise<void>;
}

/** How to ask. */
export interface SteadyLoadOptions {
  /** Half of them keep their connections. Default 6. */
  readonly clients?: number;
  /** Between two requests of a client. Default 10. */
  readonly pauseMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent with POST in place of GET, as JSON. */
  readonly body?: string;
  /** Clients beside the others that do not send `headers`, each on new connections. Default 0. */
  readonly strangers?: number;
  readonly nameAnswer?: (text: string) => string;
}

/** Sends requests; anything but 200, or 401 for strangers, is a failure. */
export function startSteadyLoad(url: string, options: SteadyLoadOptions = {}): SteadyLoad {
  const { clients = 6, pauseMs = 10, body, strangers = 0, nameAnswer = () => 'server' } = options;
  const headers = { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...options.headers };
  const method = body === undefined ? 'GET' : 'POST';
  const failures: string[] = [];
  const letThrough: string[] = [];
  const answeredBy = new Map<string, number>();
  const state = { completed: 0, refused: 0, resent: 0, ended: 0, isRunning: true };
  const withTime = (text: string): string => `${new Date().toISOString().slice(11, 23)} ${text}`;

  const send = (agent: Agent, isStranger: boolean): Promise<void> =>
    new Promise((resolve) => {
      const finish = (failure?: string): void => {
        if (!isStranger) state.ended += 1;
        if (failure !== undefined) failures.push(withTime(failure));
        else if (isStranger) state.refused += 1;
        else state.completed += 1;
        resolve();
      };
      const own = isStranger ? {} : headers;
      const call = request(url, { agent, method, headers: own, timeout: 30_000 }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('error', (error) => finish(`in an answer: ${error.message}`));
        response.on('end', () => {
          const { statusCode = 0 } = response;
          const said = `${statusCode} ${text.slice(0, 200)}`;
          if (isStranger) {
            if (statusCode !== 401 && statusCode < 500) letThrough.push(withTime(said));
            return finish(statusCode === 401 ? undefined : `to a stranger: ${said}`);
          }
          if (statusCode !== 200) return finish(said);
          const name = nameAnswer(text);
          answeredBy.set(name, (answeredBy.get(name) ?? 0) + 1);
          finish();
        });
      });
      call.on('timeout', () => call.destroy(new Error('no answer for 30 s')));
      call.on('error', (error: NodeJS.ErrnoException) => {
        // HTTP's own race: the server closed an idle connection while the client was about to reuse it. Every client sends such a request again.
        if (call.reusedSocket && error.code === 'ECONNRESET') {
          state.resent += 1;
          void send(agent, isStranger).then(resolve);
        } else finish(`${error.code ?? ''} ${error.message}`);
      });
      call.end(body);
    });

  const loops = Array.from({ length: clients + strangers }, async (_, index) => {
    const isStranger = index >= clients;
    const agent = new Agent({ keepAlive: index % 2 === 0 && !isStranger });
    while (state.isRunning) {
      await send(agent, isStranger);
      await sleep(pauseMs);
    }
    agent.destroy();
  });
  return {
    get completed() {
      return state.completed;
    },
    get refused() {
      return state.refused;
    },
    get resent() {
      return state.resent;
    },
    failures,
    letThrough,
    answeredBy,
    takeFailures: () => failures.splice(0),
    async waitForMore(count) {
      const wanted = state.ended + count;
      while (state.ended < wanted) await sleep(10);
    },
    async stop() {
      state.isRunning = false;
      await Promise.all(loops);
    },
  };
}
