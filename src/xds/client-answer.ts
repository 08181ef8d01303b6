// The answer to a response: an ACK, or a NACK that names the unusable resources.
import { create } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import { Code } from '@connectrpc/connect';
import { type DeltaDiscoveryRequest, DeltaDiscoveryRequestSchema } from '../ir/gen/discovery_pb.ts';
import { StatusSchema } from '../ir/gen/google/rpc/status_pb.ts';
import { RejectionsSchema } from '../ir/gen/report_pb.ts';
import type { StatedRejection } from './client-rejections.ts';

/** `failure`: why the whole update could not be put in force. */
export function formatAnswer(
  typeUrl: string,
  responseNonce: string,
  rejections: readonly StatedRejection[],
  failure: string | undefined,
): DeltaDiscoveryRequest {
  const answer = create(DeltaDiscoveryRequestSchema, { typeUrl, responseNonce });
  if (failure !== undefined) {
    answer.errorDetail = create(StatusSchema, { code: Code.Internal, message: failure });
  } else if (rejections.length > 0) {
    const unusable = rejections.filter(({ reason }) => reason !== '');
    const [first] = unusable;
    const more = unusable.length > 1 ? ` (and ${unusable.length - 1} more)` : '';
    answer.errorDetail = create(StatusSchema, {
      code: Code.InvalidArgument,
      message: first === undefined ? '' : `${first.name}: ${first.reason}${more}`,
      details: [anyPack(RejectionsSchema, create(RejectionsSchema, { rejections: [...rejections] }))],
    });
  }
  return answer;
}
