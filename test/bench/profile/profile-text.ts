// The heaviest functions of a profile, as a list to read.
import { type CallNode, listFunctions } from './call-tree.ts';

export interface TopOptions {
  readonly title: string;
  /** What was served meanwhile, and how many of them. */
  readonly unit: 'request' | 'event';
  readonly served: number;
  readonly most: number;
  readonly format: (weight: number) => string;
}

/** What all of it costs for one of them, and who has how much of that for itself. */
export function formatTop(root: CallNode, { title, unit, served, most, format }: TopOptions): string {
  const per = (weight: number): string => format(weight / Math.max(1, served));
  const rows = listFunctions(root, most).map(
    ({ name, place, self, share }) =>
      `${`${(100 * share).toFixed(1)} %`.padStart(7)}  ${per(self).padStart(10)}  ${name}${place === '' ? '' : `  ${place}`}`,
  );
  return [`${title}: ${per(root.total)} per ${unit}, ${served} ${unit}s. Of its own:`, ...rows].join('\n');
}

export function formatMicros(micros: number): string {
  return micros >= 10_000 ? `${(micros / 1_000).toFixed(0)} ms` : `${micros.toFixed(2)} us`;
}

export function formatBytes(bytes: number): string {
  return bytes >= 100_000 ? `${(bytes / 1_000_000).toFixed(1)} MB` : `${bytes.toFixed(0)} B`;
}
