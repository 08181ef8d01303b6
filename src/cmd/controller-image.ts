// What `mcp-gatehouse` starts in the image of the controller.
import { runCommandLine } from './command-line.ts';
import { controllerCommands } from './controller-commands.ts';

void runCommandLine(controllerCommands, process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
