// What a picker is told, as messages of Envoy's external processing service.
import { create } from '@bufbuild/protobuf';
import {
  type HeaderMap,
  HeaderMapSchema,
  type HeaderValue,
  HeaderValueSchema,
  MetadataSchema,
} from '../../ir/gen/envoy/config/core/v3/base_pb.ts';
import {
  HttpBodySchema,
  HttpHeadersSchema,
  type ProcessingRequest,
  ProtocolConfigurationSchema,
} from '../../ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import type { UpstreamRequest } from '../forward/upstream/upstream-call.ts';
import type { RawHeaders } from '../http/exchange.ts';
import { metadataNamespace, servedField } from './destination.ts';

type PickerMessage = Omit<ProcessingRequest, '$typeName' | '$unknown'>;

/** Of one message. gRPC servers take 4 MiB at most by default; small pieces flow better. */
const maxPieceBytes = 64 * 1024;

// Envoy's ProcessingMode.FULL_DUPLEX_STREAMED.
const fullDuplexStreamed = 4;
const protocolConfig = create(ProtocolConfigurationSchema, {
  requestBodyMode: fullDuplexStreamed,
  responseBodyMode: fullDuplexStreamed,
  sendBodyWithoutWaitingForHeaderResponse: true,
});

/** All of a body that has ended. */
export const noBytes = new Uint8Array(0);

/** The head of a request, with its fields as they would go to the endpoint. */
export function describeRequest(request: UpstreamRequest): PickerMessage {
  const { method, host, target, headers, hasBody, contentLength } = request;
  const pseudo = [':method', method, ':scheme', 'http', ':authority', host, ':path', target];
  const length = hasBody && contentLength !== undefined ? ['content-length', String(contentLength)] : [];
  const fields = toHeaderMap([...pseudo, ...headers, ...length]);
  return {
    request: {
      case: 'requestHeaders',
      value: create(HttpHeadersSchema, { headers: fields, endOfStream: !hasBody }),
    },
    protocolConfig,
  };
}

/** The head of an answer, and who gave it. */
export function describeAnswer(
  status: number,
  headers: RawHeaders,
  isBodyless: boolean,
  endpoint: string,
): PickerMessage {
  const fields = toHeaderMap([':status', String(status), ...headers]);
  return {
    request: {
      case: 'responseHeaders',
      value: create(HttpHeadersSchema, { headers: fields, endOfStream: isBodyless }),
    },
    metadataContext: create(MetadataSchema, { filterMetadata: { [metadataNamespace]: { [servedField]: endpoint } } }),
  };
}

/** Some of a body. */
export function describePiece(what: 'requestBody' | 'responseBody', piece: Uint8Array, isLast: boolean): PickerMessage {
  return { request: { case: what, value: create(HttpBodySchema, { body: piece, endOfStream: isLast }) } };
}

/** In pieces that fit into a message each. */
export function cutPieces(chunk: Uint8Array): readonly Uint8Array[] {
  if (chunk.length <= maxPieceBytes) return [chunk];
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < chunk.length; at += maxPieceBytes) pieces.push(chunk.subarray(at, at + maxPieceBytes));
  return pieces;
}

function toHeaderMap(fields: RawHeaders): HeaderMap {
  const headers: HeaderValue[] = [];
  for (let i = 0; i < fields.length; i += 2)
    headers.push(
      create(HeaderValueSchema, { key: fields[i]!.toLowerCase(), rawValue: Buffer.from(fields[i + 1]!, 'latin1') }),
    );
  return create(HeaderMapSchema, { headers });
}
