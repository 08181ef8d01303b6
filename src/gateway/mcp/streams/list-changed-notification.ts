// How a client is notified on a stream that a list has changed. Which streams carry the notification, and its form, depend on the protocol version.
import { isJsonObject } from '../../../base/json-object.ts';
import type { RawHeaders } from '../../http/exchange.ts';
import { type EventLines, readEventData, splitEventLines } from '../answer/event-stream-event.ts';
import { EventSplitter } from '../answer/event-stream-splitter.ts';
import type { ListName } from './list-changed-rules.ts';

/** The notifications that the gateway may send on one stream. */
export interface StreamVoice {
  /** False: not yet, or never. */
  readonly isReady: boolean;
  /** Gets all bytes that the client gets, from the first on. */
  hear(chunk: Uint8Array): void;
  /** The event; empty when the client did not ask for it. */
  announce(list: ListName): string;
}

const methodHeader = 'mcp-method';

/** Whether a request opens a stream of notifications, from 2026-07-28 on. The header is required, so the body need not be read to know. */
export function asksForSubscription(method: string, headers: RawHeaders): boolean {
  if (method !== 'POST') return false;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.length === methodHeader.length && headers[i]!.toLowerCase() === methodHeader)
      return headers[i + 1] === 'subscriptions/listen';
  }
  return false;
}

/** The stream of a GET, up to 2025-11-25: it may carry notifications from the beginning, without a subscription. */
export const getVoice: StreamVoice = {
  isReady: true,
  hear() {},
  announce: (list) => formatEvent(list, undefined),
};

/** The stream of the older SSE transport. Clients ignore events before its `endpoint` event. */
export class LegacyVoice implements StreamVoice {
  #isReady = false;
  readonly #opening = new Opening((lines) => {
    this.#isReady = lines.some((line) => /^(?:\xef\xbb\xbf)?event: ?endpoint\s*$/.test(line));
    return this.#isReady;
  });

  get isReady(): boolean {
    return this.#isReady;
  }

  hear(chunk: Uint8Array): void {
    this.#opening.hear(chunk);
  }

  announce(list: ListName): string {
    return formatEvent(list, undefined);
  }
}

const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';
const filterKeys: Readonly<Record<ListName, string>> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
};

/**
 * The answer to `subscriptions/listen`, from 2026-07-28 on. The server must send only notifications that the client asked for, and each names
 * the subscription. Both are in the acknowledgement at the start of the stream, so the request need not be read.
 */
export class SubscriptionVoice implements StreamVoice {
  #subscription: string | undefined;
  readonly #lists = new Set<ListName>();
  readonly #opening = new Opening((lines, isFirst) => this.#read(lines, isFirst));

  get isReady(): boolean {
    return this.#subscription !== undefined;
  }

  hear(chunk: Uint8Array): void {
    this.#opening.hear(chunk);
  }

  announce(list: ListName): string {
    return this.#lists.has(list) ? formatEvent(list, this.#subscription) : '';
  }

  /** True once there has been a message, whatever it was. */
  #read(lines: EventLines, isFirst: boolean): boolean {
    const data = readEventData(lines, isFirst);
    if (data === undefined || data === '') return false;
    const message = parseJson(Buffer.from(data, 'latin1').toString());
    const params = isJsonObject(message) ? message['params'] : undefined;
    if (!isJsonObject(message) || message['method'] !== 'notifications/subscriptions/acknowledged') return true;
    if (!isJsonObject(params) || !isJsonObject(params['_meta']) || !isJsonObject(params['notifications'])) return true;
    const subscription = params['_meta'][subscriptionKey];
    if (typeof subscription !== 'string' && typeof subscription !== 'number') return true;
    this.#subscription = JSON.stringify(subscription);
    for (const [list, key] of Object.entries(filterKeys) as [ListName, string][])
      if (params['notifications'][key] === true) this.#lists.add(list);
    return true;
  }
}

/** Stop looking for the opening event after this many bytes. */
const maxOpeningBytes = 65_536;

/** Reads the first events of a stream until one has the needed information. */
class Opening {
  readonly #read: (lines: EventLines, isFirst: boolean) => boolean;
  #splitter: EventSplitter | undefined = new EventSplitter();
  #isFirst = true;
  #bytes = 0;

  /** `read` is given one event after the other until it returns true. */
  constructor(read: (lines: EventLines, isFirst: boolean) => boolean) {
    this.#read = read;
  }

  hear(chunk: Uint8Array): void {
    if (this.#splitter === undefined) return;
    this.#bytes += chunk.length;
    for (const event of this.#splitter.push(chunk)) {
      const isDone = this.#read(splitEventLines(Buffer.from(event).toString('latin1')), this.#isFirst);
      this.#isFirst = false;
      if (isDone) {
        this.#splitter = undefined;
        return;
      }
    }
    if (this.#bytes > maxOpeningBytes) this.#splitter = undefined;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function formatEvent(list: ListName, subscription: string | undefined): string {
  const params = subscription === undefined ? '' : `,"params":{"_meta":{"${subscriptionKey}":${subscription}}}`;
  return `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/${list}/list_changed"${params}}\n\n`;
}
