// The requests of `login`: plain, since the user named the URL, but bounded in time and size, never redirected, and told to the narrator.
import { readClockOffset } from '../../base/clock-offset.ts';
import type { Narrator } from './narration.ts';

interface ToldFetchOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** What the request holds, without any secret. */
  readonly note?: string | undefined;
  /** The URL as it is told, when its query is long. */
  readonly toldUrl?: string;
  /** Stops reading a stream as soon as this says so. */
  readonly isComplete?: (text: string) => boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** How far the clock of the server is ahead of this machine's, in milliseconds; undefined: it does not show. */
  readonly clockOffsetMs: number | undefined;
}

/** An answer, or a sentence on why there is none. */
export type FetchResult =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly problem: string; readonly advice: string };

const timeoutMs = 20_000;
const maxBytes = 4 * 1024 * 1024;

/** Asks, and tells. Never throws. */
export async function fetchTold(narrator: Narrator, url: string, options: ToldFetchOptions = {}): Promise<FetchResult> {
  const { method = 'GET', headers = {}, body, note, isComplete, toldUrl = url } = options;
  const started = performance.now();
  const tell = (answer: { status: number; contentType: string } | { problem: string }): void => {
    const milliseconds = Math.round(performance.now() - started);
    narrator.tell({ method, url: toldUrl, note }, { ...answer, milliseconds });
  };
  try {
    const response = await fetch(url, {
      method,
      headers: { 'user-agent': 'mcp-gatehouse-login', ...headers },
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { headers: answered } = response;
    const clockOffsetMs = readClockOffset(answered.get('date'), answered.get('age'), Date.now());
    const text = await readBounded(response, isComplete);
    const contentType = (answered.get('content-type') ?? '').split(';')[0]!.trim();
    tell({ status: response.status, contentType });
    return { ok: true, answer: { status: response.status, headers: answered, text, clockOffsetMs } };
  } catch (error) {
    const { problem, advice } = describeFailure(error, url);
    tell({ problem });
    return { ok: false, problem, advice };
  }
}

async function readBounded(response: Response, isComplete?: (text: string) => boolean): Promise<string> {
  if (response.body === null) return '';
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for await (const chunk of response.body) {
    length += chunk.byteLength;
    if (length > maxBytes) throw new AnswerTooLargeError();
    text += decoder.decode(chunk, { stream: true });
    // Leaving the loop closes the connection: a stream would go on for as long as the session.
    if (isComplete?.(text) === true) return text;
  }
  return text + decoder.decode();
}

/** More than anything in this flow has a use for. */
export class AnswerTooLargeError extends Error {
  readonly code = 'answer_too_large';
}

function describeFailure(error: unknown, url: string): { problem: string; advice: string } {
  const { host } = new URL(url);
  if (error instanceof AnswerTooLargeError)
    return { problem: 'an answer of more than 4 MiB', advice: 'Is this the right URL?' };
  if (error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')) {
    return {
      problem: `no answer within ${timeoutMs / 1000} s`,
      advice: `Is ${host} overloaded, or behind a firewall?`,
    };
  }
  const refusal = findProxyRefusal(error);
  if (refusal !== undefined)
    return {
      problem: `the egress proxy answers ${refusal}`,
      advice: `Does the proxy of HTTPS_PROXY allow ${host}? NO_PROXY=${host} goes around it.`,
    };
  const code = findCode(error);
  if (code === 'ECONNREFUSED')
    return { problem: 'connection refused', advice: `Nothing listens at ${host}. Is it started?` };
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return {
      problem: `the name ${host} is not known`,
      advice: 'Is the name right, and does it resolve on this machine?',
    };
  if (code !== undefined && /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code)) {
    return {
      problem: `the certificate is not trusted (${code})`,
      advice: 'For a private authority: NODE_EXTRA_CA_CERTS=ca.pem mcp-gatehouse login ...',
    };
  }
  return { problem: code ?? 'the connection failed', advice: `Is ${url.split(':')[0]} the right scheme for ${host}?` };
}

/** The status with which the proxy refused a tunnel, which only a text has. */
function findProxyRefusal(error: unknown): string | undefined {
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    const status = /^Proxy response \((\d{3})\)/.exec(each.message)?.[1];
    if (status !== undefined) return status;
  }
  return undefined;
}

/** fetch wraps what really happened, sometimes twice. */
function findCode(error: unknown): string | undefined {
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    if ('code' in each && typeof each.code === 'string') return each.code;
    if (each instanceof AggregateError && each.errors.length > 0) return findCode(each.errors[0]);
  }
  return undefined;
}

/** A JSON object, or undefined. */
export function readJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** A member that is a string. */
export function readString(object: Readonly<Record<string, unknown>> | undefined, name: string): string | undefined {
  const value = object?.[name];
  return typeof value === 'string' ? value : undefined;
}

/** A member that is a list of strings. */
export function readStrings(
  object: Readonly<Record<string, unknown>> | undefined,
  name: string,
): readonly string[] | undefined {
  const value = object?.[name];
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined;
}

/** Our own errors carry the id under which the log has the reason. */
export function showRequestId(narrator: Narrator, document: Readonly<Record<string, unknown>> | undefined): void {
  const id = readString(document, 'request_id');
  if (id !== undefined) narrator.show('request_id', id);
}
