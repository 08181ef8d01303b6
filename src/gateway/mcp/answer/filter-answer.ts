// Filters a server's answer by the rules over MCP messages: lists show only what the caller may use, in JSON and in event streams.
// An answer that is certainly no list is not read; one that could be a list but cannot be read is refused.
import type { RawHeaders } from '../../http/exchange.ts';
import type { AnswerExpectation } from './answer-expectation.ts';
import { EventStreamFilter } from './event-stream-filter.ts';
import { answerBatch, filterJson, filterOpaque } from './filter-answer-body.ts';
import { hasContentEncoding, readContentLength, readContentType } from './filter-answer-headers.ts';
import type { AnswerTreatment, FilterAnswer } from '../../http/answer-filter.ts';

/** How much of an answer the gateway holds to read it. */
export interface AnswerLimits {
  /** Of a JSON answer that has to be read. Past it: 502. */
  readonly maxBodyBytes: number;
  /** Of one event. Past it the stream ends. */
  readonly maxEventBytes: number;
}

/** The defaults, as documented. */
export const defaultAnswerLimits: AnswerLimits = { maxBodyBytes: 16_777_216, maxEventBytes: 16_777_216 };

/** The filter for the answer to one request. */
export function createAnswerFilter(
  expectation: AnswerExpectation,
  limits: AnswerLimits = defaultAnswerLimits,
): FilterAnswer {
  return (status, headers) => treatAnswer(expectation, limits, status, headers);
}

const pass: AnswerTreatment = { kind: 'pass' };
const encoded: AnswerTreatment = {
  kind: 'refuse',
  detail: 'the upstream sent a list with a content-encoding that it was not asked for',
};

function treatAnswer(
  expectation: AnswerExpectation,
  limits: AnswerLimits,
  status: number,
  headers: RawHeaders,
): AnswerTreatment {
  const { injected, listRequests } = expectation;
  const isSuccess = status >= 200 && status < 300;
  const mustMerge = injected.length > 0 && isSuccess;
  // The server has nothing to answer: the answer consists of the gateway's own messages.
  if (mustMerge && (status === 202 || status === 204))
    return { kind: 'collect', maxBytes: limits.maxBodyBytes, filter: () => answerBatch(injected) };
  if (status === 204 || (!isSuccess && status < 400)) return pass;

  const type = readContentType(headers);
  if (type === undefined) return { kind: 'refuse', detail: 'the upstream named several content types' };
  if (type === 'text/event-stream') {
    if (hasContentEncoding(headers)) return encoded;
    const filter = new EventStreamFilter({ ...expectation, injected: mustMerge ? injected : [], ...limits });
    return { kind: 'stream', filter };
  }
  const asksList = listRequests === undefined || listRequests.size > 0;
  if (!asksList && !mustMerge) return pass;

  const isJson = /^(?:application|text)\/(?:[^/]+\+)?json$/.test(type);
  // Error pages, and on a GET, which asks for events only, whatever is neither events nor JSON.
  if (!isJson && (status >= 400 || (listRequests === undefined && type !== ''))) return pass;
  if (hasContentEncoding(headers)) return encoded;
  const length = readContentLength(headers);
  if (length !== undefined && length > limits.maxBodyBytes)
    return { kind: 'refuse', detail: `a list of more than ${limits.maxBodyBytes} bytes cannot be filtered` };
  const merged = mustMerge ? injected : [];
  return {
    kind: 'collect',
    maxBytes: limits.maxBodyBytes,
    filter: isJson
      ? (body) => filterJson(body, expectation, merged)
      : (body) => filterOpaque(body, expectation, merged, status),
  };
}
