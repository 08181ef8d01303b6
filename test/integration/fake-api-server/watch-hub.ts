// The open watches of the fake API server, and what a test can do to them.
import type { ServerResponse } from 'node:http';
import type { KubernetesObject } from '../../../src/kubernetes/client.ts';
import type { ObjectStore, StoreEvent } from './object-store.ts';
import { renderBookmark, renderObject, type View } from './render-object.ts';
import { formatResource } from './served-kind.ts';
import { expired, writeStatus } from './status-error.ts';

/** What a watch covers. */
export interface WatchRequest {
  readonly view: View;
  readonly namespace: string | undefined;
  readonly matches: (object: KubernetesObject) => boolean;
  readonly resourceVersion: string;
  readonly bookmarks: boolean;
  readonly timeoutSeconds: number | undefined;
}

interface OpenWatch extends WatchRequest {
  readonly response: ServerResponse;
  /** Nothing is written any more: the connection looks alive and is not. */
  silent: boolean;
}

export class WatchHub {
  readonly #store: ObjectStore;
  readonly #open = new Set<OpenWatch>();
  /** How an expired resourceVersion is told: by the status of the answer, or by an event in it. Real servers do both. */
  expiryForm: 'status' | 'event' = 'status';

  constructor(store: ObjectStore) {
    this.#store = store;
    store.listen((event) => {
      for (const watch of this.#open) this.#send(watch, event);
    });
  }

  /** Watches that are open now, of a kind or of all. */
  count(kind?: string): number {
    return this.#select(kind).length;
  }

  /** Throws a StatusError when the watch cannot start. */
  serve(request: WatchRequest, response: ServerResponse): void {
    const { resourceVersion } = request;
    const fromScratch = resourceVersion === '' || resourceVersion === '0';
    const isExpired = !fromScratch && Number(resourceVersion) < this.#store.forgottenUntil;
    if (isExpired && this.expiryForm === 'status') throw expired(`too old resource version: ${resourceVersion}`);
    response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
    response.flushHeaders();
    if (isExpired) {
      response.end(
        `${JSON.stringify({ type: 'ERROR', object: writeStatus(expired(`too old resource version: ${resourceVersion}`)) })}\n`,
      );
      return;
    }
    const watch: OpenWatch = { ...request, response, silent: false };
    this.#open.add(watch);
    response.on('close', () => this.#open.delete(watch));
    if (fromScratch) {
      for (const object of this.#store.list(watch.view.kind))
        if (this.#covers(watch, object)) this.#write(watch, 'ADDED', renderObject(watch.view, object));
    } else {
      for (const event of this.#store.eventsAfter(formatResource(watch.view.kind), Number(resourceVersion)))
        this.#send(watch, event);
    }
    if (watch.timeoutSeconds !== undefined) {
      const timer = setTimeout(() => this.#end(watch), watch.timeoutSeconds * 1000).unref();
      response.on('close', () => clearTimeout(timer));
    }
  }

  /** Tells watches how far they have come. */
  sendBookmarks(kind?: string): void {
    for (const watch of this.#select(kind)) this.#sendBookmark(watch);
  }

  /** Ends watches in good order, as their timeout does: a bookmark, then the end. */
  end(kind?: string): void {
    for (const watch of this.#select(kind)) this.#end(watch);
  }

  /** Cuts the connections. */
  drop(kind?: string): void {
    for (const watch of this.#select(kind)) watch.response.socket?.destroy();
  }

  /** The connections stay, and nothing comes over them any more. */
  silence(kind?: string): void {
    for (const watch of this.#select(kind)) watch.silent = true;
  }

  /** Writes anything at all into the stream. */
  writeRaw(text: string, kind?: string): void {
    for (const watch of this.#select(kind)) watch.response.write(text);
  }

  #select(kind: string | undefined): OpenWatch[] {
    return [...this.#open].filter(({ view }) => kind === undefined || view.kind.kind === kind);
  }

  #end(watch: OpenWatch): void {
    this.#sendBookmark(watch);
    if (watch.silent) return;
    this.#open.delete(watch);
    watch.response.end();
  }

  #sendBookmark(watch: OpenWatch): void {
    if (watch.bookmarks) this.#write(watch, 'BOOKMARK', renderBookmark(watch.view, this.#store.resourceVersion));
  }

  #covers({ namespace, matches }: OpenWatch, object: KubernetesObject): boolean {
    return (namespace === undefined || namespace === object.metadata.namespace) && matches(object);
  }

  /** An object that a selector begins or ceases to match comes and goes for this watch. */
  #send(watch: OpenWatch, event: StoreEvent): void {
    if (event.resource !== formatResource(watch.view.kind)) return;
    const had = event.before !== undefined && this.#covers(watch, event.before);
    const has = event.after !== undefined && this.#covers(watch, event.after);
    if (!had && !has) return;
    const type = has ? (had ? 'MODIFIED' : 'ADDED') : 'DELETED';
    const object = has ? event.after : (event.gone ?? event.before!);
    const metadata = { ...object.metadata, resourceVersion: String(event.resourceVersion) };
    this.#write(watch, type, renderObject(watch.view, { ...object, metadata }));
  }

  #write(watch: OpenWatch, type: string, object: object): void {
    if (!watch.silent) watch.response.write(`${JSON.stringify({ type, object })}\n`);
  }
}
