// The messages that a picker answers with, as short as tests want to say them.
import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  BodyResponseSchema,
  CommonResponse_ResponseStatus,
  type HeaderMutationSchema,
  HeadersResponseSchema,
  type ProcessingResponse,
  ProcessingResponseSchema,
} from '../../src/ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import { HeaderValueOption_HeaderAppendAction } from '../../src/ir/gen/envoy/config/core/v3/base_pb.ts';

/** The header and the metadata entry that name the chosen endpoints. */
export const destinationKey = 'x-gateway-destination-endpoint';
/** The namespace of the metadata entry. */
export const destinationNamespace = 'envoy.lb';
/** The metadata entry in which the gateway says who served. */
export const servedKey = 'x-gateway-destination-endpoint-served';

/** A field that is set. */
export interface FieldChange {
  readonly name: string;
  readonly value: string;
  /** `unset` is what most pickers send, and replaces. Default: overwrite. */
  readonly action?: 'unset' | 'append' | 'add-if-absent' | 'overwrite' | 'overwrite-if-exists';
  /** In the older of the two members for values. */
  readonly asText?: boolean;
}

/** What becomes of headers. */
export interface HeaderChanges {
  readonly set?: readonly FieldChange[];
  readonly remove?: readonly string[];
}

const actions = {
  unset: HeaderValueOption_HeaderAppendAction.APPEND_IF_EXISTS_OR_ADD,
  'add-if-absent': HeaderValueOption_HeaderAppendAction.ADD_IF_ABSENT,
  overwrite: HeaderValueOption_HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
  'overwrite-if-exists': HeaderValueOption_HeaderAppendAction.OVERWRITE_IF_EXISTS,
} as const;

function mutate({ set = [], remove = [] }: HeaderChanges): MessageInitShape<typeof HeaderMutationSchema> {
  return {
    setHeaders: set.map(({ name, value, action = 'overwrite', asText = false }) => ({
      header: asText ? { key: name, value } : { key: name, rawValue: Buffer.from(value, 'latin1') },
      ...(action === 'append' ? { append: true } : { appendAction: actions[action] }),
    })),
    removeHeaders: [...remove],
  };
}

/** Where a choice is written. */
export type ChoicePlace = 'header' | 'metadata' | 'both';

/** The answer to the request headers that names the endpoints, separated by commas when they are several. */
export function choose(
  endpoints: string,
  place: ChoicePlace = 'both',
  changes: HeaderChanges = {},
): ProcessingResponse {
  const chosen = place === 'metadata' ? [] : [{ name: destinationKey, value: endpoints }];
  return create(ProcessingResponseSchema, {
    response: {
      case: 'requestHeaders',
      value: {
        response: { headerMutation: mutate({ ...changes, set: [...chosen, ...(changes.set ?? [])] }) },
      },
    },
    ...(place === 'header' ? {} : { dynamicMetadata: { [destinationNamespace]: { [destinationKey]: endpoints } } }),
  });
}

/** An answer to the request headers with this metadata and no header, for metadata that says something else. */
export function chooseByMetadata(dynamicMetadata: JsonObject): ProcessingResponse {
  return create(ProcessingResponseSchema, {
    response: { case: 'requestHeaders', value: { response: {} } },
    dynamicMetadata,
  });
}

/** Which body, and which headers. */
export type Side = 'request' | 'response';

/** The headers pass, with these changes. */
export function passHeaders(side: Side, changes: HeaderChanges = {}): ProcessingResponse {
  const value = create(HeadersResponseSchema, { response: { headerMutation: mutate(changes) } });
  return create(ProcessingResponseSchema, {
    response: side === 'request' ? { case: 'requestHeaders', value } : { case: 'responseHeaders', value },
  });
}

function answerBody(side: Side, response: MessageInitShape<typeof BodyResponseSchema>['response']): ProcessingResponse {
  const value = create(BodyResponseSchema, { response });
  return create(ProcessingResponseSchema, {
    response: side === 'request' ? { case: 'requestBody', value } : { case: 'responseBody', value },
  });
}

/** The chunk passes as it is. */
export const passChunk = (side: Side): ProcessingResponse =>
  answerBody(side, { status: CommonResponse_ResponseStatus.CONTINUE });

/** These bytes take the place of the chunk. */
export const replaceChunk = (side: Side, body: Uint8Array | string): ProcessingResponse =>
  answerBody(side, { bodyMutation: { mutation: { case: 'body', value: Buffer.from(body) } } });

/** The chunk is dropped. */
export const dropChunk = (side: Side): ProcessingResponse =>
  answerBody(side, { bodyMutation: { mutation: { case: 'clearBody', value: true } } });

/** Some of the new body, in full duplex. */
export const streamChunk = (side: Side, body: Uint8Array | string, endOfStream: boolean): ProcessingResponse =>
  answerBody(side, {
    bodyMutation: { mutation: { case: 'streamedResponse', value: { body: Buffer.from(body), endOfStream } } },
  });

/** The trailers pass. */
export const passTrailers = (side: Side): ProcessingResponse =>
  create(ProcessingResponseSchema, {
    response: side === 'request' ? { case: 'requestTrailers', value: {} } : { case: 'responseTrailers', value: {} },
  });

/** The client gets this answer. */
export function answerAtOnce(status: number, body = '', changes: HeaderChanges = {}): ProcessingResponse {
  return create(ProcessingResponseSchema, {
    response: {
      case: 'immediateResponse',
      value: { status: { code: status }, body: Buffer.from(body), headers: mutate(changes) },
    },
  });
}

/** A message that answers nothing. */
export const sayNothing = (): ProcessingResponse => create(ProcessingResponseSchema, {});
