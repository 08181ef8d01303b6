// The parts of timestamps (getHours...), in UTC or a time zone, and of durations.
import { durationType, intType, stringType, timestampType } from '../cel-type.ts';
import { Failure, type Timestamp } from '../values.ts';
import { method, type FunctionTable, type Overload, type Prepare } from './overload.ts';
import { dayOfYear, findClock, utcClock } from './times.ts';

const second = 1_000_000_000n;

/** A zone that was not seen before takes a while to look up. */
const costOfClock = 10_000;

export const timeParts: FunctionTable = {
  getFullYear: partOf((date) => date.getUTCFullYear()),
  /** From 0. */
  getMonth: partOf((date) => date.getUTCMonth()),
  /** From 1. */
  getDate: partOf((date) => date.getUTCDate()),
  /** From 0. */
  getDayOfMonth: partOf((date) => date.getUTCDate() - 1),
  getDayOfYear: partOf(dayOfYear),
  /** From 0, Sunday. */
  getDayOfWeek: partOf((date) => date.getUTCDay()),
  getHours: [
    ...partOf((date) => date.getUTCHours()),
    method([durationType], intType, ({ nanoseconds }) => nanoseconds / (3600n * second)),
  ],
  getMinutes: [
    ...partOf((date) => date.getUTCMinutes()),
    method([durationType], intType, ({ nanoseconds }) => nanoseconds / (60n * second)),
  ],
  getSeconds: [
    ...partOf((date) => date.getUTCSeconds()),
    method([durationType], intType, ({ nanoseconds }) => nanoseconds / second),
  ],
  getMilliseconds: [
    ...partOf((date) => date.getUTCMilliseconds()),
    method([durationType], intType, ({ nanoseconds }) => (nanoseconds % second) / 1_000_000n),
  ],
};

function partOf(read: (date: Date) => number): readonly Overload[] {
  const prepare: Prepare = ([, zone]) => {
    if (typeof zone !== 'string') return undefined;
    const clock = findClock(zone);
    if (clock instanceof Failure) return { problem: clock.message, argument: 1 };
    return { run: (time: Timestamp) => BigInt(read(clock(time))) };
  };
  return [
    method([timestampType], intType, (time) => BigInt(read(utcClock(time)))),
    method(
      [timestampType, stringType],
      intType,
      (time, zone, frame) => {
        frame.spendTextWork(costOfClock);
        const clock = findClock(zone);
        return clock instanceof Failure ? clock : BigInt(read(clock(time)));
      },
      prepare,
    ),
  ];
}
