// A small client of the API server for the test cluster. It shares no code with src/kubernetes: the harness must not have the
// bugs of what it tests.
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, type Dispatcher, request } from 'undici';

/** Any object of the API. */
export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  // Objects of every kind: readers know theirs.
  readonly [field: string]: unknown;
}

/** The part of metadata that the harness reads. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly ownerReferences?: readonly { readonly kind: string; readonly name: string; readonly uid: string }[];
}

/** Where the API server is and who asks. */
export interface ApiClientOptions {
  readonly server: string;
  readonly ca: string;
  readonly token: string;
}

/** Thrown when the API server refuses. `status` is the HTTP code, `reason` the API's word for it. */
export class ApiError extends Error {
  readonly code = 'API_ERROR';
  readonly status: number;
  readonly reason: string;

  constructor(line: string, status: number, reason: string, message: string) {
    super(`${line}: ${status} ${reason}: ${message}`);
    this.status = status;
    this.reason = reason;
  }
}

/** What a watcher is told. */
export interface WatchHandlers<T> {
  /** All that is there, after every (re)list: what is not in it is gone. */
  readonly onList: (objects: readonly T[]) => void;
  readonly onChange: (object: T) => void;
  readonly onDelete: (object: T) => void;
}

const mergePatch = 'application/merge-patch+json';

/** Talks to the API server. */
export class ApiClient {
  readonly #options: ApiClientOptions;
  readonly #dispatcher: Agent;

  constructor(options: ApiClientOptions) {
    this.#options = options;
    this.#dispatcher = new Agent({ connect: { ca: options.ca }, bodyTimeout: 0, headersTimeout: 60_000 });
  }

  /** Sends a request and returns the parsed answer; throws ApiError unless the status is 2xx. */
  async call<T = ApiObject>(
    method: Dispatcher.HttpMethod,
    path: string,
    body?: unknown,
    contentType = 'application/json',
  ): Promise<T> {
    const answer = await this.#send(method, path, body, contentType, undefined);
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw describeRefusal(`${method} ${path}`, answer.statusCode, text);
    return (text === '' || !isJson(answer) ? text : JSON.parse(text)) as T;
  }

  get<T = ApiObject>(path: string): Promise<T> {
    return this.call<T>('GET', path);
  }

  async list<T = ApiObject>(path: string): Promise<readonly T[]> {
    return (await this.get<{ items: readonly T[] }>(path)).items;
  }

  create<T = ApiObject>(path: string, body: unknown): Promise<T> {
    return this.call<T>('POST', path, body);
  }

  patch<T = ApiObject>(path: string, body: unknown): Promise<T> {
    return this.call<T>('PATCH', path, body, mergePatch);
  }

  delete<T = ApiObject>(path: string, options: unknown = {}): Promise<T> {
    return this.call<T>('DELETE', path, options);
  }

  /** Follows a collection until the signal; survives restarts of the API server. Resolves when the signal fires. */
  async watch<T extends ApiObject>(path: string, handlers: WatchHandlers<T>, signal: AbortSignal): Promise<void> {
    let version: string | undefined;
    while (!signal.aborted) {
      try {
        if (version === undefined) {
          const list = await this.get<{ metadata: { resourceVersion: string }; items: readonly T[] }>(path);
          version = list.metadata.resourceVersion;
          handlers.onList(list.items);
        }
        version = await this.#follow(path, version, handlers, signal);
      } catch {
        // Whatever went wrong, the list says what is true.
        version = undefined;
        await sleep(200);
      }
    }
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  /** Reads events until the stream ends; returns the version to go on from, undefined to list again. */
  async #follow<T extends ApiObject>(
    path: string,
    from: string,
    handlers: WatchHandlers<T>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const separator = path.includes('?') ? '&' : '?';
    const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${from}`;
    const answer = await this.#send('GET', `${path}${separator}${query}`, undefined, 'application/json', signal);
    if (answer.statusCode >= 300) throw describeRefusal(`GET ${path}`, answer.statusCode, await answer.body.text());
    let version = from;
    let rest = '';
    answer.body.setEncoding('utf8');
    for await (const chunk of answer.body) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const event = JSON.parse(line) as { type: string; object: T };
        if (event.type === 'ERROR') return undefined;
        version = event.object.metadata.resourceVersion ?? version;
        if (event.type === 'DELETED') handlers.onDelete(event.object);
        else if (event.type !== 'BOOKMARK') handlers.onChange(event.object);
      }
    }
    return version;
  }

  #send(
    method: Dispatcher.HttpMethod,
    path: string,
    body: unknown,
    contentType: string,
    signal: AbortSignal | undefined,
  ): Promise<Dispatcher.ResponseData> {
    return request(`${this.#options.server}${path}`, {
      method,
      dispatcher: this.#dispatcher,
      headers: {
        authorization: `Bearer ${this.#options.token}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': contentType }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  }
}

function isJson(answer: Dispatcher.ResponseData): boolean {
  return String(answer.headers['content-type'] ?? '').startsWith('application/json');
}

function describeRefusal(line: string, status: number, text: string): ApiError {
  try {
    const parsed = JSON.parse(text) as { reason?: string; message?: string };
    return new ApiError(line, status, parsed.reason ?? '', parsed.message ?? text);
  } catch {
    return new ApiError(line, status, '', text.slice(0, 500));
  }
}
