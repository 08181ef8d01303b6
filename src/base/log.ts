// The log that every component gets handed. The interface keeps tests and other sinks simple. Not pino's: all that it loads takes 12 ms of every start.
import { copyText } from './cut-text.ts';
import { openLogDestination, type LogDestination } from './log-destination.ts';
import { formatLogFields } from './log-fields.ts';
import { formatLogText, type TextFormatter } from './log-text.ts';
import { redactLine } from './redact.ts';
import { shouldUseColor } from './terminal.ts';

/** From the most to the least talkative. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** A log level. */
export type LogLevel = (typeof logLevels)[number];

/** What a component can do with the log: fields first, then a sentence. */
export interface Log {
  trace(fields: object, message: string): void;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  isEnabled(level: LogLevel): boolean;
  child(bindings: object): Log;
}

/** The fast path for access lines, one per request. */
export interface LineLog {
  isEnabled(level: LogLevel): boolean;
  /**
   * `rest` is what comes after level and time: JSON from a comma to the closing brace, and the end of the line. The caller has left credentials out
   * (redactText). Such a line may go out a little later than others, together with the next ones.
   */
  writeLine(level: 'info' | 'warn', timeMs: number, rest: string): void;
}

/** The process's own log: its level can change while it runs, for every child at once. */
export interface RootLog extends Log, LineLog {
  readonly level: LogLevel;
  /** Lines are written for people, not as JSON. */
  readonly isText: boolean;
  setLevel(level: LogLevel): void;
  /** Resolves when everything logged so far has been handed to the operating system. */
  flush(): Promise<void>;
  /** The same, blocking: for the last moment of a process. */
  flushSync(): void;
  /** Flushes and lets go of the destination. */
  close(): void;
}

/** Where lines go when it is not a file descriptor: tests, or a stream. */
export interface LogSink {
  write(line: string): unknown;
}

/** How lines look: `auto` is text on a terminal and JSON everywhere else. */
export type LogFormat = 'json' | 'text' | 'auto';

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** A file descriptor, a file's path or a sink. Default: standard output. */
  readonly destination?: number | string | LogSink;
  /** Other processes write there too. */
  readonly isShared?: boolean;
  /** Text forms for lines of a certain `kind`, e.g. access lines; others get the general form. */
  readonly textFormatters?: Readonly<Record<string, TextFormatter>>;
  /** NO_COLOR and FORCE_COLOR are read from here. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const thresholds: Readonly<Record<LogLevel, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  silent: 100,
};

/** Builds the log of a process. */
export function createLog(options: LogOptions): RootLog {
  const target = options.destination ?? 1;
  const destination =
    typeof target === 'object'
      ? wrapSink(target)
      : openLogDestination(target, { onDropped: reportDropped, isShared: options.isShared ?? false });
  const asText = options.format === 'text' || (options.format === 'auto' && destination.isTerminal);
  const textOptions = {
    color: shouldUseColor(options.env ?? process.env, destination.isTerminal),
    isTerminal: destination.isTerminal,
    formatters: options.textFormatters ?? {},
  };
  const state = { level: options.level, threshold: thresholds[options.level] };
  const formatTime = createTimeFormatter();
  const writeRecord: WriteRecord = (level, fields, message) => {
    const line = `{"level":"${level}"${formatTime(Date.now())}${fields},"msg":${JSON.stringify(message)}}\n`;
    const clean = redactLine(line);
    destination.write(asText ? formatLogText(clean, textOptions) : clean);
  };
  const log = wrapWriter(writeRecord, '', state);
  const formatHeads = { info: createLineHead('info'), warn: createLineHead('warn') };
  function reportDropped(dropped: number): void {
    log.warn({ dropped }, 'log lines were lost: the reader is too slow or the disk is full');
  }
  return {
    ...log,
    get level() {
      return state.level;
    },
    isText: asText,
    writeLine(level, timeMs, rest) {
      if (state.threshold > thresholds[level]) return;
      const line = `${formatHeads[level](timeMs)}${rest}`;
      destination.write(asText ? formatLogText(line, textOptions) : line, true);
    },
    setLevel(level) {
      state.level = level;
      state.threshold = thresholds[level];
    },
    flush: () => destination.flush(),
    flushSync: () => destination.flushSync(),
    close: () => destination.close(),
  };
}

/** The time as a field. Making a Date for every line costs more than the rest of a short line, so seconds are kept. */
function createTimeFormatter(): (timeMs: number) => string {
  let second = -1;
  let prefix = '';
  return (timeMs) => {
    const current = Math.floor(timeMs / 1_000);
    if (current !== second) {
      second = current;
      prefix = `,"time":"${new Date(timeMs).toISOString().slice(0, 20)}`;
    }
    return `${prefix}${String(timeMs % 1_000).padStart(3, '0')}Z"`;
  };
}

/** How lines of a level begin; the same within a millisecond, and in one piece. */
function createLineHead(level: 'info' | 'warn'): (timeMs: number) => string {
  const formatTime = createTimeFormatter();
  let known = -1;
  let head = '';
  return (timeMs) => {
    if (timeMs !== known) {
      known = timeMs;
      head = copyText(`{"level":"${level}"${formatTime(timeMs)}`);
    }
    return head;
  };
}

/** Reads a level as people write it; undefined when there is no such level. */
export function parseLogLevel(text: string): LogLevel | undefined {
  return logLevels.find((level) => level === text.trim().toLowerCase());
}

/** Writes one line. Its fields are JSON already. */
type WriteRecord = (level: LogLevel, fields: string, message: string) => void;

/** `bindings` are the fields of all lines, as JSON. */
function wrapWriter(write: WriteRecord, bindings: string, state: { readonly threshold: number }): Log {
  const createMethod = (level: LogLevel) => (fields: object, message: string) => {
    if (state.threshold <= thresholds[level]) write(level, `${bindings}${formatLogFields(fields)}`, message);
  };
  return {
    trace: createMethod('trace'),
    debug: createMethod('debug'),
    info: createMethod('info'),
    warn: createMethod('warn'),
    error: createMethod('error'),
    isEnabled: (level) => state.threshold <= thresholds[level] && level !== 'silent',
    child: (more) => wrapWriter(write, `${bindings}${formatLogFields(more)}`, state),
  };
}

/** A sink takes lines at once: there is nothing to flush. */
function wrapSink(sink: LogSink): LogDestination {
  return {
    isTerminal: false,
    write: (line) => void sink.write(line),
    flush: () => Promise.resolve(),
    flushSync: nothing,
    close: nothing,
  };
}

const nothing = (): void => {};

/** For tests and for components whose caller does not care. */
export const silentLog: Log = {
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  isEnabled: () => false,
  child: () => silentLog,
};
