// The command line: finds the command that the first argument names. Which commands there are, main.ts and the entry points of images say.
import type { CommandIo } from './command-io.ts';
import { version } from './version.ts';

/** One command. Its code is loaded when it runs. */
export interface Command {
  readonly summary: string;
  /** Started by the program itself: not listed. */
  readonly isInternal?: true;
  readonly run: (args: readonly string[]) => Promise<number>;
}

/** Commands by their names, in the order in which they are listed. */
export type CommandTable = Readonly<Record<string, Command>>;

/** What commands that print something and end get of this process. */
export function processIo(): CommandIo {
  return {
    stdout: (text: string): void => void process.stdout.write(text),
    stderr: (text: string): void => void process.stderr.write(text),
    color: process.stdout.isTTY && process.env['NO_COLOR'] === undefined,
    env: process.env,
  };
}

/** Runs what the arguments ask for, and returns the exit code. */
export async function runCommandLine(commands: CommandTable, args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const text = formatUsage(commands);
    if (name === undefined) process.stderr.write(text);
    else process.stdout.write(text);
    return name === undefined ? 2 : 0;
  }
  if (name === '--version' || name === '-v' || name === 'version') {
    process.stdout.write(`${version}\n`);
    return 0;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    process.stderr.write(
      `mcp-gateway: there is no command "${name}". Commands: ${listCommands(commands)
        .map(([known]) => known)
        .join(', ')}. See mcp-gateway --help.\n`,
    );
    return 2;
  }
  return command.run(rest);
}

function listCommands(commands: CommandTable): readonly (readonly [name: string, command: Command])[] {
  return Object.entries(commands).filter(([, { isInternal }]) => isInternal !== true);
}

function formatUsage(commands: CommandTable): string {
  const listed = listCommands(commands);
  const width = Math.max(...listed.map(([name]) => name.length));
  const lines = listed.map(([name, command]) => `  ${name.padEnd(width)}  ${command.summary}`);
  return `mcp-gateway ${version}: a gateway that puts OAuth 2.0 in front of MCP servers

Usage: mcp-gateway COMMAND [flags]

${lines.join('\n')}

"mcp-gateway COMMAND --help" lists the flags of a command.
`;
}
