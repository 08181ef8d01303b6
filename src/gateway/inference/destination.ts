// Where a picker wants a request to go: a list of ip:port, in a header field or in metadata.
// https://github.com/kubernetes-sigs/gateway-api-inference-extension/tree/main/docs/proposals/004-endpoint-picker-protocol
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { HeaderMutation } from '../../ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import { readHeaderValue } from './header-mutation.ts';

export const destinationField = 'x-gateway-destination-endpoint';
/** The namespace of the metadata, in both directions. */
export const metadataNamespace = 'envoy.lb';
/** Tells the picker which endpoint has answered. */
export const servedField = 'x-gateway-destination-endpoint-served';

/** What an answer of the picker says about the destination; undefined: nothing. The header field counts first, as both are to be the same. */
export function readDestination(
  mutation: HeaderMutation | undefined,
  metadata: JsonObject | undefined,
): string | undefined {
  const field = mutation?.setHeaders.findLast(({ header }) => header?.key.toLowerCase() === destinationField);
  if (field?.header !== undefined) return readHeaderValue(field.header);
  const namespace: JsonValue | undefined = metadata?.[metadataNamespace];
  if (namespace === undefined || namespace === null || typeof namespace !== 'object' || Array.isArray(namespace))
    return undefined;
  const value = namespace[destinationField];
  return typeof value === 'string' ? value : undefined;
}

/** Longer lists are cut: so many endpoints are never tried. */
const maxCandidates = 64;

/** The endpoints of a destination, in order, each once. */
export function listCandidates(destination: string): readonly string[] {
  const names = destination.split(',', maxCandidates).map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ''))];
}
