// Words for tokens that are not accepted: plain for the client, with what was found for the operator.
import type { Reason } from '../../http/reasons.ts';
import type { TokenRefusal } from './verified-token.ts';

/** Makes a refusal. */
export function refuseToken(reason: Reason, detail: string, operatorDetail?: string): TokenRefusal {
  return { ok: false, reason, detail, ...(operatorDetail === undefined ? {} : { operatorDetail }) };
}

/** A value of a token as the log may have it: on one line, short, and never more than a few of a list. */
export function showValue(value: unknown): string {
  if (value === undefined) return 'absent';
  if (Array.isArray(value) && value.length > 8) return `${showValue(value.slice(0, 8))} and ${value.length - 8} more`;
  const text = JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, '?');
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}
