// Timestamps and durations: their text forms, their range, and the parts of a date in a time zone.
import { Duration, Failure, Timestamp } from '../values.ts';

const second = 1_000_000_000n;
const minTimestamp = -62_135_596_800n * second;
const maxTimestamp = 253_402_300_799n * second + 999_999_999n;
const minDuration = -(2n ** 63n);
const maxDuration = 2n ** 63n - 1n;

const timestampOverflow = new Failure('the time is not between the years 1 and 9999');
const durationOverflow = new Failure('the duration is longer than 292 years');
const noTimestamp = new Failure('the text is not a time such as 2030-01-31T09:00:00Z');
const noDuration = new Failure('the text is not a duration such as 90s or 1h30m');
const noTimeZone = new Failure('the text is not a time zone such as Europe/Berlin or +02:00');

/** The timestamp, if it is in range. */
export function toTimestamp(nanoseconds: bigint): Timestamp | Failure {
  return nanoseconds >= minTimestamp && nanoseconds <= maxTimestamp ? new Timestamp(nanoseconds) : timestampOverflow;
}

/** The duration, if it is in range. */
export function toDuration(nanoseconds: bigint): Duration | Failure {
  return nanoseconds >= minDuration && nanoseconds <= maxDuration ? new Duration(nanoseconds) : durationOverflow;
}

const timestampForm = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** RFC 3339. */
export function parseTimestamp(text: string): Timestamp | Failure {
  const parts = timestampForm.exec(text);
  if (parts === null) return noTimestamp;
  const [year, month, day, hour, minute, seconds] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const offsetHour = Number(parts[9] ?? 0);
  const offsetMinute = Number(parts[10] ?? 0);
  const date = new Date(0);
  // Date.UTC takes years below 100 for ones of the 20th century.
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, seconds);
  const isReal =
    year > 0 &&
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    hour < 24 &&
    minute < 60 &&
    seconds < 60 &&
    offsetHour < 24 &&
    offsetMinute < 60;
  if (!isReal) return noTimestamp;
  const offset = (parts[8] === '-' ? -60 : 60) * (offsetHour * 60 + offsetMinute);
  const nanoseconds = BigInt((parts[7] ?? '').padEnd(9, '0'));
  return toTimestamp(BigInt(date.getTime() / 1000 - offset) * second + nanoseconds);
}

/** RFC 3339 in UTC, with as many digits of a second as are needed. */
export function formatTimestamp({ nanoseconds }: Timestamp): string {
  const fraction = modulo(nanoseconds, second);
  const date = new Date(Number((nanoseconds - fraction) / second) * 1000).toISOString().slice(0, 19);
  return `${date}${formatFraction(fraction)}Z`;
}

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  ms: 1_000_000n,
  s: second,
  m: 60n * second,
  h: 3600n * second,
};

const durationForm = /^([+-]?)(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$/;
const durationPart = /(\d*)\.?(\d*)(ns|us|µs|ms|s|m|h)/g;

/** Longer ones are no duration that fits. */
const longestDuration = 128;

/** Numbers with units: 1h30m, -1.5s, 300ms. */
export function parseDuration(text: string): Duration | Failure {
  const form = text.length > longestDuration ? null : durationForm.exec(text);
  if (form === null) return noDuration;
  let sum = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of text.matchAll(durationPart))
    sum += (BigInt(`${whole}${fraction}`) * units[unit]!) / 10n ** BigInt(fraction.length);
  return toDuration(form[1] === '-' ? -sum : sum);
}

/** In seconds: 5400s, 0.25s. */
export function formatDuration({ nanoseconds }: Duration): string {
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  return `${nanoseconds < 0n ? '-' : ''}${size / second}${formatFraction(size % second)}s`;
}

function formatFraction(nanoseconds: bigint): string {
  return nanoseconds === 0n ? '' : `.${nanoseconds.toString().padStart(9, '0').replace(/0+$/, '')}`;
}

/** Never negative. */
function modulo(value: bigint, by: bigint): bigint {
  return ((value % by) + by) % by;
}

/** Turns a time into a Date whose UTC parts are what the clocks of the zone show. */
type ZoneClock = (time: Timestamp) => Date;

/** The clock of UTC. */
export const utcClock: ZoneClock = ({ nanoseconds }) => new Date(toMilliseconds(nanoseconds));

/** Most gateways see a handful of zones; a caller who invents more must not fill the memory. */
const maxClocks = 64;
const clocks = new Map<string, ZoneClock>();

/** The clock of a zone: a name of the IANA database, or an offset such as +02:00. */
export function findClock(zone: string): ZoneClock | Failure {
  const known = clocks.get(zone);
  if (known !== undefined) return known;
  const clock = createClock(zone);
  if (clock === undefined) return noTimeZone;
  if (clocks.size >= maxClocks) clocks.clear();
  clocks.set(zone, clock);
  return clock;
}

const offsetForm = /^([+-]?)(\d\d):(\d\d)$/;

function createClock(zone: string): ZoneClock | undefined {
  const fixed = offsetForm.exec(zone);
  if (fixed !== null) {
    const minutes = Number(fixed[2]) * 60 + Number(fixed[3]);
    const offset = (fixed[1] === '-' ? -60_000 : 60_000) * minutes;
    return ({ nanoseconds }) => new Date(toMilliseconds(nanoseconds) + offset);
  }
  const format = createFormat(zone);
  if (format === undefined) return undefined;
  const offsets = rememberOffset((milliseconds) => measureOffset(format, milliseconds));
  return ({ nanoseconds }) => {
    const milliseconds = toMilliseconds(nanoseconds);
    return new Date(milliseconds + offsets(milliseconds));
  };
}

const longestZone = 64;

function createFormat(zone: string): Intl.DateTimeFormat | undefined {
  if (zone.length > longestZone) return undefined;
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return undefined;
  }
}

/** How far the clocks of a zone are ahead of UTC, in milliseconds. */
function measureOffset(format: Intl.DateTimeFormat, milliseconds: number): number {
  const whole = Math.floor(milliseconds / 1000) * 1000;
  const part: Record<string, number> = {};
  let isBeforeChrist = false;
  for (const { type, value } of format.formatToParts(whole)) {
    if (type === 'era') isBeforeChrist = value.startsWith('B');
    else part[type] = Number(value);
  }
  const shown = new Date(0);
  shown.setUTCFullYear(isBeforeChrist ? 1 - part['year']! : part['year']!, part['month']! - 1, part['day']);
  shown.setUTCHours(part['hour']!, part['minute'], part['second']);
  return shown.getTime() - whole;
}

const quarterHour = 900_000;

/** Caches the offset per quarter of an hour, unless clocks change within it: formatting a date takes longer than the rest of a rule. */
function rememberOffset(measure: (milliseconds: number) => number): (milliseconds: number) => number {
  let known = Number.NaN;
  let offset = 0;
  return (milliseconds) => {
    const quarter = Math.floor(milliseconds / quarterHour);
    if (quarter === known) return offset;
    const first = measure(quarter * quarterHour);
    const last = measure((quarter + 1) * quarterHour - 1000);
    if (first !== last) return measure(milliseconds);
    known = quarter;
    offset = first;
    return first;
  };
}

function toMilliseconds(nanoseconds: bigint): number {
  return Number((nanoseconds - modulo(nanoseconds, 1_000_000n)) / 1_000_000n);
}

/** 0 for the first of January. */
export function dayOfYear(date: Date): number {
  const start = new Date(date);
  start.setUTCMonth(0, 1);
  return Math.round((date.getTime() - start.getTime()) / 86_400_000);
}
