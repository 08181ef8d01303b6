// Asks a readiness page: 200 is ready, anything else says why not, if it is a page of ours.
import { request } from 'undici';
import { cutText } from '../../base/cut-text.ts';
import type { Readiness } from '../../base/health.ts';

/** Undefined: ready. Otherwise why not, in words for an operator. */
export async function probeReadiness(url: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    // Not by fetch, which refuses some ports.
    const { statusCode, body } = await request(url, { signal });
    const text = await body.text();
    return statusCode === 200 ? undefined : (readReasons(text) ?? `it answers with status ${statusCode}`);
  } catch (error) {
    if (signal.aborted) return 'it does not answer';
    const { message, cause } = error as Error;
    return cause instanceof Error && cause.message !== '' ? cause.message : message;
  }
}

function readReasons(text: string): string | undefined {
  try {
    const { checks } = JSON.parse(text) as Readiness;
    const failing = checks.filter(({ ready }) => !ready);
    return failing.length === 0
      ? undefined
      : cutText(failing.map(({ name, reason }) => `${name}: ${reason ?? 'not yet'}`).join('; '), 1_000);
  } catch {
    return undefined;
  }
}
