// What `mcp-gatehouse` starts in the image of gateways.
import { runCommandLine } from './command-line.ts';
import { gatewayCommands } from './gateway-commands.ts';

void runCommandLine(gatewayCommands, process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
