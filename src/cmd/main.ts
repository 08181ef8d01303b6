// What `mcp-gatehouse` starts in a checkout.
import { allCommands } from './all-commands.ts';
import { runCommandLine } from './command-line.ts';

process.exitCode = await runCommandLine(allCommands, process.argv.slice(2));
