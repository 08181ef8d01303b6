// A request as a picker wants it to go on: where to, and with which header fields.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type CommonResponse,
  CommonResponse_ResponseStatus as ResponseStatus,
} from '../../ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import { withoutFields } from '../http/headers.ts';
import type { UpstreamRequest } from '../forward/upstream/upstream-call.ts';
import { readTarget } from '../http/request-target.ts';
import { destinationField, readDestination, servedField } from './destination.ts';
import { mutateHeaders, readLength } from './header-mutation.ts';

/** Fields of the picker that a client must not set. */
const pickerFields: ReadonlySet<string> = new Set([
  destinationField,
  servedField,
  'x-gateway-destination-endpoint-subset',
]);

/** One request. */
export class PickedRequest {
  /** As the client sent it. */
  readonly original: UpstreamRequest;
  #request: UpstreamRequest;
  #destination: string | undefined;
  /** What the picker says about the length; null: nothing may be said. */
  #declaredLength: number | null | undefined;
  #isBodyChanged = false;

  constructor(request: UpstreamRequest) {
    this.original = { ...request, headers: withoutFields(request.headers, pickerFields) };
    this.#request = this.original;
  }

  /** Where the picker wants it to go. */
  get destination(): string | undefined {
    return this.#destination;
  }

  /** As it goes on. */
  get changed(): UpstreamRequest {
    if (!this.#isBodyChanged) return this.#request;
    return { ...this.#request, contentLength: this.#declaredLength ?? undefined };
  }

  /** The picker makes another body of it. */
  noteBodyChange(): void {
    this.#isBodyChanged = true;
  }

  /** The body is what the client sent after all. */
  forgetBodyChange(): void {
    this.#isBodyChanged = false;
  }

  /** It goes on as the client sent it. */
  forgetChanges(): void {
    this.#request = this.original;
    this.forgetBodyChange();
  }

  /** Takes what an answer of the picker says about it. Returns why that makes no sense. */
  change(common: CommonResponse | undefined, metadata: JsonObject | undefined): string | undefined {
    if (common?.status === ResponseStatus.CONTINUE_AND_REPLACE)
      return 'it answered CONTINUE_AND_REPLACE, which is not supported yet';
    this.#destination ??= readDestination(common?.headerMutation, metadata);
    const mutated = mutateHeaders(this.#request.headers, common?.headerMutation);
    if (!mutated.ok) return mutated.detail;
    let { target } = this.#request;
    const path = mutated.special.get(':path');
    if (typeof path === 'string') {
      const read = readTarget(path);
      if (!read.ok) return `it set a path that cannot be requested: ${read.detail}`;
      target = `${read.path}${read.query}`;
    }
    this.#request = { ...this.#request, headers: mutated.headers, target };
    const length = mutated.special.get('content-length');
    if (length !== undefined) this.#declaredLength = length === null ? null : readLength(length);
    return undefined;
  }
}
