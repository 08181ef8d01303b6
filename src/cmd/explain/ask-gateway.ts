// Asks a running gateway's admin port: about a request that happened, or for any of its pages as JSON.
import { readAdminToken } from '../admin-token-file.ts';
import { isJsonObject, type JsonObject } from '../../base/json-object.ts';
import type { JournaledRequest } from '../../gateway/observe/journaled-request.ts';

type JournalAnswer =
  | { readonly ok: true; readonly request: JournaledRequest }
  /** `exitCode` 1: the gateway does not know the request; 2: no gateway could be reached. */
  | { readonly ok: false; readonly problem: string; readonly exitCode: 1 | 2 };

const timeoutMs = 10_000;

/** Fetches the entry of the journal. */
export async function askGateway(admin: AdminPort, requestId: string): Promise<JournalAnswer> {
  const answer = await askAdminPort(admin, `/requests/${encodeURIComponent(requestId)}?format=json`);
  if (!answer.ok) return fail(answer.problem);
  const { status, body, origin } = answer;
  if (status === 404 && body?.['error'] === 'unknown_request')
    return { ok: false, problem: `request ${requestId}: ${String(body['error_description'])}`, exitCode: 1 };
  if (status !== 200 || !isJournaled(body))
    return fail(`${origin} is not the admin port of a gateway that keeps requests: it answers ${status}`);
  return { ok: true, request: body };
}

/** Where a gateway is asked. */
export interface AdminPort {
  readonly admin: string;
  /** Empty: it asks for no token. */
  readonly adminTokenFile: string;
}

/** What the admin port answered; the body is undefined when it is no JSON object. */
type AdminAnswer =
  | { readonly ok: true; readonly status: number; readonly body: JsonObject | undefined; readonly origin: string }
  | { readonly ok: false; readonly problem: string };

/** Asks for a page of the admin port, as JSON. With `sent` it changes something. */
export async function askAdminPort(
  { admin, adminTokenFile }: AdminPort,
  target: string,
  sent?: JsonObject,
): Promise<AdminAnswer> {
  const base = URL.parse(admin);
  if (base === null || (base.protocol !== 'http:' && base.protocol !== 'https:'))
    return {
      ok: false,
      problem: `--admin must be a URL such as http://127.0.0.1:15000, not ${JSON.stringify(admin)}`,
    };
  const token = adminTokenFile === '' ? undefined : readAdminToken(adminTokenFile);
  if (token?.ok === false) return { ok: false, problem: token.message };
  try {
    const response = await fetch(new URL(target, base), {
      ...(sent !== undefined && { method: 'POST', body: JSON.stringify(sent) }),
      headers: {
        accept: 'application/json',
        ...(sent !== undefined && { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token.token}` }),
      },
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.status === 401)
      return {
        ok: false,
        problem: `${base.origin} asks for its token: --admin-token-file says where it is (mcp-gatehouse admin-token prints it)`,
      };
    return { ok: true, status: response.status, body: readObject(await response.text()), origin: base.origin };
  } catch (error) {
    return {
      ok: false,
      problem: `no gateway answers at ${base.origin} (${describeFailure(error)}); --admin says where its admin port is`,
    };
  }
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

function readObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isJournaled(body: JsonObject | undefined): body is JsonObject & JournaledRequest {
  return typeof body?.['id'] === 'string' && Array.isArray(body['decisions']) && typeof body['method'] === 'string';
}
