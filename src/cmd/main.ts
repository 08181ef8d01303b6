// What `mcp-gateway` starts in a checkout: every command.
import { runCommandLine } from './command-line.ts';
import { controllerCommands } from './controller-commands.ts';
import { gatewayCommands } from './gateway-commands.ts';

const commands = {
  ...gatewayCommands,
  ...controllerCommands,
  demo: {
    summary: 'An identity provider and a protected MCP server to try out, with a page that explains them',
    run: async (args: readonly string[]) => (await import('./demo.ts')).runDemoCommand(args),
  },
};

process.exitCode = await runCommandLine(commands, process.argv.slice(2));
