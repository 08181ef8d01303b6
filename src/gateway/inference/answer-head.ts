// Heads of answers as changed by a picker, and answers that a picker gives itself.
import type {
  HeaderMutation,
  ImmediateResponse,
} from '../../ir/gen/envoy/service/ext_proc/v3/external_processor_pb.ts';
import { findHeader, withoutFields } from '../http/headers.ts';
import type { RawHeaders } from '../http/exchange.ts';
import { mutateHeaders, readLength } from './header-mutation.ts';

/** The head of an answer as the endpoint sent it. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: RawHeaders;
  /** Nothing comes after it. */
  readonly isBodyless: boolean;
}

/** The answer for the client, or why the picker's change is not valid. */
type ChangedHead =
  | { readonly ok: true; readonly status: number; readonly headers: RawHeaders }
  | { readonly ok: false; readonly detail: string };

const contentLengthField: ReadonlySet<string> = new Set(['content-length']);

/** Whether a head is all of an answer. */
export function readAnswerHead(method: string, status: number, headers: RawHeaders): AnswerHead {
  const isEmpty = status === 204 || status === 304 || findHeader(headers, 'content-length') === '0';
  return { status, headers, isBodyless: isEmpty || method === 'HEAD' };
}

/** The head with the changes of a picker that may also send another body: only what it says about the length is true then. */
export function changeAnswerHead(head: AnswerHead, mutation: HeaderMutation | undefined): ChangedHead {
  const mutated = mutateHeaders(head.headers, mutation);
  if (!mutated.ok) return mutated;
  const { special, headers } = mutated;
  const status = special.get(':status') ?? String(head.status);
  if (!/^[2-5]\d\d$/.test(status)) return { ok: false, detail: 'it set an invalid status' };
  if (head.isBodyless) return { ok: true, status: Number(status), headers };
  const length = special.get('content-length') ?? '';
  const kept = withoutFields(headers, contentLengthField);
  const declared = readLength(length) === null ? kept : [...kept, 'content-length', length];
  return { ok: true, status: Number(status), headers: declared };
}

/** The head of an answer that the picker gives itself. */
export function readImmediateHead({ status, headers, body }: ImmediateResponse): ChangedHead {
  const code = status?.code ?? 200;
  if (code < 200 || code > 599)
    return { ok: false, detail: `it answered in place of the endpoint with the status ${code}` };
  const mutated = mutateHeaders([], headers);
  if (!mutated.ok) return mutated;
  const fields = [...mutated.headers, 'content-length', String(body.length)];
  if (body.length > 0 && findHeader(fields, 'content-type') === undefined) fields.push('content-type', 'text/plain');
  return { ok: true, status: code, headers: fields };
}
