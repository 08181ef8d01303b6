// A clock that nobody can set: the time since this machine started, with the time that it slept. performance.now() stands still meanwhile.
import { uptime } from 'node:os';

/** Milliseconds since the machine started, to about ten of them. */
export function readUptime(): number {
  return uptime() * 1_000;
}
