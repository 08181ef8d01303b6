// What `mcp-gateway` starts in the image of the controller.
import { runCommandLine } from './command-line.ts';
import { controllerCommands } from './controller-commands.ts';

process.exitCode = await runCommandLine(controllerCommands, process.argv.slice(2));
