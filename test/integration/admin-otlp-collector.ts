// An OTLP/HTTP trace receiver for tests: takes JSON and protobuf, keeps the spans, answers as it is told.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  /** 2 server, 3 client. Only from JSON. */
  readonly kind: number | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2 error. Only from JSON. */
  readonly statusCode: number | undefined;
}

export interface Collector {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** service.name and so on, from JSON. */
  readonly resource: Record<string, unknown>;
  readonly contentTypes: string[];
  /** Resolves when this many spans have arrived. */
  waitForSpans(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Starts a receiver; `hang` makes it take requests and never answer. */
export async function startCollector(options: { readonly hang?: boolean } = {}): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const resource: Record<string, unknown> = {};
  const contentTypes: string[] = [];
  let waiters: { readonly count: number; readonly resolve: () => void }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (options.hang === true) return;
      const type = request.headers['content-type'] ?? '';
      contentTypes.push(type);
      const body = Buffer.concat(chunks);
      spans.push(...(type === 'application/json' ? readJson(body, resource) : readProtobuf(body)));
      response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{}' : '');
      waiters = waiters.filter(({ count, resolve }) => {
        if (spans.length >= count) resolve();
        return spans.length < count;
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    resource,
    contentTypes,
    waitForSpans: (count) =>
      spans.length >= count ? Promise.resolve() : new Promise((resolve) => waiters.push({ count, resolve })),
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

interface JsonAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface JsonSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly JsonAttribute[];
  readonly status: { readonly code?: number };
}

interface JsonExport {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly JsonAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly JsonSpan[] }[];
  }[];
}

function readJson(body: Buffer, resource: Record<string, unknown>): ReceivedSpan[] {
  const parsed = JSON.parse(body.toString('utf8')) as JsonExport;
  return parsed.resourceSpans.flatMap(({ resource: described, scopeSpans }) => {
    Object.assign(resource, readAttributes(described.attributes));
    return scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        kind: span.kind,
        attributes: readAttributes(span.attributes),
        statusCode: span.status.code,
      })),
    );
  });
}

function readAttributes(attributes: readonly JsonAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** ExportTraceServiceRequest.resource_spans(1).scope_spans(2).spans(2), as far as the tests look. */
function readProtobuf(body: Uint8Array): ReceivedSpan[] {
  return readFields(body, 1)
    .flatMap((resourceSpans) => readFields(resourceSpans, 2))
    .flatMap((scopeSpans) => readFields(scopeSpans, 2))
    .map((span) => ({
      traceId: Buffer.from(readFields(span, 1)[0] ?? []).toString('hex'),
      spanId: Buffer.from(readFields(span, 2)[0] ?? []).toString('hex'),
      parentSpanId: Buffer.from(readFields(span, 4)[0] ?? []).toString('hex'),
      name: Buffer.from(readFields(span, 5)[0] ?? []).toString('utf8'),
      kind: undefined,
      attributes: {},
      statusCode: undefined,
    }));
}

function readFields(message: Uint8Array, wanted: number): Uint8Array[] {
  const reader = new BinaryReader(message);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === wanted && type === WireType.LengthDelimited) found.push(reader.bytes());
    else reader.skip(type, field);
  }
  return found;
}
