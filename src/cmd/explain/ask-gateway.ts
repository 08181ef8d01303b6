// Asks a running gateway's admin port about a request that happened.
import { isJsonObject } from '../../base/json-object.ts';
import type { JournaledRequest } from '../../gateway/journaled-request.ts';

export type JournalAnswer =
  | { readonly ok: true; readonly request: JournaledRequest }
  /** `exitCode` 1: the gateway does not know the request; 2: nobody could be asked. */
  | { readonly ok: false; readonly problem: string; readonly exitCode: 1 | 2 };

const timeoutMs = 10_000;

/** Fetches the entry of the journal. */
export async function askGateway(admin: string, requestId: string): Promise<JournalAnswer> {
  const base = URL.parse(admin);
  if (base === null || (base.protocol !== 'http:' && base.protocol !== 'https:'))
    return fail(`--admin must be a URL such as http://127.0.0.1:15000, not ${JSON.stringify(admin)}`);
  const url = new URL(`/requests/${encodeURIComponent(requestId)}?format=json`, base);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      headers: { accept: 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    text = await response.text();
  } catch (error) {
    return fail(
      `no gateway answers at ${base.origin} (${describeFailure(error)}); --admin says where its admin port is`,
    );
  }
  const body = readObject(text);
  if (response.status === 404 && body?.['error'] === 'unknown_request')
    return { ok: false, problem: `request ${requestId}: ${String(body['error_description'])}`, exitCode: 1 };
  if (response.status !== 200 || !isJournaled(body))
    return fail(`${base.origin} is not the admin port of a gateway that keeps requests: it answers ${response.status}`);
  return { ok: true, request: body };
}

function fail(problem: string): JournalAnswer {
  return { ok: false, problem, exitCode: 2 };
}

/** The innermost cause has the code that people know: ECONNREFUSED. */
function describeFailure(error: unknown): string {
  let last = error;
  while (last instanceof Error && last.cause instanceof Error) last = last.cause;
  if (last instanceof Error && 'code' in last && typeof last.code === 'string') return last.code;
  return last instanceof Error ? last.message : String(last);
}

function readObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isJournaled(
  body: Readonly<Record<string, unknown>> | undefined,
): body is Readonly<Record<string, unknown>> & JournaledRequest {
  return typeof body?.['id'] === 'string' && Array.isArray(body['decisions']) && typeof body['method'] === 'string';
}
