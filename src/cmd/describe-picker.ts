// The endpoint picker of an InferencePool, for people and for --json: where it is, how it is talked to, and what happens without its answer.
import type { PickerConfig } from '../gateway/config/server-config.ts';
import type { ExplainedPicker } from './explain/explain-report.ts';

export function describePicker({ endpoints, tls, failsOpen, timeoutMs }: PickerConfig): ExplainedPicker {
  return {
    endpoints: endpoints.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`),
    tls: tls === undefined ? 'none' : tls.insecureSkipVerify ? 'unverified' : 'verified',
    failureMode: failsOpen ? 'FailOpen' : 'FailClose',
    timeoutMs,
  };
}

const tlsWords = { none: 'without TLS', unverified: 'TLS, not verified', verified: 'TLS, verified' } as const;

/** `10.0.0.9:9002 (TLS, not verified); FailClose: without an answer in 10000 ms, 503`. */
export function formatPicker({ endpoints, tls, failureMode, timeoutMs }: ExplainedPicker): string {
  const effect = failureMode === 'FailOpen' ? 'any endpoint' : '503';
  if (endpoints.length === 0) return `no endpoints; ${failureMode}: ${effect}`;
  return `${endpoints.join(' or ')} (${tlsWords[tls]}); ${failureMode}: without an answer in ${timeoutMs} ms, ${effect}`;
}
