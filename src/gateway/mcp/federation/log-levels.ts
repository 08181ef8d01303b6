// The levels of log messages, which are the same in all versions, and where a request from 2026-07-28 on names one.
import { readMember } from '../names/message-head.ts';

/** In `_meta` of a request. */
export const logLevelKey = 'io.modelcontextprotocol/logLevel';

/** The least important first. */
export const logLevels: readonly string[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

/** The level that a request asks for (JSON); undefined: it wants no log messages. */
export function readLogLevel(text: string): string | undefined {
  return readMember(text, ['params', '_meta', logLevelKey]);
}

/** Whether `notifications/message` is important enough for a request with this level (JSON). */
export function reachesLevel(text: string, level: string | undefined): boolean {
  if (level === undefined) return false;
  const least = logLevels.indexOf(readText(level));
  return least >= 0 && logLevels.indexOf(readText(readMember(text, ['params', 'level']))) >= least;
}

function readText(json: string | undefined): string {
  const value: unknown = json === undefined ? undefined : JSON.parse(json);
  return typeof value === 'string' ? value : '';
}
