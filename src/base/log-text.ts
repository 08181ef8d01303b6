// Log lines for people: aligned, on a terminal coloured and wrapped. Made from the JSON line, so both forms always say the same.
import { cutMiddle } from './cut-text.ts';
import { createPalette, escapeControls, type Palette } from './terminal.ts';
import { wrapLine } from './wrap-line.ts';

/** A parsed log line. */
export type LogRecord = Readonly<Record<string, unknown>>;

/** Formats lines of one kind; gets the clock and the level separately, returns the rest of the line. */
export type TextFormatter = (record: LogRecord, palette: Palette) => string;

interface LogTextOptions {
  readonly color: boolean;
  /** Where the terminal would break a line anywhere, it is broken between words. Elsewhere a line stays a line. */
  readonly isTerminal: boolean;
  readonly formatters: Readonly<Record<string, TextFormatter>>;
}

const messageWidth = 40;

/** Lines are as long as most terminals are wide, where possible: then long values are cut. Messages and errors are shown in full. */
export const maxLineLength = 120;
/** The clock and the level come first. */
export const prefixLength = '00:00:00.000 INFO  '.length;
const maxCutValue = 48;

/** Formats one JSON line. Something that is no JSON object stays as it is. */
export function formatLogText(line: string, options: LogTextOptions): string {
  const record = parseRecord(line);
  if (record === undefined) return line;
  const palette = createPalette(options.color);
  const { level, time, kind, ...rest } = record;
  const formatter = typeof kind === 'string' ? options.formatters[kind] : undefined;
  const body = formatter === undefined ? formatGeneral(rest, palette) : formatter(rest, palette);
  const text = `${palette.dim(formatClock(time))} ${formatLevel(level, palette)} ${body}\n`;
  return options.isTerminal ? wrapHead(text) : text;
}

/** Stacks below the first line stay as they are. */
function wrapHead(text: string): string {
  const end = text.indexOf('\n');
  return `${wrapLine(text.slice(0, end), maxLineLength, prefixLength)}${text.slice(end)}`;
}

/** One field as name=value; undefined values are left to the caller. */
function formatField(name: string, value: unknown, palette: Palette): string {
  return `${palette.dim(`${escapeControls(name)}=`)}${formatValue(value)}`;
}

function formatGeneral(record: LogRecord, palette: Palette): string {
  const { msg, err, error, ...fields } = record;
  const message = typeof msg === 'string' ? escapeControls(msg) : '';
  const failure = err ?? error;
  const format = (cut: boolean): string[] =>
    Object.entries(fields).map(([name, value]) => formatField(name, cut ? cutValue(value) : value, palette));
  const length = message.length + JSON.stringify(fields).length;
  const shown = format(prefixLength + length > maxLineLength);
  const reason = readMember(failure, 'message');
  if (reason !== undefined) shown.unshift(formatField('error', reason, palette));
  else if (failure !== undefined) shown.unshift(formatField('error', failure, palette));
  const stack = readMember(failure, 'stack');
  const head = shown.length === 0 ? message : `${message.padEnd(messageWidth)} ${shown.join(' ')}`;
  return stack === undefined ? head : `${head}\n${formatStack(stack, palette)}`;
}

function cutValue(value: unknown): unknown {
  return typeof value === 'string' ? cutMiddle(value, maxCutValue) : value;
}

/** Everything after the message, indented under its line. */
function formatStack(stack: string, palette: Palette): string {
  const frames = stack.split('\n').filter((frame) => /^\s+at |^caused by:/i.test(frame));
  return frames.map((frame) => palette.dim(`    ${escapeControls(frame.trim())}`)).join('\n');
}

function formatValue(value: unknown): string {
  if (typeof value !== 'string') return escapeControls(JSON.stringify(value) ?? 'undefined');
  return /^[^\s"=]+$/.test(value) ? escapeControls(value) : JSON.stringify(escapeControls(value));
}

function formatClock(time: unknown): string {
  const date = new Date(typeof time === 'string' || typeof time === 'number' ? time : Number.NaN);
  if (Number.isNaN(date.getTime())) return '--:--:--.---';
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${hours}:${minutes}:${seconds}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

function formatLevel(level: unknown, palette: Palette): string {
  switch (level) {
    case 'error':
      return palette.red('ERROR');
    case 'warn':
      return palette.yellow('WARN ');
    case 'info':
      return palette.green('INFO ');
    case 'debug':
      return palette.cyan('DEBUG');
    case 'trace':
      return palette.magenta('TRACE');
    default:
      return String(level).toUpperCase().padEnd(5);
  }
}

function parseRecord(line: string): LogRecord | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as LogRecord) : undefined;
  } catch {
    return undefined;
  }
}

function readMember(value: unknown, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const member = (value as LogRecord)[name];
  return typeof member === 'string' ? member : undefined;
}
