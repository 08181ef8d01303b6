// A command as a value, and the one way in which all of them run: flags, help, error lines and exit codes.
import { type CommandFlags, type FlagOrigins, type FlagTable, type FlagValues, readFlags } from './flags.ts';
import { formatHelp } from './format-help.ts';
import type { CommandIo } from './process-host.ts';
import { StartError } from './start-error.ts';

/** What a command takes, and what it does. */
export interface Command<T extends FlagTable = FlagTable, Io extends CommandIo = CommandIo> extends CommandFlags<T> {
  /** Gets flags that were read without a problem. A StartError that it throws becomes error lines and exit code 1. */
  run(values: FlagValues<T>, io: Io, origins: FlagOrigins<T>): CommandEnd | Promise<CommandEnd>;
}

/**
 * How a command ended: an exit code, and the error lines that go with it. 0: all is well. 1: it is not. 2: wrong usage, or, where 1 is an answer to what was
 * asked, there is no answer.
 */
export type CommandEnd =
  | number
  | { readonly exitCode: number; readonly problems: readonly string[]; readonly pointsToHelp?: true };

/** Keeps the exact types of the flags, so that `run` gets typed values. */
export function defineCommand<const T extends FlagTable, Io extends CommandIo = CommandIo>(
  command: Command<T, Io>,
): Command<T, Io> {
  return command;
}

/** Wrong usage. A problem begins with a flag or a small letter and ends without a full stop. */
export function refuse(...problems: readonly string[]): CommandEnd {
  return { exitCode: 2, problems, pointsToHelp: true };
}

/** The usage is right, and something else is wrong. */
export function fail(exitCode: number, ...problems: readonly string[]): CommandEnd {
  return { exitCode, problems };
}

/** Runs a command with its arguments, and returns the exit code. */
export async function executeCommand<T extends FlagTable, Io extends CommandIo>(
  command: Command<T, Io>,
  args: readonly string[],
  io: Io,
): Promise<number> {
  const read = readFlags(command, args, io.env);
  if (read.kind === 'help') {
    io.stdout(formatHelp(command, read.all));
    return 0;
  }
  if (read.kind === 'problems') return endCommand(command.name, refuse(...read.problems), io);
  try {
    return endCommand(command.name, await command.run(read.values, io, read.origins), io);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return endCommand(command.name, fail(1, ...error.message.split('\n')), io);
  }
}

/** Writes the error lines, and returns the exit code. The name is that of a command, or empty: the program itself. */
export function endCommand(name: string, end: CommandEnd, io: Pick<CommandIo, 'stderr'>): number {
  if (typeof end === 'number') return end;
  const program = `mcp-gatehouse ${name}`.trimEnd();
  for (const problem of end.problems) io.stderr(`${program}: ${problem}\n`);
  if (end.pointsToHelp === true) io.stderr(`See ${program} --help.\n`);
  return end.exitCode;
}
