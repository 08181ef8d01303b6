// The log that every component gets handed. pino behind it; the interface keeps tests and other sinks simple.
import pino from 'pino';
import { openLogDestination, type LogDestination } from './log-destination.ts';
import { formatLogText, type TextFormatter } from './log-text.ts';
import { redactLine } from './redact.ts';
import { shouldUseColor } from './terminal.ts';

/** From the most to the least talkative. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** How much is logged. */
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

/** The process's own log: its level can change while it runs, for every child at once. */
export interface RootLog extends Log {
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
    typeof target === 'object' ? wrapSink(target) : openLogDestination(target, { onDropped: reportDropped });
  const asText = options.format === 'text' || (options.format === 'auto' && destination.isTerminal);
  const textOptions = {
    color: shouldUseColor(options.env ?? process.env, destination.isTerminal),
    formatters: options.textFormatters ?? {},
  };
  const state = { level: options.level, threshold: thresholds[options.level] };
  const logger = pino(
    {
      // The level is ours, not pino's: pino's children keep the level they were born with.
      level: 'trace',
      base: null,
      timestamp: createTimestamp(),
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.errWithCause, error: pino.stdSerializers.errWithCause },
    },
    {
      write(line: string): void {
        const clean = redactLine(line);
        destination.write(asText ? formatLogText(clean, textOptions) : clean);
      },
    },
  );
  const log = wrapLogger(logger, state);
  function reportDropped(dropped: number): void {
    log.warn({ dropped }, 'log lines were lost: their reader is too slow or their disk is full');
  }
  return {
    ...log,
    get level() {
      return state.level;
    },
    isText: asText,
    setLevel(level) {
      state.level = level;
      state.threshold = thresholds[level];
    },
    flush: () => destination.flush(),
    flushSync: () => destination.flushSync(),
    close: () => destination.close(),
  };
}

/** The time as pino wants it. Making a Date for every line costs more than the rest of a short line, so seconds are kept. */
function createTimestamp(): () => string {
  let second = -1;
  let prefix = '';
  return () => {
    const now = Date.now();
    const current = Math.floor(now / 1_000);
    if (current !== second) {
      second = current;
      prefix = `,"time":"${new Date(now).toISOString().slice(0, 20)}`;
    }
    return `${prefix}${String(now % 1_000).padStart(3, '0')}Z"`;
  };
}

/** Reads a level as people write it; undefined when there is no such level. */
export function parseLogLevel(text: string): LogLevel | undefined {
  return logLevels.find((level) => level === text.trim().toLowerCase());
}

function wrapLogger(logger: pino.Logger, state: { readonly threshold: number }): Log {
  return {
    trace(fields, message) {
      if (state.threshold <= 10) logger.trace(fields, message);
    },
    debug(fields, message) {
      if (state.threshold <= 20) logger.debug(fields, message);
    },
    info(fields, message) {
      if (state.threshold <= 30) logger.info(fields, message);
    },
    warn(fields, message) {
      if (state.threshold <= 40) logger.warn(fields, message);
    },
    error(fields, message) {
      if (state.threshold <= 50) logger.error(fields, message);
    },
    isEnabled: (level) => state.threshold <= thresholds[level] && level !== 'silent',
    child: (bindings) => wrapLogger(logger.child(bindings), state),
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
