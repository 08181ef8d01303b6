// What `mcp-gatehouse` starts when it was installed from npm: every command, from a bundle.
import { allCommands } from './all-commands.ts';
import { runCommandLine } from './command-line.ts';

void runCommandLine(allCommands, process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
