// The command line: finds the command that the first words name. The tables of commands are in all-commands.ts and, for each image, in gateway-commands.ts and controller-commands.ts.
import { findNearestName, listAlternatives } from '../base/nearest-name.ts';
import { type Command, defineCommand, endCommand, executeCommand, refuse } from './command.ts';
import type { FlagTable } from './flags.ts';
import { type ProcessHost, wholeProcess } from './process-host.ts';
import { version } from '../base/version.ts';

/** One command, as it is listed. */
interface ListedCommand {
  readonly summary: string;
  /** Started by the program itself: not listed. */
  readonly isInternal?: true;
  /** Its code is loaded when it runs. */
  readonly load: () => Promise<Command<FlagTable, ProcessHost>>;
}

/** Commands by their names, of one word or two, in the order in which they are listed. */
export type CommandTable = Readonly<Record<string, ListedCommand>>;

const versionCommand = defineCommand({
  name: 'version',
  usage: '',
  summary: 'Prints the version of the program.',
  flags: {},
  run: (_, io) => {
    io.stdout(`${version}\n`);
    return 0;
  },
});

/** Runs what the arguments ask for, and returns the exit code. */
export async function runCommandLine(
  table: CommandTable,
  args: readonly string[],
  io: ProcessHost = wholeProcess(),
): Promise<number> {
  const [first = '', ...rest] = args;
  if (first === 'help' && rest.length > 0) return runCommandLine(table, [...rest, '--help'], io);
  if (first === '--version' || first === '-v') return executeCommand(versionCommand, rest, io);
  const commands: CommandTable = {
    ...table,
    version: { summary: 'Print the version', load: () => Promise.resolve(versionCommand) },
  };
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(' ');
    if (Object.hasOwn(commands, name)) return executeCommand(await commands[name]!.load(), args.slice(words), io);
  }

  const group = Object.keys(commands).some((each) => each.startsWith(`${first} `)) ? first : '';
  const asked = group === '' ? args[0] : rest[0];
  const listed = listCommands(commands, group);
  if (asked === undefined || asked === '--help' || asked === '-h' || asked === 'help') {
    const write = asked === undefined ? io.stderr : io.stdout;
    write(formatUsage(listed, group));
    return asked === undefined ? 2 : 0;
  }
  if (asked.startsWith('-'))
    return endCommand(group, refuse(`flags follow a command, as in mcp-gatehouse ${listed[0]?.[0]} --help`), io);
  const known = listed.map(([each]) => each.slice(group.length).trimStart());
  const words = group === '' ? [...known, ...known.map((each) => each.split(' ')[0] ?? '')] : known;
  const nearest = findNearestName(asked, words) ?? known.find((each) => each === otherNames.get(asked));
  // What follows the name of a group is not repeated: it may be a token.
  const problem = group === '' ? `there is no command ${JSON.stringify(asked)}` : 'there is no such command';
  const advice = nearest === undefined ? `there is ${listAlternatives(known)}` : `did you mean ${nearest}?`;
  return endCommand(group, refuse(`${problem}; ${advice}`), io);
}

/** What other programs call such commands. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['start', 'run'],
  ['serve', 'run'],
  ['up', 'run'],
  ['validate', 'check'],
  ['lint', 'check'],
  ['test', 'check'],
  ['inspect', 'token inspect'],
  ['auth', 'login'],
]);

type Listed = readonly (readonly [name: string, command: ListedCommand])[];

/** The commands of a group, such as `token`; of no group: all of them. */
function listCommands(commands: CommandTable, group: string): Listed {
  return Object.entries(commands).filter(
    ([name, { isInternal }]) => isInternal !== true && (group === '' || name.startsWith(`${group} `)),
  );
}

function formatUsage(listed: Listed, group: string): string {
  const width = Math.max(...listed.map(([name]) => name.length));
  const lines = listed.map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  const program = `mcp-gatehouse ${group}`.trimEnd();
  return `${group === '' ? `mcp-gatehouse ${version}: a gateway that puts OAuth 2.0 in front of MCP servers\n\n` : ''}Usage: ${program} COMMAND [flags]

${lines.join('\n')}

"${program} COMMAND --help" lists the flags of a command.
`;
}
