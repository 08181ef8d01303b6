// What an experiment of the benchmarks found out, in a form that can be kept and printed later.
import type { Measured } from './statistics.ts';

/** A bound that a number has to keep. */
export interface Target {
  readonly kind: 'atMost' | 'below' | 'atLeast';
  readonly value: number;
}

/** One number that there is an aim for. */
export interface Finding {
  /** What is measured, to be read without knowing anything else. */
  readonly what: string;
  readonly measured: Measured;
  /** Comes after the number; "times" for a ratio. */
  readonly unit: string;
  readonly target: Target;
}

/** What became of a target. Nothing is missed that is not sure. */
export type Outcome = 'met' | 'missed' | 'unsure';

/** Numbers without an aim, or in more detail. */
export interface BenchTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Sentences below it. */
  readonly notes: readonly string[];
}

/** One bar of the plot. */
export interface Bar {
  /** Bars with the same one stand together. */
  readonly group: string;
  readonly label: string;
  readonly ours: boolean;
  readonly value: number;
  /** How wide the interval of 95 % confidence is, as a part of the value. */
  readonly spread: number;
}

/** What came of an experiment. */
export interface ExperimentResult {
  readonly name: string;
  readonly title: string;
  readonly tables: readonly BenchTable[];
  readonly findings: readonly Finding[];
  readonly bars: readonly Bar[];
}

/** Where and when it was measured. */
export interface Stamp {
  readonly date: string;
  readonly commit: string;
  readonly processor: string;
  readonly cores: number;
  readonly versions: Readonly<Record<string, string>>;
  readonly accessLog: boolean;
}

/** A result to keep. */
export interface StampedResult extends ExperimentResult {
  readonly stamp: Stamp;
}

/** Holds both ends of where the number surely lies against its target. */
export function judge({ measured, target }: Finding): Outcome {
  const range = measured.ok ? findRange(measured) : measured.range;
  if (range === undefined) return 'unsure';
  const [low, high] = range.map((end) => keepsTarget(end, target));
  if (low !== high) return 'unsure';
  return low === true ? 'met' : 'missed';
}

function findRange({ median, spread, range }: Extract<Measured, { readonly ok: true }>): readonly [number, number] {
  return range ?? [median * (1 - spread / 2), median * (1 + spread / 2)];
}

function keepsTarget(value: number, target: Target): boolean {
  switch (target.kind) {
    case 'atMost':
      return value <= target.value;
    case 'below':
      return value < target.value;
    case 'atLeast':
      return value >= target.value;
  }
}
