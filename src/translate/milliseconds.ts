// Durations on their way into messages: unsigned 32-bit milliseconds.
import { parseDuration } from '../api/duration.ts';

const most = 0x7f_ff_ff_ff; // 24 days, the longest that a timer supports

/** The milliseconds of a duration; 0 for an absent one. */
export function convertToMilliseconds(duration: string | undefined): number {
  return duration === undefined ? 0 : Math.min(parseDuration(duration), most);
}
