// Refusals of tokens: a plain sentence for the client, and the values that were found for the operator.
import type { Reason } from '../../http/reasons.ts';
import type { TokenRefusal } from './verified-token.ts';

/** Makes a refusal. */
export function refuseToken(reason: Reason, detail: string, operatorDetail?: string): TokenRefusal {
  return { ok: false, reason, detail, ...(operatorDetail === undefined ? {} : { operatorDetail }) };
}

/** A value of a token for the log: short, on one line, with only the first elements of a list. */
export function showValue(value: unknown): string {
  if (value === undefined) return 'absent';
  if (Array.isArray(value) && value.length > 8) return `${showValue(value.slice(0, 8))} and ${value.length - 8} more`;
  const text = JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, '?');
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}
