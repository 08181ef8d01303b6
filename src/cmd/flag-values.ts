// The values that flags and environment variables can hold: how each type is read, described and shown.
import { delimiter } from 'node:path';
import { formatDuration } from '../base/format-duration.ts';

interface FlagCommon {
  /** One sentence for --help, without a final full stop. */
  readonly help: string;
  /** Environment variable that sets it; none when left out. */
  readonly env?: string;
  /** The flag was renamed: its earlier name, without dashes, and variable. Both are refused with the new ones. */
  readonly former?: { readonly name: string; readonly env: string };
  /** One letter: -f. */
  readonly short?: string;
  /** Name of the value in --help; each type has one of its own. */
  readonly placeholder?: string;
}

/** One flag of a command. Its name is the key in the command's table, in kebab case. Lists may be given several times. */
export type Flag = FlagCommon &
  (
    | { readonly type: 'port'; readonly default?: number }
    | { readonly type: 'int'; readonly default?: number; readonly min?: number; readonly max?: number }
    /** Milliseconds. Written as in Gateway API: 10s, 500ms, 1h30m. */
    | { readonly type: 'duration'; readonly default?: number; readonly min?: number; readonly max?: number }
    /** Written as a number of bytes or with a unit: 65536, 64KiB, 1MB. */
    | { readonly type: 'bytes'; readonly default?: number; readonly min?: number; readonly max?: number }
    | { readonly type: 'string'; readonly default?: string }
    | { readonly type: 'enum'; readonly values: readonly string[]; readonly default?: string }
    | { readonly type: 'boolean'; readonly default?: boolean }
    | { readonly type: 'strings'; readonly default?: readonly string[] }
    | { readonly type: 'paths'; readonly default?: readonly string[] }
  );

type NumberType = 'port' | 'int' | 'duration' | 'bytes';

type Bare<F extends Flag> = F extends { readonly type: NumberType }
  ? number
  : F extends { readonly type: 'enum'; readonly values: readonly (infer V)[] }
    ? V
    : F extends { readonly type: 'strings' | 'paths' }
      ? readonly string[]
      : F extends { readonly type: 'boolean' }
        ? boolean
        : string;

/** What a flag is read as. Lists and booleans always have a value: empty, false. */
export type FlagValue<F extends Flag> = F extends { readonly type: 'strings' | 'paths' | 'boolean' }
  ? Bare<F>
  : F extends { readonly default: string | number }
    ? Bare<F>
    : Bare<F> | undefined;

/** A value, or why the text is none, to be put after the name of the flag. */
type ReadValue =
  | { readonly ok: true; readonly value: string | number | boolean }
  | { readonly ok: false; readonly problem: string };

/** Reads one text as the flag's type; for lists, one item. */
export function readFlagText(flag: Flag, text: string): ReadValue {
  switch (flag.type) {
    case 'port':
      return readInteger(text, 0, 65_535, 'a port number between 0 and 65535');
    case 'int': {
      const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = flag;
      return readInteger(text, min, max, `a whole number${describeRange(flag.min, flag.max, String)}`);
    }
    case 'duration':
      return checkRange(parseDuration(text), flag, text, 'a duration such as 500ms, 10s or 1h30m', formatDuration);
    case 'bytes':
      return checkRange(parseBytes(text), flag, text, 'a size such as 65536, 64KiB or 1MB', formatBytes);
    case 'enum':
      if (flag.values.includes(text)) return { ok: true, value: text };
      return { ok: false, problem: `must be one of ${flag.values.join(', ')}, not ${JSON.stringify(text)}` };
    case 'boolean':
      return readBoolean(text);
    default:
      return text === '' ? { ok: false, problem: 'must not be empty' } : { ok: true, value: text };
  }
}

/** Splits an environment variable into the items of a list: paths as the system separates them, others by commas. */
export function splitList(type: 'strings' | 'paths', text: string): string[] {
  const separator = type === 'paths' ? delimiter : ',';
  return text
    .split(separator)
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** The value's name in --help; empty for a boolean. */
export function describePlaceholder(flag: Flag): string {
  if (flag.placeholder !== undefined) return flag.placeholder;
  switch (flag.type) {
    case 'boolean':
      return '';
    case 'enum':
      return flag.values.join('|');
    case 'paths':
      return 'PATH';
    case 'strings':
    case 'string':
      return 'TEXT';
    case 'int':
      return 'N';
    case 'bytes':
      return 'SIZE';
    default:
      return flag.type.toUpperCase();
  }
}

/** The default as somebody would type it; undefined when there is nothing worth showing. */
export function describeDefault(flag: Flag): string | undefined {
  switch (flag.type) {
    case 'duration':
      return flag.default === undefined ? undefined : formatDuration(flag.default);
    case 'bytes':
      return flag.default === undefined ? undefined : formatBytes(flag.default);
    case 'boolean':
      return flag.default === true ? 'on' : undefined;
    case 'strings':
    case 'paths':
      return flag.default === undefined || flag.default.length === 0 ? undefined : flag.default.join(' ');
    default:
      return flag.default === undefined || flag.default === '' ? undefined : String(flag.default);
  }
}

/** Milliseconds of a Gateway API duration (GEP-2257), or of a bare 0; undefined when it is neither. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^(?:\d{1,5}(?:h|ms|m|s)){1,4}$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+)(ms|[hms])/g)) {
    total += Number(amount) * (unit === 'h' ? 3_600_000 : unit === 'm' ? 60_000 : unit === 's' ? 1_000 : 1);
  }
  return total;
}

const byteUnits: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  ki: 1024,
  kib: 1024,
  m: 1e6,
  mb: 1e6,
  mi: 1024 ** 2,
  mib: 1024 ** 2,
  g: 1e9,
  gb: 1e9,
  gi: 1024 ** 3,
  gib: 1024 ** 3,
};

/** Bytes of a size with an optional unit (decimal KB, binary KiB or Ki); undefined when it is none. */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d{1,16})\s?([a-z]{0,3})$/i.exec(text);
  const unit = match === null ? undefined : byteUnits[match[2]!.toLowerCase()];
  if (match === null || unit === undefined) return undefined;
  const bytes = Number(match[1]) * unit;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** The shortest exact spelling of a size. */
export function formatBytes(bytes: number): string {
  for (const [unit, size] of [
    ['GiB', 1024 ** 3],
    ['MiB', 1024 ** 2],
    ['KiB', 1024],
  ] as const) {
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return String(bytes);
}

function readInteger(text: string, min: number, max: number, wanted: string): ReadValue {
  const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= min && value <= max) return { ok: true, value };
  return { ok: false, problem: `must be ${wanted}, not ${JSON.stringify(text)}` };
}

function readBoolean(text: string): ReadValue {
  const lower = text.toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(lower)) return { ok: true, value: true };
  if (['false', '0', 'no', 'off'].includes(lower)) return { ok: true, value: false };
  return { ok: false, problem: `must be true or false, not ${JSON.stringify(text)}` };
}

function checkRange(
  value: number | undefined,
  range: { readonly min?: number; readonly max?: number },
  text: string,
  wanted: string,
  format: (value: number) => string,
): ReadValue {
  if (value === undefined) return { ok: false, problem: `must be ${wanted}, not ${JSON.stringify(text)}` };
  if (value >= (range.min ?? 0) && value <= (range.max ?? Number.MAX_SAFE_INTEGER)) return { ok: true, value };
  return { ok: false, problem: `must be${describeRange(range.min, range.max, format)}, not ${JSON.stringify(text)}` };
}

function describeRange(min: number | undefined, max: number | undefined, format: (value: number) => string): string {
  if (min !== undefined && max !== undefined) return ` between ${format(min)} and ${format(max)}`;
  if (min !== undefined) return ` of at least ${format(min)}`;
  return max === undefined ? '' : ` of at most ${format(max)}`;
}
